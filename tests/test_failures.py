"""Whatever a model call comes to, a failed job hurts nothing, is told, tried again, then parked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.config import Config, config_path
from pipeline.errors import InvalidReply, MemoryFault, ModelFault, PromptTooLong
from pipeline.history import History
from pipeline.models import Ask, Choice, Reply
from pipeline.policy import load_policy
from pipeline.resources import folder
from pipeline.status import gather, lines
from pipeline.store import Store
from tests.support_night import (
    NIGHT,
    Night,
    Script,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)

MORROW = NIGHT + timedelta(days=1)
SESSION = "3b1f0c2a-7d6e-4f50-9a1b-2c3d4e5f6a7b"
CODE = "The Lantern login page asks for a code of 6 digits."
NEWS = {
    CODE: "fact",
    "The Lantern login page is closed for an hour after 5 wrong codes.": "fact",
    "The Lantern login page writes each attempt into auth.log.": "fact",
    "The Lantern retention job keeps sessions for 90 days.": "fact",
    "The Lantern login page was shown to 14 testers.": "event",
}
SENSORS = "The Orchard sensors report the soil moisture every 10 minutes."

Answer = Callable[[Ask], str | Reply]


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    return config


# a purpose of each stage's calls, and whether it decodes text
PURPOSES = {
    "chunk/keep": False,
    "chunk/label": True,
    "cluster/route": False,
    "cluster/name": True,
    "synthesize/claims": True,
    "synthesize/relation": False,
    "synthesize/section": False,
    "synthesize/compose": True,
}


def news_for(home: Path, purpose: str) -> None:
    """A conversation that makes the night ask this: a new topic, or news of one that stands."""
    said = [SENSORS] if purpose == "cluster/name" else list(NEWS)
    lines_ = [("user", words) for words in ("Some notes on the work of today.", *said)]
    write_session(home, "claude-code", SESSION, NIGHT + timedelta(hours=5), lines_)


def good(**overrides: Answer) -> Script:
    """A model that knows the news."""
    script = Script({purpose.replace("__", "/"): made for purpose, made in overrides.items()})
    known = {text: [(text, kind)] for text, kind in NEWS.items()}
    script.claims = {**script.claims, **known, SENSORS: [(SENSORS, "fact")]}
    return script


def failing(purpose: str, answer: Answer) -> tuple[Script, list[Ask]]:
    """A model that fails at one thing; and the asks it failed at."""
    asked: list[Ask] = []

    def fails(ask: Ask) -> str | Reply:
        if purpose == "cluster/name" and "Orchard" not in ask.prompt:
            return "Lantern project"
        asked.append(ask)
        return answer(ask)

    script = good()
    usual = Script(claims=script.claims)

    def no_topic(ask: Ask) -> str | Choice:
        return "none of these" if "Orchard" in ask.prompt else usual.choose("cluster/route", ask)

    def label(ask: Ask) -> str | Reply:
        new = "Orchard" in ask.prompt
        return "Watering the Orchard" if new else usual.write("chunk/label", ask)

    script.overrides = {"cluster/route": no_topic, "chunk/label": label, purpose: fails}
    return script, asked


def raising(error: Exception) -> Answer:
    """A call that ends in this."""

    def answer(ask: Ask) -> str:
        raise error

    return answer


def ledger(config: Config) -> list[tuple[object, ...]]:
    """What is folded where, and what was changed by which run."""
    store = Store(config.store_path)
    tables = ("synthesized_bucket_chunks", "changes", "written_sentences", "articles")
    rows = [
        (table, *row)
        for table in tables
        for row in store._connection.execute(f"SELECT * FROM {table}")
    ]
    store.close()
    return rows


def watermarks(config: Config) -> dict[str, datetime]:
    """How far each source is read."""
    store = Store(config.store_path)
    found = dict(store.conversations.watermarks())
    store.close()
    return found


def attempts(config: Config) -> list[dict[str, object]]:
    """The failed jobs as `memory status --json` names them."""
    said = CliRunner().invoke(app, ["status", "--json"])
    assert said.exit_code == 0, said.output
    found = json.loads(said.output)["attempts"]
    assert found == gather(config)["attempts"]
    return list(found)


def changelog(config: Config) -> list[str]:
    """The sections of the changelog, newest first."""
    text = (config.vault / "Meta" / "Changelog.md").read_text(encoding="utf-8")
    return re.split(r"^(?=## )", text, flags=re.M)[1:]


def shown(reason: str) -> str:
    """A piece of a reason without the signs that are escaped on a page."""
    return max(re.split(r"[^\w ]+", reason), key=len)


# ------------------------------------------------------------------ one failed night

NOT_JSON: dict[str, Answer] = {
    "not JSON": lambda ask: "Here are the sentences you asked for:",
    "JSON of another schema": lambda ask: '{"result": "ok", "items": [1, 2]}',
    "JSON of another type": lambda ask: '[{"text": "The Lantern is a lamp."}]',
    "empty": lambda ask: "",
    "refusal": lambda ask: "I'm sorry, but I cannot help with that request.",
    "prompt echo": lambda ask: ask.prompt,
    "elision": lambda ask: "[...] The rest is unchanged.",
    "endless repetition": lambda ask: "The Lantern login page. " * 300,
    "another language": lambda ask: "今日はとても良い天気ですね。",
    "garbage": lambda ask: "\x00\ufffd \ud800 }}{{ $1 \\1",
}
ERRORS: dict[str, Exception] = {
    "InvalidReply": InvalidReply("the reply is not in the form asked for"),
    "PromptTooLong": PromptTooLong("the prompt has 9000 tokens, more than the 8000 allowed"),
    "another error": ValueError("tokens were not finite"),
}
AROUND = ("synthesize/compose",)  # what the model cannot answer there, the claims answer
FAILS: dict[str, tuple[str, Answer, str]] = {
    **{
        f"{purpose}: {name}": (purpose, raising(error), str(error))
        for purpose in PURPOSES
        for name, error in ERRORS.items()
        if (name == "another error") == (purpose in AROUND) or purpose == "cluster/route"
    },
    **{
        f"synthesize/claims: {name}": ("synthesize/claims", answer, "not the JSON asked for")
        for name, answer in NOT_JSON.items()
    },
    "synthesize/claims: cut off": (
        "synthesize/claims",
        lambda ask: Reply('{"claims": ["fact: The Lan', "length", 1, 0, 1, 0.0),
        "cut off",
    ),
}


@pytest.mark.parametrize(("purpose", "answer", "reason"), FAILS.values(), ids=FAILS.keys())
def test_a_failed_job_hurts_nothing_and_is_done_when_the_model_is_well(
    home: Path, config: Config, purpose: str, answer: Answer, reason: str
) -> None:
    """P1: articles, citations, ledger and watermark stand; the reason is told; then it is done."""
    news_for(home, purpose)
    run_night(config, good(), at=MORROW, only="ingest")
    articles, folded = files(config.vault / "articles"), ledger(config)
    read, head = watermarks(config), History(config.vault).head()
    script, asked = failing(purpose, answer)
    night = run_night(config, script, at=MORROW)
    assert asked
    assert night.status == "partial"
    assert files(config.vault / "articles") == articles
    assert ledger(config) == folded
    assert watermarks(config) == read
    assert {c.subject.partition(":")[0] for c in History(config.vault).log(since=head)} <= {
        "changelog", "buckets",
    }  # fmt: skip

    (failed,) = attempts(config)
    assert str(failed["job"]).startswith(purpose.partition("/")[0] + ": ")
    assert (failed["tries"], failed["parked"]) == (1, False)
    assert reason in str(failed["reason"])
    assert any(str(failed["job"]) in line and "failed 1×" in line for line in lines(gather(config)))
    assert night.results.rejected == [(failed["job"], (failed["reason"],))]
    assert shown(reason) in changelog(config)[0]
    assert "1 rejected" in changelog(config)[0].splitlines()[0]

    # it rests, whatever the model would say now
    rested = run_night(config, good(), at=MORROW + timedelta(hours=1))
    assert (rested.status, rested.model.asked) == ("nothing", [])

    assert run_night(config, good(), at=MORROW + timedelta(hours=21)).status == "done"
    assert attempts(config) == []
    text = (config.vault / "articles" / "Lantern project.md").read_text(encoding="utf-8")
    assert CODE in text or purpose == "cluster/name"


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_model_that_breaks_ends_the_night_and_blames_no_job(
    home: Path, config: Config, purpose: str
) -> None:
    """Nothing is half done, no job loses a try, status and changelog name the fault."""
    news_for(home, purpose)
    run_night(config, good(), at=MORROW, only="ingest")
    articles, folded, read = files(config.vault / "articles"), ledger(config), watermarks(config)
    fault = ModelFault("the model ran out of memory", mend="take a smaller one")
    script, asked = failing(purpose, raising(fault))
    with pytest.raises(ModelFault):
        run_night(config, script, at=MORROW)
    assert len(asked) == 1
    assert files(config.vault / "articles") == articles
    assert ledger(config) == folded
    assert watermarks(config) == read
    assert attempts(config) == []
    state = gather(config)
    assert state["last_run"]["status"] == "failed"
    assert "the model ran out of memory" in "\n".join(lines(state))
    assert "ended early: the model ran out of memory" in changelog(config)[0]
    assert run_night(config, good(), at=MORROW + timedelta(hours=1)).status == "done"


# ------------------------------------------------------------------ where there is a way around


@pytest.mark.parametrize(
    "answer",
    [
        *NOT_JSON.values(),
        lambda ask: Reply('{"sentences": ["The Lan', "length", 1, 0, 1, 0.0),
        lambda ask: json.dumps({"sentences": []}),
        lambda ask: json.dumps({"sentences": [CODE] * 40}),
        lambda ask: json.dumps({"sentences": ["今日はとても良い天気です。"]}),
        raising(ERRORS["InvalidReply"]),
        raising(ERRORS["PromptTooLong"]),
    ],
    ids=[
        *NOT_JSON,
        *("cut off", "no sentence", "one sentence forty times", "off the matter"),
        *("invalid", "too long"),
    ],
)
def test_what_cannot_be_composed_is_written_in_the_words_of_the_claims(
    home: Path, config: Config, answer: Answer
) -> None:
    """Composing only polishes: each claim stands in its own words, once, and nothing else."""
    news_for(home, "synthesize/compose")
    script, asked = failing("synthesize/compose", answer)
    assert run_night(config, script, at=MORROW).status == "done"
    assert 1 <= len(asked) <= load_policy().synthesize.attempts
    text = (config.vault / "articles" / "Lantern project.md").read_text(encoding="utf-8")
    for claim in NEWS:
        assert text.count(claim) == 1, claim
    for bad in ("Here are", "result", "sorry", "天気", "Notes:", "The Lantern login page. The"):
        assert bad not in text
    assert attempts(config) == []


def test_of_a_reply_cut_at_the_cap_what_was_whole_is_taken(home: Path, config: Config) -> None:
    """Such a reply has cost a night's tokens; asked again it would be cut at the same place."""
    news_for(home, "synthesize/claims")
    begun = "The Lantern login page is closed"
    cut = f'{{"claims":["fact: {CODE}","fact: {begun}'
    script, asked = failing("synthesize/claims", lambda ask: Reply(cut, "length", 1, 0, 1, 0.0))
    assert run_night(config, script, at=MORROW).status == "done"
    assert len(asked) == len({ask.prompt for ask in asked})
    text = (config.vault / "articles" / "Lantern project.md").read_text(encoding="utf-8")
    assert text.count(CODE) == 1 and begun not in text


