"""Drafts applied: sentences that retire, move or merge, and the paragraphs they leave."""

from __future__ import annotations

import pytest

from pipeline.errors import VaultFault
from pipeline.markdown import parse
from pipeline.records import (
    AddCitation,
    AppendSentences,
    Edit,
    MergeRepeat,
    MoveSentence,
    Retire,
    SentenceRef,
    Supersede,
)
from tests.support_surgery import applied, cite, note, ref, said

TIDY = (
    "# T\n\nLead.[^1]\n\n## A\n\nOne.[^1] Two.[^2]\nThree.[^1]\n\nAlone.[^2]\n\n"
    "## B\n\nIn B.[^1]\n\n### Deep\n\n- mine\n\n## History\n\n- 2026-10-02: Was so.[^1]\n\n"
    f"## References\n\n{note(1, 0)}{note(2, 1)}"
)


def tidied(*swaps: tuple[str, str], text: str = TIDY) -> str:
    """`text` with each part replaced, which must be there exactly once."""
    for old, new in swaps:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_a_retired_sentence_is_a_dated_line_of_history() -> None:
    """It leaves its paragraph with its marks; nothing takes its place and nothing else changes."""
    after = applied(TIDY, Retire(ref(TIDY, "Two."), "2026-11-03"))
    assert after == tidied(
        ("One.[^1] Two.[^2]\nThree.[^1]\n", "One.[^1] Three.[^1]\n"),
        ("Was so.[^1]\n", "Was so.[^1]\n- 2026-11-03: Two.[^2]\n"),
    )


@pytest.mark.parametrize(
    ("leaving", "left"),
    [
        (("One.",), "Two.[^2]\nThree.[^1]\n"),
        (("Two.",), "One.[^1] Three.[^1]\n"),
        (("Three.",), "One.[^1] Two.[^2]\n"),
        (("One.", "Two."), "Three.[^1]\n"),
        (("Two.", "Three."), "One.[^1]\n"),
        (("One.", "Three."), "Two.[^2]\n"),
    ],
)
def test_the_sentences_that_stay_keep_their_spacing(leaving: tuple[str, ...], left: str) -> None:
    """Whichever sentences leave, those that stay are parted as sentences are, and end as before."""
    after = applied(TIDY, *(Retire(ref(TIDY, text), "2026-11-03") for text in leaving))
    assert f"## A\n\n{left}\nAlone.[^2]\n" in after


def test_sentences_without_spaces_leave_without_a_trace() -> None:
    """Where the script puts no space between sentences, none comes."""
    end = f"## References\n\n{note(1, 0)}"
    before = f"# T\n\n甲是一。[^1]乙是二。[^1]丙是三。[^1]\n\n## B\n\n丁是四。[^1]\n\n{end}"
    after = applied(before, MoveSentence(ref(before, "乙是二。"), "B"))
    assert after == (
        f"# T\n\n甲是一。[^1]丙是三。[^1]\n\n## B\n\n丁是四。[^1]乙是二。[^1]\n\n{end}"
    )


def test_a_moved_sentence_ends_the_last_paragraph_of_its_section() -> None:
    """Byte for byte, before the sub-headings; the paragraph it leaves empty goes."""
    after = applied(TIDY, MoveSentence(ref(TIDY, "Alone."), "b"))
    assert after == tidied(("Alone.[^2]\n\n", ""), ("In B.[^1]\n", "In B.[^1] Alone.[^2]\n"))
    odd = TIDY.replace("Alone.", "Odd   `a  b`, *so*\n[[Page|it]] \\# is.")
    (sentence,) = (s for b in parse(odd).blocks for s in b.sentences if s.text.startswith("Odd"))
    after = applied(odd, MoveSentence(ref(odd, sentence.text), ""))
    assert "Lead.[^1] Odd   `a  b`, *so*\n[[Page|it]] \\# is.[^2]\n\n## A" in after


def test_a_moved_sentence_gets_a_paragraph_where_there_is_no_room() -> None:
    """Paragraphs of ours do not outgrow their number of sentences; the user's are not joined."""
    after = applied(TIDY, MoveSentence(ref(TIDY, "Alone."), "B"), most=1)
    assert "## B\n\nIn B.[^1]\n\nAlone.[^2]\n\n### Deep\n" in after
    mine = TIDY.replace("In B.[^1]", "In B.")
    after = applied(mine, MoveSentence(ref(mine, "Alone."), "B"))
    assert "## B\n\nIn B.\n\nAlone.[^2]\n\n### Deep\n" in after


def test_a_sentence_that_leaves_makes_room() -> None:
    """What left a paragraph does not count any more when others come to it."""
    after = applied(
        TIDY, MoveSentence(ref(TIDY, "In B."), "New"), MoveSentence(ref(TIDY, "Alone."), "B")
    )
    assert "## B\n\nAlone.[^2]\n\n### Deep\n\n- mine\n\n## New\n\nIn B.[^1]\n\n## History" in after
    after = applied(
        TIDY, Retire(ref(TIDY, "Alone."), "2026-11-03"), AppendSentences("A", (said("New."),))
    )
    assert "## A\n\nOne.[^1] Two.[^2]\nThree.[^1]\n\nNew.[^1]\n\n## B" in after


