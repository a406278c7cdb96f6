"""How a query is read, and how units are scored; by numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from pipeline.recall.marking import Marker, marking, snippet
from pipeline.recall.ranking import Weights, likely, ranked, rarity, shortness, summed
from pipeline.recall.terms import Term, spaced, terms

PLAIN = Weights(beside={}, length=0.0, saturation=1.0, group=0.0)


def words(query: str) -> list[str]:
    """The expressions of a query's terms."""
    return [term.expression for term in terms(query)]


def test_words_that_say_nothing_are_left_out_unless_there_are_no_others() -> None:
    """ "the" is looked for by whoever looks for nothing else."""
    assert words("What is the retention of it?") == ['"retention"']
    assert words("What is it?") == ['"What"', '"is"', '"it"']


def test_what_is_written_together_is_looked_for_together_too() -> None:
    """A path is a phrase, and its parts are words."""
    assert words("src/archive.py") == ['"src archive py"', '"src"', '"archive"', '"py"']
    assert words('"two words" three') == ['"two words"', '"three"']


def test_an_apostrophe_ends_a_word() -> None:
    """What is asked of somebody's name is asked of the name."""
    assert words("Amina's parser") == ['"Amina"', '"parser"']


def test_irregular_forms_are_one_word() -> None:
    """Whoever asks for one of them means any, and asks once."""
    assert words("wrote written") == ['"write" OR "wrote" OR "written"']


def test_signs_alone_are_no_words() -> None:
    """Operators, quotes and pictures are none; a letter among them is one."""
    assert words('"" * ^ ( ) : -- 😀 ?!') == []
    assert words("NOT (x OR y*)") == ['"NOT"', '"x"', '"y"']


def test_scripts_without_spaces_are_cut_into_pairs() -> None:
    """Chinese by two signs, Katakana as it stands, and neither loses the Latin in it."""
    assert [t.needle for t in terms("读取字节")] == ["读取", "取字", "字节"]
    assert [t.needle for t in terms("アーカイブの圧縮")] == ["アーカイブ", "圧縮"]
    assert words("用zstd压缩")[0] == '"zstd"'
    assert spaced("a读b") == "a 读 b"


def test_a_match_in_a_unit_of_average_length_is_worth_its_rarity() -> None:
    """One of two terms found: half of what there was to find, if both are as rare."""
    found = ranked([(2.0, {1: 1.0}), (2.0, {})], {1: ("g", 0)}, {"g": 10.0}, PLAIN)
    assert found == {1: 0.5}


def test_a_term_counts_beside_the_unit_it_stands_in() -> None:
    """As much as the weights say, saturated: 2·w/(w+1); not in another group."""
    weights = Weights(beside={1: 0.5}, length=0.0, saturation=1.0, group=0.0)
    places = {1: ("g", 0), 2: ("g", 1), 3: ("h", 1)}
    found = ranked([(1.0, {1: 1.0})], places, {"g": 1.0, "h": 1.0}, weights)
    assert found == pytest.approx({1: 1.0, 2: 2 * 0.5 / 1.5})


def test_a_term_that_is_everywhere_is_worth_little() -> None:
    """BM25's idf: log(1 + (n - k + ½)/(k + ½))."""
    assert rarity(10, 1) == pytest.approx(math.log(1 + 9.5 / 1.5))
    assert 0 < rarity(10, 10) < rarity(10, 1)


def test_a_long_unit_counts_less() -> None:
    """Twice the average at weight one half: 1/(½ + ½·2)."""
    assert shortness(20, 10.0, 0.5) == pytest.approx(1 / 1.5)
    assert shortness(10, 10.0, 0.5) == 1.0


def test_units_worth_a_close_look_bring_their_neighbours() -> None:
    """Of too many, those go first that match side by side."""
    beside = {1: 0.5, -1: 0.5}
    assert likely([(1.0, [10, 20])], beside, 6) == [9, 10, 11, 19, 20, 21]
    assert likely([(1.0, [10, 20, 21])], beside, 2) == [20, 21]


def test_a_snippet_shows_the_line_with_most_of_the_words() -> None:
    """Marked by stems, on one line, cut at words."""
    wanted = [Term('"retention"'), Term('"store"')]
    lines = ["Nothing here.", "Retention: what is stored.", "And more."]
    marker = Marker(wanted, marking())
    assert snippet(lines, marker.spans([lines])[0]) == "«Retention»: what is «stored». And more."
    long = ["word " * 100 + "retention " + "word " * 100]
    shown = snippet(long, marker.spans([long])[0])
    assert shown.startswith("… word")
    assert shown.endswith("word …")
    assert "«retention»" in shown
    assert len(shown) < 320
    assert snippet([], []) == ""


def test_what_matches_is_told_line_by_line_whatever_signs_the_lines_hold() -> None:
    """No phrase reaches over the end of a line, and a sign that stands between lines is a sign."""
    marker = Marker([Term('"red heron"'), Term('"reeds"'), Term('"青"', "青")], marking())
    texts = [
        ["A red", "heron stands.", "A red heron in the reeds."],
        [],
        ["\ue000 reeds \ue000 reeds", "\x02reeds\x03\0", ""],
        ["nothing"],
        ["reeds 青青"],
    ]
    assert marker.spans(texts) == [
        [[], [], [(2, 11), (19, 24)]],
        [],
        [[(2, 7), (10, 15)], [(1, 6)], []],
        [[]],
        [[(0, 5), (6, 8)]],
    ]


def test_terms_in_one_list_count_as_terms_in_lists_that_are_alike() -> None:
    weights = Weights(beside={1: 0.5}, length=0.0, saturation=1.0, group=0.7)
    places = {number: ("one" if number < 4 else "two", number) for number in range(6)}
    sizes = {"one": 4.0, "two": 2.0}
    holding = {1: 1.0, 2: 0.5, 5: 1.0}
    one_list = [(2.0, holding), (3.0, holding), (1.0, {3: 1.0})]
    alike = [(rare, dict(held)) for rare, held in one_list]
    shared, apart = (ranked(found, places, sizes, weights) for found in (one_list, alike))
    assert shared == pytest.approx(apart)
    rows = [7, 8]
    assert summed([(2.0, rows), (3.0, rows), (1.0, [8, 9])]) == {7: 5.0, 8: 6.0, 9: 1.0}
