"""Ids: stable, short, and apart from each other."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from pipeline.identity import chunk_id, claim_id, conv_id, message_id
from pipeline.records import Role

AT = datetime(2024, 5, 6, 7, 8, 9, 123000, tzinfo=UTC)


def test_a_random_uuid_gives_its_first_digits() -> None:
    """conv ids of UUIDv4 sessions are the first digits of the session id, as users know them."""
    session = "3F2A9C10-5b6d-4e7f-8a9b-0c1d2e3f4a5b"
    assert conv_id(session) == "3f2a9c10"
    assert conv_id(session, 12) == "3f2a9c105b6d"


def test_clocked_uuids_of_the_same_minute_do_not_collide() -> None:
    """UUIDv7 begins with a clock: two sessions of one minute share 8 digits but not their id."""
    one = "01a227d3-5ba7-760c-a6c2-4a98371937f3"
    two = "01a227d3-de1d-751a-9cfd-cdb080a4e74c"
    assert conv_id(one) == "371937f3"
    assert conv_id(two) == "80a4e74c"
    assert conv_id(one, 12) == "4a98371937f3"


def test_any_other_id_is_hashed() -> None:
    """Names that are no UUID still give hex digits, different for different names."""
    assert re.fullmatch(r"[0-9a-f]{8}", conv_id("my-session"))
    assert conv_id("my-session") != conv_id("my-session-2")
    assert conv_id("my-session", 12).startswith(conv_id("my-session"))


@given(st.text(), st.integers(8, 32))
def test_an_id_has_the_length_asked_for(session: str, length: int) -> None:
    """Whatever the session is called, its id is hex digits of that length."""
    name = conv_id(session, length)
    assert len(name) == length
    assert set(name) <= set("0123456789abcdef")


def test_a_copied_message_keeps_its_id() -> None:
    """A fork's copy and a migrated file have other native ids, the same time and text: one id."""
    assert message_id("pi", AT, Role.USER, "hello", "aaaa") == message_id(
        "pi", AT, Role.USER, "hello", "bbbb"
    )


def test_what_differs_gets_another_id() -> None:
    """Source, time to the millisecond, role and text each tell messages apart."""
    ids = {
        message_id("pi", AT, Role.USER, "hello", ""),
        message_id("claude-code", AT, Role.USER, "hello", ""),
        message_id("pi", AT + timedelta(milliseconds=1), Role.USER, "hello", ""),
        message_id("pi", AT, Role.ASSISTANT, "hello", ""),
        message_id("pi", AT, Role.USER, "hello!", ""),
        message_id("pi", None, Role.USER, "hello", "one"),
        message_id("pi", None, Role.USER, "hello", "two"),
    }
    assert len(ids) == 7


@given(st.text(), st.text())
def test_any_text_has_an_id(text: str, native: str) -> None:
    """No text makes identity fail, lone surrogates included."""
    assert re.fullmatch(r"[0-9a-f]{16}", message_id("pi", AT, Role.USER, text + "\ud800", native))


def test_chunks_and_claims_are_named_by_their_parts() -> None:
    """The same messages in the same order are the same chunk; each claim of it has its own id."""
    assert chunk_id(["a", "b"]) == chunk_id(iter(["a", "b"]))
    assert chunk_id(["a", "b"]) != chunk_id(["b", "a"])
    assert chunk_id(["ab", "c"]) != chunk_id(["a", "bc"])
    assert claim_id("c", 0) != claim_id("c", 1)
