"""What the model cost: every call is counted once, and shared out over what came of it."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from pipeline import cli
from pipeline.config import load_config
from pipeline.errors import ConfigFault
from pipeline.models import Ask
from pipeline.records import Call, Change
from pipeline.stats import Bill, bills, by_stage, summed, together
from pipeline.store import Store
from pipeline.store.runs import Cost
from tests.support_night import CLAIMS, NIGHT, Script, make_vault, run_night, write_sessions

START = datetime(2001, 2, 3, 3, 0, tzinfo=UTC)

# (stage, purpose, prompt, cached, output, seconds, finish, retry)
FIRST = [
    Call("chunk", "chunk/keep", 100, 60, 0, 1.0, "stop"),
    Call("chunk", "chunk/keep", 100, 60, 0, 1.0, "stop"),
    Call("chunk", "chunk/label", 200, 0, 10, 2.0, "stop"),
    Call("synthesize", "synthesize/compose", 400, 100, 50, 4.0, "stop"),
    Call("synthesize", "synthesize/compose", 400, 380, 50, 4.0, "length", retry=True),
]
SECOND = [Call("chunk", "chunk/label", 50, 0, 5, 0.5, "stop")]


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    """Two runs that asked something, and one between them that did not."""
    store = Store(load_config().store_path)
    for day, (calls, conversations, claims) in enumerate(
        ((FIRST, 2, 4), ([], 0, 0), (SECOND, 0, 0))
    ):
        at = START + timedelta(days=day)
        run = store.runs.begin(at, at, model="m", prompts={}, vault="")
        for call in calls:
            store.runs.account(run, call)
        counts = {"counts": {"conversations": conversations} if conversations else {}}
        store.runs.finish(run, at, status="done", vault="", results=counts)
        if claims:
            _folded(store, run, claims)
    yield store
    store.close()


def _folded(store: Store, run: str, claims: int) -> None:
    """What the ledger says of a run that folded so many claims into one article."""
    change = Change(run, "page", "Page", "c0", "new", claims, claims, 0, (), ())
    with sqlite3.connect(store.path) as connection:
        connection.execute(
            'INSERT INTO changes (run, article, "commit", change) VALUES (?, ?, ?, ?)',
            (run, "page", "c0", json.dumps(asdict(change))),
        )
    connection.close()


def say(*arguments: str) -> str:
    """What the command prints."""
    done = CliRunner().invoke(cli.app, ["stats", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def nights(*runs: str) -> list[str]:
    """The dates in the ids of runs."""
    return [run.partition("-")[0] for run in runs]


# ------------------------------------------------------------------ adding up


def test_every_call_stands_in_one_line(store: Store) -> None:
    """By stage and purpose, in the order first asked; retries and cut replies told apart."""
    newest, first = bills(store)
    assert nights(newest.run, first.run) == ["20010205", "20010203"]
    assert first.costs == (
        Cost("chunk", "chunk/keep", 2, 200, 120, 0, 0, 0, 2.0),
        Cost("chunk", "chunk/label", 1, 200, 0, 10, 0, 0, 2.0),
        Cost("synthesize", "synthesize/compose", 2, 800, 480, 100, 1, 1, 8.0),
    )
    assert [(c.stage, c.calls, c.seconds) for c in by_stage(first)] == [
        ("chunk", 3, 4.0),
        ("synthesize", 2, 8.0),
    ]


def test_costs_are_shared_out(store: Store) -> None:
    """1200 tokens fed, half of them kept ones, in 12 seconds, for 2 conversations and 4 claims."""
    first = bills(store, run="20010203")[0]
    sums = summed(first)
    assert (sums["calls"], sums["prompt_tokens"], sums["output_tokens"]) == (5, 1200, 110)
    assert sums["cached_share"] == 0.5
    assert sums["per_conversation"] == {"prompt_tokens": 600, "output_tokens": 55, "seconds": 6.0}
    assert sums["per_claim"] == {"prompt_tokens": 300, "output_tokens": 27.5, "seconds": 3.0}
    newest = summed(bills(store)[0])
    assert newest["per_claim"] is None and newest["per_conversation"] is None


def test_several_runs_together(store: Store) -> None:
    """Lines of the same stage and purpose become one."""
    whole = together(bills(store))
    assert [(c.purpose, c.calls, c.prompt_tokens) for c in whole.costs] == [
        ("chunk/label", 2, 250),
        ("chunk/keep", 2, 200),
        ("synthesize/compose", 2, 800),
    ]
    assert (whole.conversations, whole.claims) == (2, 4)


def test_idle_runs_push_no_run_out(store: Store) -> None:
    """The last two that had work, not the last two."""
    assert nights(*(bill.run for bill in bills(store, last=2))) == ["20010205", "20010203"]
    assert nights(*(bill.run for bill in bills(store, last=1))) == ["20010205"]


def test_a_run_that_is_not_there(store: Store) -> None:
    """The fault names some that are."""
    with pytest.raises(ConfigFault, match="20990101") as caught:
        bills(store, run="20990101-000000")
    assert "20010205-030000" in caught.value.mend


COSTS = st.builds(
    Cost,
    stage=st.sampled_from(["chunk", "cluster"]),
    purpose=st.sampled_from(["a", "b"]),
    calls=st.integers(1, 9),
    prompt_tokens=st.integers(0, 9),
    cached_tokens=st.integers(0, 9),
    output_tokens=st.integers(0, 9),
    retries=st.integers(0, 9),
    cut=st.integers(0, 9),
    seconds=st.integers(0, 9).map(float),
)
BILLS = st.lists(
    st.builds(
        Bill,
        run=st.just("r"),
        started_at=st.just(""),
        status=st.just(""),
        model=st.just(""),
        costs=st.lists(COSTS, max_size=4).map(tuple),
        conversations=st.integers(0, 9),
        claims=st.integers(0, 9),
    ),
    max_size=4,
)


@given(BILLS)
def test_no_way_of_adding_up_loses_a_token(found: list[Bill]) -> None:
    """By run, by purpose or by stage, the sums are the same."""
    whole = together(found)
    for name in ("calls", "prompt_tokens", "output_tokens", "retries", "seconds"):
        total = sum(getattr(cost, name) for bill in found for cost in bill.costs)
        assert summed(whole)[name] == total
        assert sum(getattr(cost, name) for cost in by_stage(whole)) == total


def test_a_store_from_before_retries_were_told_apart(store: Store) -> None:
    """Its calls count as first tries."""
    run = store.runs.recent(2)[1].id
    with sqlite3.connect(store.path) as connection:
        connection.execute(
            """INSERT INTO model_calls (run, stage, purpose, prompt_tokens, cached_tokens,
                   output_tokens, seconds, finish)
               VALUES (?, 'chunk', 'chunk/keep', 1, 0, 0, 0.1, 'stop')""",
            (run,),
        )
    connection.close()
    assert bills(store, run=run)[0].costs[0].retries == 0


# ------------------------------------------------------------------ a whole night


def test_a_nights_retries_are_counted(home: Path) -> None:
    """A section whose first text does not hold is composed again, and that is a retry."""
    write_sessions(home)
    config = make_vault()
    tried: list[str] = []

    def compose(ask: Ask) -> str:
        tried.append(ask.prompt)
        said = Script().write("synthesize/compose", ask) if len(tried) > 1 else "no JSON"
        assert isinstance(said, str)
        return said

    facts = {words: [(text, "fact") for text, _ in made] for words, made in CLAIMS.items()}
    night = run_night(config, Script({"synthesize/compose": compose}, facts))
    assert len(tried) > 1
    store = Store(config.store_path)
    (bill,) = bills(store)
    sums = summed(bill)
    store.close()
    assert sums["retries"] == 1
    assert sums["conversations"] == night.results.counts["conversations"] == 4
    assert sums["claims"] == 8  # every claim of the script is folded, in one article or two
    assert sums["calls"] == sum(cost.calls for cost in bill.costs) == len(night.model.asked)


# ------------------------------------------------------------------ the command


def test_the_adapters_of_a_run_are_told(home: Path, tmp_path: Path) -> None:
    """Which weights a stage worked with is known though the files are others by then."""
    write_sessions(home)
    plain = make_vault()
    (tmp_path / "adapters.safetensors").write_bytes(b"weights")
    (tmp_path / "adapter_config.json").write_text("{}")
    worn = load_config(timezone="UTC", since_days="all", adapters={"chunk": str(tmp_path)})
    run_night(worn)
    (tmp_path / "adapters.safetensors").write_bytes(b"other weights")
    run_night(plain, at=NIGHT + timedelta(days=1))
    # printf weights | sha256sum
    digest = "9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c"
    store = Store(plain.store_path)
    with_none, with_one = (bills(store, run=run.id)[0] for run in store.runs.recent(2))
    store.close()
    assert with_one.adapters == {"chunk": {"folder": str(tmp_path), "sha256": digest}}
    assert with_none.adapters == {}
    told = say("--run", with_one.run).replace("\n", "")
    assert f"chunk with the adapter {tmp_path} ({digest[:12]})" in told
    (one,) = json.loads(say("--run", with_one.run, "--json"))["runs"]
    assert one["adapters"]["chunk"]["sha256"] == digest


def test_the_command_in_words(store: Store) -> None:
    """A line a purpose, the sums, and a bar a run, the longest for the longest run."""
    said = say()
    assert "synthesize/compose" in said and "2 runs: 6 calls, 1,250 tokens fed" in said
    assert "per claim (of 4): 312 tokens fed, 29 written, 3.1 seconds" in said
    bars = {line.split()[1][:8]: line.count("█") for line in said.splitlines() if "-030000" in line}
    assert bars == {"20010203": 18, "20010205": 1}


def test_the_command_in_json(store: Store) -> None:
    """The same numbers, run by run and together."""
    told = json.loads(say("--json", "--runs", "1"))
    assert nights(*(run["run"] for run in told["runs"])) == ["20010205"]
    assert told["runs"][0]["by_purpose"][0]["purpose"] == "chunk/label"
    assert told["together"]["prompt_tokens"] == 50 and told["together"]["per_claim"] is None
    one = json.loads(say("--json", "--run", "20010203"))
    assert one["together"]["calls"] == 5


def test_before_the_first_run(home: Path) -> None:
    """Nothing is made, and nothing is wrong."""
    assert "no run has asked" in say()
    assert json.loads(say("--json"))["runs"] == []
    assert not load_config().store_path.exists()


def test_a_picture(store: Store, tmp_path: Path) -> None:
    """A PNG by its first bytes; a place that cannot be written to is a fault."""
    say("--png", str(tmp_path / "costs.png"))
    assert (tmp_path / "costs.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with pytest.raises(ConfigFault, match=r"none/costs\.png"):
        say("--png", str(tmp_path / "none" / "costs.png"))


def test_a_picture_without_matplotlib(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has not installed it is told so, and no traceback."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigFault, match="matplotlib") as caught:
        say("--png", str(tmp_path / "costs.png"))
    assert "pip install matplotlib" in caught.value.mend
