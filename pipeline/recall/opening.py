"""A page handed to whatever shows it: Obsidian, or else what opens Markdown on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote

from pipeline.errors import VaultFault
from pipeline.system import Ask, ask


def open_page(path: Path, ask: Ask = ask, platform: str = sys.platform) -> str:
    """Open the page; "Obsidian" or "the default application", whichever took it.

    Raises VaultFault when the page is not there or nothing opens it.
    """
    if not path.is_file():
        raise VaultFault(f"there is no page {path}", mend="`memory init` makes the vault's pages")
    opener = "open" if platform == "darwin" else "xdg-open"
    if ask([opener, f"obsidian://open?path={quote(str(path), safe='')}"]).code == 0:
        return "Obsidian"
    answer = ask([opener, str(path)])
    if answer.code:
        said = " ".join(answer.err.split())[:200] or f"{opener} ended with {answer.code}"
        raise VaultFault(f"{path} cannot be opened: {said}", mend="open it in an editor")
    return "the default application"
