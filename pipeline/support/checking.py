"""The rules a claim must pass against the messages it cites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from pipeline.late import late
from pipeline.records import ClaimKind, Message
from pipeline.support.attributing import misattributed
from pipeline.support.belonging import misplaced
from pipeline.support.denying import denied_otherwise
from pipeline.support.excerpts import about
from pipeline.support.exchanging import exchanged, replaced_words
from pipeline.support.material import FRAME, Material, gather, matches, once
from pipeline.support.turning import outdated, renewed
from pipeline.support.values import missing_names, missing_rhythms, missing_values, spellings
from pipeline.text import content_words, is_caseless, quantities, words
from pipeline.text.scales import NUMBER_WORDS, UNITS
from pipeline.text.tongues import spelt

_WILL = late(
    r"""\b(?:the\suser|user)(?:'s|s')?\b(?!\s(?:interface|account|table|role|session|database|data|id)s?\b)
      |\b(?:decided|prefers?|preferred|wants?|wanted|intends?|wishes|chose)\b""",
    regex.IGNORECASE | regex.VERBOSE,
)
_WILL_ELSEWHERE = late(f"{spelt('user')}|{spelt('will')}", regex.IGNORECASE)
_WILL_KINDS = frozenset({ClaimKind.DECISION, ClaimKind.PREFERENCE})
# "… for a hospital."
_ADJUNCT = late(
    r"\b(?:for|with|at|in|on|from|by|during|after|before|under|near|without)\s"
    r"(?:(?:an?|the|his|her|its|their|some)\s)?(?P<what>\p{Ll}[\w-]*(?:\s\p{Ll}[\w-]*)?)\W*\Z"
)
# A day, a month or a length of time may be told in other words; the rules about dates judge it.
_SPAN_WORDS = frozenset(UNITS) | NUMBER_WORDS.keys() | {"morning", "evening", "noon", "weekend"}
# A run of this many content words that no message says was made up.
_INVENTED_RUN = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """score: share of the claim's content words found in the evidence, 0..1.

    reasons: what is not supported, in words a user understands; empty when supported.
    """

    supported: bool
    score: float
    reasons: tuple[str, ...]


def check(
    claim: str, evidence: Sequence[Message], *, threshold: float, kind: ClaimKind | None = None
) -> Verdict:
    """Whether `evidence` supports `claim`: values, names, words, negation, succession, speaker.

    threshold: the share of the claim's content words the evidence must hold (0..1).
    kind: decisions and preferences need the user's own words, as does any claim about the user.
    """
    evidence = about(claim, evidence)
    by_user = kind in _WILL_KINDS or bool(_WILL.search(claim) or _WILL_ELSEWHERE.search(claim))
    material = gather(claim, evidence, by_user=by_user)
    if not material.said:
        who = "no message of the user says this" if by_user else "the messages do not state this"
        return Verdict(False, 0.0, (who,))
    share, invented = _coverage(claim, material)
    reasons = [
        *missing_values(claim, material),
        *missing_rhythms(claim, material),
        *missing_names(claim, material),
        *misplaced(claim, material),
        *exchanged(claim, material),
        *replaced_words(claim, material),
        *misattributed(claim, material),
        *denied_otherwise(claim, material.said),
        *(
            f"states {old} as current, which the messages left behind"
            for old in once(
                outdated(claim, one.text) or renewed(claim, one) for one in material.said
            )
        ),
    ]
    if share < threshold:
        reasons.append(f"only {share:.0%} of its words are in the messages")
    adjunct = _invented_adjunct(claim, material)
    if adjunct:
        reasons.append(f"the messages say nothing of “{adjunct}”")
    if invented:
        reasons.append(f"the messages say nothing of “{invented}”")
    return Verdict(not reasons, share, tuple(reasons))


def _invented_adjunct(claim: str, material: Material) -> str:
    """What an English claim adds at its end, all of whose words are strangers to the messages."""
    last = _ADJUNCT.search(claim)
    stems = [stem for stem in content_words(last["what"]) if stem not in FRAME] if last else []
    if last is None or not stems or not _SPAN_WORDS.isdisjoint(words(last["what"])):
        return ""
    heard = material.heard()
    return "" if any(matches(stem, heard) for stem in stems) else last.group().rstrip(".")


def _coverage(claim: str, material: Material) -> tuple[float, str]:
    """Share of the claim's content words in the messages, and the longest made-up run of words.

    A value counts as one word; its unit ("minutes", "March") is left to the rule about values.
    """
    stems = material.stems()
    said = frozenset().union(*(spellings(key) for one in material.said for key in one.keys))
    values = [
        not said.isdisjoint(spellings(q.value)) for q in quantities(claim) if q.kind != "date"
    ]
    for quantity in reversed(quantities(claim)):
        claim = f"{claim[: quantity.start]} {claim[quantity.end :]}"
    pairs = [stem for stem in content_words(claim) if stem not in FRAME]
    if is_caseless(claim) or not pairs:
        # Scripts without spaces have no words to take one by one.
        found = sum(values) + sum(matches(stem, stems) for stem in pairs)
        return (found / (len(pairs) + len(values)) if pairs else 1.0), ""
    own = set(pairs)
    counted = [
        (word, stem)
        for word in words(claim)
        for stem in content_words(word)
        if stem in own and not word[0].isdigit()
    ]
    if not counted:
        return 1.0, ""
    run: list[str] = []
    longest: list[str] = []
    found = sum(values)
    for word, stem in counted:
        if matches(stem, stems):
            found += 1
            run = []
        else:
            run = [*run, word]
            longest = max(longest, run, key=len)
    share = found / (len(counted) + len(values))
    return share, " ".join(longest) if len(longest) >= _INVENTED_RUN else ""
