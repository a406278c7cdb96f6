"""Names: of files, code and commands (identifiers), and of people, places and products."""

from __future__ import annotations

from functools import lru_cache

import regex

from pipeline.late import late
from pipeline.text.lists import word_set
from pipeline.text.splitting import sentences
from pipeline.text.telling import is_caseless, is_german

# A letter of a word that may be part of a name in code: scripts without spaces and those that write
# articles onto a word stop where the Latin letters begin.
_OTHER = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Arabic}\p{Hebrew}"
_CLITIC = r"\p{Arabic}\p{Hebrew}"
_W = rf"[^\W{_OTHER}]"
_WX = rf"(?:{_W}|[.@+-])"
_IDENTIFIER = late(
    rf"""
      (?<!`)(?P<ticks>`++)(?P<code>.{{1,200}}?)(?<!`)(?P=ticks)(?!`)
    | (?P<url>(?<![a-zA-Z0-9+.-])(?:[a-z][a-z0-9+.-]{{0,20}}://|www\.)[^\s<>"'`]*[^\s<>"'`.,;:!?)\]。，！？*_])
    | (?P<mail>(?<!{_W})(?<![.+-])(?:{_W}|[.+-]){{1,64}}@(?:{_W}|-)+(?:\.(?:{_W}|-)+)+)
    | (?<!{_W})(?<![/.])(?P<path>(?:~|\.{{1,2}}|[A-Za-z]:\\|\$[A-Z_]+)?(?:[/\\]{_WX}+)+[/\\]?
        |{_WX}+(?:/{_WX}+)*/(?:{_W}|[@+-])*\.[A-Za-z]{_W}{{0,9}}|{_WX}+(?:/{_WX}+){{2,}}/?)
    | (?<![{_CLITIC}-])(?<!{_W})(?P<flag>--?[a-zA-Z](?:{_W}|-)*)(?!{_W})
    | (?<!{_W})(?P<key>[A-Z][A-Z0-9]+-\d+)(?!{_W})
    | (?<!{_W})(?P<issue>\#\d+)(?!{_W})
    | (?<!{_W})(?P<hash>(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{{7,64}})(?!{_W})
    | (?<!{_W})(?<![.-])(?P<dotted>{_W}(?:{_W}|-)*(?:\.[A-Za-z_]{_W}*)+(?:\(\))?)(?!{_W})
    | (?<!{_W})(?<!\.)(?P<word>[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+(?:\.\d+)*)*(?:\(\))?)(?!{_W})
    """,
    regex.VERBOSE,
)
_CODE_WORD = late(
    r"""
      (?=\w*[^\W\d_])\w*[^\W_]_\w*[^\W_]\w*  # snake_case, CONSTANT_CASE, 0001_first
    | _+[^\W\d]\w*                            # _private
    | [a-z]+[A-Z]\w*                         # camelCase
    | (?:[A-Z][a-z0-9]+){2,}[A-Z]?\w*        # PascalCase
    | [A-Za-z]+\d\w*                         # utf8, k8s
    | [A-Za-z_]\w*(?:-\w+)*-\w*\d[\w.]*       # name-2, gpt-4o
    | [A-Za-z_]\w*\(\)                        # call()
    """,
    regex.VERBOSE,
)
_NOT_DOTTED = frozenset(
    {"e.g", "i.e", "a.m", "p.m", "u.s", "u.k", "e.u", "z.b", "d.h", "u.a", "ph.d"}
)

_CAPITALISED = late(
    r"(?<![\p{Latin}\p{Cyrillic}\p{Greek}\p{M}\p{N}_])\p{Lu}[\p{L}\p{M}\p{N}'’--\p{Han}--\p{Hiragana}--\p{Katakana}]*",
    regex.V1,
)
_KATAKANA_NAME = late(r"[\p{Katakana}ー]{3,}")
_NOT_NAMES = word_set(
    """
    i i'm i've i'd i'll ok okay tbd tldr fyi btw todo asap pm am
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december
    """
)
_OPENERS = "\"'“‘«([{*_¿¡„#>-–—•0123456789. \t"


@lru_cache(maxsize=8192)
def identifiers(text: str) -> frozenset[str]:
    """Paths, addresses, file names, code names, flags, hashes, issue keys and inline code.

    As written, without the back-ticks.
    """
    found = set()
    for match in _IDENTIFIER.finditer(text):
        kind = match.lastgroup
        name = match.group(kind or 0)
        if match.group("code"):
            found.add(match.group("code").strip())
        elif kind == "dotted":
            if name.casefold() not in _NOT_DOTTED and not _is_initials(name):
                found.add(name)
        elif kind == "word":
            if _CODE_WORD.fullmatch(name):
                found.add(name)
        else:
            found.add(name)
    return frozenset(found)


@lru_cache(maxsize=8192)
def proper_nouns(text: str) -> frozenset[str]:
    """Capitalised words that do not stand at a sentence's start, and Katakana names.

    A word at a sentence's start counts if the text capitalises it elsewhere too, or if it carries a
    capital inside. German, which capitalises every noun, gives only names with a capital inside.
    """
    shielded = [m.span() for m in _IDENTIFIER.finditer(text) if m.group("code") or m.group("url")]
    openings = set()
    for start, end in sentences(text):
        while start < end and text[start] in _OPENERS:
            start += 1
        openings.add(start)
    inside: set[str] = set()
    opening: set[str] = set()
    for match in _CAPITALISED.finditer(text):
        if any(start <= match.start() < end for start, end in shielded):
            continue
        name = match.group().replace("’", "'").removesuffix("'s").rstrip("'")
        if name.casefold() in _NOT_NAMES or len(name) < (1 if is_caseless(text) else 2):
            continue
        marked = any(char.isupper() for char in name[1:])
        (inside if marked or match.start() not in openings else opening).add(name)
    if is_german(text):
        inside = {name for name in inside if any(char.isupper() for char in name[1:])}
        opening = set()
    return frozenset(inside | (opening & inside) | set(_KATAKANA_NAME.findall(text)))


def _is_initials(name: str) -> bool:
    return all(len(part) == 1 for part in name.rstrip(".").split("."))
