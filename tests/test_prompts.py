"""Prompts: the files hold their form, values go in once, and nothing concrete stands in them."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from datetime import timedelta
from importlib.resources.abc import Traversable
from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import config_path
from pipeline.errors import ConfigFault
from pipeline.identity import SENTINEL
from pipeline.prompts import Prompts
from pipeline.records import ClaimKind
from pipeline.resources import folder
from tests.support_night import NIGHT, make_vault, run_night

# What each stage hands to its prompts: a place too few or too many would stop a night.
PLACES = {
    "chunk/keep": {"rules", "topics", "transcript"},
    "chunk/label": {"rules", "transcript"},
    "cluster/name": {"label", "transcript"},
    "cluster/route": {"buckets", "label", "transcript"},
    "synthesize/claims": {"rules", "transcript"},
    "synthesize/compose": {"claims", "rules", "tone"},
    "synthesize/entails": {"claim", "messages"},
    "synthesize/relation": {"new", "old", "rules"},
    "synthesize/section": {"claim", "headings", "rules"},
    "wikify/lead": {"rules", "sentences", "title"},
    "wikify/merge": {"one", "other", "rules"},
    "wikify/repeat": {"one", "other", "rules"},
    "wikify/split": {"rules", "sentences", "title", "topic"},
}

SIMPLE = """---
max_tokens: 9
temperature: 0.5
regex: '[a-z]+'
---
## system
Speak of $topic.

## example user
One

## example assistant
uno

## user
Say: $text
"""


@pytest.fixture(scope="module")
def shipped() -> Prompts:
    return Prompts(folder("prompts"))


def prompt_folder(root: Path, text: str, name: str = "stage/say") -> Path:
    file = root / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return root


def files_of(node: Traversable) -> list[tuple[str, str]]:
    return [
        (f"{stage.name}/{file.name}", file.read_text(encoding="utf-8"))
        for stage in node.iterdir()
        if stage.is_dir()
        for file in stage.iterdir()
    ]


# ------------------------------------------------------------------ the shipped files


@pytest.mark.parametrize("name", sorted(PLACES))
def test_every_stage_finds_its_prompt_with_the_places_it_fills(shipped: Prompts, name: str) -> None:
    """A shipped prompt has exactly the places its stage has values for."""
    assert shipped.get(name).places() == PLACES[name]


def test_no_prompt_is_shipped_that_nothing_asks(shipped: Prompts) -> None:
    """Every shipped prompt is one that a stage asks."""
    assert set(shipped.digests()) == set(PLACES)


@pytest.mark.parametrize("name", sorted(PLACES))
def test_places_stand_in_the_last_turn_alone(shipped: Prompts, name: str) -> None:
    """System and examples are the same for every ask of a run, so that a batch shares them.

    The user's own rules, which stand in the system turn, are the same all night.
    """
    values = dict.fromkeys(PLACES[name], "first") | {"rules": "r"}
    others = dict.fromkeys(PLACES[name], "second") | {"rules": "r"}
    values = {place: values[place] for place in PLACES[name]}
    others = {place: others[place] for place in PLACES[name]}
    one, other = shipped.ask(name, values), shipped.ask(name, others)
    assert (one.system, one.examples) == (other.system, other.examples)
    assert one.prompt != other.prompt


@pytest.mark.parametrize("name", sorted(PLACES))
def test_every_system_turn_opens_with_the_sentinel(shipped: Prompts, name: str) -> None:
    """A run knows its own prompts when it meets them in a transcript."""
    ask = shipped.ask(name, dict.fromkeys(PLACES[name], "x"))
    assert ask.system.splitlines()[0] == SENTINEL


def test_prompts_are_schematic() -> None:
    """No digit, hash, month or proper noun that a small model could copy into an article."""
    months = "January|February|March|April|June|July|August|September|October|November|December"
    for path, text in files_of(folder("prompts")):
        if not path.endswith(".md"):
            continue
        body = text.split("\n---\n", 1)[1]
        assert not re.findall(r"\d", body), path
        assert not re.findall(rf"\b(?:{months})\b", body), path
        # a capitalised word inside a sentence is a name, unless it is a placeholder in capitals
        named = re.findall(r"(?<=[a-z,;] )[A-Z][a-z]+", body)
        assert not named, path


# Every word that begins with a capital in a shipped prompt, wherever it stands: none is a name.
ORDINARY = """
    About All Answer Article Background Copy Decisions Device Done Good Hello How Ignore Keep
    Leave New Notes Old One Other Piece Problems Sections Sentence Shall Single Subject Thanks The
    Thing Topic Topics We What Which Write Written You
