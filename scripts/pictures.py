"""Make the README's pictures from a real run: docs/pictures/*.svg.

    scripts/pictures.py [DEMO_DIR]

Runs the demo in a terminal of our own, keeps the last frame of its progress and what it printed
after, and sets one of the articles it wrote beside it. Nothing in the pictures is typed by hand.
"""

from __future__ import annotations

import io
import os
import pty
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
COLUMNS = 100
# what Rich writes to draw a frame over the last one: up a line and erase it, or erase this one
REDRAW = re.compile(r"(?:\r?\x1b\[2K(?:\x1b\[1A)?|\r?\x1b\[1A\x1b\[2K|\x1b\[\?25[lh])+")


def watched(command: list[str], env: dict[str, str]) -> str:
    """Run a command in a terminal of `COLUMNS` columns and return all it wrote there."""
    written = bytearray()

    def read(descriptor: int) -> bytes:
        data = os.read(descriptor, 65536)
        written.extend(data)
        return data

    os.environ.update({**env, "COLUMNS": str(COLUMNS), "LINES": "50", "TERM": "xterm-256color"})
    status = pty.spawn(command, read)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(command)} failed")
    return written.decode("utf-8", "replace")


def frames(written: str) -> list[str]:
    """The frames of a terminal session, colours kept."""
    return [frame.replace("\r\n", "\n") for frame in REDRAW.split(written)]


def terminal_picture(written: str, path: Path) -> None:
    """The session's last state as an SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text("$ make demo", style="bold"))
    console.print(Text.from_ansi("".join(frames(written)[-1:])))
    console.save_svg(str(path), title="one night", theme=MONOKAI)


def article_picture(article: Path, path: Path) -> None:
    """An article as it stands on disk."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    text = article.read_text(encoding="utf-8")
    console.print(Syntax(text, "markdown", word_wrap=True, background_color="default"))
    console.save_svg(str(path), title=f"articles/{article.name}", theme=MONOKAI)


def main() -> None:
    """Run the demo, then draw."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "demo"
    written = watched([str(ROOT / "scripts" / "demo")], {"DEMO_DIR": str(folder)})
    PICTURES.mkdir(exist_ok=True)
    terminal_picture(written, PICTURES / "night.svg")
    articles = sorted((folder / "vault" / "articles").glob("*.md"), key=lambda a: a.stat().st_size)
    article_picture(articles[-1], PICTURES / "article.svg")


if __name__ == "__main__":
    main()
