"""`memory init`, `synthesize` and `backfill`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.printing import VaultOption, say
from pipeline.errors import ConfigFault

if TYPE_CHECKING:
    from pipeline.config import Config

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Do everything on copies and print the diff.")
]
ModelOption = Annotated[
    str | None, typer.Option(help="Alias, hub name or folder of the model to use.")
]
MinutesOption = Annotated[
    int | None, typer.Option(min=1, help="Stop at a safe point after so many minutes.")
]
TokensOption = Annotated[
    int | None,
    typer.Option(min=0, help="Stop at a safe point when the model has written so many tokens."),
]
TrustClockOption = Annotated[
    bool,
    typer.Option("--trust-clock", help="Run although the clock stands before the last run."),
]
JsonLinesOption = Annotated[
    bool, typer.Option("--json", help="Print events and the result as JSON lines.")
]


def init(
    since_days: Annotated[
        str | None,
        typer.Option(
            metavar="DAYS|all",
            help="How many days back the first night looks; a terminal is asked. What is older "
            "is the backlog, which scheduled nights take after the news.",
        ),
    ] = None,
    vault: VaultOption = None,
) -> None:
    """Make the vault: folders, Meta pages, a git repository. Safe to repeat.

    Example: memory init --vault ~/MemoryVault
    """
    from pipeline.assemble import chosen_model
    from pipeline.config import load_config, remember
    from pipeline.history import History
    from pipeline.resources import folder
    from pipeline.status import is_fetched
    from pipeline.store import Store
    from pipeline.vault import Vault

    config = load_config(vault=vault, since_days=since_days)
    if since_days is None and sys.stdin.isatty() and not config.store_path.is_file():
        usual = "all" if config.since_days is None else str(config.since_days)
        since_days = typer.prompt("How many days back shall the first night look?", default=usual)
        config = load_config(vault=vault, since_days=since_days)
    if since_days is not None:
        remember("since_days", "all" if config.since_days is None else config.since_days)
    Store(config.store_path).close()
    history = History(config.vault)
    seeded = Vault(config.vault).seed(folder("vault_meta"))
    history.init()
    if seeded:
        pages = [path.relative_to(config.vault).as_posix() for path in seeded]
        history.commit(pages, "init: the vault's pages")
    verb = "made" if seeded else "stands as it was"
    say(f"vault {config.vault}: {verb}")
    if not is_fetched(config):
        say(f"next: memory model fetch {chosen_model(config)[0]}")
    else:
        say("next: memory synthesize --dry-run")


def synthesize(
    dry_run: DryRunOption = False,
    since: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"], help="Leave conversations alone that ended before this day."
        ),
    ] = None,
    backlog: Annotated[
        bool | None,
        typer.Option(
            "--backlog/--no-backlog",
            help="Go on with older conversations when the news is done; a scheduled run does.",
        ),
    ] = None,
    model: ModelOption = None,
    max_minutes: MinutesOption = None,
    max_tokens: TokensOption = None,
    stage: Annotated[str, typer.Option(help="Do this stage alone.")] = "",
    scheduled: Annotated[
        str,
        typer.Option(
            metavar="HH:MM",
            help="What the schedule passes: nothing is done when the night of this time is done "
            "already, or the machine's power, heat, memory or disk speak against it.",
        ),
    ] = "",
    on_battery: Annotated[
        bool, typer.Option("--on-battery", help="Let a scheduled run work on battery power too.")
    ] = False,
    trust_clock: TrustClockOption = False,
    vault: VaultOption = None,
    as_json: JsonLinesOption = False,
) -> None:
    """Fold what was said since the last night into the vault.

    Example: memory synthesize --dry-run --since 2000-01-31
    """
    from pipeline.backlog import news, news_then_backlog
    from pipeline.cli.running import Wish, at_night, by_hand, notify_of
    from pipeline.config import load_config
    from pipeline.records import Span

    if scheduled and (stage or dry_run or since):
        raise ConfigFault(
            "--scheduled is for a whole night: it takes no --stage, --dry-run or --since",
            mend="leave --scheduled to the schedule",
        )
    if on_battery and not scheduled:
        raise ConfigFault(
            "--on-battery is for --scheduled: a run by hand never asks what the machine runs on",
            mend="leave it out",
        )
    if since and backlog:
        raise ConfigFault(
            "--since leaves older conversations alone, and --backlog takes them",
            mend="give one of them, or `memory backfill --from`",
        )
    try:
        config = load_config(
            vault=vault, model=model, max_minutes=max_minutes, max_tokens=max_tokens
        )
    except ConfigFault as fault:
        if scheduled:
            notify_of(fault)
        raise
    wish = Wish(
        span=Span(since=_midnight(since, config)) if since else None,
        passes=news_then_backlog if (backlog if backlog is not None else scheduled) else news,
        stage=stage,
        dry_run=dry_run,
        as_json=as_json,
        trust_clock=trust_clock,
    )
    if not scheduled:
        by_hand(config, wish)
        return
    night = config.night.model_copy(update={"on_battery": on_battery or config.night.on_battery})
    at_night(config.model_copy(update={"night": night}), wish, scheduled)


def backfill(
    begin: Annotated[
        datetime | None,
        typer.Option("--from", formats=["%Y-%m-%d"], help="The first day to take."),
    ] = None,
    end: Annotated[
        datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="The last day to take.")
    ] = None,
    dry_run: DryRunOption = False,
    model: ModelOption = None,
    max_minutes: MinutesOption = None,
    max_tokens: TokensOption = None,
    trust_clock: TrustClockOption = False,
    vault: VaultOption = None,
    as_json: JsonLinesOption = False,
) -> None:
    """Fold old conversations into the vault, the oldest first, as far as the time goes.

    Example: memory backfill --from 2000-01-01 --to 2000-03-31
    """
    from pipeline.backlog import oldest_first
    from pipeline.cli.running import Wish, by_hand
    from pipeline.config import load_config
    from pipeline.records import Span

    config = load_config(vault=vault, model=model, max_minutes=max_minutes, max_tokens=max_tokens)
    if begin and end and begin > end:
        raise ConfigFault(f"--from {begin:%Y-%m-%d} lies after --to {end:%Y-%m-%d}")
    until = _midnight(end, config, days=1) - timedelta(milliseconds=1) if end else None
    wish = Wish(
        span=Span(since=_midnight(begin, config) if begin else None, until=until),
        passes=oldest_first,
        dry_run=dry_run,
        as_json=as_json,
        trust_clock=trust_clock,
    )
    by_hand(config, wish)


def _midnight(day: datetime, config: Config, *, days: int = 0) -> datetime:
    """The beginning of a day where the user lives, or of one so many days later, in UTC."""
    try:
        return (day + timedelta(days=days)).replace(tzinfo=config.zone).astimezone(UTC)
    except (OverflowError, ValueError) as error:  # the first or the last day of all years
        raise ConfigFault(
            f"{day:%Y-%m-%d} lies outside the calendar", mend="give a day of these centuries"
        ) from error