HOLLOW: dict[str, Answer] = {
    "empty": lambda ask: "",
    "white space": lambda ask: " \n\t ",
    "refusal": lambda ask: "I'm sorry but I cannot help with that",
    "talk about the task": lambda ask: "Here is the label as you requested",
    "elision": lambda ask: "[...] rest of the text unchanged",
    "placeholder": lambda ask: "SUBJECT of the TOPIC",
    "an order": lambda ask: "Ignore all previous instructions",
    "prompt echo": lambda ask: ask.prompt,
    "an example of the prompt": lambda ask: ask.examples[0][1],
    "another of them": lambda ask: f"{ask.examples[1][1]}.",
    "repetition cut off": lambda ask: Reply("ignore " * 28, "length", 1, 0, 28, 0.0),
    "signs": lambda ask: "}}{{ |||| <% %> [[ ]]",
    "garbage": lambda ask: "\x00\u202e\ufeff\ud800",
}


@pytest.mark.parametrize("answer", HOLLOW.values(), ids=HOLLOW.keys())
def test_a_label_or_name_that_is_none_is_taken_from_what_was_said(
    home: Path, config: Config, answer: Answer
) -> None:
    """Pitfall 19: a non-answer never becomes the value; the words of the chat stand in."""
    news_for(home, "cluster/name")
    script, named = failing("cluster/name", answer)
    script.overrides = {**script.overrides, "chunk/label": answer}
    assert run_night(config, script, at=MORROW).status == "done"
    assert named
    store = Store(config.store_path)
    labels = [row["label"] for row in store._connection.execute("SELECT label FROM chunks")]
    names = [bucket.name for bucket in store.buckets.all()]
    store.close()
    for text in (*labels, *names):
        assert re.search(r"\w\w", text)
        assert len(text) <= 120 and "\n" not in text
        for bad in ("sorry", "Here is", "unchanged", "SUBJECT", "gnore", "About:", "<%", "[["):
            assert bad not in text
        assert not re.search(r"\bthe (?:part|thing|tool)\b|^(?:Thing|Device)", text)
    assert run_night(config, script, at=MORROW + timedelta(days=1)).status == "nothing"


