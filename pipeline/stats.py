"""What the model cost, by stage and purpose, per conversation and per claim, over the last runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pipeline.errors import ConfigFault
from pipeline.run_ids import meant
from pipeline.store import Store
from pipeline.store.runs import Cost, Run

_NAMED = 5  # runs named in the cure of a fault


@dataclass(frozen=True, slots=True)
class Bill:
    """What one run asked of its model.

    costs: a line for each stage and purpose. conversations: those it took in. claims: those it
    folded into articles, taken back or not. adapters: as in RunResults.
    """

    run: str
    started_at: str
    status: str
    model: str
    costs: tuple[Cost, ...]
    conversations: int
    claims: int
    adapters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """With what it comes to."""
        return {
            "run": self.run,
            "started_at": self.started_at,
            "status": self.status,
            "model": self.model,
            "adapters": self.adapters,
            "by_purpose": [asdict(cost) for cost in self.costs],
            **summed(self),
        }


def bills(store: Store, *, run: str = "", last: int = 10) -> list[Bill]:
    """The last runs that asked their model anything, newest first; or the one named `run`.

    Raises ConfigFault when there is none of that name.
    """
    if not run:
        return [_bill(found, store) for found in store.runs.that_asked(last)]
    one = store.runs.get(meant(run, [found.id for found in store.runs.recent(-1)]))
    if one is None:
        known = ", ".join(found.id for found in store.runs.recent(_NAMED))
        raise ConfigFault(
            f"there is no run {run!r}", mend=f"the last ones: {known}" if known else "none was yet"
        )
    return [_bill(one, store)]


def together(bills: Iterable[Bill]) -> Bill:
    """Several runs as one; its run, status and model are ""."""
    lines: dict[tuple[str, str], Cost] = {}
    conversations = claims = 0
    for bill in bills:
        conversations += bill.conversations
        claims += bill.claims
        for cost in bill.costs:
            key = (cost.stage, cost.purpose)
            lines[key] = _plus(lines[key], cost) if key in lines else cost
    return Bill("", "", "", "", tuple(lines.values()), conversations, claims)


def by_stage(bill: Bill) -> list[Cost]:
    """A line for each stage, with no purpose."""
    found: dict[str, Cost] = {}
    for cost in bill.costs:
        found[cost.stage] = _plus(found.get(cost.stage, _nothing(cost.stage)), cost)
    return list(found.values())


def summed(bill: Bill) -> dict[str, Any]:
    """The sums, and what of them falls to each conversation and claim; None where there is none.

    cached_share: of the prompt's tokens, those that came from a kept beginning.
    """
    total = _nothing("")
    for cost in bill.costs:
        total = _plus(total, cost)
    sums = {name: value for name, value in asdict(total).items() if name not in _NAMES}
    fed = total.prompt_tokens
    return {
        **sums,
        "cached_share": total.cached_tokens / fed if fed else None,
        "conversations": bill.conversations,
        "claims": bill.claims,
        "per_conversation": _each(sums, bill.conversations),
        "per_claim": _each(sums, bill.claims),
    }


_NAMES = ("stage", "purpose")
_SHARED_OUT = ("prompt_tokens", "output_tokens", "seconds")


def _each(sums: Mapping[str, Any], number: int) -> dict[str, float] | None:
    return {name: sums[name] / number for name in _SHARED_OUT} if number else None


def _nothing(stage: str) -> Cost:
    return Cost(stage, "", 0, 0, 0, 0, 0, 0, 0.0)


def _plus(one: Cost, other: Cost) -> Cost:
    sums = {
        name: value + getattr(other, name)
        for name, value in asdict(one).items()
        if name not in _NAMES
    }
    return Cost(one.stage, one.purpose, **sums)


def _bill(run: Run, store: Store) -> Bill:
    counts = run.results.get("counts", {})
    return Bill(
        run=run.id,
        started_at=run.started_at,
        status=run.status,
        model=run.model,
        costs=tuple(store.runs.costs(run.id)),
        conversations=counts.get("conversations", 0),
        claims=sum(change.claims for change, _ in store.ledger.changes(run=run.id)),
        adapters=run.results.get("adapters", {}),
    )
