"""What two statements are to each other: of the pair alone, in any language."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import assemble
from pipeline.models import Choice
from pipeline.stages import Desk
from pipeline.synthesis.relating import (
    RELATION,
    Likeness,
    Relations,
    can_update,
    is_later,
    is_repeat,
    on_one_matter,
    same_values,
    says_no_more,
)
from tests.doubles import CannedModel, HashEmbedder
from tests.support_night import NIGHT, make_vault
from tests.support_order import LANGUAGES
from tests.test_order import CountingModel

DUPLICATE = 0.92
SAID = "the Lantern job keeps not 45 30 days in Postgres Der db/x.sql 灯台 は 保存 חדש מגדלור"
SENTENCES = st.lists(st.sampled_from(SAID.split()), min_size=1, max_size=12).map(" ".join)


@given(SENTENCES, SENTENCES)
def test_what_code_sees_of_a_pair_does_not_depend_on_its_order(a: str, b: str) -> None:
    """Which of the two is folded first decides nothing."""
    assert is_repeat(a, b, DUPLICATE) == is_repeat(b, a, DUPLICATE)
    assert on_one_matter(a, b) == on_one_matter(b, a)
    assert same_values(a, b) == same_values(b, a)
    assert can_update(a, b) == can_update(b, a)


@pytest.mark.parametrize(
    ("at", "than", "later"),
    [
        ("2026-11-02T09:00:00+00:00", "2026-11-01T23:00:00+00:00", True),
        ("2026-11-01T09:01:00+00:00", "2026-11-01T09:00:00+00:00", True),
        ("2026-11-01T09:00:00+00:00", "2026-11-01T09:00:00+00:00", False),
        ("2026-11-01T09:00:00.500000+00:00", "2026-11-01T09:00:00+00:00", True),
        ("2026-11-02", "2026-11-01T09:00:00+00:00", True),
        ("2026-11-01T09:00:00+00:00", "2026-11-01", False),  # some time of that day
        ("2026-11-01", "2026-11-01T09:00:00+00:00", False),
        ("", "2026-11-01", False),
        ("2026-11-01", "", False),
    ],
)
def test_unknown_and_equal_times_are_never_later(at: str, than: str, later: bool) -> None:
    """Where nothing says which came first, nothing takes the other's place."""
    assert is_later(at, than) is later


@pytest.mark.parametrize("name", LANGUAGES)
def test_another_value_is_another_statement_on_one_matter(name: str) -> None:
    """A number, a file name, a bare word: never a repeat, always worth the model's word."""
    language = LANGUAGES[name]
    for a, b in ((language.chain[0], language.chain[1]), language.place, language.word):
        assert not is_repeat(a, b, DUPLICATE) and not says_no_more(a, b)
        assert on_one_matter(a, b) and can_update(a, b)


@pytest.mark.parametrize("name", LANGUAGES)
def test_what_is_denied_is_not_what_was_said(name: str) -> None:
    """A "not" is enough to make it another statement."""
    a, b = LANGUAGES[name].cause
    assert not is_repeat(a, b, DUPLICATE) and not says_no_more(a, b) and not says_no_more(b, a)
    assert on_one_matter(a, b)


@pytest.mark.parametrize("name", LANGUAGES)
def test_other_matters_are_not_asked_about(name: str) -> None:
    """Sentences that share the project alone are two things without a question."""
    language = LANGUAGES[name]
    for other in (language.place[0], language.files, language.cause[0], language.word[0]):
        assert not on_one_matter(language.same, other)
        assert not is_repeat(language.same, other, DUPLICATE)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (
            "The Lantern service keeps all user sessions older than one month in a postgres "
            "table on the main host for audits.",
            "The Lantern service keeps all user sessions older than one month in a mysql "
            "table on the main host for audits.",
        ),
        (
            "Der alte Rechner mit allen Konten unserer Kunden und ihren Rechnungen der letzten "
            "Jahre steht seit dem Umzug in Bremen.",
            "Der alte Rechner mit allen Konten unserer Kunden und ihren Rechnungen der letzten "
            "Jahre steht seit dem Umzug in Leipzig.",
        ),
        (
            "灯塔项目存放所有客户账号和最近几年全部账单数据的那台旧服务器在搬迁之后一直放在北京机房。",
            "灯塔项目存放所有客户账号和最近几年全部账单数据的那台旧服务器在搬迁之后一直放在上海机房。",
        ),
    ],
)
def test_one_word_exchanged_in_a_long_sentence_is_no_repeat(a: str, b: str) -> None:
    """However long the rest, the word that was exchanged may be all that matters."""
    assert not is_repeat(a, b, DUPLICATE)
    assert on_one_matter(a, b) and can_update(a, b)


