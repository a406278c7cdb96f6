"""The vault: its folders, where it stands, and its git."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import psutil

from pipeline.doctor.checks import Machine, Verdict, fail, named, ok, warn
from pipeline.errors import VaultFault
from pipeline.history import History
from pipeline.keeping.lost import CURE, lost, told
from pipeline.repository import repository
from pipeline.resources import folder
from pipeline.vault import Vault

_FOLDERS = ("articles", "Talk", "Meta")
_SETTLED = 60.0  # seconds after which a lock of git is not one that is just being let go


def there(machine: Machine) -> Verdict:
    """The vault exists, and its folders can be read and written."""
    root = machine.config.vault
    if not root.is_dir():
        return fail(f"there is no vault at {root}", "memory init, or set `vault` to where it is")
    for place in (root, *(root / name for name in _FOLDERS)):
        if place.is_dir() and not os.access(place, os.R_OK | os.W_OK | os.X_OK):
            return fail(f"{place} cannot be read and written", f"chmod u+rwx '{place}'")
    return ok(str(root))


def versioned(machine: Machine) -> Verdict:
    """The vault is a git repository of its own, on a branch, with no merge or rebase going on."""
    if shutil.which("git") is None:
        return fail("git is not installed", "install git")
    history = History(machine.config.vault)
    history.refuse_if_unfit()
    state = history.state()
    edits = len({*state.staged, *state.unstaged, *state.untracked})
    return ok(f"on {state.branch}, {edits} uncommitted edits")


def locks(machine: Machine) -> Verdict:
    """No lock of git's was left behind by one that was killed."""
    left, held = _locks(machine)
    if left:
        return fail(
            f"git is locked by {named([path.name for path in left], 'file')} that no git holds",
            f"memory doctor --fix, or delete {left[0]}",
        )
    return ok("held by a git at work" if held else "none")


def remove_locks(machine: Machine) -> str:
    """Delete the locks that no git holds."""
    left, _ = _locks(machine)
    for path in left:
        path.unlink(missing_ok=True)
    return f"deleted {', '.join(str(path) for path in left) or 'nothing'}"


def identity(machine: Machine) -> Verdict:
    """Git knows your name, under which your own edits are committed."""
    answer = machine.ask(["git", "-C", str(machine.config.vault), "config", "user.name"])
    if answer.code or not answer.out.strip():
        return warn(
            "git has no user.name: your edits are committed as `You`",
            "git config --global user.name NAME, and user.email",
        )
    return ok(answer.out.strip())


def pages(machine: Machine) -> Verdict:
    """The vault has its folders and Meta pages."""
    root = machine.config.vault
    missing = [f"{name}/" for name in _FOLDERS if not (root / name).is_dir()]
    pages = [f"Meta/{name}" for name in Vault(root).missing_meta()]
    if missing or pages:
        stand_in = "; shipped pages stand in" if pages else ""
        return warn(f"missing: {', '.join([*missing, *pages])}{stand_in}", "memory doctor --fix")
    return ok("all there")


def seed(machine: Machine) -> str:
    """Make what is missing, as `memory init` does."""
    vault, root = Vault(machine.config.vault), machine.config.vault
    made = [path.relative_to(root).as_posix() for path in vault.seed(folder("vault_meta"))]
    if made:
        try:
            History(root).commit(made, "doctor: the vault's pages")
        except VaultFault as fault:
            return f"made {', '.join(made)}; not committed: {fault}"
    return f"made {', '.join(made) or 'the missing folders'}"


def kept(machine: Machine) -> Verdict:
    """The vault's history holds what earlier runs wrote."""
    if machine.store is None:
        return ok("no store yet")
    root = machine.config.vault
    if found := lost(machine.store, History(root), Vault(root)):
        return warn(told(found), CURE)
    return ok("all there")


def _locks(machine: Machine) -> tuple[list[Path], list[Path]]:
    """Locks in the repository: left behind, and held."""
    there = repository(machine.config.vault)
    folders = {there.git, there.common} if there else set()
    found = [
        path
        for git in sorted(folders)
        for path in (*git.glob("*.lock"), *(git / "refs").rglob("*.lock"))
    ]
    fresh = [path for path in found if time.time() - path.stat().st_mtime < _SETTLED]
    if fresh or (found and _git_at_work(machine.config.vault)):
        return [], found
    return found, []


def _git_at_work(root: Path) -> bool:
    """Whether a git process works in the vault, or one that may not be asked where it works."""
    root = root.resolve()
    for process in psutil.process_iter(["name"]):
        if not (process.info["name"] or "").startswith("git"):
            continue
        try:
            where = process.cwd()
        except psutil.AccessDenied:
            return True
        except psutil.NoSuchProcess:  # it ended this moment
            continue
        if where and Path(where).is_relative_to(root):
            return True
    return False