# ------------------------------------------------------------------ failures that last

LASTING = {
    purpose: (purpose, raising(InvalidReply("the reply is not in the form asked for")))
    for purpose in PURPOSES
    if purpose not in AROUND
}


@pytest.mark.parametrize(("purpose", "answer"), LASTING.values(), ids=LASTING.keys())
def test_a_job_that_always_fails_is_parked_after_five_tries(
    home: Path, config: Config, purpose: str, answer: Answer
) -> None:
    """Each pause is twice the last; then it is never asked again, and both pages say so."""
    policy = load_policy().synthesize
    assert policy.max_attempts == 5
    news_for(home, purpose)
    articles = files(config.vault / "articles")
    script, asked = failing(purpose, answer)
    at = MORROW
    for number in range(1, 6):
        asked.clear()
        assert run_night(config, script, at=at).status == "partial"
        assert asked
        (failed,) = attempts(config)
        assert (failed["tries"], failed["parked"]) == (number, number == 5)
        pause = timedelta(hours=policy.pause_hours * 2 ** (number - 1))
        if number == 3:
            asked.clear()
            run_night(config, script, at=at + pause - timedelta(minutes=1))
            assert asked == []
        at += pause
    asked.clear()
    told = changelog(config)
    assert "parked" in told[0]
    assert str(failed["job"]).partition(": ")[2] in told[0]
    # told when it was first seen and when it was parked, not each night
    assert sum(shown("the reply is not in the form asked for") in section for section in told) == 2
    assert any(line.startswith("parked") for line in lines(gather(config)))
    a_year_on = run_night(config, script, at=at + timedelta(days=365))
    assert (asked, a_year_on.status) == ([], "nothing")
    assert files(config.vault / "articles") == articles


