"""Odd but real states of a machine: told in words, with the file and the cure; nothing waits."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline import anvil, ordinary
from pipeline.archive import Archive
from pipeline.cli.printing import hand_over
from pipeline.config import load_config
from pipeline.errors import ConfigFault, MemoryFault, StoreFault, VaultFault
from pipeline.inventory import days_kept
from pipeline.lock import holder, one_run
from pipeline.models.fetch import MANIFEST, check_files
from pipeline.project import machine
from pipeline.project.call import Call
from pipeline.prompts import Prompts
from pipeline.recall.library import library
from pipeline.refusals import last_words
from pipeline.repository import repository
from pipeline.resources import folder
from pipeline.silence import scheduled
from pipeline.store.journal import frames, journal_files
from pipeline.user_files import text_of
from pipeline.vault import Vault

SETTINGS = Path(".config") / "nightly-memory" / "config.toml"
SOURCE = Path(__file__).parents[1]


@pytest.fixture
def impatient() -> Iterator[None]:
    """Whoever waits for a pipe fails the test instead of hanging it."""

    def wait_no_longer(number: int, frame: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, wait_no_longer)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def run(
    module: str, *arguments: str, unbuffered: bool = False, **more: object
) -> subprocess.CompletedProcess[str]:
    """A command as a process of its own, in the test's home."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": ""}
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        text=True,
        check=False,
        env=env | {"PYTHONUNBUFFERED": "1"} if unbuffered else env,
        **more,  # type: ignore[call-overload]
    )
    return done


