"""What transcripts hold does not steer the terminal it is printed on."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.config import Config, load_config
from pipeline.resources import folder
from pipeline.terminal import visible
from tests.support_recall import store
from tests.support_store import fill

CLIPBOARD = "\x1b]52;c;cm0gLXJmIC8=\x07"  # OSC 52: fills the clipboard
ERASED = "\x1b[2K\x1b[1A"  # CSI: erases the line and goes up
SAID = f"Harbor {CLIPBOARD}importer {ERASED}reads\r\nfiles.\x9b2J\tAll of them."


def on_a_terminal(*command: str, cwd: Path | None = None, code: int = 0) -> bytes:
    """All that a real terminal is sent by the command."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-P", "-m", *command],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env={**os.environ, "TERM": "xterm-256color"},
    ) as process:
        os.close(theirs)
        sent = b""
        while piece := _read(ours):
            sent += piece
    os.close(ours)
    assert process.returncode == code, sent
    return sent


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # EIO, once nobody holds the other end
        return b""


def piped(*command: str, cwd: Path | None = None, **environment: str) -> bytes:
    """What the command writes to a pipe."""
    run = [sys.executable, "-P", "-m", *command]
    around = {**os.environ, **environment}
    done = subprocess.run(run, check=False, capture_output=True, cwd=cwd, env=around)
    assert done.returncode == 0, done.stderr
    return done.stdout


def is_steered(sent: bytes) -> bool:
    """Whether something of what was said came through; a command's own colours are none of it."""
    return any(sign in sent for sign in (b"\x1b]", b"\x07", b"\x1b[2K", b"\x1b[1A", b"\xc2\x9b"))


@pytest.fixture
def config() -> Config:
    """A home with a conversation in it."""
    config = load_config(timezone="UTC")
    config.vault.mkdir(parents=True)
    with store(config) as opened:
        fill(opened, "1a2b3c4d", [SAID, "Well."])
    return config


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("command", [("source", "conv:1a2b3c4d"), ("search", "harbor importer")])
def test_a_message_does_not_steer_the_terminal(command: tuple[str, ...]) -> None:
    """Neither by the quick way of a search nor by the long way of all other commands."""
    sent = on_a_terminal("pipeline", *command)
    assert b"importer" in sent
    assert not is_steered(sent)


@pytest.mark.usefixtures("config")
def test_a_program_is_given_what_was_said_to_the_byte() -> None:
    """Piped, a message is not changed: a patch must still apply."""
    assert SAID.splitlines()[0].encode() in piped("pipeline", "source", "conv:1a2b3c4d")


def test_an_observation_does_not_steer_the_terminal(tmp_path: Path) -> None:
    """Titles and texts of the project's store come from tools as well."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    piped("pipeline.anvil", "init", cwd=tmp_path)
    piped(
        "pipeline.anvil",
        "observe",
        "--type",
        "discovery",
        "--title",
        SAID,
        "--content",
        SAID,
        cwd=tmp_path,
    )
    for command in (("search", "harbor"), ("context",), ("export",)):
        sent = on_a_terminal("pipeline.anvil", *command, cwd=tmp_path)
        assert b"importer" in sent, command
        assert not is_steered(sent), command
    [kept] = json.loads(piped("pipeline.anvil", "search", "harbor", "--json", cwd=tmp_path))
    assert "importer" in json.dumps(kept)


@pytest.mark.parametrize(("options", "code"), [((), 4), (("--debug",), 1)])
def test_neither_a_fault_nor_its_traceback_steers_the_terminal(
    options: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    """A file that cannot be taken in may be named as it likes."""
    named = tmp_path / f"{CLIPBOARD}{ERASED}" / "x.json"
    named.parent.mkdir()
    named.write_text("[]")
    sent = on_a_terminal("pipeline", *options, "import", str(named), code=code)
    assert b"x.json" in sent
    assert not is_steered(sent)


def test_brackets_are_no_markup(tmp_path: Path) -> None:
    """The file of a prompt of one's own is named in a table, in whatever folder it lies."""
    own = tmp_path / "[bold] [/notes]"
    shutil.copytree(
        Path(str(folder("prompts"))) / "synthesize", own / "nightly-memory/prompts/synthesize"
    )
    sent = piped("pipeline", "prompts", "list", XDG_CONFIG_HOME=str(own), COLUMNS="400")
    assert f"{own}/nightly-memory/prompts/synthesize/claims.md".encode() in sent


def test_each_control_has_a_sign_of_its_own() -> None:
    """By Unicode's Control Pictures; tabs and ends of lines, Windows' too, stay."""
    assert visible("a\tb\nc\r\nd") == "a\tb\nc\r\nd"
    assert visible("\0\x1b\x7f\x9b\r.") == "␀␛␡�␍."
