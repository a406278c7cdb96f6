"""The commands that read: search, get, context, timeline, ralph-history, stats, doctor."""

from __future__ import annotations

from pipeline.errors import ConfigFault
from pipeline.project import context as contexts
from pipeline.project import linear, machine, place, spool, times
from pipeline.project.articles import articles
from pipeline.project.call import Answer, Call
from pipeline.project.iterations import patterns
from pipeline.project.searching import Filters
from pipeline.project.store import ProjectStore
from pipeline.project.telling import fulls, index_line
from pipeline.project.vocabulary import BUDGET, CONTEXT_FORMATS, LIMIT, one_of
from pipeline.project.writing import ids

_HITS = 10
_ARTICLES = 5
_ALL = 1_000_000


def search(call: Call) -> Answer:
    """The index of what matches; `get` shows the whole of it."""
    query = " ".join(call["query"])
    limit = _count("--limit", call["limit"], _HITS)
    with call.reading() as store:
        hits = store.observations.search(
            query, _filters(call, store), limit, advanced=bool(call["advanced"])
        )
    if call["full"]:
        return Answer(hits, fulls(hits) or ["nothing found"])
    index = [{key: value for key, value in hit.items() if key != "content"} for hit in hits]
    return Answer(index, [index_line(hit) for hit in hits] or ["nothing found"])


def get(call: Call) -> Answer:
    """Whole observations."""
    with call.reading() as store:
        rows = store.observations.get(ids(call["ids"]))
    return Answer(rows, fulls(rows))


def context(call: Call) -> Answer:
    """What an agent is told when a session begins."""
    form = one_of("--format", call["format"] or "markdown", CONTEXT_FORMATS)
    settings = call.settings
    with call.reading() as store:
        made = contexts.context(
            store,
            call.place,
            _filters(call, store),
            articles(settings.cache_dir, settings.vault, call.place.root, _ARTICLES),
            limit=_count("--limit", call["limit"], LIMIT),
            budget=_count("--budget", call["budget"], BUDGET),
            resuming=bool(call["resume"]),
        )
    data = made._asdict()
    if form == "json":
        return Answer(data, [], as_json=True)
    text = made.injected if form == "inject" else made.text
    return Answer(data, text.splitlines())


def timeline(call: Call) -> Answer:
    """What was observed around an observation, or of an issue or a file, in order of time."""
    given = [name for name in ("anchor", "issue", "file") if call[name]]
    if len(given) != 1:
        raise ConfigFault(
            "a timeline is that of one thing", mend="give one of --anchor, --issue and --file"
        )
    for name in ("before", "after"):
        if call[name] is not None and not call["anchor"]:
            raise ConfigFault(
                f"--{name} belongs to --anchor", mend="give --anchor, or leave it out"
            )
    with call.reading() as store:
        if call["anchor"]:
            (anchor,) = ids([call["anchor"]])
            before = _count("--before", call["before"], 10, least=0)
            after = _count("--after", call["after"], 10, least=0)
            rows = store.observations.around(anchor, before, after)
        else:
            issue = linear.checked(call["issue"]) if call["issue"] else ""
            filters = Filters(linear=issue, file=call["file"] or "")
            rows = store.observations.recent(filters, _ALL)[::-1]
    marked = [
        f"{'→' if call['anchor'] and row['id'] == anchor else ' '} {index_line(row)}"
        for row in rows
    ]
    return Answer(rows, marked or ["nothing observed"])


def ralph_history(call: Call) -> Answer:
    """The iterations of loops, or what they show."""
    with call.reading() as store:
        history = store.iterations.history(call["session"] or "")
    if call["pattern"]:
        found = patterns(history)
        lines = [
            f"{row['session']}: {row['iterations']} iterations, {row['items']} items "
            f"({row['items_per_iteration']} each), {row['errors']} errors, "
            f"stalls {_runs(row['stalls'])}, error streaks {_runs(row['error_streaks'])}"
            for row in found
        ]
        return Answer(found, lines or ["no iteration yet"])
    lines = []
    for row in history:
        done = row["items_completed"]
        name = f"{row['ralph_session_id']} {row['iteration']}"
        lines.append(f"{name}: {row['status']}, {len(done)} items")
        lines += [f"  - {one}" for one in done]
    return Answer(history, lines or ["no iteration yet"])


def stats(call: Call) -> Answer:
    """How much is in the store."""
    with call.reading() as store:
        found = store.stats()
    lines = [
        f"{found['database']}: {found['bytes'] / 1e6:.1f} MB",
        *(
            f"{found[table]} {table.replace('_', ' ')}"
            for table in ("observations", "sessions", "checkpoints", "ralph_iterations", "prompts")
        ),
        *(f"  {kind}: {count}" for kind, count in found["types"].items()),
        f"{found['tokens_read']} tokens to read all of it",
    ]
    return Answer(found, lines)


def doctor(call: Call) -> Answer:
    """What is wrong with the store, and how to mend it; nothing is written."""
    with call.reading() as store:
        problems = store.problems()
        lost = [
            f"the handoff file {row['handoff_file']} of checkpoint {row['id']} is gone"
            for row in store.checkpoints.handoffs()
            if not place.is_there(call.place, row["handoff_file"])
        ]
    if spool.waiting(call.place.database):
        problems.append(
            f"steps wait in {spool.folder_of(call.place.database)} that could not be written"
        )
    if call.place.database not in machine.registered(call.settings.data_dir):
        problems.append("the nightly run does not read it: `anvil-memory init` has it read")
    if place.is_tracked(call.place):
        problems.append("git may track it: `anvil-memory init` keeps git from it")
    problems += [f"a setting is not obeyed: {one}" for one in call.settings.ignored]
    data = {"database": str(call.place.database), "problems": problems, "notes": lost}
    return Answer(data, [*problems, *lost] or ["nothing is wrong"])


def _filters(call: Call, store: ProjectStore) -> Filters:
    def moment(flag: str, *, end: bool) -> int | None:
        text = call[flag]
        return times.limit(f"--{flag}", text, store.clock, end=end) if text else None

    return Filters(
        types=tuple(one_of("--type", one, call.types) for one in call["type"] or ()),
        since=moment("since", end=False),
        until=moment("until", end=True),
        file=call["file"] or "",
        concepts=tuple(call["concept"] or ()),
        linear=linear.checked(call["linear"]) if call["linear"] else "",
    )


def _count(flag: str, value: int | None, otherwise: int, least: int = 1) -> int:
    if value is None:
        return otherwise
    if value < least:
        raise ConfigFault(f"{flag} cannot be {value}", mend=f"it is a number from {least}")
    return value


def _runs(runs: list[list[int]]) -> str:
    return ", ".join(f"{first}-{last}" for first, last in runs) or "none"