def pipe(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


def settings(home: Path, text: str) -> Path:
    path = home / SETTINGS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# ------------------------------------------------------------------ what is no file


def test_only_an_ordinary_file_is_opened(tmp_path: Path, impatient: None) -> None:
    """Not a pipe, nor a socket, a device or a folder; each by its name, no descriptor left."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "socket"))
    odd = [pipe(tmp_path / "pipe"), tmp_path / "socket", Path("/dev/zero"), tmp_path]
    for path in odd:
        with pytest.raises(OSError) as refused:
            ordinary.content(path)
        assert refused.value.filename == str(path) or path.name == "socket"
    listening.close()
    (tmp_path / "file").write_bytes(b"\0words")
    assert ordinary.content(tmp_path / "file") == b"\0words"
    assert not [
        name for name in os.listdir("/dev/fd") if os.path.exists(f"/dev/fd/{name}")  # noqa: PTH110, PTH208
        and str(tmp_path) in os.path.realpath(f"/dev/fd/{name}")
    ]  # fmt: skip


def test_a_page_that_is_a_pipe_is_refused(tmp_path: Path, impatient: None) -> None:
    """By every way to read one."""
    vault = Vault(tmp_path)
    vault.seed(folder("vault_meta"))
    (tmp_path / "Meta" / "Buckets.md").unlink()
    pipe(tmp_path / "Meta" / "Buckets.md")
    for look in (vault.page, vault.hash):
        with pytest.raises(VaultFault, match=r"Buckets\.md: it is no ordinary file"):
            look("Meta/Buckets.md")
    with pytest.raises(VaultFault, match="no ordinary file"):
        vault.meta("Buckets.md")


def test_a_search_does_not_wait_for_a_pipe(home: Path, impatient: None) -> None:
    """Without the list of topics nobody knows what must not be told."""
    config = load_config()
    Vault(config.vault).seed(folder("vault_meta"))
    (config.vault / "Meta" / "Topics_to_Ignore.md").unlink()
    pipe(config.vault / "Meta" / "Topics_to_Ignore.md")
    with library(config) as lib, pytest.raises(VaultFault, match=r"Topics_to_Ignore\.md"):
        lib.sections.fresh()
        lib.sections.listed_in("Meta/Topics_to_Ignore.md", str.split)


def test_a_lock_that_is_a_pipe_is_refused(tmp_path: Path, impatient: None) -> None:
    """And nobody holds it."""
    path = pipe(tmp_path / "run.lock")
    assert holder(path) is None
    with pytest.raises(StoreFault, match=r"run\.lock: it is no ordinary file"), one_run(path):
        pass


def test_what_else_is_read_does_not_wait(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, impatient: None
) -> None:
    """Settings of agents, prompts, jobs, the journal and the archive."""
    with pytest.raises(ConfigFault, match="no ordinary file"):
        text_of(pipe(tmp_path / "settings.json"))
    with pytest.raises(StoreFault, match="no ordinary file"):
        list(frames(pipe(tmp_path / "00000001.jsonl.zst")))
    pipe(tmp_path / "archive" / "pi" / "2000" / "01" / "0123abcd.jsonl.zst")
    with pytest.raises(StoreFault, match="no ordinary file"):
        Archive(tmp_path / "archive").read("0123abcd")
    pipe(tmp_path / "own" / "chunk" / "keep.md")
    with pytest.raises(ConfigFault, match="no ordinary file"):
        Prompts(folder("prompts"), override=tmp_path / "own").all()
    pipe(home / ".claude" / "settings.json")
    assert days_kept({}, home) == 30
    pipe(home / ".config" / "systemd" / "user" / "nightly-memory.timer")
    assert scheduled({}, home) is None
    pipe(home / ".local" / "share" / "nightly-memory" / "projects.txt")
    assert machine.registered(home / ".local" / "share" / "nightly-memory") == []


# ------------------------------------------------------------------ settings


def odd_settings() -> dict[str, Callable[[Path], object]]:
    def instead(make: Callable[[Path], object]) -> Callable[[Path], object]:
        def made(path: Path) -> object:
            path.unlink()
            return make(path)

        return made

    return {
        "a folder": instead(Path.mkdir),
        "a pipe": instead(os.mkfifo),
        "a link to nothing": instead(lambda path: path.symlink_to("nowhere")),
        "a link to itself": instead(lambda path: path.symlink_to(path)),
        "too deep": lambda path: path.write_text(f"a = {'[' * 5000}{']' * 5000}"),
        "too many digits": lambda path: path.write_text(f"max_minutes = {'9' * 5000}"),
    }


@pytest.mark.parametrize("state", odd_settings())
def test_settings_that_cannot_be_read_are_named(home: Path, state: str, impatient: None) -> None:
    """They do not pass for no settings, under which the vault would be another."""
    path = settings(home, "")
    odd_settings()[state](path)
    with pytest.raises(ConfigFault, match=r"config\.toml") as fault:
        load_config()
    assert fault.value.mend
    assert machine.settings(os.environ, home).vault == home / "MemoryVault"


@pytest.mark.parametrize("key", ["vault", "cache_dir", "data_dir"])
def test_a_folder_with_a_nul_is_refused(home: Path, key: str) -> None:
    """No file system has such a name."""
    settings(home, f'{key} = "/a\\u0000b"\n')
    with pytest.raises(ConfigFault, match=f"`{key}`.*NUL"):
        load_config()
    found = machine.settings(os.environ, home)
    assert "\0" not in str(getattr(found, key)) and key in found.ignored[0]


def test_a_settings_file_of_nobodys_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is named, not an error of the interpreter's."""
    monkeypatch.setenv("MEMORY_CONFIG", "~no-such-user-here/config.toml")
    with pytest.raises(ConfigFault, match="MEMORY_CONFIG is '~no-such-user-here"):
        load_config()


# ------------------------------------------------------------------ folders and files of ours


def test_articles_that_lead_to_themselves(tmp_path: Path) -> None:
    """A circle of links is no folder of articles, and no error of the interpreter's."""
    (tmp_path / "articles").symlink_to(tmp_path / "articles")
    assert Vault(tmp_path).stems() == ()
    with pytest.raises(VaultFault):
        Vault(tmp_path).page("articles/One.md")


def test_a_vault_that_cannot_be_made_says_what_stands_there(tmp_path: Path) -> None:
    """A file where a folder is to be; a link to nothing is left alone."""
    (tmp_path / "one").write_text("x")
    with pytest.raises(VaultFault, match=f"cannot make {tmp_path}/one") as fault:
        Vault(tmp_path / "one").seed(folder("vault_meta"))
    assert fault.value.exit_code == 6
    (tmp_path / "two" / "Meta").mkdir(parents=True)
    page = tmp_path / "two" / "Meta" / "Buckets.md"
    page.symlink_to(tmp_path / "elsewhere.md")
    Vault(tmp_path / "two").seed(folder("vault_meta"))
    assert page.is_symlink() and not (tmp_path / "elsewhere.md").exists()


@pytest.mark.parametrize(
    "said",
    ['{"pid": 1e999, "started": 1}', '{"pid": -5, "started": 1}', '{"pid": 7, "started": 1e300}',
     '{"pid": 99999999999999999999, "started": 1}', "\udcff"],
)  # fmt: skip
def test_a_lock_with_nonsense_in_it_is_free(tmp_path: Path, said: str) -> None:
    """A run begins, and leaves the file empty."""
    path = tmp_path / "run.lock"
    path.write_bytes(said.encode("utf-8", "surrogateescape"))
    assert holder(path) is None
    with one_run(path) as killed:
        assert killed is None
    assert path.read_bytes() == b""


@pytest.mark.parametrize("pointer", ["a\0b", "x" * 5000])
def test_a_git_pointer_to_no_path_is_no_repository(tmp_path: Path, pointer: str) -> None:
    """A circle of links is none either."""
    (tmp_path / ".git").write_text(f"gitdir: {pointer}\n")
    found = repository(tmp_path)
    assert found is None or not found.git.name.startswith("a")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / ".git").write_text("gitdir: circle/x\n")
    assert repository(tmp_path) is None


