"""What a person typed, as terms that an index can be asked for. Any string is a query."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MOST = 24  # terms of a query; more would only be the text of what is looked for
_LONGEST = 100  # characters of a term
_PIECE = re.compile(r'"(?P<phrase>[^"]*)"|(?P<joined>[^\s"]+)')
# By what is none: a sign that Python takes for no letter may be a vowel of the word all the same.
_APART = (
    r"\s\x00-/:-@\[-`{-~\x7f-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\u2000-\u206f\u3000-\u3004\u3008-\u3020"
)
_APART += r"\u30fb\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_WORD = re.compile(f"[^{_APART}]+")
# Thai, Lao, Burmese, Khmer, kana, Chinese characters, Hangul: words are not told apart by spaces
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_RUN = re.compile(f"([{UNSPACED}])")
_SCRIPTS = re.compile(
    "[\u3005\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+|[\u30a0-\u30ff\uff66-\uff9f]+"
    "|[\u3040-\u309f]+|[\uac00-\ud7af]+|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_KANA = re.compile("[\u3040-\u30ff\uff66-\uff9f]")
_IDENTIFIER = re.compile(r"\w+(?:[._/\\:@#+-]+\w+)+")
_LONE_S = frozenset({"s", "t", "d", "ll", "ve", "re", "m"})  # what an apostrophe leaves
_SAYING_NOTHING = """
    a about above after again all also am an and any are as at be because been before being
    below between both but by can could did do does doing done down during each either else even
    ever every few for from further get gets got had has have having he her here hers him his
    how i if in into is it its itself just let lets like may me might more most much must my of
    off on once one only onto or other our ours out over own per please same shall she should
    since so some such than that the their theirs them then there these they this those though
    through thus to too under until up upon us very via was we well were what when where whether
    which while who whom whose why will with within would yet you your yours
"""
_STOP_WORDS = frozenset(_SAYING_NOTHING.split())
# Forms that share no stem: whoever asks for one of them means any.
_FORMS = (
    "become became", "begin began begun", "break broke broken", "bring brought", "build built",
    "buy bought", "catch caught", "child children", "choose chose chosen choice", "come came",
    "decide decision", "draw drew drawn", "drive drove driven", "eat ate eaten", "fall fell fallen",
    "feel felt", "find found", "fly flew flown", "forget forgot forgotten", "freeze froze frozen",
    "get got gotten", "give gave given", "go went gone", "grow grew grown", "hide hid hidden",
    "hold held", "keep kept", "know knew known", "lead led", "leave left", "lose lost", "make made",
    "meet met", "pay paid", "person people", "prefer preference", "run ran", "say said",
    "see saw seen", "sell sold", "send sent", "sing sang sung", "sleep slept", "speak spoke spoken",
    "spend spent", "stand stood", "swim swam swum", "take took taken", "teach taught", "tell told",
    "think thought", "throw threw thrown", "understand understood", "wear wore worn", "win won",
    "write wrote written",
)  # fmt: skip
_FAMILY = {form: forms.split() for forms in _FORMS for form in forms.split()}


@dataclass(frozen=True, slots=True)
class Term:
    """Something that is looked for.

    expression: in FTS5's syntax, over text as `spaced` makes it. needle: what is looked for as it
    stands, in text that is indexed without spaces between its words; "" for a term of words.
    word: the one word it is, "" for others.
    """

    expression: str
    needle: str = ""
    word: str = ""


def terms(query: str) -> list[Term]:
    """The terms of a query, each once: words, "quoted phrases", identifiers as a whole too.

    Words that say nothing are left out, unless there are no others.
    """
    found: dict[str, Term] = {}
    empty: dict[str, Term] = {}
    readable = query.replace("\0", " ").encode("utf-8", "replace").decode()
    for piece in _PIECE.finditer(readable):
        for term, counts in _piece(piece):
            (found if counts else empty).setdefault(term.expression, term)
            if len(found) == _MOST:
                return list(found.values())
    return list((found or empty).values())[:_MOST]


def spaced(text: str) -> str:
    """The text with a space around each sign of a script that has none between its words."""
    return text if text.isascii() else _RUN.sub(r" \1 ", text)


def _piece(piece: re.Match[str]) -> list[tuple[Term, bool]]:
    """The terms in a piece, each with whether it says something."""
    phrase = piece["phrase"]
    if phrase is not None and (words := _WORD.findall(spaced(phrase)[:_LONGEST])):
        if _RUN.search(phrase):
            return [(Term(_phrase(words), phrase.strip()[:_LONGEST]), True)]
        return [(Term(_phrase(words)), True)]
    made: list[tuple[Term, bool]] = []
    joined = (phrase or piece["joined"] or "")[: 20 * _LONGEST]
    for found in _IDENTIFIER.finditer(joined):
        if not _RUN.search(found.group()):
            made.append((Term(_phrase(_WORD.findall(found.group()[:_LONGEST]))), True))
    for found in _WORD.finditer(joined):
        word = found.group()[:_LONGEST]
        if not any(map(str.isalnum, word)):
            continue
        if _RUN.search(word):
            made += _unspaced(word)
            continue
        folded = word.casefold()
        says = folded not in _STOP_WORDS and not (
            folded in _LONE_S and joined[found.start() - 1 : found.start()] in ("'", "’")
        )
        forms = _FAMILY.get(folded, [word])
        made.append((Term(" OR ".join(_quoted(form) for form in forms), word=word), says))
    return made


def _unspaced(run: str) -> list[tuple[Term, bool]]:
    """Pairs of Chinese characters, whole words of other scripts, and the Latin between them."""
    made: list[tuple[Term, bool]] = []
    for latin in _WORD.findall(_RUN.sub(" ", run)):
        made.append((Term(_quoted(latin), word=latin), True))
    for found in _SCRIPTS.finditer(run):
        part = found.group()
        says = not _HIRAGANA.fullmatch(part)  # particles and endings
        size = len(part) if _KANA.match(part) else 2
        for start in range(max(1, len(part) - size + 1)):
            cut = part[start : start + size]
            made.append((Term(_phrase(list(cut)), cut), says))
    return made


def _phrase(words: list[str]) -> str:
    return _quoted(" ".join(words))


def _quoted(words: str) -> str:
    return '"' + words.replace('"', '""') + '"'