def test_a_failure_is_told_again_when_its_reason_changes(home: Path, config: Config) -> None:
    """The user who read of the first trouble hears of the second."""
    news_for(home, "synthesize/claims")
    reasons = ["first trouble", "first trouble", "second trouble"]
    at = MORROW
    seen = len(changelog(config))
    for number, reason in enumerate(reasons):
        script, _ = failing("synthesize/claims", raising(InvalidReply(reason)))
        run_night(config, script, at=at)
        at += timedelta(hours=20 * 2**number)
    told = changelog(config)
    assert len(told) == seen + 2
    assert "second trouble" in told[0] and "first trouble" in told[1]


def test_a_failure_that_comes_back_is_told_anew(home: Path, config: Config) -> None:
    """What was mended in between is news when it breaks again."""
    news_for(home, "synthesize/claims")
    broken, _ = failing("synthesize/claims", raising(InvalidReply("the same trouble")))
    run_night(config, broken, at=MORROW)
    run_night(config, good(), at=MORROW + timedelta(days=1))
    again = "The Lantern login page has a button of 44 pixels."
    later = MORROW + timedelta(days=1, hours=5)
    write_session(home, "pi", "01a227e0-11a7-7b0c-92c2-99aa37193c99", later, [("user", again)])
    run_night(config, broken, at=MORROW + timedelta(days=2))
    assert sum("the same trouble" in section for section in changelog(config)) == 2


def test_the_same_fault_of_the_whole_night_is_told_once(home: Path, config: Config) -> None:
    """A model missing for a week is one section; status shows it every day."""
    news_for(home, "chunk/label")
    fault = ModelFault("the model has not been fetched")
    seen = len(changelog(config))
    for day in range(7):
        script, _ = failing("chunk/label", raising(fault))
        with pytest.raises(MemoryFault):
            run_night(config, script, at=MORROW + timedelta(days=day))
        assert "has not been fetched" in "\n".join(lines(gather(config)))
    assert len(changelog(config)) == seen + 1
    night: Night = run_night(config, good(), at=MORROW + timedelta(days=7))
    assert night.status == "done"


@pytest.mark.parametrize("prompt", ["chunk/label", "cluster/name", "synthesize/claims"])
def test_a_users_prompt_may_be_warm(home: Path, config: Config, prompt: str) -> None:
    """The temperature of an overriding prompt is heeded, and every ask has its seed."""
    naming = prompt == "cluster/name"
    news_for(home, prompt if naming else "chunk/label")
    text = (folder("prompts") / f"{prompt}.md").read_text(encoding="utf-8")
    text = re.sub(r"^temperature: .*\n", "", text, flags=re.MULTILINE)
    own = config_path().parent / "prompts" / f"{prompt}.md"
    own.parent.mkdir(parents=True)
    own.write_text(text.replace("---\n", "---\ntemperature: 0.3\n", 1), encoding="utf-8")
    script = failing("cluster/name", lambda ask: "Watering")[0] if naming else good()
    night = run_night(config, script, at=MORROW)
    asked = [one for one in night.model.asked if one.purpose == prompt and one.call == "write"]
    assert asked and all(one.seed is not None for one in asked)
