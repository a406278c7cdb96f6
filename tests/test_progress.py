"""A run's events made visible."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from pipeline.progress import watcher
from pipeline.records import Event


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_log_gets_few_lines_however_many_items() -> None:
    """A stage of thousands of items writes a line per tenth, the first and last among them."""
    stream = io.StringIO()
    with watcher(stream) as say:
        for done in range(5001):
            say(Event("ingest", done, 5000))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[0] == "ingest: 0/5000"
    assert lines[-1] == "ingest: 5000/5000"


def test_a_log_line_says_stage_count_message_and_speed() -> None:
    """A line carries all an event says, and every stage begins a line of its own."""
    stream = io.StringIO()
    with watcher(stream) as say:
        say(Event("chunk", 1, 2, "first topic", 31.4))
        say(Event("cluster", 0, 0, "nothing to do"))
    assert stream.getvalue() == ("chunk: 1/2 · first topic · 31 tokens/s\ncluster: nothing to do\n")


def test_a_title_cannot_break_a_line_or_move_the_cursor() -> None:
    """Line ends and escape sequences in a message are flattened."""
    stream = io.StringIO()
    with watcher(stream) as say:
        say(Event("chunk", 1, 1, "one\ntwo\x1b[2J\rthree"))
    assert stream.getvalue() == "chunk: 1/1 · one two [2J three\n"


def test_a_log_in_a_poor_locale_takes_any_title(tmp_path: Path) -> None:
    """Letters that the stream's encoding lacks are escaped, not refused."""
    path = tmp_path / "log"
    with path.open("w", encoding="ascii") as stream, watcher(stream) as say:
        say(Event("chunk", 1, 1, "日記"))
    assert path.read_text(encoding="ascii").splitlines() == [r"chunk: 1/1 \xb7 \u65e5\u8a18"]


def test_json_is_one_object_per_event() -> None:
    """Each event is a line of JSON with the fields of the record, paths as text."""
    stream = io.StringIO()
    with watcher(stream, json=True) as say:
        say(Event("wikify", 1, 3, "a\nb", 2.5, {"path": Path("articles/x.md")}))
        say(Event("wikify", 2, 3))
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first == {
        "stage": "wikify",
        "done": 1,
        "total": 3,
        "message": "a\nb",
        "tokens_per_second": 2.5,
        "data": {"path": "articles/x.md"},
    }
    assert second["done"] == 2


def test_a_terminal_shows_stage_items_speed_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal every stage keeps a row with its count and speed; markup stays text."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with watcher(stream) as say:
        say(Event("chunk", 2, 4, "[bold]topic[/bold]", 12.0))
        say(Event("cluster", 1, 2))
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    assert "2/4" in last
    assert "12 tokens/s" in last
    assert "[bold]topic[/bold]" in last
    assert re.search(r"cluster.*1/2", last)
    assert re.search(r"--:--|\d\d:\d\d", last)


def test_a_long_message_leaves_the_numbers_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a path is, stage and count stand whole in a narrow terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with watcher(stream) as say:
        say(Event("synthesize", 12, 14, "/a/long/folder" * 20, 12.0))
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()).strip().splitlines()[-1]
    assert last.startswith("synthesize")
    assert "12/14" in last
    assert "12 tokens/s" in last
    assert len(last) <= 80


def test_a_reader_that_goes_away_does_not_stop_the_run() -> None:
    """Events after a broken pipe or a closed stream are dropped."""
    closed = io.StringIO()
    closed.close()

    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    for stream in (Broken(), closed):
        with watcher(stream, json=True) as say:
            say(Event("chunk", 1, 2))
            say(Event("chunk", 2, 2))
