"""What `memory status` shows: the last run, what is pending, and where everything is."""

from __future__ import annotations

from typing import Any

from pipeline.assemble import chosen_model
from pipeline.config import Config
from pipeline.history import History
from pipeline.store import Store
from pipeline.store.times import to_text
from pipeline.vault import Vault


def gather(config: Config) -> dict[str, Any]:
    """The state as JSON-able values; makes nothing that is not there yet."""
    state: dict[str, Any] = {
        "vault": str(config.vault),
        "store": str(config.store_path),
        "model": chosen_model(config)[0],
        "articles": None,
        "uncommitted": None,
        "last_run": None,
        "counts": {},
        "read_up_to": {},
        "pending": {},
        "held": [],
        "attempts": [],
    }
    if (config.vault / ".git").is_dir():
        state["articles"] = len(Vault(config.vault).stems())
        now = History(config.vault).state()
        state["uncommitted"] = len(now.staged) + len(now.unstaged) + len(now.untracked)
    if not config.store_path.is_file():
        return state
    store = Store(config.store_path)
    last = store.runs.last()
    if last is not None:
        state["last_run"] = {
            "id": last.id,
            "started_at": last.started_at,
            "finished_at": last.finished_at,
            "status": last.status,
            "model": last.model,
            "results": last.results,
        }
    state["counts"] = store.conversations.counts() | store.chunks.counts()
    state["read_up_to"] = {
        source: to_text(at) for source, at in store.conversations.watermarks().items()
    }
    state["counts"]["buckets"] = len(store.buckets.all())
    state["pending"] = {
        "to chunk": len(store.conversations.to_chunk(None)),
        "to route": len(store.chunks.to_cluster(None)),
        "to read for claims": len(store.chunks.to_claim(None)),
        "articles with news": store.buckets.to_fold(),
    }
    state["held"] = [
        {"id": hold.id, "article": hold.draft.article, "reasons": list(hold.reasons)}
        for hold in store.holds.open()
    ]
    state["attempts"] = [
        {
            "job": f"{a.stage}: {a.job}",
            "tries": a.count,
            "reason": a.last_reason,
            "parked": a.parked,
        }
        for a in store.ledger.attempts()
    ]
    store.close()
    return state


def lines(state: dict[str, Any]) -> list[str]:
    """The state for a reader, a line each."""
    last = state["last_run"]
    told = [
        f"last run  {last['id']}: {last['status']}" if last else "last run  none yet",
        f"vault     {state['vault']}"
        + (
            " (not made yet: memory init)"
            if state["articles"] is None
            else f", {state['articles']} articles, {state['uncommitted']} uncommitted edits"
        ),
        f"store     {state['store']}",
        f"model     {state['model']}",
    ]
    if last and last["results"].get("failure"):
        told.insert(1, f"          {last['results']['failure']}")
    if last:
        told += [f"noticed   {problem}" for problem in last["results"].get("problems", [])]
    for source, at in state["read_up_to"].items():
        told.append(f"source    {source}, read up to {at}")
    if state["counts"]:
        counted = ", ".join(f"{number} {name}" for name, number in state["counts"].items())
        told.append(f"contains  {counted}")
    waiting = ", ".join(f"{number} {name}" for name, number in state["pending"].items() if number)
    told.append(f"pending   {waiting or 'nothing'}")
    for hold in state["held"]:
        told.append(f"held {hold['id']:<4} {hold['article']}: {'; '.join(hold['reasons'])}")
    for attempt in state["attempts"]:
        word = "parked" if attempt["parked"] else f"failed {attempt['tries']}×"
        told.append(f"{word:<9} {attempt['job']}: {attempt['reason']}")
    return told
