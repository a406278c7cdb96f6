"""The gate on the corpus of benchmarks/gate_corpus, and the kinds of damage that corpus found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

import pytest

from benchmarks.gate import (
    MOST_REFUSED,
    Outcome,
    damaging,
    figures,
    highest_share,
    outcome,
    totals,
)
from benchmarks.gate_corpus.cases import (
    Case,
    Expected,
    Night,
    context_of,
    date_of,
    draft_of,
    night,
    ref,
    told,
    whole_night,
)
from benchmarks.gate_corpus.legitimate import creation, legitimate, pages, put_in, repeating
from benchmarks.gate_corpus.vaults import Vault, conversation, vaults
from pipeline.footnotes import citations
from pipeline.gates import Verdict, judge, section_words
from pipeline.markdown import parse
from pipeline.policy import load_policy
from pipeline.records import (
    AddCitation,
    AppendHistory,
    AppendSentences,
    Citation,
    CitedSentence,
    Draft,
    Edit,
    MoveSentence,
    Retire,
    Supersede,
)
from pipeline.support import check

# in one process: the corpus is made and judged once
pytestmark = pytest.mark.xdist_group("gate corpus")

POLICY = load_policy().gate
STEM = "Session store"


@lru_cache(maxsize=1)
def good() -> tuple[Case, ...]:
    """Every legitimate write of the corpus."""
    return tuple(legitimate())


@lru_cache(maxsize=1)
def bad() -> tuple[Case, ...]:
    """Every damaging one."""
    return tuple(damaging())


@lru_cache(maxsize=1)
def judged() -> tuple[Outcome, ...]:
    """The whole corpus, judged."""
    return tuple(outcome(case, POLICY) for case in (*good(), *bad()))


def wrong(expected: Sequence[Expected]) -> list[str]:
    """What the gate got wrong, a line each."""
    return [
        f"{one.case.kind} | {one.case.name} | {'; '.join(one.reasons)}"
        for one in judged()
        if one.wrong and one.case.expected in expected
    ]


# ------------------------------------------------------------------ the corpus and the goal


def test_no_damage_is_written() -> None:
    """Of all damaging writes none is accepted, and none that had to be refused is merely held."""
    assert wrong([Expected.REFUSED, Expected.STOPPED]) == []


def test_good_writes_are_written() -> None:
    """Of all legitimate writes at most one in fifty is refused or held."""
    refused = wrong([Expected.PASS])
    assert len(refused) <= MOST_REFUSED * len(good()), "\n".join(refused)


def test_the_corpus_is_large_and_its_cases_differ() -> None:
    """At least 200 legitimate and 300 damaging writes; no two share before, after and draft."""
    assert len(good()) >= 200
    assert len(bad()) >= 300
    for some in (good(), bad()):
        keys = Counter(
            (c.before, c.after, c.draft.edits, c.draft.article, c.draft.title) for c in some
        )
        repeated = [key[1][:80] for key, count in keys.items() if count > 1]
        assert len(repeated) <= len(some) * 0.01, repeated


def test_the_corpus_is_the_same_each_time() -> None:
    """Nothing in it depends on chance or on the day."""

    def seen(cases: Iterable[Case]) -> list[tuple[str, str, str, Draft]]:
        return [(case.kind, case.name, case.after, case.draft) for case in cases]

    assert seen(good()) == seen(legitimate())
    assert seen(bad()) == seen(damaging())


def test_every_write_of_the_corpus_writes_something() -> None:
    """A legitimate case changes its page; a damaged page is not the right one by chance."""
    assert [case.name for case in good() if case.after == case.before] == []
    idle = {"news the draft tells is not written", "an article that is not there changed"}
    same = {case.kind for case in bad() if case.after == case.before}
    assert same <= idle


def test_the_fixtures_are_true() -> None:
    """Each cited sentence of the vaults, and each piece of news, is borne out by what it cites."""
    for vault, _, text in pages():
        page = parse(text)
        known = citations(page)
        for block in page.blocks:
            for sentence in block.sentences:
                cited = [known[label] for label in sentence.marks if label in known]
                messages = [m for citation in cited for m in vault.evidence(citation)]
                if cited:
                    verdict = check(sentence.text, messages, threshold=POLICY.support)
                    assert verdict.reasons == (), sentence.text


def test_the_bound_is_clopper_and_pearsons() -> None:
    """None of n: 1 - 0.05^(1/n), about three in n. One of two: 1 - p² = 0.05."""
    assert highest_share(0, 300) == pytest.approx(1 - 0.05 ** (1 / 300), abs=1e-9)
    assert highest_share(0, 300) == pytest.approx(3 / 300, rel=0.01)
    assert highest_share(1, 2) == pytest.approx(0.95**0.5, abs=1e-9)
    assert highest_share(2, 2) == pytest.approx(1.0)


def test_the_totals_tell_of_one_miss() -> None:
    """One damaging write accepted is told, counted, and misses the goal."""
    vault, stem, before = next(pages())
    case = told(vault, stem, before, vault.news_of(stem)[:1]).case("kind", "name", Expected.REFUSED)
    fine = Outcome(replace(case, expected=Expected.PASS), (), (), ())
    found = figures([fine, Outcome(case, (), (), ())])
    assert found["damaging_accepted"] == 1
    assert not found["reached"]
    assert "1 of 1" in totals([fine, Outcome(case, (), (), ())])[0]
    assert figures([fine, Outcome(case, ("floor",), (), ("why",))])["reached"]
    held = figures([fine, Outcome(case, (), ("growth",), ("why",))])
    assert held["damaging_held_that_had_to_be_refused"] == 1
    assert not held["reached"]


# ------------------------------------------------------------------ the kinds it found


def coder() -> Vault:
    """The vault of the Session store."""
    return vaults()[0]


def page() -> str:
    """The Session store."""
    return coder().pages[STEM]


def verdict(made: Night, after: str | None = None, draft: Draft | None = None) -> Verdict:
    """What the gate says to a night, or to another text or draft in its place."""
    text = made.after if after is None else after
    return judge(made.before, text, draft or made.draft, POLICY, made.context)


def said(reasons: Sequence[str], *words: str) -> bool:
    """Whether one reason holds all these words."""
    return any(all(word in reason for word in words) for reason in reasons)


def session_night(*edits: Edit, claims: int = 40) -> Night:
    """These edits in the Session store."""
    made = night(coder(), STEM, page(), list(edits), [])
    return replace(made, draft=replace(made.draft, claims_words=claims))


LOGINS = "The session store keeps logins in Postgres."
CLEANUP = "The cleanup job runs every 10 minutes."
FASTER = CitedSentence(
    "The cleanup job runs every 5 minutes.", (coder().citation("b07e52a4", 2, 2),)
)
PRIYA = CitedSentence("Priya looks after the session store.", (coder().citation("b07e52a4", 4, 4),))
SAID_AGAIN = coder().citation("b07e52a4", 5, 5)


def test_a_section_may_lose_what_moves_or_merges_elsewhere() -> None:
    """A lead of one sentence that moves is no lead that shrank; a repeat merged away is no loss."""
    moved = session_night(MoveSentence(ref(page(), LOGINS), "Background"))
    assert verdict(moved) == Verdict()
    found = repeating(coder(), STEM, page())
    assert found is not None
    repeated, merge = found
    assert verdict(night(coder(), STEM, repeated, [merge], [])) == Verdict()


def test_the_floor_of_the_page_holds_against_merges() -> None:
    """No loss to their sections, but an article does not lose half of its words to them at once."""
    half = next(one for one in judged() if one.case.name == "Trees: half of the page")
    assert "floor" in half.refused_by


def test_a_byte_order_mark_before_a_page_without_frontmatter_is_no_news() -> None:
    """It was there before, though it now stands by itself before what was put in."""
    keeper = vaults()[1]
    before = "\ufeff" + keeper.pages["Choir trip"]
    assert verdict(whole_night(keeper, "Choir trip", before)) == Verdict()


def test_upheaval_counts_the_sentences_that_can_be_outdated() -> None:
    """A page full of the user's own prose hides no night that outdates most of what is ours."""
    own = " ".join(f"Remark {n} of mine." for n in range(40))
    before = put_in(page(), own, place=0)
    ours = [LOGINS, CLEANUP, "It deletes expired rows in batches of 500."]
    edits = [Retire(ref(before, text), date_of(before, text)) for text in ours]
    found = verdict(night(coder(), STEM, before, edits, []))
    assert found.refused == ()
    assert said(found.doubts, "3 of 5 sentences")


