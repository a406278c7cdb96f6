"""Words: for counting, and for comparing what two sentences are about."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import regex

from pipeline.late import late
from pipeline.text.lists import word_set
from pipeline.text.semitic import is_semitic, light
from pipeline.text.spaceless import content_of, denial
from pipeline.text.telling import is_german
from pipeline.text.tongues import TONGUES
from pipeline.text.tongues.arabic import ARABIC
from pipeline.text.tongues.german import GERMAN
from pipeline.text.tongues.hebrew import HEBREW

# Scripts written without spaces, and how many characters make up about one word.
_HAN = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}ー々〆"
_THAI = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = late(
    rf"""
      (?P<han>[{_HAN}]+)
    | (?P<thai>[{_THAI}][{_THAI}\p{{M}}]*)
    | [\p{{L}}\p{{M}}\p{{N}}--{_HAN}--{_THAI}]
      (?:[\p{{L}}\p{{M}}\p{{N}}\p{{Cf}}--{_HAN}--{_THAI}]|['’](?=\p{{L}})|_(?=[\p{{L}}\p{{N}}])|(?<=\d)[.,:](?=\d))*
    """,
    regex.VERBOSE | regex.V1,
)
_HAN_RUN = late(rf"[{_HAN}]+")
_CJK_CHARS_A_WORD = 2
_THAI_CHARS_A_WORD = 4

_FRONT_MATTER = late(r"\A---[ \t]*\r?\n.*?^---[ \t]*$", regex.DOTALL | regex.MULTILINE)
_FENCE = late(
    r"^[ ]{0,3}(?P<fence>```+|~~~+)[^\n]*\n.*?(?:^[ ]{0,3}(?P=fence)[`~]*[ \t]*$|\Z)",
    regex.DOTALL | regex.MULTILINE,
)
_DEFINITION = late(
    r"^[ ]{0,3}\[\^[^\]\s]+\]:[^\n]*(?:\n(?:[ \t]+[^\n]+|[ \t]*(?=\n[ \t]+\S)))*", regex.MULTILINE
)
_MARKUP = late(
    r"""
      \[\^[^\]\s]{1,100}\]                              # footnote mark
    | (?<=\])\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:[ ]"[^"\n]*")?\)   # link target
    | <!--.*?-->
    | (?<=\[\[)[^\]|\n]+\|(?=[^\]\n]+\]\])        # wikilink target before its shown text
    | ^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?       # list marker, task box
    """,
    regex.VERBOSE | regex.MULTILINE | regex.DOTALL,
)

_STOP_WORDS = word_set(
    """
    a about above after again all also am an and any are as at be because been before being below
    between both but by can could did do does doing done down during each either else even ever
    every few for from further get gets got had has have having he her here hers him his how i if
    in into is it its itself just let lets like may me might more most much must my of off on once
    one only onto or other our ours out over own per please same shall she should since so some
    such than that the their theirs them then there these they this those though through thus to
    too under until up upon us very via was we well were what when where whether which while who
    whom whose why will with within would yet you your yours
    i'm i've i'd i'll we're we've we'd we'll you're you've you'd you'll they're they've it's
    that's there's here's what's let's he's she's
    """
)
_NEGATIONS = word_set(
    """
    no not never none nothing nobody neither nor nowhere cannot cant can't without unable
    """
).union(*(tongue.negations for tongue in TONGUES))
_NEGATION_PARTS = ("않", "없", "ไม่")
# Only in a text in that language: "die", "war" and "so" are English words too.
_GERMAN_STOP_WORDS = GERMAN.stop_words
_OTHER_STOP_WORDS = ARABIC.stop_words | HEBREW.stop_words
_IRREGULAR = {
    "chose": "choose", "chosen": "choose", "choice": "choose", "decision": "decide",
    "ran": "run", "wrote": "write", "written": "write", "went": "go", "gone": "go",
    "made": "make", "took": "take", "taken": "take", "kept": "keep", "sent": "send",
    "built": "build", "broke": "break", "broken": "break", "found": "find", "held": "hold",
    "left": "leave", "lost": "lose", "met": "meet", "paid": "pay", "said": "say", "sold": "sell",
    "spent": "spend", "stood": "stand", "thought": "think", "told": "tell", "won": "win",
    "began": "begin", "begun": "begin", "brought": "bring", "bought": "buy", "came": "come",
    "drew": "draw", "drawn": "draw", "fell": "fall", "fallen": "fall", "gave": "give",
    "given": "give", "grew": "grow", "grown": "grow", "hid": "hide", "hidden": "hide",
    "knew": "know", "known": "know", "saw": "see", "seen": "see", "threw": "throw",
    "thrown": "throw", "understood": "understand", "froze": "freeze", "frozen": "freeze",
    "preference": "prefer", "preferred": "prefer",
    "used": "use", "using": "use", "children": "child", "people": "person",
    "indices": "index", "indexes": "index", "failure": "fail",
}  # fmt: skip
_VOWEL = frozenset("aeiouy")


def words(text: str) -> list[str]:
    """The words of plain text, as written, in order.

    Scripts without spaces are cut every two (Han, Kana) or four (Thai, Khmer, …) characters, about
    a word each, so that floors and ceilings mean the same in every language.
    """
    found: list[str] = []
    for match in _WORD.finditer(text):
        run = match.group()
        if match.group("han"):
            found += _slices(run, _CJK_CHARS_A_WORD)
        elif match.group("thai"):
            found += _slices(run, _THAI_CHARS_A_WORD)
        else:
            found.append(run)
    return found


def prose_words(markdown: str) -> list[str]:
    """The words a reader of this Markdown reads: no frontmatter, footnotes, link targets, markers.

    Words in code count: losing them is losing content.
    """
    body = _FRONT_MATTER.sub("", markdown)
    found: list[str] = []
    at = 0
    for fence in _FENCE.finditer(body):
        found += words(_plain(body[at : fence.start()]))
        found += words(fence.group())
        at = fence.end()
    return found + words(_plain(body[at:]))


def content_words(text: str) -> list[str]:
    """What a text is about: casefolded, lightly stemmed words without stop words or numerals.

    Of scripts without spaces the pairs of characters that stand together (see `content_of`).
    Negations are left out (see `negations`), and numerals (see `numbers`).
    """
    return list(_content(text))


@lru_cache(maxsize=8192)
def _content(text: str) -> tuple[str, ...]:
    found: list[str] = []
    stop = _STOP_WORDS | _GERMAN_STOP_WORDS if is_german(text) else _STOP_WORDS
    for match in _WORD.finditer(text):
        run = unicodedata.normalize("NFKC", match.group()).casefold().replace("’", "'")
        if match.group("han"):
            found += content_of(run)
        elif match.group("thai"):
            found += [run[i : i + 2] for i in range(max(1, len(run) - 1))]
        elif run in stop or run.endswith("n't") or run[0].isdigit() or is_negative(run):
            continue
        elif not is_semitic(run) or _OTHER_STOP_WORDS.isdisjoint((run, run[1:])):
            found.append(fold(run))
    return tuple(found)


@lru_cache(maxsize=20_000)
def is_negative(word: str) -> bool:
    """Whether a word (or a run of a script without spaces) negates what stands near it."""
    folded = word.casefold().replace("’", "'")
    return (
        folded in _NEGATIONS
        or folded.endswith("n't")
        # "and not", "that not" are one word there
        or (is_semitic(folded) and folded[0] in "وفשו" and folded[1:] in _NEGATIONS)
        or any(part in folded for part in _NEGATION_PARTS)
        or (_HAN_RUN.fullmatch(folded) is not None and denial(folded) is not None)
    )


@lru_cache(maxsize=20_000)
def fold(word: str) -> str:
    """`word` casefolded, without English endings, or what Arabic and Hebrew write onto a word."""
    folded = word.casefold().replace("’", "'").removesuffix("'s").removesuffix("'")
    if is_semitic(folded):
        return light(folded)
    if not folded.isascii() or not folded.isalpha():
        return folded
    if folded in _IRREGULAR:
        folded = _IRREGULAR[folded]
    if len(folded) > 4 and folded.endswith("ies"):
        folded = folded[:-3] + "y"
    elif len(folded) > 4 and folded.endswith(("ches", "shes", "sses", "xes", "zes")):
        folded = folded[:-2]
    elif len(folded) > 3 and folded.endswith("s") and not folded.endswith(("ss", "us", "is")):
        folded = folded[:-1]
    folded = _IRREGULAR.get(folded, folded)
    if len(folded) > 4 and folded.endswith("ied"):
        folded = folded[:-3] + "y"
    else:
        for ending in ("ing", "ed"):
            stem = folded.removesuffix(ending)
            if stem != folded and len(stem) > 2 and _VOWEL & set(stem):
                doubled = len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz"
                folded = stem[:-1] if doubled else stem
                break
    if len(folded) > 4 and folded.endswith("ly"):
        folded = folded[:-2]
    return folded[:-1] if len(folded) > 3 and folded.endswith("e") else folded


def _plain(markdown: str) -> str:
    return str(_MARKUP.sub(" ", _DEFINITION.sub("", markdown)))


def _slices(run: str, size: int) -> list[str]:
    return [run[i : i + size] for i in range(0, len(run), size)]
