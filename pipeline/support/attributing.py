"""Whose deed it is: what the user told of somebody else is not the user's own."""

from __future__ import annotations

import regex

from pipeline.late import late
from pipeline.records import Role
from pipeline.support.material import FRAME, Material
from pipeline.text import content_words

_OF_THE_USER = late(r"\AThe user(?P<owns>'s)?\b", regex.I)
_OWNED = late(r"\AThe user's (?:average |own |new |old )?(?P<noun>[\p{L}\p{N}_-]+)", regex.I)
_FIRST_PERSON = late(r"\b(?:I|we|me|us|my|our|mine|ours|myself|ourselves|let's)\b", regex.I)
# A sentence that opens so has a subject of its own: a name in two words, an article or pronoun.
_NAME = late(r"\A\W*\p{Lu}\p{Ll}+\s(\p{Lu}\p{Ll}+)\b")
_ARTICLE = late(r"\A\W*(?:the|an?|this|these|that|those|it|its|he|she|they|their)\s", regex.I)


def misattributed(claim: str, material: Material) -> list[str]:
    """An English claim about the user that rests on a sentence about somebody or something else.

    Judged by the sentence that shares most words with the claim: if the user said it, with another
    subject and without a word for themselves, it is not about them.
    """
    about = _OF_THE_USER.match(claim)
    if not about:
        return []
    own = set(content_words(claim)) - FRAME
    nearest = max(material.said, key=lambda one: len(own & one.stems), default=None)
    if nearest is None or nearest.role is not Role.USER or _FIRST_PERSON.search(nearest.text):
        return []
    name = _NAME.match(nearest.text)
    # a name the claim holds too may be what the user decided on: "Let Postgres keep it."
    others = (name and name[1] not in claim) or _ARTICLE.match(nearest.text)
    # what is said to be the user's own was called so by them
    if others or (about["owns"] and not _bare(claim, nearest.text)):
        return ["the user said this of somebody or something else"]
    return []


def _bare(claim: str, told: str) -> bool:
    """ "Knee is fine again": told without an article or an owner, it is the speaker's own."""
    owned = _OWNED.match(claim)
    if owned is None:
        return False
    noun = regex.escape(owned["noun"])
    return (
        regex.search(rf"(?:\A|[,;.:(]\s|\bavg\.?\s|\baverage\s)\W*{noun}\b", told, regex.IGNORECASE)
        is not None
        and regex.search(rf"\A\W*{noun}\s(?:has|have|holds|runs|uses)\b", told, regex.IGNORECASE)
        is None
    )
