"""`memory search`: what the wiki and the conversations say of something."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from pipeline.cli.printing import JsonOption, VaultOption, print_json, say


def search(
    query: Annotated[str, typer.Argument(help="Words; in quotes those that belong together.")],
    in_: Annotated[
        list[str] | None,
        typer.Option(
            "--in",
            help="articles, claims, conversations or observations; may be repeated. Otherwise the "
            "first three.",
            metavar="PLACE",
        ),
    ] = None,
    project: Annotated[
        str, typer.Option(help="Only what came of this project: its folder, or the folder's name.")
    ] = "",
    since: Annotated[
        datetime | None, typer.Option(help="Only from this day on.", metavar="DAY")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(help="Only up to this day.", metavar="DAY")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Hits at most.")] = 10,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sections of articles, claims and messages that answer a query, the best first.

    Each with where it stands and what it rests on; docs/recall.md says how they are ranked.

    Example: memory search "retention of sessions" --in articles --in claims
    """
    from pipeline.config import load_config
    from pipeline.recall.library import library
    from pipeline.recall.searching import Filters
    from pipeline.recall.searching import search as hits_of
    from pipeline.recall.telling import as_json as told_as_json
    from pipeline.recall.telling import lines

    filters = Filters(
        places=tuple(in_) if in_ else Filters().places,
        project=project,
        since=since.date() if since else None,
        until=until.date() if until else None,
    )
    with library(load_config(vault=vault)) as lib:
        hits = hits_of(lib, query, filters, limit)
    if as_json:
        print_json(told_as_json(hits))
        return
    for line in lines(hits):
        say(line)
