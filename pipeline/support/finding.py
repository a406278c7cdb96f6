"""Which messages a claim rests on. Found by code: a model's own message numbers are guesses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, groupby

from pipeline.records import Message, Role
from pipeline.support.checking import Verdict, check
from pipeline.support.excerpts import about
from pipeline.support.material import FRAME, matches, shares
from pipeline.support.saying import keys, sayings
from pipeline.support.turning import outdated, renewed
from pipeline.text import content_words, quantities

_KEY_WEIGHT = 3.0  # a number or a name tells more about where a claim comes from than a word
_UNSTATED = 0.4  # what is only asked or guessed counts this much
_CANDIDATES = 6
_ENOUGH = 0.5  # share of content words at which a set is compared as supporting

_Rank = tuple[float, bool, int, int, int, int]


def evidence(claim: str, messages: Sequence[Message], *, limit: int = 3) -> tuple[int, ...]:
    """Positions, ascending, of the fewest messages (at most `limit`) that best support `claim`.

    Empty when no message shares a word, number or name with it. The user's own words go before
    the assistant's, and earlier ones before later ones, where they support it equally. Where a
    later message takes back what the claim says, it is among them.
    """
    messages = about(claim, messages)
    ranked = sorted(
        ((_weight(claim, message), message) for message in messages),
        key=lambda pair: (-pair[0], pair[1].role is not Role.USER, pair[1].position),
    )
    best = [message for weight, message in ranked if weight > 0][:_CANDIDATES]
    if not best or limit < 1:
        return ()
    chosen = _best(claim, _candidate_sets(best, messages, limit))
    positions = sorted(message.position for message in chosen)
    later = [message for message in messages if message.position > positions[-1]]
    back = next((one.position for one in later if _takes_back(claim, one)), None)
    return (*positions, back)[-limit:] if back is not None else tuple(positions)


def _best(claim: str, groups: Sequence[tuple[Message, ...]]) -> tuple[Message, ...]:
    """The group that ranks first. The groups come smallest first; of most claims one message says
    all there is, and then no larger group is looked at.
    """
    ranks: list[tuple[_Rank, tuple[Message, ...]]] = []
    for _, alike in groupby(groups, key=len):
        ranks += ((_rank(claim, group), group) for group in alike)
        score, supported, *_ = max(rank for rank, _ in ranks)
        if score >= 1.0 and supported:
            break
    return max(ranks, key=lambda ranked: ranked[0])[1]


def _takes_back(claim: str, message: Message) -> bool:
    """Whether a later message says that what the claim states is so no longer."""
    own = {stem for stem in content_words(claim) if stem not in FRAME}
    return any(
        (outdated(claim, one.text) and shares(own, one.stems)) or renewed(claim, one)
        for one in sayings([message])
        if one.stated
    )


def _candidate_sets(
    best: Sequence[Message], messages: Sequence[Message], limit: int
) -> list[tuple[Message, ...]]:
    by_position = {message.position: message for message in messages}
    groups: list[tuple[Message, ...]] = [(message,) for message in best]
    if limit >= 2:
        for message in best:
            after, before = (
                by_position.get(message.position + 1),
                by_position.get(message.position - 1),
            )
            if after and after.role is not message.role:
                groups.append((message, after))
            if before and before.role is not message.role:
                groups.append((before, message))
        groups += combinations(best[:4], 2)
    if limit >= 3:
        groups += combinations(best[:4], 3)
    return groups


def _rank(claim: str, group: tuple[Message, ...]) -> _Rank:
    verdict: Verdict = check(claim, group, threshold=_ENOUGH)
    by_user = sum(message.role is Role.USER for message in group)
    first = min(message.position for message in group)
    return (
        round(verdict.score, 1),
        verdict.supported,
        -len(verdict.reasons),
        -len(group),
        by_user,
        -first,
    )


def _weight(claim: str, message: Message) -> float:
    wanted = {stem for stem in content_words(claim) if stem not in FRAME}
    named = keys(claim) | _short_dates(claim)
    total = 0.0
    for one in sayings([message]):
        shared = sum(matches(stem, one.stems) for stem in wanted)
        here = shared + _KEY_WEIGHT * len(named & (one.keys | _short_dates(one.text)))
        total = max(total, here * (1.0 if one.stated else _UNSTATED))
    return total


def _short_dates(text: str) -> frozenset[str]:
    """Dates without their year, as a message may have left it out."""
    return frozenset(
        f"--{q.value[-5:]}" for q in quantities(text) if q.kind == "date" and len(q.value) >= 7
    )
