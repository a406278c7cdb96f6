"""`memory buckets …`: the topics of the wiki, and what you want of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli.printing import JsonOption, VaultOption, print_json, say, warn
from pipeline.errors import ConfigFault

if TYPE_CHECKING:
    from datetime import datetime

    from pipeline.records import Bucket
    from pipeline.review import Reviewer
    from pipeline.review.splitting import Split
    from pipeline.store.buckets import Placed, Tally

app = typer.Typer(invoke_without_command=True)

NameArgument = Annotated[str, typer.Argument(help="The topic's name, or an alias of it.")]
IntoArgument = Annotated[str, typer.Argument(help="The other topic.")]


@app.callback()
def buckets(
    context: typer.Context,
    state: Annotated[
        list[str] | None,
        typer.Option(help="captured, article, ignored or merged; may be given more than once."),
    ] = None,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """The topics of the wiki, the last spoken of first; and what you want of them.

    Every change can be made in Meta/Buckets.md as well, a split by its words.

    Example: memory buckets --state captured
    """
    from pipeline.chronicle import counted
    from pipeline.cli.reviews import reading
    from pipeline.records import BucketState
    from pipeline.store.buckets import Tally
    from pipeline.topics.obeying import page_edits

    if context.invoked_subcommand is not None:
        return
    wanted = set(state or BucketState)
    if unknown := sorted(wanted - set(BucketState)):
        raise ConfigFault(
            f"no topic is in the state {unknown[0]!r}", mend=f"one of: {', '.join(BucketState)}"
        )
    with reading(vault) as reviewer:
        tallies = reviewer.press.store.buckets.tallies()
        found = [b for b in reviewer.press.store.buckets.all() if b.state in wanted]
        asked = page_edits(reviewer.press)
        zone = reviewer.zone
    rows = [(bucket, tallies.get(bucket.name, Tally())) for bucket in found]
    rows.sort(key=lambda row: row[1].last.timestamp() if row[1].last else 0.0, reverse=True)
    if as_json:
        print_json([_as_json(bucket) | _counted(tally) for bucket, tally in rows])
        return
    if not rows:
        say("there are no topics yet" if state is None else "there are no such topics")
    for bucket, tally in rows:
        day = tally.last.astimezone(zone).date().isoformat() if tally.last else "never"
        say(
            f"{day:10}  {_stands(bucket):23}  {counted(tally.chunks, 'chunk'):>10}  "
            f"{counted(tally.conversations, 'conversation'):>17}  {bucket.name}"
        )
    if asked.any:
        say("Meta/Buckets.md has edits of yours that the next night obeys")
    _warn(asked.problems)


@app.command()
def show(name: NameArgument, vault: VaultOption = None, as_json: JsonOption = False) -> None:
    """A topic: its aliases and description, its chunks with their claims, what merged into it.

    Example: memory buckets show "Topic"
    """
    from pipeline.cli.reviews import reading
    from pipeline.review.topics import find

    with reading(vault) as reviewer:
        store = reviewer.press.store
        bucket = find(name, reviewer)
        placed = store.buckets.placed(bucket.name)
        claims = {one.chunk.id: [c.text for c in store.claims.of(one.chunk.id)] for one in placed}
        merged = [b.name for b in store.buckets.all() if b.merged_into == bucket.name]
        zone = reviewer.zone
    if as_json:
        chunks = [_placed_as_json(one) | {"claims": claims[one.chunk.id]} for one in placed]
        print_json(_as_json(bucket) | {"merged_from": merged, "chunks": chunks})
        return
    say(f"{bucket.name}: {_stands(bucket)}")
    for title, text in (
        ("article", bucket.article),
        ("aliases", ", ".join(bucket.aliases)),
        ("about", bucket.description),
        ("merged into it", ", ".join(merged)),
    ):
        if text:
            say(f"  {title}: {text}")
    for one in placed:
        say("")
        _say_placed(one, one.at.astimezone(zone))
        for claim in claims[one.chunk.id]:
            say(f"    - {claim}")


@app.command()
def rename(
    name: NameArgument,
    new: Annotated[str, typer.Argument(help="The name it is to have.")],
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a topic another name. The old one becomes an alias; an article keeps its title and file.

    Example: memory buckets rename "Topic" "Better name"
    """
    from pipeline.review import topics

    _change(lambda reviewer: topics.rename(name, new, reviewer), vault, as_json=as_json)


