"""Arabic and Hebrew words without what is written onto them, and their consonants."""

from __future__ import annotations

from functools import lru_cache

import regex

from pipeline.late import late

_MARKS = late(r"[\u064b-\u065f\u0670\u0640\u0591-\u05c7]")
_ONE_LETTER = str.maketrans({"أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ة": "ه", "ؤ": "و", "ئ": "ي"})
_FINAL = str.maketrans("ךםןףץ", "כמנפצ")
_ARABIC_FRONT = late(r"\A(?:[وف]?[بك]?ال|[وف]?لل)(?=\w{2})")
_AND = late(r"\A[وف](?=\w{3})")
_ARABIC_BACK = late(r"(?<=\w{3})(?:ها|هم|هن|ات|ان|ون|ين|يه|تين|ه|ي|ا|ت)\Z")
_ARABIC_PERSON = late(r"\A(?:[ايتن](?=\w{2})|س[ايتن](?=\w{3}))")
_ARABIC_WEAK = late(r"[اويءه]")
_HEBREW_FRONT = late(r"\A(?:[ושכ]{0,2}[בלמ]?ה|[ושכ]{1,2}|[בלמ])(?=\w{3})")
_HEBREW_BACK = late(r"(?<=\w{3})(?:ים|ות|ה|ת|י|ו|תי|נו)\Z")
_HEBREW_PERSON = late(r"\A[אינת](?=\w{3})")
_HEBREW_WEAK = late(r"[יו]")
_ARABIC = late(r"\p{Arabic}")
_HEBREW = late(r"\p{Hebrew}")


def is_semitic(word: str) -> bool:
    """Whether the word is written in Arabic or Hebrew letters."""
    return _ARABIC.match(word) is not None or _HEBREW.match(word) is not None


@lru_cache(maxsize=20_000)
def light(word: str) -> str:
    """Without vowel marks, article, "and", prepositions and the endings of number and person."""
    plain = _MARKS.sub("", word).translate(_ONE_LETTER)
    if _HEBREW.match(plain):
        return str(_HEBREW_BACK.sub("", _HEBREW_FRONT.sub("", plain.translate(_FINAL))))
    return str(_ARABIC_BACK.sub("", _ARABIC_FRONT.sub("", plain)))


@lru_cache(maxsize=20_000)
def roots(stem: str) -> frozenset[str]:
    """The consonants of a `light` word, with and without what marks a verb's person.

    Two forms of one verb ("I want", "he wants") share one. At least two consonants long.
    """
    person, weak = (
        (_HEBREW_PERSON, _HEBREW_WEAK) if _HEBREW.match(stem) else (_ARABIC_PERSON, _ARABIC_WEAK)
    )
    fronts = {stem, _AND.sub("", stem)}
    forms = fronts | {person.sub("", form) for form in fronts}
    if _ARABIC.match(stem):
        forms |= {regex.sub(r"\A[بلك](?=\w{3})", "", stem), regex.sub(r"\A[ما]?ست?|\Aم", "", stem)}
        forms |= {regex.sub(r"\A(\w)ت", r"\1", form) for form in tuple(forms)}
        forms |= {form.removesuffix("ت").removesuffix("ن") for form in tuple(forms)}
    back = _HEBREW_BACK if _HEBREW.match(stem) else _ARABIC_BACK
    forms |= {back.sub("", form) for form in forms}
    bare = {weak.sub("", form) for form in forms}
    return frozenset(
        {form for form in forms if len(form) >= 2} | {form for form in bare if len(form) >= 3}
    )
