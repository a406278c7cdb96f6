"""What is promised of every night, measured over the vault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.nights_model import WorldModel
from benchmarks.nights_reading import Place, Standing, Wiki, read
from benchmarks.nights_run import House, Ran
from benchmarks.nights_user import User
from pipeline.policy import load_policy
from pipeline.records import Claim
from pipeline.text import words

Key = tuple[str, str, str]

# Each promise and what a breach of it is; all are counted night by night.
PROMISES = {
    "citations alive": "citations that stood and are gone, and marks or definitions alone",
    "facts alive": "planted facts that were folded and are gone",
    "current as told": "statements that are current and should not be, or the reverse",
    "answered on Talk": "statements that deny each other, or the user, and no Talk entry says so",
    "evidence true": "planted facts that cite a message which does not say them",
    "no value invented": "sentences the model made up, with a name or a number nobody gave",
    "no duplicates": "sentences that stand twice in an article",
    "growth in bounds": "nights that added more words than the ceiling",
    "user's text intact": "pieces the user wrote that are not there byte for byte",
    "user's word obeyed": "what the user took out and is there again",
    "second run silent": "second runs that asked, wrote or committed something",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """One night in figures, as of the morning after it.

    repeats: facts that are current in an article in two wordings. unsaid: sentences the model made
    up of known words alone. broken: the breaches of each promise.
    """

    night: int
    conversations: int
    claims: int
    claim_words: int
    added_words: int
    articles: int
    sentences: int
    words: int
    citations: int
    facts_expected: int
    facts_alive: int
    facts_current: int
    repeats: int
    unsaid: int
    held: int
    rejected: int
    refused: list[tuple[str, str]]
    calls: int
    tokens: int
    broken: dict[str, list[str]]


@dataclass
class Watch:
    """Measures night after night. exact: the model never errs, so the world says what stands."""

    house: House
    user: User
    model: WorldModel | None
    exact: bool
    ever: set[Place] = field(default_factory=set)
    folded: set[Key] = field(default_factory=set)
    _stood: int = 0

    def before(self) -> None:
        """Call before the night's first run."""
        self._stood = _words(read(self.house.config.vault))

    def after(
        self, day: int, nights: Sequence[int], ran: Ran, again: Ran, accepted: Sequence[Claim]
    ) -> Measured:
        """Call in the morning. nights: those processed so far. accepted: what the owner let in."""
        claims = [*ran.claims, *accepted]
        world, wiki = self.house.world, read(self.house.config.vault)
        known = [*world.facts(), *self.user.own]
        standing = wiki.standing(known)
        planted = {fact.text: fact.key for fact in world.facts()}
        self.folded |= {planted[c.text] for c in claims if c.text in planted}
        expected = self._expected(nights) - {fact.key for _, fact in self.user.taken}
        alive = {found.fact.key for found in standing}
        current = {found.fact.key for found in standing if not found.segment.past}
        cited = wiki.cited()
        claim_words = sum(len(words(claim.text)) for claim in claims)
        added = _words(wiki) - self._stood
        lost = self.ever - self.user.excused - cited
        self.ever |= cited
        false = self.model.false - {fact.text for fact in known} if self.model else set()
        unsaid = self.model.unsaid if self.model else set()
        return Measured(
            night=day,
            conversations=ran.results.counts["conversations"],
            claims=len(claims),
            claim_words=claim_words,
            added_words=added,
            articles=len(wiki.raw),
            sentences=sum(bool(segment.cited) for segment in wiki.segments),
            words=_words(wiki),
            citations=len(cited),
            facts_expected=len(expected),
            facts_alive=len(expected & alive),
            facts_current=len(current),
            repeats=_repeats(standing),
            unsaid=len(_standing_of(unsaid, wiki)),
            held=len(ran.results.held),
            rejected=len(ran.results.rejected),
            refused=ran.results.refused,
            calls=int(ran.spent["calls"]),
            tokens=int(ran.spent["output_tokens"]),
            broken={
                "citations alive": [
                    *map(str, sorted(lost)),
                    *sorted(set(wiki.loose) - self.user.loose),
                ],
                "facts alive": sorted(map(str, expected - alive)),
                "current as told": self._wrongly_current(nights, current),
                "answered on Talk": self._unanswered(standing, wiki),
                "evidence true": self._unsaid(standing),
                "no value invented": _standing_of(false - unsaid, wiki),
                "no duplicates": _twice(wiki),
                "growth in bounds": _beyond(added, claim_words),
                "user's text intact": self.user.missing(wiki),
                "user's word obeyed": self.user.returned(wiki),
                "second run silent": _stirred(again),
            },
        )

    def _expected(self, nights: Sequence[int]) -> set[Key]:
        if not self.exact:
            return set(self.folded)
        world, least = self.house.world, load_policy().cluster.min_chunks
        ripe = world.ripe(nights, least)
        return {fact.key for _, fact in world.told(nights) if fact.topic in ripe}

    def _wrongly_current(self, nights: Sequence[int], current: set[Key]) -> list[str]:
        """The user's own sentences stay whatever is said later."""
        if not self.exact:
            return []
        truth = self.house.world.current(nights) - {fact.key for _, fact in self.user.taken}
        truth = {key for key in truth if key in self._expected(nights)}
        wrong = current - truth - {fact.key for fact in self.user.own}
        known = {key for key in wrong if key in self._expected(nights)}
        missing = truth - current
        return [f"not current: {key}" for key in sorted(missing)] + [
            f"current still: {key}" for key in sorted(known)
        ]

    def _unanswered(self, standing: Sequence[Standing], wiki: Wiki) -> list[str]:
        """Pairs of current statements that cannot both be true, none of which Talk speaks of."""
        if not self.exact:
            return []
        told = wiki.talk + "".join(self.user.settled)
        own = {fact.matter for fact in self.user.own}
        current: dict[tuple[str, str], dict[str, str]] = {}
        for found in standing:
            if not found.segment.past:
                fact = found.fact
                current.setdefault(fact.matter, {})[fact.value] = fact.text
        denied = {
            s.facts[0][0].matter for t in self.house.world.topics for s in t.subjects if s.denied
        }
        return [
            " / ".join(texts.values())
            for matter, texts in current.items()
            if matter in own | denied and len(texts) > 1
            if not any(text in told for text in texts.values())
        ]

    def _unsaid(self, standing: Sequence[Standing]) -> list[str]:
        """Facts that a message they cite does not state."""
        said = self.house.sayings({place for s in standing for place in s.segment.cited})
        wordings: dict[Key, list[str]] = {}
        for fact in self.house.world.facts():
            wordings.setdefault(fact.key, []).append(fact.said)
        return [
            f"{found.fact.text} cites {place}"
            for found in standing
            for place in found.segment.cited
            if not any(text in said[place] for text in wordings[found.fact.key])
        ]


def _standing_of(texts: Iterable[str], wiki: Wiki) -> list[str]:
    return [s.text for s in wiki.segments if any(s.text.endswith(text) for text in texts)]


def _words(wiki: Wiki) -> int:
    return sum(len(words(segment.text)) for segment in wiki.segments)


def _repeats(standing: Sequence[Standing]) -> int:
    """Facts that are current in one article in two wordings."""
    times = Counter((s.fact.key, s.segment.article) for s in standing if not s.segment.past)
    return sum(count - 1 for count in times.values())


def _twice(wiki: Wiki) -> list[str]:
    times = Counter((s.article, s.text, s.past) for s in wiki.segments if s.cited)
    return [f"{article}: {text}" for (article, text, _), count in times.items() if count > 1]


def _beyond(added: int, claim_words: int) -> list[str]:
    most = load_policy().gate.growth * claim_words
    return [f"{added} words added, {most:.0f} allowed"] if added > most else []


def _stirred(again: Ran) -> list[str]:
    if again.status == "nothing" and not again.spent["calls"] and not again.changed:
        return []
    return [f"{again.status}, {again.spent['calls']} calls, changed: {again.changed}"]
