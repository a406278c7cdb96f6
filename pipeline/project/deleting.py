"""The command that takes something out: observations, or all in which a text stands."""

from __future__ import annotations

from pipeline.errors import ConfigFault
from pipeline.project import matching
from pipeline.project.call import Answer, Call
from pipeline.project.writing import ids, scrubbed


def delete(call: Call) -> Answer:
    """Take out rows, from the search index and the file too; by a text only what was agreed to."""
    wanted = ids(call["ids"] or [])
    if call["match"] is not None:
        if wanted:
            raise ConfigFault("ids and --match cannot be given together", mend="give one of them")
        return _matching(call, call["match"])
    if not wanted or call["yes"]:
        raise ConfigFault(
            "--yes belongs to --match" if wanted else "nothing is said of what to delete",
            mend="give --match TEXT, or ids alone",
        )
    with call.store() as store:
        store.observations.delete(wanted)
    lines = [f"deleted {', '.join(map(str, wanted))}"]
    return scrubbed(call, Answer({"deleted": wanted}, lines))


def _matching(call: Call, text: str) -> Answer:
    if not text.strip():
        raise ConfigFault("--match cannot be empty", mend="give a text that is to go")
    agreed = bool(call["yes"])
    with call.store() as store:
        there = matching.found(store, text)
        if agreed:
            matching.take_out(store, there, text)
    told = matching.lines(there)
    if told:
        told = ["deleted:" if agreed else "would be deleted, with --yes:", *told]
    data = {table: [row["id"] for row in rows] for table, rows in there.items()}
    answer = Answer({"deleted": agreed, **data}, told or ["nothing found"])
    return scrubbed(call, answer) if agreed else answer
