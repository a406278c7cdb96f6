"""The rules a claim must pass against the messages it cites."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import regex

from pipeline.records import ClaimKind, Message, Role
from pipeline.support.dating import day_is_said, days_said, year_is_said
from pipeline.support.saying import Clause, Saying, clauses, keys, sayings
from pipeline.support.turning import outdated, turns
from pipeline.text import (
    Quantity,
    content_words,
    fold,
    identifiers,
    is_german,
    proper_nouns,
    quantities,
    sentences,
    words,
)
from pipeline.text.lists import word_set

# Words a claim needs to be told in the third person; no message has to say them.
FRAME = word_set(
    """
    user assistant project person team decid prefer choos agre want state report note mention
    recommend suggest plan confirm explain describ request accept opt use
    """
)
_COMMON_OPENERS = word_set(
    """
    according additionally after all although an another any as at because before both by currently
    during each every for from he her his if in instead it its later many most new no none nothing
    on one only open our previously several she since some that the their there these they this
    those to today until use using when whenever where whether while with without work you
    """
)
_DERIVED = ("ing", "ly", "ment", "tion", "sion", "ness", "ity", "ance", "ence", "ed")
_WILL = regex.compile(
    r"""\b(?:the\suser|user)(?:'s|s')?\b
      |\b(?:decided|prefers?|preferred|wants?|wanted|intends?|wishes|chose)\b
      |\bder\snutzer|\bl'utilisateur|\bel\susuario|用户|用戶|ユーザー|المستخدم|उपयोगकर्ता""",
    regex.IGNORECASE | regex.VERBOSE,
)
_ASSISTANT_SAYS = regex.compile(r"^\W*(?:the\s)?assistant\b", regex.IGNORECASE)
_OPEN = regex.compile(
    r"\b(?:whether|undecided|unclear|open question|(?:remains?|still|is|are) open"
    r"|not (?:yet )?(?:decided|known)|unresolved|offen|ungeklärt)\b|未定|尚未|待定",
    regex.IGNORECASE,
)
_HEDGED = regex.compile(
    r"\b(?:may|might|could|maybe|perhaps|possibl[ey]|consider\w*|suggest\w*|recommend\w*|propos\w*|advis\w*"
    r"|should|option)\b|可能|建议|かもしれ",
    regex.IGNORECASE,
)
_POINTS_BACK = regex.compile(r"\b(?:it|its|it's|that|this|these|those|they|both|each)\b", regex.I)
_WILL_KINDS = frozenset({ClaimKind.DECISION, ClaimKind.PREFERENCE})
# A run of this many content words that no message says was made up.
_INVENTED_RUN = 3
_SAME_UNIT = ({"m", "min", "metre", "million"}, {"b", "bit", "billion"}, {"g", "gb"}, {"d", "day"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """score: share of the claim's content words found in the evidence, 0..1.

    reasons: what is not supported, in words a user understands; empty when supported.
    """

    supported: bool
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What may count: `said` supports values and names, `around` only gives context words."""

    messages: tuple[Message, ...]
    said: tuple[Saying, ...]
    around: tuple[Saying, ...]
    days: frozenset[str]
    beside: str  # projects and touched files: known, though nobody said them

    def stems(self) -> frozenset[str]:
        return frozenset().union(
            *(one.stems for one in (*self.said, *self.around)), content_words(self.beside)
        )


def check(
    claim: str, evidence: Sequence[Message], *, threshold: float, kind: ClaimKind | None = None
) -> Verdict:
    """Whether `evidence` supports `claim`: values, names, words, negation, succession, speaker.

    threshold: the share of the claim's content words the evidence must hold (0..1).
    kind: decisions and preferences need the user's own words, as does any claim about the user.
    """
    by_user = kind in _WILL_KINDS or _WILL.search(claim) is not None
    material = _material(claim, evidence, by_user=by_user)
    if not material.said:
        who = "no message of the user says this" if by_user else "the messages do not state this"
        return Verdict(False, 0.0, (who,))
    share, invented = _coverage(claim, material.stems())
    reasons = [
        *_missing_values(claim, material),
        *_missing_names(claim, material),
        *_misplaced(claim, material),
        *_denied(claim, material.said),
        *(
            f"states {old} as current, which the messages left behind"
            for old in _once(outdated(claim, one.text) for one in material.said)
        ),
    ]
    if share < threshold:
        reasons.append(f"only {share:.0%} of its words are in the messages")
    if invented:
        reasons.append(f"the messages say nothing of “{invented}”")
    return Verdict(not reasons, share, tuple(reasons))


def _material(claim: str, evidence: Sequence[Message], *, by_user: bool) -> _Evidence:
    every = sayings(evidence)
    if _OPEN.search(claim):
        said = every
    elif _ASSISTANT_SAYS.match(claim):
        said = [one for one in every if one.role is Role.ASSISTANT and not one.asked]
    elif _HEDGED.search(claim):
        said = [one for one in every if one.accepted or not one.asked]
    else:
        said = [one for one in every if one.stated]
    if by_user and not _ASSISTANT_SAYS.match(claim):
        said = [one for one in said if one.role is Role.USER or one.accepted]
    around = [
        one for one in every if one.asked and one not in said and _is_answered(one, claim, said)
    ]
    beside = " ".join(
        f"{message.project} " + " ".join(f"{act.tool} {act.path}" for act in message.actions)
        for message in evidence
    )
    return _Evidence(tuple(evidence), tuple(said), tuple(around), days_said(evidence), beside)


def _is_answered(question: Saying, claim: str, said: Sequence[Saying]) -> bool:
    """ "Which port?" – "8080.": the question gives the words if the answer gives the value."""
    values = keys(claim)
    return any(
        values & one.keys if values else _shares(set(content_words(claim)), one.stems)
        for one in said
        if one.conv == question.conv and one.position - question.position in (0, 1)
    )


# ------------------------------------------------------------------ words


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


def matches(stem: str, stems: frozenset[str]) -> bool:
    """Whether `stem`, or a word of the same root ("deploy", "deployment"), is among `stems`."""
    if stem in stems:
        return True
    return any(_same_root(stem, other) for other in stems)


def _same_root(a: str, b: str) -> bool:
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) < 4 or not shorter.isalpha() or not longer.isalpha():
        return False
    if longer.startswith(shorter) and len(shorter) >= 5:
        return True
    common = 0
    for x, y in zip(shorter, longer, strict=False):
        if x != y:
            break
        common += 1
    return common >= 5 and common >= 0.6 * len(longer)


# ------------------------------------------------------------------ values


def _missing_values(claim: str, material: _Evidence) -> list[str]:
    said = [quantity for one in material.said for quantity in quantities(one.text)]
    spoken = frozenset().union(*(frozenset(map(fold, words(one.text))) for one in material.said))
    named = identifiers(claim)
    reasons = []
    for quantity in quantities(claim):
        shown = claim[quantity.start : quantity.end].strip()
        if any(shown in name for name in named):
            continue  # judged as part of the name
        if quantity.kind == "date":
            if not day_is_said(quantity.value, material.days):
                reasons.append(f"the date {shown} is not in the messages")
            continue
        same = [other for other in said if other.value == quantity.value]
        if not same:
            if not year_is_said(quantity.value, material.days):
                reasons.append(f"the number {shown} is not in the messages")
        elif not any(_units_agree(quantity, other, spoken) for other in same):
            reasons.append(f"{shown} has another unit in the messages")
    return reasons


def _units_agree(claimed: Quantity, said: Quantity, spoken: frozenset[str]) -> bool:
    if claimed.unit == said.unit or not claimed.unit:
        return True
    if not said.unit:
        return claimed.unit != "%" and bool(
            {claimed.unit, fold(claimed.unit)} & spoken
            or any(word.startswith(claimed.unit) for word in spoken if len(claimed.unit) > 2)
        )
    return any(claimed.unit in group and said.unit in group for group in _SAME_UNIT)


def _missing_names(claim: str, material: _Evidence) -> list[str]:
    text = " ".join([*(one.text for one in material.said), material.beside]).casefold()
    known = {fold(word) for word in words(text)}
    reasons = [
        f"the messages do not name {name}"
        for name in sorted(identifiers(claim))
        if not _stands(name.casefold(), text)
    ]
    judged = {word.casefold() for name in identifiers(claim) for word in words(name)}
    for name in sorted(proper_nouns(claim) | _opening_names(claim)):
        folded = name.casefold()
        if folded in judged or fold(name) in FRAME:
            continue
        if fold(name) not in known and not _stands(folded, text):
            reasons.append(f"the messages do not name {name}")
    return reasons


def _opening_names(claim: str) -> frozenset[str]:
    """Words that open a sentence and may be a name, since grammar alone explains their capital."""
    found: set[str] = set()
    if is_german(claim):
        return frozenset()
    for start, end in sentences(claim):
        opening = words(claim[start:end])[:1]
        for word in opening:
            plain = word.casefold().removesuffix("'s").removesuffix("’s")
            if (
                word[0].isupper()
                and content_words(plain)
                and plain not in _COMMON_OPENERS
                and fold(plain) not in FRAME
                and not plain.endswith(_DERIVED)
            ):
                found.add(word.removesuffix("'s").removesuffix("’s"))
    return frozenset(found)


def _stands(name: str, text: str) -> bool:
    bare = name.removesuffix("()").strip("/")
    if not bare:
        return True
    pattern = r"\s+".join(regex.escape(part) for part in bare.split())
    return (
        regex.search(rf"(?<![\p{{Latin}}\p{{N}}_]){pattern}(?![\p{{Latin}}\p{{N}}_])", text)
        is not None
    )


# ------------------------------------------------------------------ what belongs to what


def _misplaced(claim: str, material: _Evidence) -> list[str]:
    """Values and names that stand in the messages, but are said of something else."""
    reasons = []
    for start, end in sentences(claim):
        part = claim[start:end]
        here = _judged_keys(part)
        stems = {stem for stem in content_words(part) if stem not in FRAME}
        for key in sorted(here):
            own = stems - set(content_words(key))
            homes = [one for one in material.said if _holds(one, key)]
            if homes and own and _has_rival(own, key, here, homes, material.said):
                reasons.append(f"the messages say {key} of something else")
    return reasons


def _has_rival(
    own: set[str],
    key: str,
    here: frozenset[str],
    homes: Sequence[Saying],
    said: Sequence[Saying],
) -> bool:
    """Whether what the claim tells of `key` is told of another value or name instead."""
    if all(_clause_rival(own, key, here, home) for home in homes):
        return True
    elsewhere = [one for one in said if one not in homes]
    if not any(_shares(own, home.stems) for home in homes):
        # No sentence with the key says anything the claim says; does one with a rival?
        subject = frozenset().union(*(home.stems for home in homes)) - set(content_words(key))
        if subject and any(
            _rivals(one.keys, key, here) and _shares(own, one.stems) for one in elsewhere
        ):
            return True
    units = {_unit(home, key) for home in homes} - {""}
    for stem in own if units else ():
        places = [one for one in said if matches(stem, one.stems)]
        if places and all(
            one not in homes
            and any(_unit(one, rival) in units for rival in _rivals(one.keys, key, here))
            for one in places
        ):
            return True
    return False


def _clause_rival(own: set[str], key: str, here: frozenset[str], saying: Saying) -> bool:
    """ "15m for builds, 30m for tests": the clause of the key, or that of another value?"""
    mine = [clause for clause in saying.clauses if _holds(clause, key)]
    if turns(saying.text) or any(_POINTS_BACK.search(clause.text) for clause in mine):
        return False
    if any(_shares(own, clause.stems - set(content_words(key))) for clause in mine):
        return False
    if not any(clause.stems - set(content_words(key)) for clause in mine):
        return False
    return any(
        _rivals(clause.keys, key, here) and _shares(own, clause.stems)
        for clause in saying.clauses
        if clause not in mine
    )


def _shares(own: set[str], stems: frozenset[str]) -> bool:
    """Whether any word of the claim is among `stems`."""
    return any(matches(stem, stems) for stem in own)


def _rivals(keys_there: frozenset[str], key: str, here: frozenset[str]) -> set[str]:
    return {other for other in keys_there - here if other[0].isdigit() == key[0].isdigit()}


def _unit(saying: Saying, key: str) -> str:
    return next((q.unit for q in quantities(saying.text) if q.value == key), "")


def _judged_keys(text: str) -> frozenset[str]:
    dates = {q.value for q in quantities(text) if q.kind == "date"}
    return keys(text) - dates


def _holds(part: Saying | Clause, key: str) -> bool:
    return key in part.keys or key in {word.casefold() for word in words(part.text)}


# ------------------------------------------------------------------ negation


def _denied(claim: str, said: Iterable[Saying]) -> list[str]:
    evidence = [clause for one in said for clause in one.clauses]
    reasons: list[str] = []
    for clause in clauses(claim):
        affirmed = (clause.stems | clause.keys) - clause.denied - FRAME
        if clause.denied & (clause.stems | clause.keys):
            reasons += _wrongly_denied(clause, evidence)
        elif not clause.let_go:
            reasons += _wrongly_affirmed(affirmed, clause.keys, evidence)
    return _once(reasons)


def _wrongly_denied(clause: Clause, evidence: Sequence[Clause]) -> list[str]:
    denied = (clause.denied & (clause.stems | clause.keys)) - FRAME
    if not denied:
        return []
    negative = frozenset().union(
        *(other.denied for other in evidence), *(other.stems for other in evidence if other.let_go)
    )
    if any(matches(token, negative) for token in denied):
        return []
    return [f"denies “{_first(denied)}”, which the messages do not"]


def _wrongly_affirmed(
    affirmed: frozenset[str], named: frozenset[str], evidence: Sequence[Clause]
) -> list[str]:
    reasons = []
    for token in sorted(affirmed):
        places = [
            clause for clause in evidence if token in clause.stems | clause.keys | clause.denied
        ]
        if not places or any(token not in clause.denied for clause in places):
            continue
        shared = max(len(clause.stems & affirmed) for clause in places)
        if token in named or shared >= 2 or len(affirmed) == 1:
            reasons.append(f"affirms “{token}”, which the messages deny")
    return reasons


def _first(tokens: Iterable[str]) -> str:
    return min(tokens)


def _once(reasons: Iterable[str]) -> list[str]:
    return [reason for reason in dict.fromkeys(reasons) if reason]