@pytest.mark.parametrize(
    "sign", ["\u00ad", "\u034f", "\u115f", "\u3164", "\u2063", "\u206a", "\u180e", "\U000e0158"]
)
def test_signs_nobody_sees_are_not_written(sign: str) -> None:
    """Soft hyphens, fillers, invisible operators and selectors can carry what no reader sees."""
    made = session_night(AppendSentences("Background", (PRIYA,)))
    after = made.after.replace("Priya looks", f"Pri{sign}ya looks")
    assert said(verdict(made, after=after).refused, "hidden characters")


@pytest.mark.parametrize("name", [" space", "a\u202eb", "a\u200bb", "a\u00adb"])
def test_a_name_begins_with_no_space_and_hides_nothing(name: str) -> None:
    """Such a file looks like another one."""
    made = creation(coder(), STEM, title="New thing")
    assert verdict(made) == Verdict()
    assert verdict(made, draft=replace(made.draft, article=name)).refused


def test_a_new_article_takes_no_name_or_tag_that_nobody_gave() -> None:
    """An alias can take over every link to another article; a tag can publish the page."""
    made = creation(coder(), STEM, title="New thing")
    for old, new in (("aliases: []", "aliases: [Build pipeline]"), ("tags: []", "tags: [publish]")):
        assert said(verdict(made, after=made.after.replace(old, new)).refused, "aliases or tags")


