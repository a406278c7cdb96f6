"""Which language a text is in, as far as a rule must know."""

from __future__ import annotations

from functools import lru_cache

from pipeline.late import late
from pipeline.text.lists import word_set

_GERMAN = word_set(
    """
    der die das den dem des ein eine einen einem und ist sind nicht mit für auf wird werden im
    am vom zum zur bei aus sich hat haben wurde kein keine statt über nach von oder als ich wir
    habe nur auch noch jetzt seit unter durch bis dann wenn weil aber soll sollen schon mehr
    sogar zu auf einen es
    """
)
_WORD = late(r"\p{L}+")
_UMLAUT = late(r"[äöüßÄÖÜ]")
_KANA = late(r"[\p{Hiragana}\p{Katakana}]")
_HAN = late(r"\p{Han}")
# In these nothing but the words around it tells a name from a noun.
_CASELESS = late(r"[\p{Arabic}\p{Hebrew}\p{Han}\p{Hiragana}\p{Katakana}]")


@lru_cache(maxsize=4096)
def is_german(text: str) -> bool:
    """Whether the text has German function words, so that its capitals mark nouns, not names.

    One such word is enough beside an umlaut.
    """
    shared = {word.casefold() for word in _WORD.findall(text)} & _GERMAN
    return len(shared) >= (1 if _UMLAUT.search(text) else 2)


def is_japanese(text: str) -> bool:
    """Whether any Kana stands in the text."""
    return _KANA.search(text) is not None


def is_chinese(text: str) -> bool:
    """Whether it has Han characters and no Kana."""
    return _HAN.search(text) is not None and not is_japanese(text)


def is_caseless(text: str) -> bool:
    """Whether it is written in a script that has no capitals to mark names with."""
    return _CASELESS.search(text) is not None
