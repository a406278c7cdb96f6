"""What must not be written: secrets, private spans, what was injected, what the user named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.records import Done
from pipeline.spans import CONTEXT_TAG, without_spans
from tests.support_ingest import V4, House, new_house, said
from tests.support_transcripts import write_lines

Build = Callable[..., House]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """Makes houses, each in a folder of its own; settings of the table [ingest] by name."""
    made: list[House] = []

    def new(**settings: object) -> House:
        made.append(new_house(tmp_path / f"house{len(made)}", **settings))
        return made[-1]

    yield new
    for house in made:
        house.desk.store.close()


@pytest.fixture
def house(build: Build) -> House:
    return build()


# ------------------------------------------------------------------ once


def test_a_secret_reaches_no_file(house: House) -> None:
    """Planted in a text, a title, an action's path and a private span: in no byte of the
    database, its WAL or the archive, though the words around it are there."""
    secret, private = "gh" + "p_" + "A1b2C3d4" * 5, "never-to-be-told"
    entry = said("assistant", 1, f"The key is {secret}, heron.")
    message = {**dict(entry["message"])}  # type: ignore[call-overload]
    message["content"] = [
        *message["content"],
        {"type": "tool_use", "name": "Read", "input": {"file_path": f"/tmp/{secret}"}},
    ]
    lines = [
        said("user", 0, f"Use {secret} <private>{private}</private> please."),
        {**entry, "message": message},
        {"type": "custom-title", "customTitle": f"About {secret} <private>{private}"},
    ]
    write_lines(house.claude / "p" / f"{V4}.jsonl", lines)
    (outcome,) = house.night()
    assert isinstance(outcome, Done)
    assert outcome.counts["redacted github"] == 3
    written = [p for place in ("cache", "data") for p in (house.root / place).rglob("*")]
    files = [path for path in written if path.is_file()]
    assert any(path.name.endswith("-wal") for path in files)
    for path in files:
        content = path.read_bytes()
        assert secret.encode() not in content, path
        assert private.encode() not in content, path
    talk, messages = house.desk.archive.read("3f2a9c10")
    said_now = f"{talk.title} {messages} "
    assert secret not in said_now
    assert private not in said_now
    assert messages[1].text == "The key is [REDACTED:github], heron."


def test_mail_addresses_go_when_asked(build: Build) -> None:
    """The options of the configuration reach redaction."""
    house = build(redact_emails=True)
    write_lines(house.claude / "p" / f"{V4}.jsonl", [said("user", 0, "Ask jo@example.org.")])
    house.night()
    assert house.texts() == {V4: ["Ask [REDACTED:email]."]}


def test_the_users_own_patterns_and_cards_go_when_asked(build: Build) -> None:
    """Both options reach redaction: nothing of either is stored."""
    house = build(redact_payments=True, redact_patterns={"badge": "BADGE-[0-9]{4}"})
    words = "Badge BADGE-1234 pays with 4111 1111 1111 1111."
    write_lines(house.claude / "p" / f"{V4}.jsonl", [said("user", 0, words)])
    house.night()
    (text,) = house.texts()[V4]
    assert "1234" not in text and "4111" not in text and "[REDACTED:badge]" in text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a <private>b", "a "),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        (f"<{CONTEXT_TAG}>\nold news\n</{CONTEXT_TAG}>\nnew", "\nnew"),
        (f"<{CONTEXT_TAG}>quotes <private>x</{CONTEXT_TAG}> b", " b"),
        ("a </private> b", "a </private> b"),
        ("the word private", "the word private"),
    ],
)
def test_private_and_injected_spans_go(text: str, left: str) -> None:
    """Closed, nested, or never closed; a stray closing tag takes nothing with it."""
    assert without_spans(text) == left
