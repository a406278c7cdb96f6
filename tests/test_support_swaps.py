"""A true sentence with one thing put in the place of another is no longer what was said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pipeline.records import Message, Role
from pipeline.support import check

START = datetime(2026, 3, 4, 9, 0, tzinfo=UTC)


def supported(claim: str, *said: str) -> bool:
    """Whether the user's messages carry the claim."""
    messages = [
        Message(
            message_id=f"m{position}",
            conv="00000000",
            position=position,
            role=Role.USER,
            at=START + timedelta(minutes=position),
            text=text,
        )
        for position, text in enumerate(said)
    ]
    return check(claim, messages, threshold=0.6).supported


def _told(text: str) -> Message:
    """The same, said by the assistant."""
    return Message(
        message_id="m0", conv="00000000", position=0, role=Role.ASSISTANT, at=START, text=text
    )


@pytest.mark.parametrize(
    ("said", "right", "wrong"),
    [
        ("The export took 40 s.", "The export took 40 s.", "The export took 40 ms."),
        ("The export took 40 ms.", "The export took 40 ms.", "The export took 40 s."),
        ("The walk is 12 miles long.", "The walk is 12 miles long.", "The walk is 12 km long."),
        ("The shelf is 80 cm wide.", "The shelf is 80 cm wide.", "The shelf is 80 feet wide."),
        ("The keg holds 30 litres.", "The keg holds 30 l.", "The keg holds 30 pints."),
        ("The parcel weighs 5 kg.", "The parcel weighs 5 kg.", "The parcel weighs 5 pounds."),
        ("The parcel weighs 5 lb.", "The parcel weighs 5 pounds.", "The parcel weighs 5 oz."),
        ("The ticket costs £20.", "The ticket costs 20 pounds.", "The ticket costs 20 dollars."),
        ("The bucket holds 9 litres.", "The bucket holds 9 litres.", "The bucket holds 9 firkins."),
        ("Das Fass fasst 80 Liter.", "Das Fass fasst 80 Liter.", "Das Fass fasst 80 Gallonen."),
        ("冷却需要三十秒。", "冷却需要30秒。", "冷却需要30毫秒。"),
        ("The trial lasts thirty days.", "The trial lasts 30 days.", "The trial lasts 13 days."),
    ],
)
def test_a_number_keeps_its_unit(said: str, right: str, wrong: str) -> None:
    """With or without a blank before it, spelt out or not, in the table or not."""
    assert supported(right, said)
    assert not supported(wrong, said)


@pytest.mark.parametrize(
    ("said", "right", "wrong"),
    [
        (
            "The export starts every 20 minutes instead of every 40 minutes.",
            "The export does not start every 40 minutes.",
            "The export does not start every 20 minutes.",
        ),
        (
            "The choir sings in hall 4 rather than in hall 2.",
            "The choir does not sing in hall 2.",
            "The choir does not sing in hall 4.",
        ),
        (
            "The mower stays in the shed instead of the garage.",
            "The mower does not stay in the garage.",
            "The mower does not stay in the shed.",
        ),
        (
            "The team uses Valkey instead of Memcached.",
            "The team does not use Memcached.",
            "The team does not use Valkey.",
        ),
    ],
)
def test_of_two_things_only_the_one_left_behind_is_denied(
    said: str, right: str, wrong: str
) -> None:
    """ "This instead of that" denies that, and affirms this."""
    assert supported(right, said)
    assert not supported(wrong, said)


@pytest.mark.parametrize(
    ("said", "right", "wrong"),
    [
        ("日志由vector收集。", "日志由vector收集。", "日志由fluentd收集。"),
        ("デプロイはansibleで行います。", "デプロイはansibleで行う。", "デプロイはpuppetで行う。"),
        ("النسخ الاحتياطي عبر kopia.", "النسخ الاحتياطي عبر kopia.", "النسخ الاحتياطي عبر rsync."),
        ("הגיבוי רץ עם kopia.", "הגיבוי רץ עם kopia.", "הגיבוי רץ עם rsync."),
    ],
)
def test_a_latin_name_in_a_script_without_capitals_was_said(
    said: str, right: str, wrong: str
) -> None:
    """Written small and between other letters it is a name none the less."""
    assert supported(right, said)
    assert not supported(wrong, said)


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("Ines painted the fence.", True),
        ("Ines painted the fence in the garden.", True),
        ("Ines painted the fence for a circus.", False),
        ("Ines painted the fence with her uncle.", False),
    ],
)
def test_what_is_added_at_the_end_was_said(claim: str, expected: bool) -> None:
    """A true sentence does not carry an invention at its end."""
    assert supported(claim, "Ines painted the fence in the garden today.") is expected


@pytest.mark.parametrize(
    "text",
    [
        "Die Konten der Nutzer liegen in Bonn.",
        "Die Nutzer bekommen eine Mail.",
        "系统向用户发送邮件。",
        "حسابات المستخدمين في القاهرة.",
        "全ユーザーの記録は東京にある。",
        "The user table has 12 columns.",
    ],
)
def test_users_in_general_are_not_the_user(text: str) -> None:
    """What an assistant tells of them needs no word of the user."""
    assert check(text, [_told(text)], threshold=0.6).supported


@pytest.mark.parametrize(
    "text",
    [
        "Der Nutzer wohnt in Bonn.",
        "用户住在上海。",
        "ユーザーは東京に住む。",
        "انتقل المستخدم إلى القاهرة.",
    ],
)
def test_what_is_told_of_the_user_needs_the_users_words(text: str) -> None:
    """The person of the conversation is told of by themselves."""
    assert not check(text, [_told(text)], threshold=0.6).supported
