"""An article is found by whatever it is called, and never guessed where that is not sure."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import ConfigFault
from pipeline.recall.naming import Match, Named, asked_name, key, lookup

ARTICLES = [
    Named("Lantern", "Lantern", ("session store",)),
    Named("Harbor importer", "The Harbor importer", ("Importer",)),
    Named("Café Zürich", "Café Zürich", ()),
    Named("Python 3.11", "Python 3.11", ()),
    Named("C++", "C++", ()),
    Named("C#", "C#", ()),
    Named("TCP-IP", "TCP/IP", ()),
    Named("設定ファイル", "設定ファイル", ()),
]


def found(asked: str, **redirects: str) -> Match:
    """The article as `lookup` finds it."""
    return lookup(asked, ARTICLES, lambda: redirects)


@pytest.mark.parametrize(
    ("asked", "stem"),
    [
        ("Lantern", "Lantern"),
        ("lantern", "Lantern"),
        ("Lantern.md", "Lantern"),
        ("articles/Lantern.md", "Lantern"),
        ("[[Lantern#Retention|that]]", "Lantern"),
        ("SESSION_STORE", "Lantern"),
        ("the-harbor-importer", "Harbor importer"),
        ("importer", "Harbor importer"),
        ("cafe zurich", "Café Zürich"),
        (unicodedata.normalize("NFD", "Café Zürich"), "Café Zürich"),
        ("c++", "C++"),
        ("c#", "C#"),
        ("TCP/IP", "TCP-IP"),
        ("tcp ip", "TCP-IP"),
        ("設定ファイル", "設定ファイル"),
    ],
)
def test_every_way_to_write_a_name_finds_it(asked: str, stem: str) -> None:
    """Stem, title, alias; case, dashes, accents and normal forms make no difference."""
    assert found(asked) == Match(stem)


@pytest.mark.parametrize(
    ("asked", "stem", "slip"),
    [("Lantren", "Lantern", "Lantern"), ("Harbor imprter", "Harbor importer", "Harbor importer")],
)
def test_a_slip_of_the_pen_finds_it_and_is_told(asked: str, stem: str, slip: str) -> None:
    """One wrong, missing or swapped letter; whoever asked is told what it was taken for."""
    assert found(asked) == Match(stem, slip)


@pytest.mark.parametrize("asked", ["Python 3.12", "Python 3.1", "C", "Zurich cafe plans", "x"])
def test_what_is_not_sure_is_not_guessed(asked: str) -> None:
    """Another version, a short name, other words: an error, not an article."""
    with pytest.raises(ConfigFault, match="no article named"):
        found(asked)


def test_what_is_like_it_is_suggested() -> None:
    """The mend names the nearest articles, or where to look."""
    with pytest.raises(ConfigFault) as fault:
        found("Python 3.12")
    assert "'Python 3.11'" in fault.value.mend
    with pytest.raises(ConfigFault) as fault:
        found("qqqqqqqqqqqq")
    assert "memory list" in fault.value.mend


def test_two_articles_of_one_name_are_both_named() -> None:
    """No choice is made between them."""
    twins = [Named("One", "Same title", ()), Named("Two", "same-title", ())]
    with pytest.raises(ConfigFault, match="'One' or 'Two'"):
        lookup("same_title", twins, dict)
    near = [Named("Lanterns", "Lanterns", ()), Named("Lantern1s", "Lanterna", ())]
    with pytest.raises(ConfigFault, match="no article"):
        lookup("Lanternx", near, dict)


def test_a_files_name_counts_before_anothers_title() -> None:
    """As a link does."""
    twins = [Named("Lantern", "Old lamp", ()), Named("Lamp", "Lantern", ())]
    assert lookup("Lantern", twins, dict) == Match("Lantern")


def test_a_former_name_and_a_merged_topic_lead_to_the_article() -> None:
    """Redirects count after names, and only to articles that are there."""
    assert found("old lamp", **{"Old Lamp": "Lantern"}) == Match("Lantern")
    with pytest.raises(ConfigFault):
        found("old lamp", **{"Old Lamp": "Gone"})


@pytest.mark.parametrize(
    "asked",
    [
        "",
        " ",
        "..",
        "../../etc/passwd",
        "/etc/passwd",
        "~/x",
        "..\\..\\x",
        "a/../b",
        "a\0b",
        "a\nb",
    ],
)
def test_a_path_is_no_name(asked: str) -> None:
    """What climbs out of the articles is refused as such."""
    with pytest.raises(ConfigFault, match="not the name"):
        asked_name(asked)


@given(st.text(max_size=40))
def test_any_text_is_answered(asked: str) -> None:
    """With an article or a fault that says how to go on."""
    try:
        match = found(asked)
    except ConfigFault as fault:
        assert fault.mend
    else:
        assert match.stem in {article.stem for article in ARTICLES}


@given(st.text(max_size=40))
def test_a_key_is_its_own_key(name: str) -> None:
    """What has been made comparable stays as it is."""
    assert key(key(name)) == key(name)