# ------------------------------------------------------------------ the draft is carried out


def test_news_that_the_draft_tells_is_written() -> None:
    """A chunk is folded once: what a renderer leaves out would never come again."""
    edits: list[Edit] = [
        AppendSentences("Background", (PRIYA,)),
        AddCitation(ref(page(), LOGINS), SAID_AGAIN),
        Supersede(ref(page(), CLEANUP), FASTER, "2026-03-02"),
        AppendHistory(
            CitedSentence("Logins took 900 ms.", (coder().citation("b07e52a4", 0, 0),)),
            "2026-03-20",
        ),
    ]
    made = session_night(*edits)
    assert verdict(made) == Verdict()
    for edit in edits:
        others = session_night(*(other for other in edits if other is not edit))
        assert said(verdict(made, after=others.after).refused, "is to be written"), edit
    assert verdict(made, after=made.before).refused


def test_two_sentences_given_as_one_are_looked_for_each() -> None:
    """The surgeon marks both; one of them without the other is half of the news."""
    text = "Sessions expire after 30 days. Priya looks after the session store."
    made = session_night(AppendSentences("Background", (CitedSentence(text, PRIYA.citations),)))
    assert verdict(made) == Verdict()
    after = re.sub(r" Priya looks after the session store\.\[\^\d+\]", "", made.after)
    assert said(verdict(made, after=after).refused, "Priya", "is to be written")


def test_a_sentence_cites_what_the_draft_says_and_nothing_more() -> None:
    """A second mark for show, or one of the user's footnotes, is not part of the edit."""
    made = session_night(AppendSentences("Background", (PRIYA,)))
    label = made.after.split("session store.[^")[1].split("]")[0]
    more = made.after.replace(f"session store.[^{label}]", f"session store.[^{label}][^3]")
    assert said(verdict(made, after=more).refused, "would cite 3fa9c1d2")
    before = put_in(page(), "A remark of mine.[^knuth]\n\n[^knuth]: Volume 1.", place=0)
    made = night(coder(), STEM, before, [AppendSentences("Background", (PRIYA,))], [PRIYA.text])
    assert verdict(made) == Verdict()
    more = made.after.replace("session store.[^", "session store.[^knuth][^")
    assert said(verdict(made, after=more).refused, "the user's footnote")


def test_a_merged_sentence_may_cite_what_its_repeat_cited() -> None:
    """Also what the repeat gains in the same night."""
    found = repeating(coder(), STEM, page())
    assert found is not None
    repeated, merge = found
    fresh = coder().citation("3fa9c1d2", 2, 3)
    made = night(coder(), STEM, repeated, [merge, AddCitation(merge.repeat, fresh)], [])
    assert not said(verdict(made).refused, "would cite")