@app.command()
def merge(
    name: NameArgument, into: IntoArgument, vault: VaultOption = None, as_json: JsonOption = False
) -> None:
    """Hand a topic over to another: its news go there from now on, and what waits in it.

    What is folded into its own article stays there, and the article stays as it is, with a note
    on its Talk page. `memory buckets heed` takes the merge back.

    Example: memory buckets merge "Topic" "Other topic"
    """
    from pipeline.review import topics

    _change(lambda reviewer: topics.merge(name, into, reviewer), vault, as_json=as_json)


@app.command()
def alias(
    name: NameArgument,
    add: Annotated[list[str] | None, typer.Option(help="Another name it is known by.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="A name it is not known by.")] = None,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a topic more names, or take some away; conversations that use them are routed to it.

    Example: memory buckets alias "Topic" --add "short name"
    """
    from pipeline.review import topics

    if not add and not remove:
        raise ConfigFault("say which alias", mend="--add NAME, or --remove NAME")
    _change(
        lambda reviewer: topics.alias(name, add or [], remove or [], reviewer),
        vault,
        as_json=as_json,
    )


@app.command()
def describe(
    name: NameArgument,
    description: Annotated[str, typer.Argument(help='What belongs into it; "" for nothing.')],
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what belongs into a topic; later conversations are routed by it.

    Example: memory buckets describe "Topic" "what belongs into it"
    """
    from pipeline.review import topics

    _change(lambda reviewer: topics.describe(name, description, reviewer), vault, as_json=as_json)


@app.command()
def ignore(name: NameArgument, vault: VaultOption = None, as_json: JsonOption = False) -> None:
    """Write nothing more about a topic. Its article stays; what was said is kept, and not told.

    Example: memory buckets ignore "Topic"
    """
    from pipeline.review import topics

    _change(lambda reviewer: topics.ignore(name, reviewer), vault, as_json=as_json)


@app.command()
def heed(name: NameArgument, vault: VaultOption = None, as_json: JsonOption = False) -> None:
    """Let a topic that is ignored, or merged into another, stand for itself again.

    What waited while it was ignored is written the next night. From the topic it was merged into it
    gets back what stands in its own article.

    Example: memory buckets heed "Topic"
    """
    from pipeline.review import topics

    _change(lambda reviewer: topics.heed(name, reviewer), vault, as_json=as_json)


@app.command()
def split(
    name: NameArgument,
    into: Annotated[str, typer.Argument(help="Another topic; a new one is made if need be.")],
    match: Annotated[str, typer.Option(help="The chunks in which all these words stand.")] = "",
    chunk: Annotated[
        list[str] | None,
        typer.Option(help="A chunk by the beginning of its id; may be given more than once."),
    ] = None,
    folded: Annotated[
        bool,
        typer.Option(
            "--folded",
            help="What stands in the topic's article is written into the other one as well.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would do.")] = False,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Split part of a topic off: what is chosen and not folded yet goes to the other topic.

    What is folded stays where it is, and with --folded it is the other topic's as well: no sentence
    leaves an article. `memory buckets merge` takes a split back. In Meta/Buckets.md the state of
    the other topic says `← Topic: words`.

    Example: memory buckets split "Topic" "Part of it" --match "words"
    """
    from pipeline.chronicle import counted
    from pipeline.cli.reviews import deciding
    from pipeline.review import splitting, topics

    if as_json and not (yes or dry_run):
        raise ConfigFault("with --json nobody can be asked", mend="add --yes, or --dry-run")
    with deciding(vault) as reviewer:
        if not dry_run:
            _warn(topics.catch_up(reviewer))
        planned = splitting.plan(
            name, into, reviewer, match=match, chunks=chunk or [], folded=folded
        )
        if not as_json:
            _say_split(planned, reviewer)
        goes = bool(planned.chosen.moving or planned.chosen.sharing)
        if not dry_run:
            if goes and not yes and not typer.confirm("Split this?"):
                raise typer.Exit(1)
            splitting.split(planned, reviewer)
    if as_json:
        print_json(_split_as_json(planned))
    elif not dry_run:
        number = len(planned.chosen.moving) + len(planned.chosen.sharing)
        say(f"{counted(number, 'chunk')} of it in {planned.target.name} now")


def _change(do: Callable[[Reviewer], Bucket], vault: Path | None, *, as_json: bool) -> None:
    """Obey the page as the user left it, then do this, and say how the topic stands."""
    from pipeline.cli.reviews import deciding
    from pipeline.review.topics import catch_up

    with deciding(vault) as reviewer:
        _warn(catch_up(reviewer))
        bucket = do(reviewer)
    if as_json:
        print_json(_as_json(bucket))
    else:
        say(f"{bucket.name}: {_stands(bucket)}")
        if bucket.aliases:
            say(f"  aliases: {', '.join(bucket.aliases)}")
        if bucket.description:
            say(f"  about: {bucket.description}")


def _warn(problems: tuple[str, ...]) -> None:
    for problem in problems:
        warn(f"warning: {problem}")


def _stands(bucket: Bucket) -> str:
    if bucket.merged_into:
        return f"→ {bucket.merged_into}"
    return f"{bucket.state}, has an article" if _hidden(bucket) else str(bucket.state)


def _hidden(bucket: Bucket) -> bool:
    return bucket.state == "ignored" and bool(bucket.article)


def _as_json(bucket: Bucket) -> dict[str, Any]:
    return {
        "name": bucket.name,
        "article": bucket.article,
        "state": bucket.state,
        "merged_into": bucket.merged_into,
        "aliases": list(bucket.aliases),
        "description": bucket.description,
    }


def _counted(tally: Tally) -> dict[str, Any]:
    return {
        "chunks": tally.chunks,
        "conversations": tally.conversations,
        "folded": tally.folded,
        "last": tally.last.isoformat() if tally.last else None,
    }


def _placed_as_json(one: Placed) -> dict[str, Any]:
    return {
        "id": one.chunk.id,
        "label": one.chunk.label,
        "conv": one.chunk.conv,
        "first": one.chunk.first + 1,
        "last": one.chunk.last + 1,
        "at": one.at.isoformat(),
        "outcome": one.outcome or ("held" if one.held else "waiting"),
        "article": one.article,
    }


def _say_placed(one: Placed, local: datetime, why: str = "") -> None:
    chunk = one.chunk
    told = one.outcome or ("held" if one.held else "waiting")
    told = why or (f"{told}: {one.article}" if one.article else told)
    place = f"conv:{chunk.conv}#{chunk.first + 1}"  # as `memory source` takes it, from 1
    place += f"-{chunk.last + 1}" if chunk.last > chunk.first else ""
    say(f"  {chunk.id[:8]}  {local.date().isoformat()}  {chunk.label}  ({place}; {told})")


def _say_split(planned: Split, reviewer: Reviewer) -> None:
    kind = "a new topic" if planned.is_new else _stands(planned.target)
    say(f"from {planned.source.name} into {planned.target.name} ({kind}):")
    for title, chosen in (
        ("go over", [(one, "") for one in planned.chosen.moving]),
        ("belong to both", [(one, "") for one in planned.chosen.sharing]),
        ("stay", planned.chosen.staying),
    ):
        if chosen:
            say(f" {title}:")
        for one, why in chosen:
            _say_placed(one, one.at.astimezone(reviewer.zone), why)


def _split_as_json(planned: Split) -> dict[str, Any]:
    return {
        "from": planned.source.name,
        "into": planned.target.name,
        "new": planned.is_new,
        "moving": [_placed_as_json(one) for one in planned.chosen.moving],
        "sharing": [_placed_as_json(one) for one in planned.chosen.sharing],
        "staying": [_placed_as_json(one) | {"why": why} for one, why in planned.chosen.staying],
    }
