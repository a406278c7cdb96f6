"""What a language's table holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_EDGE = r"[\p{L}\p{M}\p{N}_]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tongue:
    """Words and patterns of one language. Patterns are alternatives of `regex`, any case.

    spaced: words stand between spaces, so a pattern must match whole ones.
    clitics: what is written onto the front of a word ("and", "the", "in").
    stop_words: words that say nothing of what a sentence is about.
    frame: words a claim needs to be told in the third person; no message has to say them.
    negations, negation_parts: whole words that negate, and parts of runs that do;
    not_negations: what only looks like one.
    denies: how far a negation reaches: "after" it, or its whole "clause".
    months, weekdays: twelve and seven patterns, January and Monday first.
    days: how many days from today → pattern; month_shifts and year_shifts likewise.
    units, number_words: canonical unit → spellings; spelling → digits.
    user: what the user is called. says: verbs of saying and suggesting. will: of wanting,
    preferring and deciding.
    asks: how a question without a mark begins. request, guess, advice, acceptance,
    reservation, alternative, now, past, lets_go: what the rules of the same names look for.
    turns: patterns with the groups `old` and `new`.
    person: first and second person. greeting, refusal, elision, meta: what is no claim.
    order: what tells whoever reads the page with a model to do otherwise than asked.
    """

    name: str
    spaced: bool = True
    clitics: str = ""
    stop_words: frozenset[str] = frozenset()
    frame: frozenset[str] = frozenset()
    negations: frozenset[str] = frozenset()
    negation_parts: tuple[str, ...] = ()
    not_negations: str = ""
    denies: str = "clause"
    months: tuple[str, ...] = ()
    weekdays: tuple[str, ...] = ()
    days: Mapping[int, str] = field(default_factory=dict)
    month_shifts: Mapping[int, str] = field(default_factory=dict)
    year_shifts: Mapping[int, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    number_words: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    says: str = ""
    will: str = ""
    asks: str = ""
    request: str = ""
    guess: str = ""
    advice: str = ""
    acceptance: str = ""
    reservation: str = ""
    alternative: str = ""
    now: str = ""
    past: str = ""
    lets_go: str = ""
    clause_break: str = ""
    turns: tuple[str, ...] = ()
    person: str = ""
    greeting: str = ""
    refusal: str = ""
    elision: str = ""
    meta: str = ""
    order: str = ""

    def bounded(self, pattern: str) -> str:
        """`pattern` as whole words where the language has them; "" stays ""."""
        if not pattern or not self.spaced:
            return f"(?:{pattern})" if pattern else ""
        clitics = f"(?:{self.clitics})?" if self.clitics else ""
        return rf"(?:(?<!{_EDGE}){clitics}(?:{pattern})(?!{_EDGE}))"