"""


def test_no_capitalised_word_is_a_name() -> None:
    """A name at the beginning of a sentence looks like any other word: each is known here."""
    for path, text in files_of(folder("prompts")):
        if path.endswith(".md"):
            body = text.split("\n---\n", 1)[1]
            new = set(re.findall(r"\b[A-Z][a-z]+\b", body)) - set(ORDINARY.split())
            assert not new, (path, new)
            # numbers in words are numbers; a count of words or options is no value to copy
            assert not re.findall(r"\b(?:hundred|thousand|million|percent|o'clock)\b", body), path
            assert not re.findall(r"\b[0-9a-f]{7,}\b|@|https?:|www\.", body), path


def test_claims_are_kinds_and_whole_sentences_only(shipped: Prompts) -> None:
    """The claims' schema admits every kind of claim, and sentences that can stand alone."""
    grammar = shipped.get("synthesize/claims").grammar
    assert grammar is not None and grammar.kind == "json"
    said = re.compile(json.loads(grammar.text)["properties"]["claims"]["items"]["pattern"])
    for kind in ClaimKind:
        assert said.search(f"{kind}: The tool is fast."), kind
    for unread in ("The tool is fast.", "opinion: The tool is fast.", "fact:The tool is fast."):
        assert not said.search(unread), unread
    for good in (
        "The user chose a tool, because it is fast.",
        "The file src/parts/cache.py holds the part.",
        "quillon keeps entries for 7.5 minutes.",
        "There is one worker a host.",
        "Ein Satz auf Deutsch steht auch da.",
        "缓存保留条目五分钟。",
    ):
        assert said.search(f"fact: {good}"), good
    for bad in (
        "I chose a tool.",
        "We chose a tool.",
        "we chose a tool.",
        "You should choose a tool.",
        "My tool is fast.",
        "Our tool is fast.",
        "It is fast.",
        "This is fast.",
        "They are fast.",
        "Which tool is fast?",
        "The tool is fast. The user likes it.",
        "The tool is fast",
    ):
        assert not said.search(f"fact: {bad}"), bad


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("chunk/label", "Moving the cache to another host", "Cache"),
        ("cluster/name", "Forecast cache", "A name of far too many words to be one"),
    ],
)
def test_labels_and_names_have_their_length(
    shipped: Prompts, name: str, good: str, bad: str
) -> None:
    """A label has at least four words, a name at most five."""
    grammar = shipped.get(name).grammar
    assert grammar is not None and grammar.kind == "regex"
    assert regex.fullmatch(grammar.text, good)
    assert not regex.fullmatch(grammar.text, bad)


def test_a_run_records_which_prompts_it_asked_with(home: Path) -> None:
    """By digest, the user's own among them; the next run records what holds then."""
    config = make_vault()
    run_night(config)
    own = config_path().parent / "prompts" / "chunk" / "keep.md"
    own.parent.mkdir(parents=True)
    text = Prompts(folder("prompts")).get("chunk/keep").raw
    own.write_text(text.replace("You sort", "You carefully sort"), encoding="utf-8")
    run_night(config, at=NIGHT + timedelta(days=1))
    with closing(sqlite3.connect(config.store_path)) as store:
        rows = store.execute("SELECT prompts FROM runs ORDER BY rowid").fetchall()
    before, after = (json.loads(text) for (text,) in rows)
    assert before == Prompts(folder("prompts")).digests()
    assert set(after) == set(PLACES)
    assert [name for name in after if after[name] != before[name]] == ["chunk/keep"]


