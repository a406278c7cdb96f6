"""`memory stats`: what the nights asked of the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli.printing import JsonOption, print_json, say, show

if TYPE_CHECKING:
    from pipeline.stats import Bill

_BAR = 18  # characters of the longest bar
_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")


def stats(
    run: Annotated[str, typer.Option(help="This run alone; the beginning of its id will do.")] = "",
    runs: Annotated[int, typer.Option(min=1, help="So many of the last runs that had work.")] = 10,
    png: Annotated[
        Path | None, typer.Option(help="Draw the runs into this file too (needs matplotlib).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """What the model cost: tokens and seconds by stage and purpose, per conversation and claim.

    Per conversation is the cost shared out over the conversations that the runs took in, per claim
    over the claims they folded into articles. Runs that asked the model nothing are left out.

    Example: memory stats --runs 30
    """
    from pipeline.config import load_config
    from pipeline.stats import bills, summed, together
    from pipeline.store import Store

    config = load_config()
    found: list[Bill] = []
    if config.store_path.is_file() or run:
        store = Store(config.store_path)
        try:
            found = bills(store, run=run, last=runs)
        finally:
            store.close()
    if png is not None:
        _draw(found, png)
    whole = together(found)
    if as_json:
        print_json({"runs": [bill.as_json() for bill in found], "together": summed(whole)})
        return
    if not whole.costs:
        say(
            "no run has asked the model anything that is on record"
            if not run
            else f"{run} asked nothing"
        )
        return
    for worn in found[0].adapters.items() if run else ():
        say(f"{worn[0]} with the adapter {worn[1]['folder']} ({worn[1]['sha256'][:12]})")
    _print_costs(whole)
    _print_sums(summed(whole), len(found))
    if len(found) > 1:
        _print_bars(found)


def _print_costs(whole: Bill) -> None:
    from rich.table import Table

    columns = ("calls", "fed", "cached", "written", "retries", "cut", "s")
    table = Table("purpose", *columns)  # whose name begins with the stage's
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    for cost in whole.costs:
        fed = cost.prompt_tokens
        table.add_row(
            cost.purpose,
            f"{cost.calls:,}",
            f"{fed:,}",
            f"{cost.cached_tokens / fed:.0%}" if fed else "",
            f"{cost.output_tokens:,}",
            f"{cost.retries:,}" if cost.retries else "",
            f"{cost.cut:,}" if cost.cut else "",
            f"{cost.seconds:,.1f}",
        )
    show(table)


def _print_sums(sums: dict[str, Any], runs: int) -> None:
    said = f"{runs} runs" if runs != 1 else "1 run"
    cached = f", {sums['cached_share']:.0%} of them kept" if sums["cached_share"] else ""
    say(
        f"{said}: {sums['calls']:,} calls, {sums['prompt_tokens']:,} tokens fed{cached}, "
        f"{sums['output_tokens']:,} written, {sums['retries']:,} retries, "
        f"{sums['seconds']:,.1f} seconds"
    )
    for name in ("conversation", "claim"):
        each = sums[f"per_{name}"]
        if each:
            say(
                f"per {name} (of {sums[f'{name}s']:,}): {each['prompt_tokens']:,.0f} tokens fed, "
                f"{each['output_tokens']:,.0f} written, {each['seconds']:,.1f} seconds"
            )


def _print_bars(found: Sequence[Bill]) -> None:
    """Seconds of each run, oldest first, a colour for each stage."""
    from rich.table import Table
    from rich.text import Text

    from pipeline.stats import by_stage, summed

    stages = _stages(found)
    longest = max(summed(bill)["seconds"] for bill in found)
    by = "seconds by stage" if longest else "tokens fed by stage"
    longest = longest or max(summed(bill)["prompt_tokens"] for bill in found)
    table = Table("run", "status", "fed", "written", "seconds", by)
    for column in table.columns[2:5]:
        column.justify = "right"
    for bill in reversed(found):
        bar, size = Text(), 0.0
        for cost in by_stage(bill):
            size += cost.seconds if by.startswith("seconds") else cost.prompt_tokens
            width = (round(_BAR * size / longest) if longest else 0) - len(bar)
            bar.append("█" * width, style=_COLOURS[stages.index(cost.stage) % len(_COLOURS)])
        sums = summed(bill)
        numbers = (f"{sums['prompt_tokens']:,}", f"{sums['output_tokens']:,}")
        table.add_row(bill.run, bill.status, *numbers, f"{sums['seconds']:,.1f}", bar)
    show(table)
    legend = Text()
    for number, stage in enumerate(stages):
        legend.append("█ ", style=_COLOURS[number % len(_COLOURS)]).append(f"{stage}  ")
    show(legend)


def _draw(found: Sequence[Bill], path: Path) -> None:
    """Seconds and written tokens of each run, stacked by stage, as a picture."""
    from pipeline.errors import ConfigFault
    from pipeline.stats import by_stage

    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigFault(
            "--png needs matplotlib, which is not installed",
            mend="pip install matplotlib, or look at the bars in the terminal",
        ) from error
    runs = list(reversed(found))
    figure = Figure(figsize=(max(6.0, 0.5 * len(runs) + 3), 6), layout="constrained")
    axes = figure.subplots(2, 1, sharex=True)
    names = [bill.run for bill in runs]
    for place, (what, title) in zip(
        axes, (("seconds", "model seconds"), ("output_tokens", "tokens written")), strict=True
    ):
        floor = [0.0] * len(runs)
        for stage in _stages(runs):
            heights = [
                float(sum(getattr(c, what) for c in by_stage(bill) if c.stage == stage))
                for bill in runs
            ]
            place.bar(names, heights, bottom=floor, label=stage)
            floor = [low + height for low, height in zip(floor, heights, strict=True)]
        place.set_ylabel(title)
    axes[1].tick_params(axis="x", rotation=90)
    if runs:
        axes[0].legend()
    try:
        figure.savefig(path, format="png")
    except OSError as error:
        raise ConfigFault(
            f"{path} cannot be written: {error.strerror}", mend="name another file"
        ) from error


def _stages(found: Sequence[Bill]) -> list[str]:
    """The stages in the order of a run."""
    return list(dict.fromkeys(cost.stage for bill in reversed(found) for cost in bill.costs))
