"""What a system can refuse at night: the run ends, says why, parks nothing, and goes on later.

Disks are real ones, full or read-only, where the tests may mount them.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline import cli, sqlite
from pipeline.config import Config, load_config
from pipeline.errors import ConfigFault, MemoryFault, OutOfMemory, StoreFault
from pipeline.history import History
from pipeline.lock import one_run
from pipeline.models import Ask
from pipeline.store import Store
from tests.support_command import memory
from tests.support_night import (
    NIGHT,
    Script,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)

Place = Callable[[str], Path]


@pytest.fixture
def small_disk(home: Path) -> Iterator[Place]:
    """Makes a disk of 8 MB at a folder of the home. Skips where nothing can be mounted."""
    mounted: list[Path] = []

    def mount(name: str) -> Path:
        place = home / name
        place.mkdir(parents=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"a disk cannot be mounted here: {done.stderr.strip()}")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)


@contextmanager
def full(place: Path) -> Iterator[None]:
    """No byte is left on the disk within the block."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (2**16, 2**10, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """The disk can only be read within the block."""
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)


def parked_or_tried(config: Config) -> int:
    """Jobs that count as failed."""
    store = Store(config.store_path)
    found = len(list(store.attempts.all()))
    store.close()
    return found


def undisturbed(tmp: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The articles of the same night in peace."""
    with monkeypatch.context() as patch:
        patch.setenv("HOME", str(tmp))
        for name in ("CONFIG_HOME", "CACHE_HOME", "DATA_HOME", "STATE_HOME"):
            patch.delenv(f"XDG_{name}")
        write_sessions(tmp)
        config = make_vault()
        run_night(config)
        return files(config.vault / "articles")


@pytest.mark.parametrize("trouble", [full, read_only])
@pytest.mark.parametrize("part", ["vault", "cache_dir", "data_dir"])
def test_a_disk_that_refuses(
    home: Path,
    small_disk: Place,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trouble: Callable[[Path], object],
    part: str,
) -> None:
    """The run ends with a fault that says so; nothing is damaged; the next night does it all."""
    expected = undisturbed(tmp_path / "peace", monkeypatch)
    disk = small_disk("disk")
    monkeypatch.setenv(f"MEMORY_{part.upper()}", str(disk / "own"))
    write_sessions(home)
    config = make_vault()
    run_night(config, only="chunk")  # the store is there; nothing is read yet
    before = files(config.vault)
    with trouble(disk), pytest.raises(MemoryFault) as caught:  # type: ignore[attr-defined]
        run_night(config)
    assert isinstance(caught.value, MemoryFault)
    told = f"{caught.value} {caught.value.mend}"
    assert any(word in told for word in ("space", "read", "full", "readonly")), told
    after = files(config.vault)
    assert {name: after[name] for name in before if name.startswith("articles")} == {
        name: text for name, text in before.items() if name.startswith("articles")
    }
    assert run_night(config).status == "done"
    assert files(config.vault / "articles") == expected
    assert parked_or_tried(config) == 0
    assert run_night(config).status == "nothing"


def test_no_room_for_the_lock(small_disk: Place) -> None:
    """A fault that names the file, not an error of the system; with room again it is free."""
    disk = small_disk("disk")
    path = disk / "run.lock"
    path.touch()
    with full(disk), pytest.raises(StoreFault, match="lock file") as caught, one_run(path):
        pass
    assert "space" in caught.value.mend
    with one_run(path) as killed:
        assert killed is None


def test_a_store_locked_by_another_program(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fault says it is locked; once it is free, the night goes on."""
    write_sessions(home)
    config = make_vault()
    run_night(config, only="ingest")
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.1)
    other = sqlite3.connect(config.store_path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr("sys.argv", ["memory", "synthesize"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == StoreFault.exit_code
    said = capsys.readouterr().err
    assert "locked" in said and "program" in said
    other.execute("ROLLBACK")
    other.close()
    assert run_night(config).status == "done"


def test_a_lock_in_the_middle_of_the_night(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is parked for what no job can help."""
    write_sessions(home)
    config = make_vault()
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.1)
    others: list[sqlite3.Connection] = []

    def label(ask: Ask) -> str:
        if not others:
            others.append(sqlite3.connect(config.store_path, isolation_level=None))
            others[0].execute("BEGIN IMMEDIATE")
        return "Work on the project"

    with pytest.raises(StoreFault, match="locked"):
        run_night(config, Script({"chunk/label": label}))
    others[0].execute("ROLLBACK")
    others[0].close()
    assert parked_or_tried(config) == 0
    assert run_night(config).status == "done"