def test_news_stands_at_the_end_of_its_section() -> None:
    """Between two blocks of the user's it would tear apart what belongs together."""
    made = session_night(AppendSentences("Operations", (PRIYA,)))
    assert verdict(made) == Verdict()
    sentence = next(line for line in made.after.splitlines() if line.startswith("Priya"))
    torn = made.after.replace(f"{sentence}\n\n", "").replace("```c\n", f"{sentence}\n\n```c\n")
    assert said(verdict(made, after=torn).refused, "Priya", "no edit says so")


# ------------------------------------------------------------------ what follows what


def test_older_evidence_does_not_take_the_place_of_newer() -> None:
    """The order of processing decides nothing: by day, and on one day by the time."""
    current = session_night(Supersede(ref(page(), CLEANUP), FASTER, "2026-03-02")).after
    older = CitedSentence(CLEANUP, (coder().citation("3fa9c1d2", 3, 3),))
    made = night(
        coder(), STEM, current, [Supersede(ref(current, FASTER.text), older, "2026-03-02")], []
    )
    assert said(verdict(made).refused, "rests on older messages")
    same_day = conversation(
        "abcdef01", [("user", "The store is fast."), ("user", "The store is slow.")]
    )
    times = [
        message._replace(at=message.at.replace(hour=hour))
        for message, hour in zip(same_day.messages, (9, 8), strict=True)
    ]
    vault = replace(
        coder(),
        conversations={
            **coder().conversations,
            "abcdef01": replace(same_day, messages=tuple(times)),
        },
    )
    first, second = (
        CitedSentence(text, (vault.citation("abcdef01", n, n),))
        for n, text in enumerate(("The store is fast.", "The store is slow."))
    )
    start = night(vault, STEM, page(), [AppendSentences("Background", (first,))], [first.text])
    edit = Supersede(ref(start.after, first.text), second, first.citations[0].date)
    assert said(verdict(night(vault, STEM, start.after, [edit], [])).refused, "rests on older")


def test_dates_are_those_of_the_evidence() -> None:
    """Of citations, give or take a time zone; of lines of History; of the update of a page."""
    citation = PRIYA.citations[0]
    for day, fine in (
        ("2026-03-19", True),
        ("2026-03-21", True),
        ("2026-03-22", False),
        ("2019-01-01", False),
    ):
        dated = CitedSentence(PRIYA.text, (replace(citation, date=day),))
        reasons = verdict(session_night(AppendSentences("Background", (dated,)))).refused
        assert said(reasons, "were not said on") is not fine, day
    for day, fine in (("2026-03-02", True), ("2026-03-20", True), ("1999-12-31", False)):
        made = session_night(Supersede(ref(page(), CLEANUP), FASTER, day))
        assert said(verdict(made).refused, "would be dated") is not fine, day
    made = session_night(AppendSentences("Background", (PRIYA,)))
    for day in ("2026-13-45", "1999-01-01", "soon"):
        after = made.after.replace("updated: 2026-11-29", f"updated: {day}")
        assert said(verdict(made, after=after).refused, "updated"), day


def test_a_page_whose_user_dates_it_in_words_is_written_all_the_same() -> None:
    """`updated: some day` is the user's; what the surgery puts there is a date."""
    before = page().replace("updated: 2026-03-02", "updated: some day")
    made = night(coder(), STEM, before, [AppendSentences("Background", (PRIYA,))], [PRIYA.text])
    assert verdict(made) == Verdict()


def test_a_sentence_is_not_outdated_by_another_matter() -> None:
    """Held, since code cannot tell for certain; a changed value of the same thing is no doubt."""
    other = CitedSentence("Priya looks after the session store.", PRIYA.citations)
    made = session_night(Supersede(ref(page(), CLEANUP), other, "2026-03-02"))
    assert said(verdict(made).doubts, "another matter")
    made = session_night(Supersede(ref(page(), CLEANUP), FASTER, "2026-03-02"))
    assert verdict(made) == Verdict()


