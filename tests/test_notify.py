"""Telling that a run has ended: nothing said can be taken for code, nothing raised."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.notify import notify, tell_command
from pipeline.system import NOT_THERE, TOO_LATE, Answer, ask

NASTY = '"\nend run\n`rm` $(x) \x00 \ud800 <b>&'


class Heard:
    """An `ask` that notes what it is asked for."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.argv: list[str] = []
        self.given = ""
        self.seconds = 0.0
        self._answer = answer or Answer(0)

    def __call__(self, argv: Sequence[str], *, given: str = "", seconds: float = 20.0) -> Answer:
        self.argv, self.given, self.seconds = list(argv), given, seconds
        return self._answer


def test_on_a_mac_the_words_are_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script is the same whatever is said; title and text follow it as words."""
    monkeypatch.setattr(sys, "platform", "darwin")
    plain, nasty = Heard(), Heard()
    assert notify("Title", "Text", plain) and notify("-e Title", NASTY, nasty)
    assert plain.argv[0] == "osascript" and plain.argv[-2:] == ["Title", "Text"]
    assert nasty.argv[:-2] == plain.argv[:-2]
    assert nasty.argv[-2:] == ["e Title", '" end run `rm` $(x) ? <b>&']


def test_on_linux_the_text_is_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    """Desktops show a body with its tags obeyed."""
    monkeypatch.setattr(sys, "platform", "linux")
    heard = Heard()
    assert notify("A <b>", "A <b> & more", heard)
    assert heard.argv[0] == "notify-send"
    assert heard.argv[-3:] == ["--", "A <b>", "A &lt;b&gt; &amp; more"]


@pytest.mark.parametrize("code", [1, NOT_THERE, TOO_LATE])
def test_no_notification_is_no_fault(code: int) -> None:
    """No desktop, no program, no answer."""
    assert not notify("Title", "Text", Heard(Answer(code, err="why")))


@given(title=st.text(), text=st.text())
def test_any_words_can_be_passed_to_a_program(title: str, text: str) -> None:
    """One line of bounded length that every program can be started with."""
    heard = Heard()
    notify(title, text, heard)
    for word in heard.argv[-2:]:
        assert "\0" not in word and "\n" not in word
        assert len(word.encode()) < 8000


def test_a_program_can_be_started_with_the_words() -> None:
    """The worst of them, by the system itself."""
    heard = Heard()
    notify(NASTY, NASTY, heard)
    assert ask([sys.executable, "-c", "", *heard.argv[-2:]]).code == 0


def test_the_command_gets_the_result(tmp_path: Path) -> None:
    """On its standard input, its words as they are."""
    told = tmp_path / "told"
    program = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"
    assert tell_command([sys.executable, "-c", program, str(told)], '{"status": "done"}', ask)
    assert told.read_text() == '{"status": "done"}'


def test_the_command_has_a_minute() -> None:
    """And nothing is started where none is set."""
    heard = Heard()
    assert tell_command(["x"], "{}", heard)
    assert heard.seconds == 60
    assert tell_command([], "{}", Heard(Answer(1)))


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["/nowhere/program"], "No such file"),
        ([sys.executable, "-c", "import sys; sys.exit('my own words')"], "my own words"),
        (["a\0b"], "null byte"),
    ],
)
def test_a_command_that_fails_is_logged(
    argv: list[str], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With its first words; the run goes on."""
    with caplog.at_level(logging.WARNING):
        assert not tell_command(argv, "{}", ask)
    assert words in caplog.text


def test_a_command_that_does_not_read_is_no_fault() -> None:
    """A result larger than a pipe holds, to a program that ends at once."""
    assert tell_command([sys.executable, "-c", ""], "x" * 1_000_000, ask)
