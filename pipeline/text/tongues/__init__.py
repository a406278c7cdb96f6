"""One table per language: the words the rules about words need to know.

English is the rules' own language and stands in them; every other language is a file here. To add
one, write its table and name it in `TONGUES`; what a table leaves empty is simply not looked for.
"""

from pipeline.text.tongues.arabic import ARABIC
from pipeline.text.tongues.chinese import CHINESE
from pipeline.text.tongues.german import GERMAN
from pipeline.text.tongues.hebrew import HEBREW
from pipeline.text.tongues.hindi import HINDI
from pipeline.text.tongues.japanese import JAPANESE
from pipeline.text.tongues.romance import FRENCH, PORTUGUESE_AND_ITALIAN, SPANISH
from pipeline.text.tongues.russian import RUSSIAN
from pipeline.text.tongues.table import Tongue

TONGUES = (
    GERMAN,
    FRENCH,
    SPANISH,
    PORTUGUESE_AND_ITALIAN,
    RUSSIAN,
    ARABIC,
    HEBREW,
    HINDI,
    JAPANESE,
    CHINESE,
)
LATIN = (GERMAN, FRENCH, SPANISH, PORTUGUESE_AND_ITALIAN)  # the others are written in other letters


def spelt(field: str, tongues: tuple[Tongue, ...] = TONGUES) -> str:
    """A pattern that finds what the field says in any language but English, as a whole word.

    field: the name of a field of `Tongue` that is a pattern. Never empty.
    """
    found = [tongue.bounded(getattr(tongue, field)) for tongue in tongues]
    return "|".join(pattern for pattern in found if pattern) or r"(?!)"


def spelt_at(field: str, index: int) -> str:
    """Like `spelt`, of the pattern at `index` of a field that is a sequence or a mapping."""
    found = []
    for tongue in TONGUES:
        patterns = getattr(tongue, field)
        if isinstance(patterns, tuple):
            patterns = dict(enumerate(patterns))
        found.append(tongue.bounded(patterns.get(index, "")))
    return "|".join(pattern for pattern in found if pattern) or r"(?!)"


__all__ = ["LATIN", "TONGUES", "Tongue", "spelt", "spelt_at"]
