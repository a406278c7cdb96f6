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