def test_a_repeat_may_lack_words_but_no_values() -> None:
    """Whatever is short and says nothing new has its place already; a digit more is new."""
    full = "Lantern reads the files of all customers in 45 blocks of 64 MB."
    assert says_no_more("The Lantern reads the files of customers in 45 blocks of 64 MB.", full)
    assert not says_no_more("Lantern reads the files of all customers in 4 blocks of 64 MB.", full)
    assert not says_no_more("Lantern reads the files of all customers with zstd.", full)
    assert not says_no_more(full, "Lantern reads the files of all customers in 45 blocks.")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "The Lantern job keeps them for thirty days.",
            "The Lantern job keeps them for forty days.",
        ),
        ("The Lantern cache is enabled on hosts.", "The Lantern cache is disabled on hosts."),
        ("The Lantern cache is used on hosts.", "The Lantern cache is not used on hosts."),
    ],
)
def test_a_word_can_be_a_value(old: str, new: str) -> None:
    """What no list knows as a value still updates where the sentences differ in that place only."""
    assert can_update(old, new)


def test_another_wording_is_no_update() -> None:
    """With the same values and words exchanged here and there, nothing is newer."""
    assert not can_update(
        "The user prefers short reports about the Lantern project.",
        "Short notes on the Lantern project are what the user likes best.",
    )


# ------------------------------------------------------------------ what the model is asked


def a_desk(model: CannedModel) -> Desk:
    """A desk for pure questions."""
    return assemble.desk(
        make_vault(),
        models=assemble.Models(lambda account: model, HashEmbedder()),
        say=lambda event: None,
        now=lambda: NIGHT,
    )


def test_pairs_are_asked_in_one_batch_and_once(home: Path) -> None:
    """Older first; what is known is not asked again, and an unsure answer is none."""
    unsure = Choice(("same", "updates", "contradicts", "unrelated"), (0.1, 0.4, 0.3, 0.2))
    model = CountingModel(["updates", unsure])
    desk = a_desk(model)
    relations = Relations(desk, "")
    assert relations.of([("A", "B"), ("A", "C"), ("A", "B")]) == ["updates", "", "updates"]
    assert relations.of([("A", "C")]) == [""]
    assert model.batches == (2,)
    assert [asked.ask.prompt for asked in model.asked] == ["Old: A\nNew: B", "Old: A\nNew: C"]
    desk.store.close()


def test_the_owners_reasons_end_the_system_turn(home: Path) -> None:
    """And leave no trace in it when there are none."""
    model = CannedModel(["same", "same"])
    desk = a_desk(model)
    Relations(desk, "\nHeed this.").of([("A", "B")])
    Relations(desk, "").of([("A", "B")])
    with_reasons, without = (asked.ask.system for asked in model.asked)
    assert with_reasons == f"{without}\nHeed this."
    assert without.endswith(desk.prompts.get(RELATION).system.removesuffix("$rules"))
    desk.store.close()


def test_vectors_alone_make_no_repeat(home: Path) -> None:
    """Two sentences may be near in meaning and differ in the number that matters."""
    desk = a_desk(CannedModel())
    a, b = "Keep it for 45 days.", "Keep it for 30 days."
    likeness = Likeness([a, b], desk)
    assert likeness.of(a, b) == likeness.of(b, a) < desk.policy.synthesize.duplicate
    desk.store.close()
