"""The pages: what only their owner can settle, and what a syncer put beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from pipeline.doctor.checks import Machine, Verdict, ok, warn
from pipeline.errors import VaultFault
from pipeline.spelling import FOLDERS
from pipeline.unsettled import conflict, contradiction
from pipeline.vault import Vault


def settled(machine: Machine) -> Verdict:
    """No page was committed with git's conflict markers in it: its news would wait."""
    return _looked(
        machine,
        conflict,
        "keep what is wanted of both sides, and delete the lines of <<<<<<<, ======= and >>>>>>>",
    )


def numbered(machine: Machine) -> Verdict:
    """No article has two footnotes of one number, as a merge may leave: its news would wait."""
    return _looked(
        machine, contradiction, "give one of them another number, and so its marks in the text"
    )


def _looked(machine: Machine, look: Callable[[str], str], cure: str) -> Verdict:
    """What one look at each page finds."""
    found = [f"{path} {why}" for path, text in _pages(machine.config.vault) if (why := look(text))]
    if not found:
        return ok("none")
    return warn("; ".join(found[:3]) + ("; …" if len(found) > 3 else ""), cure)


def _pages(root: Path) -> Iterator[tuple[str, str]]:
    """Every page that can be read; D51 tells of those that cannot."""
    vault = Vault(root)
    others = (path.relative_to(root) for name in FOLDERS[1:] for path in (root / name).glob("*.md"))
    paths = [vault.article_path(stem) for stem in vault.stems()]
    for path in (*paths, *sorted(other.as_posix() for other in others)):
        with suppress(VaultFault):
            yield path, vault.page(path) or ""
