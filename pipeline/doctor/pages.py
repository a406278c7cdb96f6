"""The pages: what only their owner can settle, and what a syncer put beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from pipeline.copies import numbered, original
from pipeline.doctor.checks import Machine, Verdict, ok, warn
from pipeline.errors import VaultFault
from pipeline.markdown import parse
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


def footnoted(machine: Machine) -> Verdict:
    """No article has two footnotes of one number, as a merge may leave: its news would wait."""
    return _looked(
        machine, contradiction, "give one of them another number, and so its marks in the text"
    )


def copied(machine: Machine) -> Verdict:
    """No article has a copy beside it that a syncer made: no news go there."""
    vault = Vault(machine.config.vault)
    stems = vault.stems()
    found = []
    for stem in stems:
        named = numbered(stem)
        if of := original(stem) or (named if named in stems and _alike(stem, named, vault) else ""):
            found.append(f"{vault.article_path(stem)} is a copy of {vault.article_path(of)}")
    return _told(found, "put what is wanted into the one that has the plain name, delete the other")


def _looked(machine: Machine, look: Callable[[str], str], cure: str) -> Verdict:
    """What one look at each page finds."""
    found = [f"{path} {why}" for path, text in _pages(machine.config.vault) if (why := look(text))]
    return _told(found, cure)


def _told(found: list[str], cure: str) -> Verdict:
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


def _alike(one: str, other: str, vault: Vault) -> bool:
    """Whether most that one article says stands in the other too."""
    with suppress(VaultFault):
        said = set(parse(vault.read(one) or "").said)
        return len(said & set(parse(vault.read(other) or "").said)) > len(said) / 2
    return False