@pytest.mark.parametrize("damage", ["not a database", "torn"])
def test_a_damaged_store_is_made_anew(home: Path, damage: str) -> None:
    """By the run itself, without a model call; the damaged one is kept, the vault as it was."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    before = files(config.vault)
    data = config.store_path.read_bytes()
    if damage == "torn":
        # every page but the first is noise: the file still says that it is a database
        data = data[:4096] + b"\xa5" * (len(data) - 4096)
    else:
        data = b"no database at all" * 1000
    for name in ("-wal", "-shm"):
        config.store_path.with_name(config.store_path.name + name).unlink(missing_ok=True)
    config.store_path.write_bytes(data)
    done = memory("synthesize")
    assert done.returncode == 0, done.stderr
    assert "made anew" in done.stderr
    assert (
        files(config.vault)["articles/Lantern project.md"] == before["articles/Lantern project.md"]
    )
    kept = [p for p in config.cache_dir.iterdir() if p.is_file() and p.read_bytes() == data]
    assert len(kept) == 1
    again = memory("synthesize")
    assert "nothing new" in again.stdout, again.stdout + again.stderr


def test_a_vault_that_was_moved(home: Path) -> None:
    """The fault names the place it looked in, and no new vault is made there."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    config.vault.rename(home / "elsewhere")
    with pytest.raises(ConfigFault, match="MemoryVault"):
        run_night(config)
    assert not config.vault.exists()
    moved = load_config(vault=home / "elsewhere", timezone="UTC", since_days="all")
    assert run_night(moved).status == "nothing"


def test_no_home(home: Path) -> None:
    """Exit 3 and what to set, not a vault at the root of the file system."""
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "synthesize"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
        env={"PATH": os.environ["PATH"], "HOME": ""},
    )
    assert done.returncode == 3 and "HOME" in done.stderr


def test_folders_of_somebody_else() -> None:
    """Permission denied is a fault that names the folder; nothing is half done."""
    with tempfile.TemporaryDirectory(prefix="theirs-") as place:
        home = Path(place)
        home.chmod(0o755)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = _as_nobody(home)
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0


def _as_nobody(home: Path) -> int:
    """A night whose vault belongs to somebody else; 0 if it is refused and leaves no trace."""
    for name in [n for n in os.environ if n.startswith(("XDG_", "MEMORY_"))]:
        del os.environ[name]
    os.environ.update({"HOME": str(home), "GIT_CONFIG_GLOBAL": os.devnull})
    write_sessions(home)
    config = make_vault()
    run_night(config, only="ingest")
    before = files(config.vault)
    articles = config.vault / "articles"
    if os.geteuid() == 0:
        for path in [home, *home.rglob("*")]:
            os.chown(path, 65534, 65534, follow_symlinks=False)
        os.chown(articles, 0, 0)
        os.seteuid(65534)
    else:
        articles.chmod(0o555)
    night = run_night(config)
    told = [reason for _, reasons in night.results.rejected for reason in reasons]
    refused = any("ermission" in reason and "articles" in reason for reason in told)
    articles_now = {n: t for n, t in files(config.vault).items() if n.startswith("articles")}
    same = articles_now == {n: t for n, t in before.items() if n.startswith("articles")}
    if os.geteuid() == 65534:
        os.seteuid(0)
    return 0 if refused and same else 1


def test_one_request_too_large_for_the_memory(home: Path) -> None:
    """Its job fails with the reason; the others are done, and it is tried another night."""
    write_sessions(home)
    config = make_vault()

    def claims(ask: Ask) -> str:
        if "Postgres" in ask.prompt:
            raise OutOfMemory("The model ran out of memory.")
        return Script().write("synthesize/claims", ask)  # type: ignore[return-value]

    night = run_night(config, Script({"synthesize/claims": claims}))
    assert night.status == "partial"
    ((_, reasons),) = night.results.rejected
    assert "out of memory" in reasons[0]
    assert "Harbor project" in "".join(files(config.vault / "articles"))


def test_a_stale_index_lock(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another git's lock: the articles wait, the vault is as it was, the next night does it."""
    monkeypatch.setattr("pipeline.git.PATIENCE", 0.3)
    write_sessions(home)
    config = make_vault()
    head = History(config.vault).head()
    lock = config.vault / ".git" / "index.lock"
    lock.write_text("")
    said = [("user", "Nothing of note."), ("assistant", "Nothing.")]
    write_session(home, "pi", "01a227e0-11a7-7b0c-92c2-99aa37193c09", NIGHT, said)
    night = run_night(config)
    assert night.status in ("partial", "failed")
    assert History(config.vault).head() == head
    lock.unlink()
    assert run_night(config, at=NIGHT.replace(day=30)).status in ("done", "partial")
