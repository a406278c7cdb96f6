"""What a run did, counted while it goes: the run results that the changelog and `status` read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

RESULTS_VERSION = 1


@dataclass(slots=True)
class RunResults:
    """Counts and the jobs that did not go through; versioned JSON in the store.

    counts: e.g. conversations, messages, chunks, dropped, claims, unsupported.
    rejected: (job, reasons) of drafts the gate refused and jobs that failed.
    refused: (claim, reason) of claims that form or support refused. held: (article, reasons).
    joined: (name, into) of topics that turned out to be part of another one.
    handed: (name, into, chunks, why others stayed) of parts of topics, as the user asked.
    problems: sentences about what could not be read or obeyed, or waits on a Talk page.
    silence: what there is to tell of the nights before, "" if they went well. It becomes a problem
    of the first run that does not fail: else each night that fails would tell one more of the same.
    failure: what ended the run before its time, "" if nothing did.
    backlog: conversations from before the first night's horizon that are not worked on yet.
    adapters: by stage, the folder of the adapter its calls were made with and the sha256 of its
    weights.
    scheduled: whether the run was the schedule's, not the user's. asked: whether a signal ended it.
    """

    counts: Counter[str] = field(default_factory=Counter)
    rejected: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    held: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    joined: list[tuple[str, str]] = field(default_factory=list)
    handed: list[tuple[str, str, int, tuple[str, ...]]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    silence: str = ""
    failure: str = ""
    backlog: int = 0
    adapters: dict[str, dict[str, str]] = field(default_factory=dict)
    scheduled: bool = False
    asked: bool = False

    def as_json(self) -> dict[str, Any]:
        """The versioned form."""
        return {
            "version": RESULTS_VERSION,
            "counts": dict(sorted(self.counts.items())),
            "rejected": [[job, list(reasons)] for job, reasons in self.rejected],
            "refused": [[text, reason] for text, reason in self.refused],
            "held": [[article, list(reasons)] for article, reasons in self.held],
            "joined": [list(pair) for pair in self.joined],
            "handed": [[*part, list(staying)] for *part, staying in self.handed],
            "problems": list(self.problems),
            "failure": self.failure,
            "backlog": self.backlog,
            "adapters": self.adapters,
            "scheduled": self.scheduled,
            "asked": self.asked,
        }