@pytest.mark.parametrize(
    "vaguer",
    ["The cleanup job runs.", "The cleanup job may run every 10 minutes.", CLEANUP],
)
def test_a_sentence_is_not_outdated_by_one_that_says_no_more(vaguer: str) -> None:
    """Newest does not win by being newest: what is known precisely stays."""
    spoken = conversation("abcdef04", [("user", vaguer)])
    vault = replace(coder(), conversations={**coder().conversations, "abcdef04": spoken})
    cited = CitedSentence(vaguer, (vault.citation("abcdef04", 0, 0),))
    edit = Supersede(ref(page(), CLEANUP), cited, "2026-03-02")
    assert said(verdict(night(vault, STEM, page(), [edit], [vaguer])).refused, "says no more")


# ------------------------------------------------------------------ sources


def cited_by(text: str, messages: Sequence[tuple[str, str]], *places: tuple[int, int]) -> Verdict:
    """A new sentence resting on these places of an invented conversation."""
    spoken = conversation("abcdef02", messages)
    vault = replace(coder(), conversations={**coder().conversations, "abcdef02": spoken})
    sources = tuple(Citation("abcdef02", a, b, "2026-09-09", "pi", spoken.title) for a, b in places)
    edits = [AppendSentences("Background", (CitedSentence(text, sources),))]
    return verdict(night(vault, STEM, page(), edits, [text]))


def test_no_source_stands_there_for_show() -> None:
    """Beside one that supports the sentence, one that has nothing to do with it is refused."""
    talk = [
        ("user", "The mirror stands in Lisbon."),
        ("user", "Bees like clover."),
        ("user", "Lisbon it is."),
    ]
    assert cited_by("The mirror stands in Lisbon.", talk, (0, 0)) == Verdict()
    assert cited_by("The mirror stands in Lisbon.", talk, (0, 0), (2, 2)) == Verdict()
    refused = cited_by("The mirror stands in Lisbon.", talk, (0, 0), (1, 1)).refused
    assert said(refused, "has nothing to do with")


def test_a_yes_bears_on_what_it_answers() -> None:
    """The user's consent holds none of the words and yet is a source."""
    talk = [
        ("assistant", "Shall the mirror stand in Lisbon?"),
        ("user", "Yes, please."),
        ("user", "The mirror stands in Lisbon."),
    ]
    assert not said(
        cited_by("The mirror stands in Lisbon.", talk, (1, 1), (2, 2)).refused, "has nothing to do"
    )


# ------------------------------------------------------------------ amounts


def test_floors_do_not_compound_whatever_else_is_blind() -> None:
    """From the second night on, the floor by itself stops what each night alone would allow."""
    compounding = [one for one in judged() if one.case.kind == "the floor compounds"]
    assert len(compounding) == 5
    assert all("floor" in one.refused_by for one in compounding[1:])
    first, last = compounding[0].case, compounding[-1].case
    assert sum(section_words(first.before).values()) > 470
    assert sum(section_words(last.after).values()) < 180


def test_a_repeat_is_found_among_many_sentences() -> None:
    """Word for word, in other words' order, and in a long sentence with one word more."""
    long = (
        "The "
        + " ".join(f"word{chr(97 + n)}{chr(98 + n)}" for n in range(18))
        + " stands in Lisbon."
    )
    cases = {
        long: long.replace(" stands", " now stands"),
        "Every night the job deletes expired rows.": "The job deletes expired rows every night.",
        "The mirror stands in Lisbon.": "The mirror stands in Lisbon.",
    }
    for one, other in cases.items():
        spoken = conversation("abcdef03", [("user", one), ("user", other)])
        vault = replace(coder(), conversations={**coder().conversations, "abcdef03": spoken})
        first, second = (
            CitedSentence(text, (vault.citation("abcdef03", n, n),))
            for n, text in enumerate((one, other))
        )
        start = night(vault, STEM, page(), [AppendSentences("Background", (first,))], [one])
        made = night(vault, STEM, start.after, [AppendSentences("Operations", (second,))], [other])
        reasons = verdict(made).refused
        assert said(reasons, "twice") or said(reasons, "repeats"), one


def test_a_draft_of_nothing_over_an_unchanged_page_passes() -> None:
    """The rules about what a draft tells ask nothing of a draft that tells nothing."""
    for vault, stem, before in pages():
        draft = draft_of(stem, stem, before, [], [])
        assert judge(before, before, draft, POLICY, context_of(vault, before, [])) == Verdict()