def test_a_journal_that_cannot_be_listed_is_not_empty(tmp_path: Path) -> None:
    """An empty one would let a store that knows less be worked with."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreFault, match=f"cannot list the journal {tmp_path}/file"):
        journal_files(tmp_path / "file")
    assert journal_files(tmp_path / "nothing") == []


def test_a_project_the_night_cannot_be_told_of(tmp_path: Path) -> None:
    """The list is named, and what to do."""
    (tmp_path / "data").write_text("x")
    with pytest.raises(StoreFault, match=r"cannot write .*projects\.txt") as fault:
        machine.register(tmp_path / "data", tmp_path / "memory.db")
    assert "anvil-memory init" in fault.value.mend


@pytest.mark.parametrize("said", [b"\xff", b"[]", b'{"files": 7}'])
def test_a_damaged_manifest_is_told(tmp_path: Path, said: bytes) -> None:
    """As what is wrong with the model."""
    (tmp_path / MANIFEST).write_bytes(said)
    (wrong,) = check_files(tmp_path)
    assert f"{MANIFEST} cannot be read" in wrong


# ------------------------------------------------------------------ the command itself


@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize("module", ["pipeline", "pipeline.anvil"])
def test_a_reader_that_was_never_there_is_no_fault(
    home: Path, module: str, unbuffered: bool
) -> None:
    """As with `| true`: exit 0, and not a word, also of what fits into the pipe."""
    command = ["init"] if module == "pipeline.anvil" else ["config", "path"]
    reading, writing = os.pipe()
    os.close(reading)
    done = run(
        module, *command, unbuffered=unbuffered, stdout=writing, stderr=subprocess.PIPE, cwd=home
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize("module", ["pipeline", "pipeline.anvil"])
def test_output_to_a_full_disk_is_told(home: Path, module: str, unbuffered: bool) -> None:
    """The reader lacks it: not exit 0."""
    command = ["init"] if module == "pipeline.anvil" else ["config", "path"]
    with Path("/dev/full").open("w") as full:
        done = run(
            module, *command, unbuffered=unbuffered, stdout=full, stderr=subprocess.PIPE, cwd=home
        )
    assert done.returncode == 1
    assert "what the command prints cannot be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


def test_closed_output_is_no_fault(home: Path) -> None:
    """As with `>&-`."""
    line = f"{sys.executable} -m pipeline.anvil init >&-"
    done = subprocess.run(
        line, shell=True, cwd=home, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command of a project has to know where it is called."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigFault, match="the folder that this was called in"):
        Call.here({})
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("module", ["pipeline", "pipeline.anvil"])
def test_what_the_system_refuses_is_told_with_its_path(home: Path, module: str) -> None:
    """Two lines and a code, whatever file it was."""
    long = f"/{'x' * 300}"
    settings(home, f"cache_dir = {json.dumps(long)}\ndata_dir = {json.dumps(long)}\n")
    command = ["init"] if module == "pipeline.anvil" else ["list"]
    done = run(module, *command, capture_output=True, cwd=home)
    assert done.returncode in (1, 7)
    assert "Traceback" not in done.stderr
    assert "File name too long" in done.stderr and long in done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_what_nobody_foresaw_keeps_its_place_in_the_code() -> None:
    """A mistake of ours is not told as if the machine had made it."""
    assert last_words(ValueError("oh")) is None
    assert last_words(OSError("without a path")) is None
    refused = last_words(PermissionError(13, "Permission denied", "/a/b"))
    assert refused and str(refused) == "Permission denied: /a/b" and refused.mend
    own = VaultFault("said")
    assert last_words(own) is own


def test_what_waits_to_be_written_is_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the output is one of the command's."""

    class Full:
        def flush(self) -> None:
            raise OSError(28, "No space left on device")

        def fileno(self) -> int:
            return os.open(os.devnull, os.O_WRONLY)

    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(MemoryFault, match="No space left"):
        hand_over()


def test_anvil_ends_with_two_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a store is no store's file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANVIL_MEMORY_DB", f"/{'x' * 300}/memory.db")
    assert anvil.run(["stats"]) != 0
    assert "File name too long" in capsys.readouterr().err
