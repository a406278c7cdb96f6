"""`memory source` and `memory sources`: where the wiki's sentences come from."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.printing import JsonOption, VaultOption, print_json, say, warn


def source(
    citation: Annotated[str, typer.Argument(help="conv:HASH, or conv:HASH#MESSAGE.")],
    context: Annotated[
        int, typer.Option(min=0, help="Messages shown before and after the cited ones.")
    ] = 2,
    as_json: JsonOption = False,
) -> None:
    """What a citation rests on: the cited message with what was said around it.

    Messages are counted from 1, as in the footnotes; without a number it is the whole conversation.

    Example: memory source conv:HASH#12
    """
    from pipeline.archive import Archive
    from pipeline.config import load_config
    from pipeline.provenance import find, lines
    from pipeline.store import Store

    config = load_config()
    store = Store(config.store_path) if config.store_path.is_file() else None
    try:
        archive = Archive(config.archive_dir)
        passage = find(citation, context, store, archive, config.ingest.redaction)
    finally:
        if store is not None:
            store.close()
    if as_json:
        conversation = passage.conversation
        print_json(
            {
                "conv": conversation.conv,
                "source": conversation.source,
                "title": conversation.title,
                "project": conversation.project,
                "messages": [
                    {
                        "message": message.position + 1,
                        "role": message.role,
                        "at": message.at.isoformat(),
                        "text": message.text,
                        "actions": [action._asdict() for action in message.actions],
                        "cited": message.position in passage.cited,
                    }
                    for message in passage.messages
                ],
            }
        )
        return
    times = [m.at.astimezone(config.zone).strftime("%Y-%m-%d %H:%M") for m in passage.messages]
    for line in lines(passage, times):
        say(line)


def import_(
    paths: Annotated[
        list[Path], typer.Argument(help="Exports of claude.ai or ChatGPT: zip or JSON.")
    ],
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read exports of chat assistants, and look at the same files again every night.

    Importing a newer export adds what is new in it; nothing is read twice. What was said is folded
    into the wiki by the next `memory synthesize`.

    Example: memory import ~/Downloads/export.zip
    """
    from pipeline import assemble, orchestrator
    from pipeline.config import load_config
    from pipeline.control import Control
    from pipeline.lock import one_run
    from pipeline.stages import ingest
    from pipeline.store import Store

    config = load_config(vault=vault)
    chosen = {path.expanduser().absolute(): "" for path in paths}
    for path in chosen:
        chosen[path] = assemble.export_source(path)
    with one_run(config.lock_path):
        store = Store(config.store_path)
        for path, name in chosen.items():
            store.conversations.remember_import(path, name, assemble.utc_now())
        store.close()
        models = assemble.real_models(config)
        desk = assemble.desk(config, models=models, say=lambda _event: None)
        orchestrator.run(desk, Control(config.max_minutes), only=ingest.NAME)
        results = desk.results
        desk.store.close()
    if as_json:
        print_json({"imported": {str(p): name for p, name in chosen.items()}} | results.as_json())
        return
    for problem in results.problems:
        warn(f"warning: {problem}")
    counts = results.counts
    say(f"{counts['conversations']} new conversations, {counts['messages']} new messages")


def sources(as_json: JsonOption = False) -> None:
    """Each source: where it is looked for, how many sessions there are, and how reading them went.

    Example: memory sources
    """
    from pipeline import assemble
    from pipeline.config import load_config
    from pipeline.inventory import inventory, lines
    from pipeline.store import Store

    config = load_config()
    store = Store(config.store_path) if config.store_path.is_file() else None
    try:
        found = inventory(assemble.sources(config, store), store, Path.home())
    finally:
        if store is not None:
            store.close()
    if as_json:
        print_json([asdict(one) for one in found])
        return
    for line in lines(found):
        say(line)
