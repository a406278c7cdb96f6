"""The order of nights leaves no trace: the same conversations, however folded, end as one article.

Real store, vault and git; a model that answers by the subject and the value of what it is shown.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise, permutations
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pipeline import assemble
from pipeline.config import Config
from pipeline.footnotes import citations_of
from pipeline.gates import Verdict
from pipeline.markdown import parse
from pipeline.models import Ask, Choice
from pipeline.records import (
    AppendSentences,
    Bucket,
    Chunk,
    Citation,
    Claim,
    ClaimKind,
    Done,
    Skipped,
)
from pipeline.stages import Desk, synthesize
from pipeline.store.ledger import PageFile
from pipeline.synthesis.folding import Folded, fold
from pipeline.synthesis.placement import Evidenced, place
from tests.doubles import CannedModel, HashEmbedder
from tests.support_night import NIGHT, make_vault
from tests.support_order import CONVS, ENGLISH, LANGUAGES, Language
from tests.support_store import chunk, fill

DAY = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)
TITLE = "Lantern project"
Nights = Sequence[Sequence[str]]
Told = Mapping[str, list[str]]


@dataclass(frozen=True)
class Article:
    """The article at the end. Current: text → conversations; past: (text, date, conversations)."""

    current: dict[str, set[str]]
    past: list[tuple[str, str, frozenset[str]]]
    sentences: list[str]
    talk: list[str]


def _sheet(ask: Ask) -> tuple[str, str]:
    old, _, new = ask.prompt.partition("Old: ")[2].partition("\nNew: ")
    return old.strip(), new.strip()


def _unwritten(purpose: str, ask: Ask) -> str:
    assert purpose == "synthesize/compose"
    return "no JSON: the claims are used as they are"


def _model(language: Language) -> CannedModel:
    def choose(purpose: str, ask: Ask) -> str:
        if purpose == "synthesize/section":
            return ask.options[-1]
        assert purpose == "synthesize/relation"
        return language.relation(*_sheet(ask))

    return CannedModel(choose, _unwritten)


class CountingModel(CannedModel):
    """Remembers how many asks came in each batch of a choice."""

    batches: tuple[int, ...] = ()

    def choose(self, asks: Sequence[Ask], *, stage: str, purpose: str) -> list[Choice]:
        """As any canned model."""
        self.batches += (len(asks),)
        return super().choose(asks, stage=stage, purpose=purpose)


@pytest.fixture
def config(home: Path) -> Config:
    """A vault with nothing in it."""
    return make_vault()


def published(told: Told, nights: Nights, model: CannedModel, config: Config) -> Article:
    """The article after these nights as the stage keeps them: gate, Talk page, git, ledger."""
    with _desk(config, model) as desk:
        for result in _nights(told, nights, desk):
            outcome = synthesize.keep(result, desk)
            assert isinstance(outcome, Done | Skipped), outcome
            assert desk.results.refused == []
        page = config.vault / "Talk" / f"{TITLE}.md"
        talk = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
        return _read(desk, [line for line in talk if "conv:" in line])


def folded(told: Told, nights: Nights, model: CannedModel, config: Config) -> Article:
    """The same without git, for many orders: the article is begun anew, over a store of its own."""
    talk: list[str] = []
    store = Path(tempfile.mkdtemp(dir=config.vault.parent))
    article = config.vault / "articles" / f"{TITLE}.md"
    article.unlink(missing_ok=True)
    with _desk(config.model_copy(update={"cache_dir": store}), model) as desk:
        for result in _nights(told, nights, desk):
            assert result.verdict == Verdict() and result.unfit == ()
            talk += result.draft.talk
            if result.after:
                path = desk.vault.article_path(result.draft.article)
                file = PageFile(path, result.draft.base_hash, result.after)
                intent = desk.store.ledger.announce("run", file, "", {}, result.folding)
                article.parent.mkdir(exist_ok=True)
                article.write_text(result.after, encoding="utf-8")
                desk.store.ledger.settle(intent, "", NIGHT)
        return _read(desk, talk)


@contextmanager
def _desk(config: Config, model: CannedModel) -> Iterator[Desk]:
    desk = assemble.desk(
        config,
        models=assemble.Models(lambda account: model, HashEmbedder()),
        say=lambda event: None,
        now=lambda: NIGHT,
    )
    # whether so much news at once is shown to the user first is another matter
    bold = desk.policy.gate.model_copy(update={"upheaval": 1.0})
    try:
        yield replace(desk, policy=desk.policy.model_copy(update={"gate": bold}))
    finally:
        desk.store.close()


def _nights(told: Told, nights: Nights, desk: Desk) -> Iterator[Folded]:
    days = {conv: DAY + timedelta(days=day) for day, conv in enumerate(sorted(told))}
    for night in nights:
        chunks = tuple(_told(desk, conv, told[conv], days[conv]) for conv in night)
        yield fold(Bucket(TITLE), chunks, desk)


def _told(
    desk: Desk, conv: str, texts: Sequence[str], start: datetime, claims: Sequence[str] = ()
) -> Chunk:
    """A conversation whose messages each say one thing, or its first one all the claims."""
    fill(desk.store, conv, texts, start=start)
    made = chunk(desk.store, conv, 0, len(texts) - 1)
    desk.store.chunks.replace_tail(conv, [made])
    desk.store.claims.save(
        made.id,
        [
            Claim(f"{made.id}-{i}", made.id, i, text, ClaimKind.FACT, (0 if claims else i,), 1.0)
            for i, text in enumerate(claims or texts)
        ],
    )
    return made


def _read(desk: Desk, talk: list[str]) -> Article:
    page = parse(desk.vault.read(TITLE) or "")
    current: dict[str, set[str]] = {}
    past: list[tuple[str, str, frozenset[str]]] = []
    sentences = []
    for block in page.blocks:
        for sentence in block.sentences:
            convs = {citation.conv for citation in citations_of(page, sentence.marks)}
            if block.section == "History":
                line = block.raw.splitlines()[block.raw[: sentence.start].count("\n")]
                date = re.match(r"- (\d{4}-\d{2}-\d{2}): ", line)
                assert date
                past.append((sentence.text, date[1], frozenset(convs)))
            else:
                current[sentence.text] = convs
                sentences.append(sentence.text)
    return Article(current, past, sentences, talk)


def check(language: Language, article: Article) -> None:
    """What must be so after any order: see the assertions."""
    assert article.current == language.current
    # no sentence stands twice
    assert len(article.sentences) == len(article.current)
    # every superseded value is History, under its own date and with its own source
    gone = [(text, date) for text, date, _ in article.past if text not in article.current]
    assert sorted(gone) == sorted(language.past.items())
    for text, _, convs in article.past:
        assert convs <= {conv for conv, texts in language.told.items() if text in texts}
    # no citation is lost: each conversation stands behind each sentence it said
    behind = {(text, conv) for text, convs in article.current.items() for conv in convs}
    behind |= {(text, conv) for text, _, convs in article.past for conv in convs}
    assert behind == {(text, conv) for conv, texts in language.told.items() for text in texts}
    # the contradiction is asked of the user, once, with its source
    (entry,) = article.talk
    assert "conv:" in entry and all(text.rstrip(".。") in entry for text in language.cause)


def many_orders(examples: int) -> settings:
    """Every order counts, and each is short already: none is looked for that is shorter."""
    return settings(
        max_examples=examples,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_usual_order_of_nights(name: str, config: Config) -> None:
    """Updates, a return, a repeat, a bridge, a contradiction, in every language, one a night."""
    language = LANGUAGES[name]
    nights = [[conv] for conv in CONVS]
    check(language, published(language.told, nights, _model(language), config))


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_reverse_order_of_nights(name: str, config: Config) -> None:
    """The newest first: every older value finds that it is History already."""
    language = LANGUAGES[name]
    nights = [[conv] for conv in reversed(CONVS)]
    check(language, folded(language.told, nights, _model(language), config))


@pytest.mark.parametrize("name", LANGUAGES)
def test_all_in_one_night(name: str, config: Config) -> None:
    """What was superseded before it was ever written is History from the first."""
    language = LANGUAGES[name]
    check(language, folded(language.told, [CONVS], _model(language), config))


@many_orders(15)
@given(st.sampled_from(sorted(LANGUAGES)), st.permutations(CONVS), st.sets(st.integers(1, 6)))
def test_any_order_in_any_nights(
    config: Config, name: str, convs: list[str], cuts: set[int]
) -> None:
    """Whatever the order, and however many conversations a night folds."""
    language = LANGUAGES[name]
    ends = [0, *sorted(cuts), len(convs)]
    nights = [convs[start:end] for start, end in pairwise(ends)]
    check(language, folded(language.told, nights, _model(language), config))


def test_every_order_of_four_values(config: Config) -> None:
    """All 24: the value of the latest evidence is current, each other one History on its date."""
    told = {conv: [text] for conv, text in zip(CONVS, ENGLISH.chain, strict=False)}
    for order in permutations(told):
        article = folded(told, [[conv] for conv in order], _model(ENGLISH), config)
        assert article.current == {ENGLISH.chain[3]: {CONVS[3]}}, order
        assert sorted(article.past, key=lambda line: line[1]) == [
            (ENGLISH.chain[0], "2026-11-01", frozenset({CONVS[0]})),
            (ENGLISH.chain[1], "2026-11-02", frozenset({CONVS[1]})),
            (ENGLISH.chain[2], "2026-11-03", frozenset({CONVS[2]})),
        ], order


def test_every_order_of_going_back(config: Config) -> None:
    """A, B, A: the last is current with all that was said for it, the other is History."""
    a, b = ENGLISH.place
    told = {conv: [text] for conv, text in zip(CONVS, (a, b, a), strict=False)}
    for order in permutations(told):
        article = folded(told, [[conv] for conv in order], _model(ENGLISH), config)
        assert article.current == {a: {CONVS[0], CONVS[2]}}, order
        assert (b, "2026-11-02", frozenset({CONVS[1]})) in article.past, order
        # where it was already given up once, its line of that day stays
        assert {text for text, _, _ in article.past} <= {a, b}, order


@many_orders(20)
@given(
    st.lists(st.integers(0, 3), min_size=4, max_size=6),
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3))).map(frozenset),
    st.randoms(use_true_random=False),
)
def test_a_model_that_answers_at_random(
    config: Config, values: list[int], updates: frozenset[tuple[int, int]], random: Random
) -> None:
    """No sense is needed of the model, only that one pair in one order always gets one answer."""
    texts = [f"The Lantern retention job keeps sessions for {days} days." for days in range(30, 34)]
    told = {conv: [texts[value]] for conv, value in zip(CONVS, values, strict=False)}
    last = {value: day for day, value in enumerate(values)}

    def choose(purpose: str, ask: Ask) -> str:
        old, new = (texts.index(text) for text in _sheet(ask))
        return "updates" if (old, new) in updates else "unrelated"

    order = random.sample(sorted(told), len(told))
    article = folded(told, [[conv] for conv in order], CannedModel(choose), config)
    assert article.current == {
        texts[old]: {conv for conv, value in zip(CONVS, values, strict=False) if value == old}
        for old in last
        if not any(last[new] > last[old] and (old, new) in updates for new in last)
    }
    gone = {texts[value] for value in last} - set(article.current)
    assert gone <= {text for text, _, _ in article.past}


def test_a_fuller_and_a_shorter_sentence_both_stand(config: Config) -> None:
    """What one conversation leaves out, another may not swallow: the fuller could come later."""
    full = "The Lantern importer reads files in blocks of 64 MB with 4 workers."
    told = dict(zip(CONVS, ([full], [ENGLISH.files]), strict=False))
    for order in permutations(told):
        model = CannedModel(lambda purpose, ask: "unrelated")
        article = folded(told, [[conv] for conv in order], model, config)
        assert article.current == {full: {CONVS[0]}, ENGLISH.files: {CONVS[1]}}, order
    # within one conversation the order is that of the talk
    told = {CONVS[0]: [full, ENGLISH.files]}
    assert folded(told, [[CONVS[0]]], CannedModel(), config).current == {full: {CONVS[0]}}


def test_a_source_of_less_is_no_source_of_more(config: Config) -> None:
    """The talk goes on and says less than the article has of it: known, and no citation of it."""
    full = "The Lantern importer reads files in blocks of 64 MB with 4 workers."
    with _desk(config, CannedModel()) as desk:
        first = _told(desk, CONVS[0], [full, ENGLISH.files], DAY, claims=[full])
        synthesize.keep(fold(Bucket(TITLE), [first], desk), desk)
        page = parse(desk.vault.read(TITLE) or "")
        claim = Claim("later", first.id, 1, ENGLISH.files, ClaimKind.FACT, (1,), 1.0)
        source = Citation(CONVS[0], 1, 1, "2026-11-01", "pi", "")
        later = Evidenced(claim, (source,), (DAY + timedelta(minutes=1)).isoformat())
        plan = place([later], page, TITLE, desk)
        assert (plan.edits, plan.added, plan.talk, plan.known) == ([], [], [], 1)


def test_of_two_wordings_the_earlier_stands(config: Config) -> None:
    """Both in one night: the evidence decides which is cited and which is left, not the order."""
    early = "The Lantern archives are written with zstd, because it is fast."
    late = "Because it is fast, the Lantern archives are written with zstd."
    told = dict(zip(CONVS, ([early], [late]), strict=False))
    for order in permutations(told):
        article = folded(told, [order], CannedModel(), config)
        assert article.current == {early: set(told)}, order


def test_one_claim_asks_a_few_questions_at_once(config: Config) -> None:
    """However many sentences are alike: one batch, no longer than the policy says."""
    kept = ("sessions", "logs", "mails", "keys", "files", "pages", "links", "notes", "drafts")
    texts = [f"The Lantern retention job keeps {what} for 45 days." for what in kept]
    told = dict(zip(CONVS, (texts, [ENGLISH.chain[1]]), strict=False))
    model = CountingModel(lambda purpose, ask: "unrelated", _unwritten)
    article = folded(told, [[CONVS[0]], [CONVS[1]]], model, config)
    assert len(article.current) == len(kept) + 1
    with _desk(config, model) as desk:
        bound = desk.policy.synthesize.relations
    assert max(model.batches) == model.batches[-1] == bound < len(kept)
    last = [asked.ask for asked in model.asked[-bound:]]
    assert all(_sheet(ask)[1] == ENGLISH.chain[1] for ask in last)
    assert ENGLISH.chain[0] in {_sheet(ask)[0] for ask in last}, "the most alike are asked about"


def test_one_message_outdates_nothing_it_says_itself(config: Config) -> None:
    """Evidence of one time is never asked about, so neither goes."""
    model = CannedModel()
    told = {CONVS[0]: [f"{ENGLISH.chain[0]} {ENGLISH.chain[1]}"]}
    with _desk(config, model) as desk:
        made = _told(desk, CONVS[0], told[CONVS[0]], DAY, claims=ENGLISH.chain[:2])
        draft = fold(Bucket(TITLE), [made], desk).draft
    added = [s.text for e in draft.edits if isinstance(e, AppendSentences) for s in e.sentences]
    assert sorted(added) == sorted(ENGLISH.chain[:2])
