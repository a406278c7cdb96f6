"""What must not be written: secrets, private spans, what was injected, what the user named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

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


BARE = "q7Rk2" + "vT9xLm4" + "Zp8w"  # made up; of no issuer's shape


def test_a_secret_named_once_goes_where_it_stands_bare(house: House) -> None:
    """Before and after it was named, in texts, in a title and in an action's path; counted."""
    entry = said("assistant", 2, f"I try {BARE} now.")
    message = {**dict(entry["message"])}  # type: ignore[call-overload]
    message["content"] = [
        *message["content"],
        {"type": "tool_use", "name": "Read", "input": {"file_path": f"/srv/{BARE}/beds.md"}},
    ]
    lines = [
        said("user", 0, f"What is {BARE} good for?"),
        said("user", 1, f"password={BARE}"),
        {**entry, "message": message},
        {"type": "custom-title", "customTitle": f"About {BARE}"},
    ]
    write_lines(house.claude / "p" / f"{V4}.jsonl", lines)
    (outcome,) = house.night()
    talk = house.desk.store.conversations.get("3f2a9c10")
    messages = house.desk.store.conversations.messages("3f2a9c10")
    assert [message.text for message in messages] == [
        "What is [REDACTED:secret] good for?",
        "password=[REDACTED:secret]",
        "I try [REDACTED:secret] now.",
    ]
    assert messages[2].actions[0].path == "/srv/[REDACTED:secret]/beds.md"
    assert talk.title == "About [REDACTED:secret]"
    assert isinstance(outcome, Done)
    assert outcome.counts["redacted secret"] == 4  # the title is no message
    for path in (house.root / "data").rglob("*.zst"):
        assert BARE.encode() not in zstandard.decompress(path.read_bytes(), 10**6)


@pytest.mark.parametrize("word", ["garden-2024-beds", "tomato!", "hunter2hunter2", "beds.eu:5432"])
def test_a_password_that_is_a_word_takes_no_word_away(house: House, word: str) -> None:
    """It goes where it is named; elsewhere the same characters may be the thing it is called by."""
    lines = [said("user", 0, f'password="{word}"'), said("user", 1, f"We speak of {word} today.")]
    write_lines(house.claude / "p" / f"{V4}.jsonl", lines)
    house.night()
    assert house.texts()[V4][1] == f"We speak of {word} today."


def test_secrets_of_one_session_mean_nothing_to_another(house: House) -> None:
    """What is remembered ends with the reading."""
    other = "7a7a7a7a-5b6d-4e7f-8a9b-0c1d2e3f4a5b"
    write_lines(house.claude / "p" / f"{V4}.jsonl", [said("user", 0, f"password={BARE}")])
    write_lines(house.claude / "p" / f"{other}.jsonl", [said("user", 1, f"Seeds: {BARE}.")])
    house.night()
    assert house.texts()[other] == [f"Seeds: {BARE}."]


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
