"""The article somebody means, whatever they call it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from pipeline.errors import ConfigFault

_MARK = 200  # combining classes from here on are accents; those below belong to the letter
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
)
_NUMBER = re.compile(r"\d+")
_LEAST = 5  # letters of a name in which one wrong letter is taken for a slip
_LONG = 12  # letters of a name in which two are
_ALIKE = 70  # of 100: names worth suggesting
_SUGGESTED = 3
_LIST = "`memory list` shows the articles"


@dataclass(frozen=True, slots=True)
class Named:
    """An article by its names."""

    stem: str
    title: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """The article that is meant.

    slip: the name that what was asked for is taken for, "" where it is one of its names.
    """

    stem: str
    slip: str = ""


@lru_cache(maxsize=1 << 15)
def key(name: str) -> str:
    """What all ways to write a name have in common: no case, accents, dashes or punctuation.

    A name of signs alone is its own key.
    """
    bare = unicodedata.normalize("NFKD", name).casefold()
    bare = "".join(sign for sign in bare if unicodedata.combining(sign) < _MARK)
    # once more: some letters fold to others that can be taken apart
    bare = unicodedata.normalize("NFKC", bare.translate(_LETTERS))
    signs = "".join(" " if _is_apart(sign) else sign for sign in bare)
    return " ".join(signs.split()) or " ".join(bare.split())


def asked_name(name: str) -> str:
    """The name in what was asked for, be it written as a link: `[[Name#Heading|shown]]`.

    Raises ConfigFault for a path that leads out of the articles, and for what is no name.
    """
    bare = name.strip()
    if bare.startswith("[[") and bare.endswith("]]"):
        bare = re.split(r"[|#^]", bare[2:-2], maxsplit=1)[0].strip()
    parts = re.split(r"[/\\]", bare)
    # a name may hold a slash ("TCP/IP"); a path that climbs or starts at the root is none
    if ".." in parts or parts[0] in ("", "~") or not bare.isprintable():
        raise ConfigFault(f"{name[:80]!r} is not the name of an article", mend=_LIST)
    return bare


def lookup(
    asked: str, articles: Sequence[Named], redirects: Callable[[], Mapping[str, str]]
) -> Match:
    """The one article that is called so: by its file's name before its title, then its aliases.

    Then by other ways to write these, by `redirects` (a former name or a topic → a stem), and by a
    name that differs in a letter. A number is never a slip: versions differ in them. Raises
    ConfigFault for a name of two articles, and with what is like it for a name of none.
    """
    # a name may itself end in .md, or hold a slash
    whole = unicodedata.normalize("NFC", asked_name(asked))
    last = re.split(r"[/\\]", whole)[-1].removesuffix(".md")
    for name in dict.fromkeys((whole, whole.removesuffix(".md"), last)):
        for form in (_exact, str.casefold, key):
            for names in (_stems, _titles, _aliases):
                called = form(name)
                found = {a.stem for a in articles if called in map(form, names(a))}
                if found:
                    return Match(_only(asked, found))
    known = {article.stem for article in articles}
    wanted = {key(whole), key(last)}
    led = {stem for name, stem in redirects().items() if stem in known and key(name) in wanted}
    if led:
        return Match(_only(asked, led))
    return _by_likeness(asked, key(last), articles)


def _by_likeness(asked: str, wanted: str, articles: Sequence[Named]) -> Match:
    names = [(key(name), name, a.stem) for a in articles for name in dict.fromkeys(_all(a))]
    allowed = 0 if len(wanted) < _LEAST else 1 if len(wanted) < _LONG else 2
    near: dict[str, tuple[int, str]] = {}
    choices = [one[0] for one in names]
    for _, distance, at in process.extract(
        wanted, choices, scorer=OSA.distance, score_cutoff=allowed + 1, limit=None
    ):
        _, name, stem = names[at]
        same_numbers = _NUMBER.findall(choices[at]) == _NUMBER.findall(wanted)
        if same_numbers and (stem not in near or distance < near[stem][0]):
            near[stem] = (distance, name)
    # nearly as near is another one: then it is not sure which is meant
    if len(near) == 1:
        ((stem, (distance, name)),) = near.items()
        if distance <= allowed:
            return Match(stem, name)
    like = process.extract(
        wanted, choices, scorer=_likeness, score_cutoff=_ALIKE, limit=_SUGGESTED * 4
    )
    stems = list(dict.fromkeys([*near, *(names[at][2] for _, _, at in like)]))[:_SUGGESTED]
    meant = f"did you mean {' or '.join(f'{stem!r}' for stem in stems)}?" if stems else _LIST
    raise ConfigFault(f"there is no article named {asked[:80]!r}", mend=meant)


def _likeness(one: Any, other: Any, *, score_cutoff: float | None) -> float:
    return max(
        fuzz.ratio(one, other, score_cutoff=score_cutoff),
        fuzz.token_set_ratio(one, other, score_cutoff=score_cutoff),
    )


def _only(asked: str, stems: Iterable[str]) -> str:
    first, *others = sorted(stems)
    if others:
        raise ConfigFault(
            f"{asked[:80]!r} may be {' or '.join(f'{stem!r}' for stem in (first, *others))}",
            mend="ask for one of them by that name",
        )
    return first


def _exact(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _stems(article: Named) -> tuple[str, ...]:
    return (article.stem,)


def _titles(article: Named) -> tuple[str, ...]:
    return (article.title,)


def _aliases(article: Named) -> tuple[str, ...]:
    return article.aliases


def _all(article: Named) -> tuple[str, ...]:
    return (article.stem, article.title, *article.aliases)


def _is_apart(sign: str) -> bool:
    """Whether it parts words. A `+` or `#` at the end of a name tells languages apart."""
    if sign in "+#":
        return False
    category = unicodedata.category(sign)
    return category[0] in "PZC" or sign in "_`"
