"""The store of a project is found from anywhere in it, and is one for all of its worktrees."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config import Config, load_config
from pipeline.project import machine, place
from pipeline.project.linear import key_of_branch, keys
from tests.support_project import git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = (tmp_path / "garden").resolve()
    (folder / "beds" / "north").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "begin")
    return folder


def _make(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_without_a_store_it_would_be_at_the_repository(repository: Path, tmp_path: Path) -> None:
    """From any folder below, with its branch; outside of a repository it is the folder itself."""
    found = place.find(repository / "beds" / "north", {}, tmp_path)
    assert found.database == repository / ".anvil" / "memory.db"
    assert (found.project, found.branch, found.worktree) == ("garden", "main", str(repository))
    alone = tmp_path / "alone"
    alone.mkdir()
    assert place.find(alone, {}, tmp_path).root == alone.resolve()


def test_the_nearest_store_is_taken(repository: Path, tmp_path: Path) -> None:
    """A store deeper in a repository goes before that of the repository."""
    _make(repository / ".anvil" / "memory.db")
    assert place.find(repository / "beds" / "north", {}, tmp_path).root == repository
    deeper = _make(repository / "beds" / ".anvil" / "memory.db")
    assert place.find(repository / "beds" / "north", {}, tmp_path).database == deeper


def test_worktrees_share_one_store(repository: Path, tmp_path: Path) -> None:
    """A worktree elsewhere finds the main one's store, and tells which worktree it is."""
    _make(repository / ".anvil" / "memory.db")
    other = (tmp_path / "elsewhere").resolve()
    git(repository, "worktree", "add", "-q", "-b", "side", str(other))
    found = place.find(other, {}, tmp_path)
    assert found.database == repository / ".anvil" / "memory.db"
    assert (found.branch, found.worktree) == ("side", str(other))
    assert found.relative(f"{other}/beds/a.txt") == "beds/a.txt"


def test_a_bare_repository_keeps_the_store_beside_its_objects(tmp_path: Path) -> None:
    """Worktrees of a bare repository have no main one; they still share."""
    bare = (tmp_path / "garden.git").resolve()
    bare.mkdir()
    git(bare, "init", "-q", "--bare", "-b", "main")
    (bare / "worktrees" / "one").mkdir(parents=True)
    (bare / "worktrees" / "one" / "commondir").write_text("../..\n")
    (bare / "worktrees" / "one" / "HEAD").write_text("ref: refs/heads/one\n")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / ".git").write_text(f"gitdir: {bare}/worktrees/one\n")
    found = place.find(tmp_path / "one", {}, tmp_path)
    assert found.database == bare / ".anvil" / "memory.db"
    assert found.branch == "one"


def test_the_home_folder_is_nobodys_project(tmp_path: Path) -> None:
    """A store in the home folder is not found from the folders below it."""
    home = (tmp_path / "home").resolve()
    _make(home / ".anvil" / "memory.db")
    (home / "work").mkdir()
    assert place.find(home / "work", {}, home).root == home / "work"
    assert place.find(home, {}, home).database.is_file()


def test_a_variable_names_the_store(repository: Path, tmp_path: Path) -> None:
    """ANVIL_MEMORY_DB goes before everything; the project stays the repository."""
    named = tmp_path / "other.db"
    found = place.find(repository, {"ANVIL_MEMORY_DB": str(named)}, tmp_path)
    assert (found.database, found.root) == (named, repository)


def test_git_is_told_once(repository: Path, tmp_path: Path) -> None:
    """The user's own exclusions stay as they are, also without a newline at the end."""
    exclude = repository / ".git" / "info" / "exclude"
    exclude.write_text("*.bak")
    found = place.find(repository, {}, tmp_path)
    assert place.exclude(found)
    assert not place.exclude(found)
    assert exclude.read_text() == "*.bak\n/.anvil/\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ENG-12 and OPS2-7 again ENG-12", ["ENG-12", "OPS2-7"]),
        ("fixes (ENG-12).", ["ENG-12"]),
        ("UTF-8, SHA-256, ISO-8601 and GPT-4", []),
        ("eng-12 ENG-0 ENG-12a XENG-", []),
        ("src/ENG-12/file and ENG-12.5", []),
    ],
)
def test_issue_keys_in_a_text(text: str, found: list[str]) -> None:
    """A team and a number; not a standard, a version or a part of a path."""
    assert keys(text) == found


