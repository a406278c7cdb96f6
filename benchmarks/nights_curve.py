"""The simulated nights as a picture: what grows with the news, and what stays alive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.nights_measure import Measured

Nights = Sequence[Measured]
_LINES: dict[str, dict[str, Callable[[Measured], float]]] = {
    "standing in the wiki": {
        "planted facts expected": lambda m: m.facts_expected,
        "planted facts alive": lambda m: m.facts_alive,
        "facts current": lambda m: m.facts_current,
        "citations": lambda m: m.citations,
    },
    "words a night": {
        "ceiling (2 × words of the claims folded)": lambda m: 2 * m.claim_words,
        "words added": lambda m: m.added_words,
    },
    "broken promises a night": {
        "breaches": lambda m: sum(map(len, m.broken.values())),
        "drafts held": lambda m: m.held,
        "jobs rejected, tried again": lambda m: m.rejected,
    },
}


def draw(rows: Sequence[tuple[str, Nights]], path: Path) -> None:
    """A PNG with a row of panels for each way through the nights."""
    figure = Figure(figsize=(13, 3.6 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), len(_LINES), squeeze=False)
    for panels, (name, nights) in zip(grid, rows, strict=True):
        for panel, (title, lines) in zip(panels, _LINES.items(), strict=True):
            _panel(panel, f"{title}\n{name}", lines, nights)
    figure.savefig(path, dpi=90)


def _panel(
    panel: Axes, title: str, lines: dict[str, Callable[[Measured], float]], nights: Nights
) -> None:
    count = range(1, len(nights) + 1)
    for number, (name, of) in enumerate(lines.items()):
        # the first is drawn broad, so that one that lies upon it is seen
        width = 4.0 if number == 0 else 1.5
        panel.plot(count, [of(n) for n in nights], label=name, linewidth=width, alpha=0.8)
    panel.set_title(title, fontsize=9)
    panel.set_xlabel("night", fontsize=8)
    panel.set_ylim(bottom=0)
    panel.legend(fontsize=7)
