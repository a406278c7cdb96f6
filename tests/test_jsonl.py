"""Reading JSON Lines: every whole record, whatever stands beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import SourceFault
from pipeline.sources.jsonl import JsonLines, find


def read(path: Path, data: bytes, **options: Any) -> tuple[list[tuple[int, Any]], JsonLines]:
    path.write_bytes(data)
    lines = JsonLines(path, **options)
    return list(lines), lines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


def test_bom_line_ends_blank_lines_and_nuls_are_no_trouble(path: Path) -> None:
    """What editors, Windows and crashes add is passed over, and lines keep their numbers."""
    records, lines = read(path, b'\xef\xbb\xbf{"a":1}\r\n\n\0\0\0\n{"a":2}\r\n')
    assert records == [(1, {"a": 1}), (4, {"a": 2})]
    assert lines.bad_lines == []
    assert lines.offset == path.stat().st_size


def test_a_line_separator_inside_a_string_does_not_split_the_line(path: Path) -> None:
    """U+2028 is a character like any other, and so is a raw tab."""
    records, _ = read(path, '{"a":"x\u2028y\u0085z\tt"}\n'.encode())
    assert records == [(1, {"a": "x\u2028y\u0085z\tt"})]


def test_glued_records_are_all_read(path: Path) -> None:
    """A crash that lost the newline between two records loses neither."""
    records, lines = read(path, b'{"a":1}{"a":2} {"a":3}\n')
    assert records == [(1, {"a": 1}), (1, {"a": 2}), (1, {"a": 3})]
    assert lines.bad_lines == []


@pytest.mark.parametrize("braces", [0, 5, 6, 7, 8, 100])
@pytest.mark.parametrize("between", [b"", b" ", b"\r", b"\0\0\0\0"])
def test_a_record_glued_to_one_that_says_nothing_is_read(
    path: Path, between: bytes, braces: int
) -> None:
    """What is told of the line is told of the first record, few braces or many in it; what a power
    cut leaves are NULs."""
    silent = b'{"silent":"' + b"};" * braces + b'"}'
    data = silent + between + b'{"a":2}\n' + silent + b"\n"
    records, _ = read(path, data, passes=lambda line: line.startswith(silent))
    assert records == [(1, {"silent": "};" * braces}), (1, {"a": 2})]


def test_printed_records_are_read(path: Path) -> None:
    """Written for people, over many lines and one behind the other; one that was cut costs only
    itself, and what follows keeps its number and place."""
    one = json.dumps({"a": {"b": [1, 2]}}, indent=2)
    two = json.dumps({"c": "x\u2028y\n}"}, indent="\t", ensure_ascii=False)
    text = f'{one}{two}\n{one}\n{{"d":1}}\n{{\n  "cut": [\n{{"d":2}}\n{two}\r\n'
    records, lines = read(path, b"\xef\xbb\xbf" + text.encode())
    assert [record for _, record in records] == [
        {"a": {"b": [1, 2]}}, {"c": "x\u2028y\n}"}, {"a": {"b": [1, 2]}}, {"d": 1}, {"d": 2},
        {"c": "x\u2028y\n}"},
    ]  # fmt: skip
    assert [bad.line for bad in lines.bad_lines] == [20]
    assert [line for line, _ in records] == [1, 1, 11, 19, 22, 23]
    assert lines.offset == path.stat().st_size
    assert next(iter(JsonLines(path, start=path.read_bytes().index(b'{"d":2}'))))[1] == {"d": 2}


def test_bad_lines_are_reported_where_they_stand(path: Path) -> None:
    """Not JSON, no object, nested too deep: named by line; the rest is read."""
    deep = b"[" * 100_000
    records, lines = read(path, b'{"a":1}\n{nope\n42\n' + deep + b'\n{"a":2}\xff\n{"a":3}\n')
    assert [line for line, _ in records] == [1, 5, 6]
    assert [bad.line for bad in lines.bad_lines] == [2, 3, 4, 5]
    assert all(bad.path == path and bad.reason for bad in lines.bad_lines)


def test_broken_utf8_is_replaced_not_fatal(path: Path) -> None:
    """One bad byte costs one character."""
    assert read(path, b'{"a":"x\xffy"}\n')[0] == [(1, {"a": "x\ufffdy"})]


def test_a_tail_being_written_is_never_passed(path: Path) -> None:
    """A cut tail is no fault; a whole one is read; the offset stays before both."""
    records, lines = read(path, b'{"a":1}\n{"a":')
    assert (records, lines.offset, lines.bad_lines) == ([(1, {"a": 1})], 8, [])
    records, lines = read(path, b'{"a":1}\n{"a":2}')
    assert (records, lines.offset) == ([(1, {"a": 1}), (2, {"a": 2})], 8)


def test_a_line_that_is_too_long_is_passed_over(path: Path) -> None:
    """It is reported by its number, and the lines around it are read."""
    long = b'{"a":"' + b"x" * 5_000 + b'"}'
    records, lines = read(path, b'{"a":1}\n' + long + b'\n{"a":2}\n', max_line=1_000)
    assert records == [(1, {"a": 1}), (3, {"a": 2})]
    assert [bad.line for bad in lines.bad_lines] == [2]
    assert lines.offset == path.stat().st_size
    _, lines = read(path, b'{"a":1}\n' + long, max_line=1_000)
    assert lines.offset == 8


@given(st.integers(0, 2**32), st.integers(1, 3))
def test_a_packed_file_is_read_whole_or_not_at_all(
    tmp_path_factory: pytest.TempPathFactory, place: int, frames: int
) -> None:
    """In one frame or several; cut anywhere within one it is a fault, never a shorter file."""
    path = tmp_path_factory.mktemp("packed") / "a.jsonl.zst"
    one = b"".join(b'{"a":"%064x"}\n' % (n**20) for n in range(500))
    packed = zstandard.compress(one)
    records, lines = read(path, packed * frames)
    assert len(records) == 500 * frames
    assert lines.bad_lines == []
    cut = packed[: 1 + place % (len(packed) - 1)]
    with pytest.raises(SourceFault, match="cut short"):
        read(path, packed * (frames - 1) + cut)


def test_a_file_that_cannot_be_opened_is_a_source_fault(tmp_path: Path) -> None:
    """The fault names the file."""
    with pytest.raises(SourceFault, match=r"gone\.jsonl"):
        list(JsonLines(tmp_path / "gone.jsonl"))
    with pytest.raises(SourceFault):
        list(JsonLines(tmp_path))


@given(st.lists(st.one_of(st.binary(max_size=40), st.just(b"\x00MARK")), max_size=12))
def test_no_bytes_lose_a_whole_line(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    """Whatever the other lines hold, each whole record on a line of its own is read once."""
    record = json.dumps({"mark": "here"}).encode()
    whole = [record if line == b"\x00MARK" else line.replace(b"mark", b"") for line in lines]
    data = b"".join(line + b"\n" for line in whole)
    records, reader = read(tmp_path_factory.mktemp("lines") / "a.jsonl", data)
    assert sum(r == {"mark": "here"} for _, r in records) == lines.count(b"\x00MARK")
    assert reader.offset == len(data)


def test_files_are_found_without_leaving_the_root(tmp_path: Path) -> None:
    """Sorted, *.jsonl only, not in folders left out, no link out of the root, no loop."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for path in (root / "b" / "2.jsonl", root / "a.jsonl", root / "skip" / "3.jsonl"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (root / "b" / "notes.txt").touch()
    outside.mkdir()
    (outside / "secret.jsonl").touch()
    (root / "link.jsonl").symlink_to(outside / "secret.jsonl")
    (root / "away").symlink_to(outside)
    (root / "loop").symlink_to(root)
    (root / "inside.jsonl").symlink_to(root / "a.jsonl")
    (root / "folder.jsonl").mkdir()
    expected = [root / "a.jsonl", root / "b" / "2.jsonl", root / "inside.jsonl"]
    assert find([root, root / "b", tmp_path / "missing"], frozenset({"skip"})) == expected
