"""Settings: where they come from, and what is said when one is wrong."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

from pipeline import cli
from pipeline.config import Config, config_path, keys, load_config, remember, variable
from pipeline.errors import ConfigFault


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder and an environment without a word about us."""
    for name in list(os.environ):
        if name.startswith(("MEMORY_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def write(text: str) -> Path:
    """Make `text` the configuration file."""
    path = config_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_without_any_setting_everything_stays_under_home(home: Path) -> None:
    """The defaults are the documented places."""
    config = load_config()
    assert config.vault == home / "MemoryVault"
    assert config.store_path == home / ".cache/nightly-memory/memory.sqlite"
    assert config.archive_dir == home / ".local/share/nightly-memory/archive"
    assert config.models_dir == home / ".cache/nightly-memory/models"
    assert config_path() == home / ".config/nightly-memory/config.toml"
    enabled = ["pi", "claude-code", "codex", "claude-ai", "chatgpt", "observations"]
    assert config.sources.enabled == enabled
    assert not config.offline
    assert list(home.iterdir()) == []


def test_xdg_folders_are_respected(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG base folders move config, cache and data; a relative one is ignored, as XDG asks."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "c"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "d"))
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    config = load_config()
    assert config.cache_dir == home / "c/nightly-memory"
    assert config.models_dir == home / "c/nightly-memory/models"
    assert config.data_dir == home / "d/nightly-memory"
    assert config_path() == home / ".config/nightly-memory/config.toml"


def test_flags_over_environment_over_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the three places wins over the next, key by key, in tables too."""
    write("max_minutes = 1\nbatch = 1\nmodel = 'a'\n[ingest]\nquiet_minutes = 1\nsubagents = true")
    monkeypatch.setenv("MEMORY_BATCH", "2")
    monkeypatch.setenv("MEMORY_MODEL", "b")
    monkeypatch.setenv("MEMORY_INGEST__QUIET_MINUTES", "2")
    config = load_config(model="c", vault=None)
    assert (config.max_minutes, config.batch, config.model) == (1, 2, "c")
    assert config.ingest.quiet_minutes == 2
    assert config.ingest.subagents


def test_another_file_can_be_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MEMORY_CONFIG takes the place of the usual file."""
    write("batch = 2")
    (home / "other.toml").write_text("batch = 3")
    monkeypatch.setenv("MEMORY_CONFIG", str(home / "other.toml"))
    assert load_config().batch == 3


def test_a_tilde_is_the_home_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` means home in the file, in the environment and in lists."""
    write("vault = '~/wiki'\n[sources.roots]\npi = ['~/sessions']")
    monkeypatch.setenv("MEMORY_CACHE_DIR", "~/cache")
    config = load_config()
    assert config.vault == home / "wiki"
    assert config.cache_dir == home / "cache"
    assert config.sources.roots == {"pi": [home / "sessions"]}


def test_a_relative_folder_is_taken_from_a_flag_only(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flag is typed in some folder; a file is read in any, so there it must be absolute."""
    monkeypatch.chdir(home)
    assert load_config(vault=Path("wiki")).vault == home / "wiki"
    write("vault = 'wiki'")
    with pytest.raises(ConfigFault, match=r"`vault` is 'wiki' .*absolute"):
        load_config()


def test_lists_and_tables_come_from_the_environment_as_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A list is JSON; anything else names the variable and the form."""
    monkeypatch.setenv("MEMORY_SOURCES__ENABLED", '["pi"]')
    monkeypatch.setenv("MEMORY_SOURCES__ROOTS", '{"claude-code": ["/a"]}')
    config = load_config()
    assert config.sources.enabled == ["pi"]
    assert config.sources.roots == {"claude-code": [Path("/a")]}
    monkeypatch.setenv("MEMORY_SOURCES__ENABLED", "pi")
    with pytest.raises(ConfigFault, match="MEMORY_SOURCES__ENABLED") as fault:
        load_config()
    assert '["one", "two"]' in fault.value.mend


@pytest.mark.parametrize(
    ("text", "unknown", "nearest"),
    [
        ("max_minuts = 3", "max_minuts", "max_minutes"),
        ("quiet_minutes = 3", "quiet_minutes", "ingest.quiet_minutes"),
        ("[ingest]\nexclude_project = []", "ingest.exclude_project", "ingest.exclude_projects"),
        ("[source]\nenabled = []", "source", "sources"),
    ],
)
def test_an_unknown_key_names_the_nearest_known_one(text: str, unknown: str, nearest: str) -> None:
    """A misspelt key stops the command and is answered with the key that was meant."""
    path = write(text)
    with pytest.raises(ConfigFault) as fault:
        load_config()
    assert f"`{unknown}`" in str(fault.value)
    assert str(path) in str(fault.value)
    assert nearest in fault.value.mend
    assert fault.value.exit_code == 3


def test_an_unknown_variable_names_the_nearest_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt variable would otherwise be accepted and ignored."""
    monkeypatch.setenv("MEMORY_VALUT", "/x")
    with pytest.raises(ConfigFault, match="MEMORY_VALUT") as fault:
        load_config()
    assert "`vault`" in fault.value.mend


def test_an_empty_variable_is_as_if_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """`MEMORY_MODEL= memory …` takes the setting away instead of naming a model ''."""
    write("model = 'a'")
    monkeypatch.setenv("MEMORY_MODEL", "")
    assert load_config().model == "a"


def test_a_wrong_value_says_which_where_and_what_is_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The message names key, value and place, whichever of the three places it is."""
    path = write("max_minutes = 'soon'")
    with pytest.raises(ConfigFault, match=r"`max_minutes` is 'soon'.*integer") as fault:
        load_config()
    assert str(path) in str(fault.value)
    assert "Minutes" in fault.value.mend
    monkeypatch.setenv("MEMORY_MAX_MINUTES", "never")
    with pytest.raises(ConfigFault, match=r"'never' in the environment variable MEMORY_MAX_MIN"):
        load_config()
    with pytest.raises(ConfigFault, match=r"0 in the command's flags: .*greater than or equal"):
        load_config(max_minutes=0)


def test_a_broken_file_names_the_line() -> None:
    """A file that is not TOML is reported with path and line."""
    path = write("batch = 1\nmodel = \n")
    with pytest.raises(ConfigFault, match="line 2") as fault:
        load_config()
    assert str(path) in str(fault.value)


def test_a_file_that_is_not_text_is_reported() -> None:
    """Bytes that are no text are a fault of the file, not a crash."""
    write("").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigFault, match=r"config\.toml"):
        load_config()


@pytest.mark.parametrize("value", ["", "somewhere"])
def test_no_home_is_a_fault_not_a_vault_at_the_root(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty or relative HOME never puts a folder in a surprising place."""
    monkeypatch.setenv("HOME", value)
    with pytest.raises(ConfigFault, match="HOME"):
        load_config()


def test_how_far_back_can_be_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """`all` lifts the bound of the first night."""
    write("since_days = 'all'")
    assert load_config().since_days is None
    monkeypatch.setenv("MEMORY_SINCE_DAYS", "3")
    assert load_config().since_days == 3


def test_dates_follow_the_zone_asked_for() -> None:
    """A named zone decides the local date; an unknown one is a fault."""
    at = datetime(2000, 1, 1, 23, 30, tzinfo=UTC)
    assert load_config().zone is None
    zone = load_config(timezone="Asia/Tokyo").zone
    assert zone == ZoneInfo("Asia/Tokyo")
    assert at.astimezone(zone).date().isoformat() == "2000-01-02"
    with pytest.raises(ConfigFault, match="timezone"):
        load_config(timezone="Nowhere/Land")


def test_settings_cannot_change_during_a_run() -> None:
    """Config is frozen."""
    config = load_config()
    with pytest.raises(ValueError, match="frozen"):
        config.batch = 99


def test_every_key_is_explained_and_can_be_set_from_the_environment() -> None:
    """Each key has a sentence of its own, and its variable is accepted."""
    listed = dict(keys())
    assert all(text.endswith(".") for text in listed.values())
    assert variable("ingest.quiet_minutes") == "MEMORY_INGEST__QUIET_MINUTES"
    assert {key.partition(".")[0] for key in listed} == set(Config.model_fields)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "since_days = 30\n"),
        ("# mine\nmodel = 'e4b'\n", "since_days = 30\n# mine\nmodel = 'e4b'\n"),
        ("since_days = 7 # a week\nbatch = 2\n", "since_days = 30\nbatch = 2\n"),
        ("[night]\nnotify = false\n", "since_days = 30\n[night]\nnotify = false\n"),
        (
            "batch = 2\n\n[night]\n# since_days = 1\nnotify = false\n",
            "since_days = 30\nbatch = 2\n\n[night]\n# since_days = 1\nnotify = false\n",
        ),
    ],
)
def test_a_setting_is_remembered(home: Path, before: str, after: str) -> None:
    """It stands in the file, whatever else does; the file still says what it said."""
    path = config_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(before)
    remember("since_days", 30)
    assert path.read_text() == after
    assert load_config().since_days == 30
    remember("since_days", "all")
    assert load_config().since_days is None


def test_init_remembers_how_far_back(home: Path) -> None:
    """`memory init --since-days`; what is no number is refused before anything is made."""
    done = CliRunner().invoke(cli.app, ["init", "--since-days", "soon"])
    assert isinstance(done.exception, ConfigFault) and not (home / "MemoryVault").exists()
    assert CliRunner().invoke(cli.app, ["init", "--since-days", "90"]).exit_code == 0
    assert load_config().since_days == 90
    assert CliRunner().invoke(cli.app, ["init"]).exit_code == 0
    assert load_config().since_days == 90
