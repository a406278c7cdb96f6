"""A model that knows the world: it answers as a good one would, or badly now and then.

Bad answers are those that small models are seen to give: invented claims, another value, a refusal,
text that is cut off or no JSON, a relation or a topic that does not hold.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Sequence

from benchmarks.nights_world import Fact, World
from pipeline.models import Account, Ask, Choice, Reply
from pipeline.records import Call

_INVENTED = (
    "The whole {} was moved to Reykjavik by Olga Brandt.",
    "The {} costs 98765 crowns a year.",
)
# no name and no number that a rule could miss in the messages
_UNSAID = "The user decided to give up the {}."
_SURE = 0.9
_FEW_WORDS = 4
_OTHER = {"0": "7", "1": "8", "2": "9", "3": "6", "4": "1", "5": "2", "6": "3", "7": "1", "8": "2"}


class WorldModel:
    """Keeps the Model protocol. noise: share of bad answers (0..1), drawn from `seed`.

    proposed: planted sentences put forward so far. false: what it made up, unsaid: of that, what
    holds no value.
    """

    def __init__(self, world: World, noise: float = 0.0, seed: int = 1) -> None:
        self.noise = noise
        self._random = random.Random(seed)
        self._topics = world.topics
        self._of_text = {fact.text: fact for fact in world.facts()}
        self._said: dict[str, list[Fact]] = {}
        for fact in world.facts():
            self._said.setdefault(fact.said, []).append(fact)
        self._denied = {s.facts[0][0].matter for t in world.topics for s in t.subjects if s.denied}
        self._leads = {f.text for t in world.topics for s in t.subjects if s.lead
                       for wordings in s.facts for f in wordings}  # fmt: skip
        self.account: Account | None = None
        self.proposed: set[str] = set()
        self.false: set[str] = set()
        self.unsaid = {_UNSAID.format(topic.name) for topic in world.topics}

    @property
    def name(self) -> str:
        """A name no real model has."""
        return "scripted"

    def count(self, text: str) -> int:
        """Words, as a stand-in for tokens."""
        return len(text.split())

    def close(self) -> None:
        """Nothing to give back."""

    def learn(self, own: Iterable[Fact]) -> None:
        """What the user says in their own words."""
        self._of_text.update((fact.text, fact) for fact in own)

    # -------------------------------------------------------------- choose

    def choose(self, asks: Sequence[Ask], *, stage: str, purpose: str) -> list[Choice]:
        """One option each, at 0.9."""
        choices = []
        for ask in asks:
            answer = self._chosen(purpose, ask)
            rest = (1.0 - _SURE) / max(1, len(ask.options) - 1)
            top = _SURE if len(ask.options) > 1 else 1.0
            shares = tuple(top if option == answer else rest for option in ask.options)
            self._record(Call(stage, purpose, self.count(ask.prompt), 0, 0, 0.0, "stop"))
            choices.append(Choice(ask.options, shares))
        return choices

    def _chosen(self, purpose: str, ask: Ask) -> str:
        if self._is_bad():
            # small models call everything an update of everything
            if purpose == "synthesize/relation":
                return "updates"
            return self._random.choice(ask.options)
        return _GOOD[purpose](self, ask)

    def _keep(self, ask: Ask) -> str:
        return "keep" if self._named(ask.prompt.partition("<chat>")[2]) else "drop"

    def _route(self, ask: Ask) -> str:
        topics, _, said = ask.prompt.partition("Piece:")
        name = self._named(said)
        rows = [row for row in topics.splitlines() if name and f": {name}" in row]
        return rows[0][0] if rows else ask.options[-1]

    def _section(self, ask: Ask) -> str:
        return ask.options[-1]

    def _relation(self, ask: Ask) -> str:
        old, new = _pair(ask.prompt, "Old: ", "New: ")
        return self._between(self._of_text.get(old), self._of_text.get(new))

    def _repeat(self, ask: Ask) -> str:
        one, other = (self._of_text.get(text) for text in _pair(ask.prompt, "One: ", "Other: "))
        return "same" if one and other and one.key == other.key else "different"

    def _between(self, old: Fact | None, new: Fact | None) -> str:
        if old is None or new is None or old.matter != new.matter:
            return "unrelated"
        if old.value == new.value:
            return "same"
        return "contradicts" if old.matter in self._denied else "updates"

    def _lead(self, ask: Ask) -> str:
        rows = [row for row in ask.prompt.splitlines() if row[3:] in self._leads]
        return rows[0][0] if rows else ask.options[0]

    def _entails(self, ask: Ask) -> str:
        messages, _, claim = ask.prompt.partition("\n\nSentence: ")
        fact = self._of_text.get(claim.strip())
        said = [f.said for f in self._of_text.values() if fact and f.key == fact.key]
        return "yes" if any(text in messages for text in said) else "no"

    def _part(self, _ask: Ask) -> str:
        return "part"

    def _different(self, _ask: Ask) -> str:
        return "different"

    # -------------------------------------------------------------- write

    def write(
        self, asks: Sequence[Ask], *, stage: str, purpose: str, **_options: object
    ) -> list[Reply]:
        """The claims of the message by the table; composing repeats its notes."""
        replies = []
        for ask in asks:
            text, finish = self._text(purpose, ask)
            size = self.count(text)
            self._record(Call(stage, purpose, self.count(ask.prompt), 0, size, 0.0, finish))
            replies.append(Reply(text, finish, self.count(ask.prompt), 0, size, 0.0))
        return replies

    def _text(self, purpose: str, ask: Ask) -> tuple[str, str]:
        bad = self._is_bad()
        if purpose == "synthesize/claims":
            return self._bad_claims(ask) if bad else (self._claims(self._stated(ask)), "stop")
        if purpose == "synthesize/compose":
            notes = [n.removeprefix("- ") for n in ask.prompt.partition("Notes:")[2].splitlines()]
            return self._bad_text(notes) if bad else (_sentences(filter(None, notes)), "stop")
        name = self._named(ask.prompt)
        if purpose == "cluster/name":
            return ("Notes" if bad else name), "stop"
        return ("notes" if bad else f"notes on {name}"), "stop"

    def _stated(self, ask: Ask) -> list[Fact]:
        found = [said for said in self._said if said in ask.prompt]
        # what is denied may hold the words of what is affirmed
        whole = [said for said in found if not any(said in o for o in found if o != said)]
        return list({fact.text: fact for said in whole for fact in self._said[said]}.values())

    def _claims(self, facts: Sequence[Fact]) -> str:
        self.proposed.update(fact.text for fact in facts)
        return _as_claims((fact.text, fact.kind) for fact in facts)

    def _bad_claims(self, ask: Ask) -> tuple[str, str]:
        facts = self._stated(ask)
        which = self._random.randrange(5)
        if which == 0:
            return "I am sorry, but I cannot help with that.", "stop"
        if which == 1:
            return self._claims(facts)[:-_FEW_WORDS], "length"
        if which == 2:
            return _as_claims([("I cannot help with this request.", "fact")]), "stop"
        name = self._named(ask.prompt)
        false = [self._random.choice((*_INVENTED, _UNSAID)).format(name)]
        if which == 3:
            false += [other for fact in facts if (other := _swapped(fact.text)) != fact.text]
        self.false.update(false)
        self.proposed.update(fact.text for fact in facts if which == 4)
        told = [(fact.text, fact.kind) for fact in facts if which == 4]
        return _as_claims([*told, *((text, "fact") for text in false)]), "stop"

    def _bad_text(self, notes: Sequence[str]) -> tuple[str, str]:
        which = self._random.randrange(4)
        if which == 0:
            return "I am sorry, but I cannot help with that.", "stop"
        if which == 1:
            return _sentences(notes)[:-_FEW_WORDS], "length"
        false = [_swapped(note) for note in notes] if which == 2 else [_INVENTED[0].format("thing")]
        self.false.update(set(false) - set(notes))
        return _sentences([*notes, *false]), "stop"

    def _named(self, text: str) -> str:
        return next((topic.name for topic in self._topics if topic.key in text), "")

    def _is_bad(self) -> bool:
        return self._random.random() < self.noise

    def _record(self, call: Call) -> None:
        if self.account is not None:
            self.account(call)


def _pair(prompt: str, first: str, second: str) -> tuple[str, str]:
    one, _, other = prompt.removeprefix(first).partition(f"\n{second}")
    return one.strip(), other.strip()


def _as_claims(claims: Iterable[tuple[str, str]]) -> str:
    return _json("claims", [f"{kind}: {text}" for text, kind in claims])


def _sentences(notes: Iterable[str]) -> str:
    return _json("sentences", list(notes))


def _json(name: str, said: list[str]) -> str:
    """As the grammar has it, without a space."""
    return json.dumps({name: said}, ensure_ascii=False, separators=(",", ":"))


def _swapped(text: str) -> str:
    """The sentence with every number another one."""
    return re.sub(r"[0-8]", lambda digit: _OTHER[digit.group()], text)


_GOOD: dict[str, Callable[[WorldModel, Ask], str]] = {
    "chunk/keep": WorldModel._keep,
    "cluster/route": WorldModel._route,
    "synthesize/section": WorldModel._section,
    "synthesize/entails": WorldModel._entails,
    "synthesize/relation": WorldModel._relation,
    "wikify/repeat": WorldModel._repeat,
    "wikify/lead": WorldModel._lead,
    "wikify/split": WorldModel._part,
    "wikify/merge": WorldModel._different,
}