def test_a_section_that_loses_everything_keeps_its_heading() -> None:
    """Headings are never removed, at the end of the page neither."""
    after = applied(TIDY, MoveSentence(ref(TIDY, "Lead."), "B"))
    assert after.startswith("# T\n\n## A\n\nOne")
    end = f"{note(1, 0)}\n## A\n\nOne.[^1]\n"
    assert applied(end, MoveSentence(ref(end, "One."), "B")) == (
        f"{note(1, 0)}\n## A\n\n## B\n\nOne.[^1]\n"
    )


def test_a_merged_repeat_hands_on_its_citations() -> None:
    """The repeat goes; the other sentence gets the marks it lacks, and those the repeat gains."""
    at, repeat = ref(TIDY, "One."), ref(TIDY, "Alone.")
    after = applied(TIDY, MergeRepeat(at, repeat))
    assert after == tidied(("One.[^1] Two", "One.[^1][^2] Two"), ("Alone.[^2]\n\n", ""))
    assert applied(TIDY, MergeRepeat(at, ref(TIDY, "Three."))) == tidied(("\nThree.[^1]\n", "\n"))
    after = applied(TIDY, MergeRepeat(at, repeat), AddCitation(repeat, cite(7)))
    assert "One.[^1][^2][^3] Two.[^2]\n" in after and after.endswith(note(3, 7))


def test_a_sentence_that_takes_a_repeat_in_may_move() -> None:
    """It takes its old marks and the new ones along."""
    at, repeat = ref(TIDY, "One."), ref(TIDY, "Alone.")
    after = applied(TIDY, MoveSentence(at, "B"), MergeRepeat(at, repeat))
    assert "## A\n\nTwo.[^2]\nThree.[^1]\n\n## B\n\nIn B.[^1] One.[^1][^2]\n" in after


def test_edits_at_odds_over_a_sentence_are_refused() -> None:
    """A sentence can go to one place; a draft that sends it to two is made anew."""
    one, two = ref(TIDY, "One."), ref(TIDY, "Two.")
    goes: list[Edit] = [
        Retire(one, "2026-11-03"),
        MoveSentence(one, "B"),
        MergeRepeat(two, one),
        Supersede(one, said("New."), "2026-11-03"),
    ]
    for first in goes:
        for second in goes:
            if isinstance(first, Supersede) and isinstance(second, Supersede):
                continue
            with pytest.raises(VaultFault, match="at odds"):
                applied(TIDY, first, second)
    for gone in (Retire(two, "2026-11-03"), Supersede(two, said("New."), "2026-11-03")):
        with pytest.raises(VaultFault, match="at odds"):
            applied(TIDY, MergeRepeat(two, one), gone)
    with pytest.raises(VaultFault, match="at odds"):
        applied(TIDY, MergeRepeat(one, one))


def test_only_sentences_of_paragraphs_leave() -> None:
    """Lines of History stay, whatever a draft says, and so does what is not there."""
    line = ref(TIDY, "Was so.[^1]".removesuffix("[^1]"))
    one = ref(TIDY, "One.")
    for edit in (
        Retire(line, "2026-11-03"), MoveSentence(line, "B"), MergeRepeat(one, line),
        MergeRepeat(line, one),
    ):  # fmt: skip
        with pytest.raises(VaultFault, match="stands in no paragraph"):
            applied(TIDY, edit)
    away = SentenceRef(99, 0)
    for edit in (Retire(away, "2026-11-03"), MoveSentence(away, "B"), MergeRepeat(one, away)):
        with pytest.raises(VaultFault, match="no sentence"):
            applied(TIDY, edit)
    with pytest.raises(VaultFault, match="cannot be appended"):
        applied(TIDY, MoveSentence(one, "References"))


@pytest.mark.parametrize(
    "text",
    [
        "Ours is.[^1] - mine, no list",
        "Ours is.[^1] # mine, no heading",
        "- list\n\nOurs is.[^1]\n\n- another list",
        "- list\n\nOurs is.[^1]\n\n    code, not of the list",
    ],
)
def test_what_would_change_its_neighbours_stays(text: str) -> None:
    """Bytes that stay must mean what they meant; where they would not, the draft fails."""
    before = f"# T\n\n{text}\n\n## B\n\nIn B.[^1]\n\n{note(1, 0)}"
    with pytest.raises(VaultFault, match="would change what"):
        applied(before, MoveSentence(ref(before, "Ours is."), "B"))


def test_what_would_not_be_a_sentence_elsewhere_stays() -> None:
    """A user's `- ` in the middle of a line would begin a list on a line of its own."""
    before = f"# T\n\nMine. - is ours.[^1]\n\n## B\n\n- list\n\n{note(1, 0)}"
    with pytest.raises(VaultFault, match="would change what"):
        applied(before, MoveSentence(ref(before, "- is ours."), "B"))
