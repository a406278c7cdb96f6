"""The rules a claim must pass against the messages it cites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from pipeline.records import ClaimKind, Message
from pipeline.support.attributing import misattributed
from pipeline.support.belonging import misplaced
from pipeline.support.denying import denied_otherwise
from pipeline.support.material import FRAME, gather, matches, once
from pipeline.support.turning import outdated
from pipeline.support.values import missing_names, missing_rhythms, missing_values
from pipeline.text import content_words, quantities, words

_WILL = regex.compile(
    r"""\b(?:the\suser|user)(?:'s|s')?\b
      |\b(?:decided|prefers?|preferred|wants?|wanted|intends?|wishes|chose)\b
      |\bder\snutzer|\bl'utilisateur|\bel\susuario|用户|用戶|ユーザー|المستخدم|उपयोगकर्ता""",
    regex.IGNORECASE | regex.VERBOSE,
)
_WILL_KINDS = frozenset({ClaimKind.DECISION, ClaimKind.PREFERENCE})
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
    by_user = kind in _WILL_KINDS or _WILL.search(claim) is not None
    material = gather(claim, evidence, by_user=by_user)
    if not material.said:
        who = "no message of the user says this" if by_user else "the messages do not state this"
        return Verdict(False, 0.0, (who,))
    share, invented = _coverage(claim, material.stems())
    reasons = [
        *missing_values(claim, material),
        *missing_rhythms(claim, material),
        *missing_names(claim, material),
        *misplaced(claim, material),
        *misattributed(claim, material),
        *denied_otherwise(claim, material.said),
        *(
            f"states {old} as current, which the messages left behind"
            for old in once(outdated(claim, one.text) for one in material.said)
        ),
    ]
    if share < threshold:
        reasons.append(f"only {share:.0%} of its words are in the messages")
    if invented:
        reasons.append(f"the messages say nothing of “{invented}”")
    return Verdict(not reasons, share, tuple(reasons))


def _coverage(claim: str, stems: frozenset[str]) -> tuple[float, str]:
    """Share of the claim's content words among `stems`, and the longest made-up run of words.

    Words of a quantity ("minutes", "March") are left to the rule about values.
    """
    for quantity in reversed(quantities(claim)):
        claim = f"{claim[: quantity.start]} {claim[quantity.end :]}"
    counted = [
        (word, stem)
        for word in words(claim)
        for stem in content_words(word)
        if stem not in FRAME and not word[0].isdigit()
    ]
    if any(len(stem) == 2 and not stem.isascii() for _, stem in counted) or not counted:
        # Scripts without spaces: pairs of characters over the whole run, not word by word.
        pairs = [stem for stem in content_words(claim) if stem not in FRAME]
        if not pairs:
            return 1.0, ""
        return sum(matches(stem, stems) for stem in pairs) / len(pairs), ""
    run: list[str] = []
    longest: list[str] = []
    found = 0
    for word, stem in counted:
        if matches(stem, stems):
            found += 1
            run = []
        else:
            run = [*run, word]
            longest = max(longest, run, key=len)
    share = found / len(counted)
    return share, " ".join(longest) if len(longest) >= _INVENTED_RUN else ""
