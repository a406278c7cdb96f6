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
# line end, up a line, erase this one, show or hide the cursor: all that Rich moves by
MOVES = re.compile(r"(\r?\n|\x1b\[1A|\r?\x1b\[2K|\x1b\[\?25[lh])")


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


def screen(written: str) -> str:
    """What stands on the terminal in the end, colours kept."""
    rows = [""]
    at = 0
    for part in MOVES.split(written):
        if part.endswith("\n"):
            at += 1
            rows += [""] * (at + 1 - len(rows))
        elif part.endswith("[1A"):
            at = max(0, at - 1)
        elif part.endswith("[2K"):
            rows[at] = ""
        elif not part.startswith("\x1b[?25"):
            rows[at] += part
    return "\n".join(rows)


def terminal_picture(written: str, path: Path) -> None:
    """The session's last state as an SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text("$ make demo", style="bold"))
    console.print(Text.from_ansi(screen(written)))
    save(console, "one night", path)


def save(console: Console, title: str, path: Path) -> None:
    """Write the console as an SVG that fetches nothing: Rich's names a font on the network."""
    svg = console.export_svg(title=title, theme=MONOKAI)
    path.write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL), encoding="utf-8")


def article_picture(article: Path, path: Path) -> None:
    """An article as it stands on disk."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    text = article.read_text(encoding="utf-8")
    console.print(Syntax(text, "markdown", word_wrap=True, background_color="default"))
    save(console, f"articles/{article.name}", path)


def main() -> None:
    """Run the demo, then draw."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "demo"
    written = watched([str(ROOT / "scripts" / "demo")], {"DEMO_DIR": str(folder)})
    # whose machine it was is nobody's business
    written = written.replace(str(folder), "~/demo").replace(str(Path.home()), "~")
    PICTURES.mkdir(exist_ok=True)
    terminal_picture(written, PICTURES / "night.svg")
    articles = sorted((folder / "vault" / "articles").glob("*.md"), key=lambda a: a.stat().st_size)
    article_picture(articles[-1], PICTURES / "article.svg")


if __name__ == "__main__":
    main()