@pytest.mark.parametrize(
    ("branch", "key"),
    [
        ("amina/eng-12-store-the-sessions", "ENG-12"),
        ("ENG-12", "ENG-12"),
        ("feature/eng-12", "ENG-12"),
        ("main", ""),
        ("release-2", ""),
        ("fix-3-typos", ""),
        ("python-3", ""),
    ],
)
def test_the_issue_of_a_branch(branch: str, key: str) -> None:
    """Linear writes keys small in the names of branches."""
    assert key_of_branch(branch) == key


def _alike(home: Path, environ: dict[str, str], config: Config) -> None:
    found = machine.settings(environ, home)
    assert (found.cache_dir, found.data_dir, found.vault) == (
        config.cache_dir,
        config.data_dir,
        config.vault,
    )
    assert found.types == tuple(config.project.types)
    ingest = config.ingest
    assert found.redaction == {
        "emails": ingest.redact_emails,
        "phones": ingest.redact_phones,
        "payments": ingest.redact_payments,
        "patterns": ingest.redact_patterns,
    }
    assert not found.ignored


@pytest.mark.parametrize(
    ("file", "variables"),
    [
        ("", {}),
        ('vault = "~/wiki"\ndata_dir = "~/kept"\n[project]\ntypes = ["spike"]\n', {}),
        (
            "[ingest]\nredact_emails = true\n[ingest.redact_patterns]\nstaff = 'ST-[0-9]{5}'\n",
            {"MEMORY_VAULT": "/elsewhere", "MEMORY_INGEST__REDACT_PHONES": "true"},
        ),
        (
            "[ingest]\nredact_emails = true\n",
            {
                "MEMORY_INGEST__REDACT_EMAILS": "false",
                "MEMORY_INGEST__REDACT_PATTERNS": '{"badge": "B-[0-9]{4}"}',
                "MEMORY_PROJECT__TYPES": '["spike", "review"]',
            },
        ),
        ("", {"MEMORY_INGEST__REDACT_PATTERNS__BADGE": "B-[0-9]{4}"}),
        ("", {"MEMORY_INGEST": '{"redact_payments": true}'}),
    ],
)
def test_settings_are_those_of_every_other_command(
    home: Path, monkeypatch: pytest.MonkeyPatch, file: str, variables: dict[str, str]
) -> None:
    """Read without the library that reads them elsewhere, they are the same."""
    config = home / ".config" / "nightly-memory" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(file)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    environ = {
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        **variables,
    }
    _alike(home, environ, load_config())


def test_settings_that_cannot_be_read_leave_the_defaults(tmp_path: Path) -> None:
    """Nothing fails for them, and they are told of; a pattern that may run for ever is not used."""
    config = tmp_path / "config.toml"
    config.write_text("[ingest]\nredact_patterns = {slow = '(a+)+b', good = 'B-[0-9]{4}'}\n")
    found = machine.settings({"MEMORY_CONFIG": str(config)}, tmp_path)
    assert found.redaction["patterns"] == {"good": "B-[0-9]{4}"}
    assert "slow" in found.ignored[0]
    config.write_text("[ingest")
    found = machine.settings({"MEMORY_CONFIG": str(config)}, tmp_path)
    assert found.vault == tmp_path / "MemoryVault"
    assert str(config) in found.ignored[0]


def test_a_store_is_registered_once(tmp_path: Path) -> None:
    """The list the nightly run reads keeps the order, and no store twice."""
    assert machine.register(tmp_path / "data", Path("/a/.anvil/memory.db"))
    assert machine.register(tmp_path / "data", Path("/b/.anvil/memory.db"))
    assert not machine.register(tmp_path / "data", Path("/a/.anvil/memory.db"))
    assert machine.registered(tmp_path / "data") == [
        Path("/a/.anvil/memory.db"),
        Path("/b/.anvil/memory.db"),
    ]
