"""How a run is named, and which run is meant by the beginning of a name."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from pipeline.errors import ConfigFault
from pipeline.run_ids import fresh, meant

START = datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC)


def test_two_machines_that_start_in_one_second_name_their_runs_apart() -> None:
    """Both by their local time, which a user reads and types."""
    made = {fresh(START) for _ in range(20)}
    assert len(made) > 1
    assert all(re.fullmatch(r"20010203-040506-[a-z2-9]{4}", run) for run in made)
    assert not any(letter in run[16:] for run in made for letter in "ilo01")


def test_the_beginning_of_an_id_is_enough_where_one_run_begins_so() -> None:
    """From the date on; an id that is whole is that run, also where another goes on from it."""
    runs = ["20010203-040506-k7wq", "20010204-040506", "20010204-040506-2"]
    assert meant("20010203", runs) == meant("20010203-040506", runs) == runs[0]
    assert meant("20010204-040506", runs) == runs[1]
    for other in ("20010205", "2001020", "", "Lantern project"):
        assert meant(other, runs) == other


def test_several_that_begin_so_are_listed() -> None:
    """None of them is chosen."""
    runs = ["20010203-040506-k7wq", "20010203-040506-a2bc"]
    with pytest.raises(ConfigFault, match="20010203-040506-k7wq, 20010203-040506-a2bc"):
        meant("20010203-040506", runs)
