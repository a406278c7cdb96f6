"""A model that quotes: it answers about the sample transcripts as long as a good one would.

What is worth keeping in a real transcript nobody has written down. So each conversation is about
one of five topics, by turns, and its claims are the sentences of its messages that can stand alone
as they are.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import cycle

from benchmarks.pipeline_samples import Said
from pipeline.models import Ask, Choice, Reply
from pipeline.prompts import Prompts
from pipeline.resources import folder
from pipeline.support import well_formed
from pipeline.text import sentences, words

_NAMES = ("Alder", "Basalt", "Cobalt", "Damson", "Feldspar")
_SURE = 0.9
_BEGINNING = 30  # characters by which a message is known again
_LEAST, _MOST = 5, 30  # words of a sentence that is taken
_CLAIMS = 4
_FIXED = {
    "chunk/keep": "keep",
    "synthesize/entails": "yes",
    "synthesize/relation": "unrelated",
    "wikify/repeat": "different",
    "wikify/split": "part",
    "wikify/merge": "different",
}


class QuotingModel:
    """Keeps the Model protocol; knows the conversations it will be asked about."""

    def __init__(self, conversations: Sequence[Said]) -> None:
        self._known: dict[str, str] = {}
        for name, said in zip(cycle(_NAMES), conversations, strict=False):
            for _, text in said:
                self._known.setdefault(_flat(text)[:_BEGINNING], name)
        grammar = Prompts(folder("prompts")).get("synthesize/claims").grammar
        assert grammar is not None
        items = json.loads(grammar.text)["properties"]["claims"]["items"]
        self._form = re.compile(items["pattern"])

    @property
    def name(self) -> str:
        """A name no real model has."""
        return "quoting"

    def count(self, text: str) -> int:
        """Words."""
        return len(text.split())

    def close(self) -> None:
        """Nothing to give back."""

    def choose(self, asks: Sequence[Ask], *, purpose: str, **_options: object) -> list[Choice]:
        """One option each, at 0.9."""
        choices = []
        for ask in asks:
            answer = self._chosen(purpose, ask)
            rest = (1.0 - _SURE) / max(1, len(ask.options) - 1)
            top = _SURE if len(ask.options) > 1 else 1.0
            choices.append(
                Choice(ask.options, tuple(top if o == answer else rest for o in ask.options))
            )
        return choices

    def write(self, asks: Sequence[Ask], *, purpose: str, **_options: object) -> list[Reply]:
        """Labels and names by the conversation, its own sentences as claims."""
        return [Reply(self._text(purpose, ask), "stop", 0, 0, 0, 0.0) for ask in asks]

    def _chosen(self, purpose: str, ask: Ask) -> str:
        if purpose == "cluster/route":
            topics, _, said = ask.prompt.partition("Piece:")
            name = _named(said.partition("\n")[0])
            rows = [row for row in topics.splitlines() if f": {name} " in row]
            return rows[0][0] if rows else ask.options[-1]
        if purpose == "synthesize/section":
            return ask.options[-1]
        return _FIXED.get(purpose, ask.options[0])

    def _text(self, purpose: str, ask: Ask) -> str:
        if purpose == "synthesize/claims":
            return _json("claims", self._claims(ask.prompt.partition(": ")[2]))
        if purpose == "synthesize/compose":
            notes = ask.prompt.partition("Notes:")[2].strip().splitlines()
            return _json("sentences", [note.removeprefix("- ") for note in notes])
        if purpose == "cluster/name":
            return f"{_named(ask.prompt.rpartition('About:')[2])} project"
        return f"notes about the {self._subject(ask.prompt)} project"

    def _claims(self, text: str) -> list[str]:
        found = []
        for start, end in sentences(text):
            said = " ".join(text[start:end].split())
            if (
                len(words(said)) >= _LEAST
                and self._form.search(f"fact: {said}")
                and not well_formed(said, max_words=_MOST)
            ):
                found.append(f"fact: {said}")
        return found[:_CLAIMS]

    def _subject(self, prompt: str) -> str:
        """The topic of the conversation that most lines of the prompt are from."""
        said = [line.partition(": ")[2] for line in prompt.splitlines()]
        known = Counter(
            name for line in said if (name := self._known.get(_flat(line)[:_BEGINNING]))
        )
        return known.most_common(1)[0][0] if known else _NAMES[0]


def _named(text: str) -> str:
    return next((name for name in _NAMES if name in text), _NAMES[0])


def _flat(text: str) -> str:
    return " ".join(text.split())


def _json(name: str, said: list[str]) -> str:
    """As the grammar has it, without a space."""
    return json.dumps({name: said}, ensure_ascii=False, separators=(",", ":"))
