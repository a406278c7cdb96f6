"""The commands that move a store: export and import."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.errors import ConfigFault
from pipeline.project import claude_mem, place, transfer
from pipeline.project.call import Answer, Call
from pipeline.project.searching import Filters
from pipeline.project.store import ProjectStore
from pipeline.project.telling import markdown
from pipeline.project.vocabulary import ALL_PROJECTS, EXPORT_FORMATS, IMPORT_ORIGINS, one_of
from pipeline.terminal import shown_on

_ALL = 1_000_000_000


class _Rehearsed(Exception):
    """Ends a transaction whose work was only tried."""


def export(call: Call) -> Answer:
    """All of the store, to a file or to standard output."""
    form = one_of("--format", call["format"] or "json", EXPORT_FORMATS)
    with call.reading() as store:
        store.connection.execute("BEGIN")  # all of it as it is at one moment
        pieces = _pieces(store, form, call.place.project)
        if not call["output"]:
            sys.stdout.writelines(shown_on(sys.stdout, piece) for piece in pieces)
            return Answer(None, [], written=True)
        path = call.cwd / place.user_path(call["output"])
        _write(path, pieces)
        counts = store.stats()
    return Answer(
        {"file": str(path), "format": form, "observations": counts["observations"]},
        [f"{counts['observations']} observations written to {path}"],
    )


def import_(call: Call) -> Answer:
    """Take in what another store holds; what is here already is left as it is."""
    path, incoming = _incoming(call)
    counts: dict[str, int] = {}
    try:
        with call.store() as store:
            counts = transfer.load(store, incoming, path)
            if call["dry_run"]:
                raise _Rehearsed
    except _Rehearsed:
        pass
    data = {"file": str(path), "dry_run": bool(call["dry_run"]), "counts": counts}
    would = "would be taken in" if call["dry_run"] else "taken in"
    lines = [f"{name}: {count}" for name, count in counts.items()]
    if not lines and call["from"]:
        names = ", ".join(claude_mem.projects(path)) or "no project"
        return Answer(data, [f"nothing in it of this project; it knows {names}: see --project"])
    return Answer(data, [f"{would} from {path}:", *lines] if lines else ["nothing in it"])


def _incoming(call: Call) -> tuple[Path, Iterator[tuple[str, transfer.Row]]]:
    """The file that is imported, and the rows in it."""
    if call["from"]:
        one_of("--from", call["from"], IMPORT_ORIGINS)
        if call["file"]:
            raise ConfigFault(
                "a file and --from cannot be given together",
                mend="name another database of claude-mem with --db",
            )
        named = call["db"]
        path = (
            call.cwd / place.user_path(named)
            if named
            else claude_mem.default_database(call.environ, call.home)
        )
        wanted = call["project"] or call.place.project
        return path, claude_mem.rows(path, "" if wanted == ALL_PROJECTS else wanted)
    if not call["file"]:
        raise ConfigFault(
            "nothing is said of what to import",
            mend="name the file of an export, or give --from claude-mem",
        )
    for name in ("db", "project"):
        if call[name]:
            raise ConfigFault(f"--{name} belongs to --from", mend="give --from claude-mem too")
    path = call.cwd / place.user_path(call["file"])
    return path, transfer.read(path)


def _pieces(store: ProjectStore, form: str, project: str) -> Iterable[str]:
    if form == "json":
        return transfer.as_json(store.connection)
    if form == "jsonl":
        return transfer.as_lines(store.connection)
    rows = store.observations.recent(Filters(), _ALL)[::-1]
    return (f"{line}\n" for line in markdown(rows, project))


def _write(path: Path, pieces: Iterable[str]) -> None:
    """Write the file whole or not at all; it is the user's alone."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(opened, "w", encoding="utf-8") as file:
            file.writelines(pieces)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise ConfigFault(
            f"--output {path} cannot be written: {error.strerror or error}",
            mend="name a file in a folder that is there and may be written to",
        ) from error
