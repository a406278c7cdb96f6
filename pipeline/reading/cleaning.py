"""Texts without what must not be written: secrets, private spans, what no file can hold."""

from __future__ import annotations

import re
from collections import Counter

from pipeline.records import Action
from pipeline.redact import Remembered, redact
from pipeline.spans import without_spans
from pipeline.tables import IngestConfig

_SURROGATE = re.compile("[\ud800-\udfff]")


class Cleaner:
    """Cleans the texts of one session: each with `clean`, and when all are read, `again`.

    counts: what was taken out since it was last emptied, by kind.
    """

    def __init__(self, settings: IngestConfig) -> None:
        self.counts: Counter[str] = Counter()
        self._redaction = settings.redaction
        self._remembered = Remembered()
        self._traces: dict[Action, Action] = {}  # the same tools and files come again and again

    @property
    def found(self) -> bool:
        """Whether a secret was met that must go wherever it stands."""
        return bool(self._remembered)

    def clean(self, text: str) -> str:
        """The text as it may be written; secrets are remembered."""
        if not text:
            return ""
        plain = storable_text(without_spans(text) if "<" in text else text)
        done = redact(plain, **self._redaction)
        # mostly nothing is found: then it is the same object, and takes no memory twice
        if not done.counts:
            return plain.strip()
        self.counts.update(done.counts)
        self._remembered.learn(done.taken)
        return done.text.strip()

    def clean_trace(self, action: Action) -> Action:
        """The trace as it may be written."""
        cleaned = self._traces.get(action)
        if cleaned is None:
            cleaned = Action(self.clean(action.tool), self.clean(action.path))
            self._traces[action] = cleaned
        return cleaned

    def again(self, text: str) -> str:
        """A cleaned text without the secrets that were met anywhere in the session."""
        text, counts = self._remembered.take_out(text)
        self.counts.update(counts)
        return text

    def trace_again(self, action: Action) -> Action:
        """The same for a trace."""
        return Action(self.again(action.tool), self.again(action.path))


def storable_text(text: str) -> str:
    """Without NULs and lone surrogates, which JSON can carry and neither files nor SQLite can.

    Nearly every text is storable as it is: then it is the same object, and takes no memory twice.
    """
    if "\0" not in text and (text.isascii() or not _SURROGATE.search(text)):
        return text
    return text.replace("\0", "").encode("utf-8", errors="replace").decode()