# ------------------------------------------------------------------ asking


def test_a_file_becomes_an_ask(tmp_path: Path) -> None:
    """Front matter and parts arrive where they belong, places filled."""
    prompts = Prompts(prompt_folder(tmp_path, SIMPLE))
    prompt = prompts.get("stage/say")
    assert (prompt.max_tokens, prompt.temperature) == (9, 0.5)
    assert prompt.grammar is not None
    assert (prompt.grammar.kind, prompt.grammar.text) == ("regex", "[a-z]+")
    ask = prompts.ask("stage/say", {"topic": "words", "text": "two"})
    assert ask.system == f"{SENTINEL}\nSpeak of words."
    assert ask.examples == (("One", "uno"),)
    assert ask.prompt == "Say: two"


@given(
    text=st.text()
    | st.sampled_from(["$topic", "$$", "$&", r"\1", "$'", "## user\nhi", "---", "</chat>", "{x}"]),
)
def test_values_go_in_as_they_are(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A value is inserted once and unchanged, whatever marks and places it holds."""
    prompts = Prompts(prompt_folder(tmp_path_factory.mktemp("p"), SIMPLE))
    ask = prompts.ask("stage/say", {"topic": "words", "text": text})
    assert ask.prompt == f"Say: {text}"


def test_a_missing_value_names_file_and_place(tmp_path: Path) -> None:
    """A place that nothing fills is a fault that names the file and the place."""
    prompts = Prompts(prompt_folder(tmp_path, SIMPLE))
    with pytest.raises(ConfigFault, match=r"say\.md.*\$topic"):
        prompts.ask("stage/say", {"text": "two"})


def test_a_value_without_a_place_is_a_fault(tmp_path: Path) -> None:
    """A prompt that never shows the model what it is asked about is refused."""
    prompts = Prompts(prompt_folder(tmp_path, SIMPLE))
    with pytest.raises(ConfigFault, match=r"say\.md.*\$more"):
        prompts.ask("stage/say", {"topic": "words", "text": "two", "more": "three"})


def test_options_come_from_the_file_unless_given(tmp_path: Path) -> None:
    """A choice with fixed answers has them in its file; the caller may give others."""
    text = "---\noptions: ['yes', 'no']\n---\n## system\nS\n## user\n$q\n"
    prompts = Prompts(prompt_folder(tmp_path, text))
    assert prompts.ask("stage/say", {"q": "?"}).options == ("yes", "no")
    assert prompts.ask("stage/say", {"q": "?"}, options=["A", "B"]).options == ("A", "B")


def test_an_unknown_name_is_a_fault(shipped: Prompts) -> None:
    """The fault names what was asked for."""
    with pytest.raises(ConfigFault, match="synthesize/poems"):
        shipped.get("synthesize/poems")


# ------------------------------------------------------------------ checking files


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("## system\nS\n## user\nU\n", "front matter"),
        ("---\nmax_token: 3\n---\n## system\nS\n## user\nU\n", "max_token"),
        ("---\nmax_tokens: many\n---\n## system\nS\n## user\nU\n", "max_tokens"),
        ("---\nmax_tokens: true\n---\n## system\nS\n## user\nU\n", "max_tokens"),
        ("---\ntemperature: 7\n---\n## system\nS\n## user\nU\n", "temperature"),
        ("---\noptions: [a, a]\n---\n## system\nS\n## user\nU\n", "options"),
        ("---\n[: x\n---\n## system\nS\n## user\nU\n", "YAML"),
        ("---\n- a\n---\n## system\nS\n## user\nU\n", "settings"),
        ("---\nregex: a\n---\n## system\nS\n## user\nU\n", "max_tokens"),
        ("---\nregex: a\nschema: b\n---\n## system\nS\n## user\nU\n", "both"),
        ("---\nmax_tokens: 3\nschema: no.json\n---\n## system\nS\n## user\nU\n", "no.json"),
        ("---\ncut: 2026-13-01\n---\n## system\nS\n## user\nU\n", "no YAML"),
        ("---\n{}\n---\n## user\nU\n", "parts"),
        ("---\n{}\n---\n## system\nS\n## example user\nE\n## user\nU\n", "parts"),
        ("---\n{}\n---\n## system\nS\n## user\nU\n## user\nU\n", "parts"),
        ("---\n{}\n---\nhello\n## system\nS\n## user\nU\n", "before its first part"),
        ("---\n{}\n---\n## system\nS costs $5\n## user\nU\n", "dollar sign"),
    ],
)
def test_a_broken_file_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    """What is wrong with a prompt file is said before anything is asked with it."""
    with pytest.raises(ConfigFault, match=rf"(?s)say\.md.*{re.escape(said)}"):
        Prompts(prompt_folder(tmp_path, text))


def test_a_folder_without_prompts_is_refused(tmp_path: Path) -> None:
    """A package without its data says so."""
    with pytest.raises(ConfigFault, match="no prompts"):
        Prompts(tmp_path)


# ------------------------------------------------------------------ the user's own


def test_the_users_file_takes_the_shipped_ones_place(tmp_path: Path) -> None:
    """An override replaces that prompt alone, and its digest tells."""
    shipped = prompt_folder(tmp_path / "a", SIMPLE)
    prompt_folder(shipped, SIMPLE, "stage/other")
    own = prompt_folder(tmp_path / "b", SIMPLE.replace("Say:", "Tell:"))
    before, after = Prompts(shipped), Prompts(shipped, own)
    assert after.ask("stage/say", {"topic": "t", "text": "x"}).prompt == "Tell: x"
    assert after.ask("stage/other", {"topic": "t", "text": "x"}).prompt == "Say: x"
    assert after.digests()["stage/say"] != before.digests()["stage/say"]
    assert after.digests()["stage/other"] == before.digests()["stage/other"]


def test_an_override_may_lean_on_the_shipped_schema(tmp_path: Path) -> None:
    """A user who changes the words need not copy the schema; one who brings one is heard."""
    text = "---\nmax_tokens: 3\nschema: s.json\n---\n## system\nS\n## user\n$q\n"
    shipped = prompt_folder(tmp_path / "a", text)
    (shipped / "stage" / "s.json").write_text('{"type": "string"}', encoding="utf-8")
    own = prompt_folder(tmp_path / "b", text)
    grammar = Prompts(shipped, own).get("stage/say").grammar
    assert grammar is not None and json.loads(grammar.text) == {"type": "string"}
    (own / "stage" / "s.json").write_text('{"type": "number"}', encoding="utf-8")
    grammar = Prompts(shipped, own).get("stage/say").grammar
    assert grammar is not None and json.loads(grammar.text) == {"type": "number"}


def test_an_override_of_nothing_is_refused(tmp_path: Path) -> None:
    """A misspelt file name is no silent no-op."""
    shipped = prompt_folder(tmp_path / "a", SIMPLE)
    own = prompt_folder(tmp_path / "b", SIMPLE, "stage/sya")
    with pytest.raises(ConfigFault, match="stage/sya"):
        Prompts(shipped, own)


def test_a_missing_override_folder_is_no_fault(tmp_path: Path) -> None:
    """Who has no prompts of their own gets the shipped ones."""
    shipped = prompt_folder(tmp_path / "a", SIMPLE)
    assert Prompts(shipped, tmp_path / "none").get("stage/say").max_tokens == 9


def test_digests_are_twelve_hex_and_follow_the_schema(tmp_path: Path) -> None:
    """The digest changes with the file and with its schema, and with nothing else."""
    text = "---\nmax_tokens: 3\nschema: s.json\n---\n## system\nS\n## user\n$q\n"
    root = prompt_folder(tmp_path, text)
    schema = root / "stage" / "s.json"
    schema.write_text('{"type": "string"}', encoding="utf-8")
    first = Prompts(root).digests()["stage/say"]
    assert re.fullmatch(r"[0-9a-f]{12}", first)
    assert Prompts(root).digests()["stage/say"] == first
    schema.write_text('{"type": "number"}', encoding="utf-8")
    assert Prompts(root).digests()["stage/say"] != first
