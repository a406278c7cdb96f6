"""memory.sqlite: sound, in step with itself, with its journal and with its index."""

from __future__ import annotations

from pipeline.doctor.checks import Machine, Verdict, fail, ok, warn
from pipeline.keeping.rebuilding import rebuild
from pipeline.store import Store
from pipeline.store.journal import journal_files
from pipeline.store.soundness import is_damaged

_BUSY = "not looked at while a run is at work"


def sound(machine: Machine) -> Verdict:
    """memory.sqlite can be opened, is of this version, and SQLite finds no damage in it."""
    path = machine.config.store_path
    if is_damaged(path):
        return fail(
            f"{path} is damaged",
            "`memory rebuild` makes it anew from the archive and keeps the damaged one aside",
        )
    if machine.store is None and _can_be_made(machine):
        return fail(
            f"{path} is gone, while the archive has conversations",
            "`memory rebuild` makes it anew",
        )
    return ok(str(path) if machine.store else "none yet: the first run makes it")


def make_anew(machine: Machine) -> str:
    """Make a damaged or lost store anew, as `memory rebuild` does."""
    path = machine.config.store_path
    if path.is_file() and not is_damaged(path):
        return "left as it is: it is not damaged"
    made = rebuild(machine.config)
    counts = ", ".join(f"{number} {name}" for name, number in made.counts.items() if number)
    aside = f"; the damaged one is {made.aside}" if made.aside else ""
    return "; ".join([f"made anew with {counts}{aside}", *made.problems])


def indexed(machine: Machine) -> Verdict:
    """Every full-text index holds what its table holds."""
    if machine.store is None or machine.at_work is not None:
        return ok(_BUSY if machine.at_work else "no store yet")
    wrong = machine.store.soundness.indexes_out_of_step()
    if wrong:
        return fail(f"out of step: {', '.join(wrong)}", "memory doctor --fix")
    return ok("in step")


def index_again(machine: Machine) -> str:
    """Make the indexes that are out of step anew."""
    soundness = _store(machine).soundness
    wrong = soundness.indexes_out_of_step()
    for name in wrong:
        soundness.index_again(name)
    return f"made {', '.join(wrong) or 'nothing'} anew"


def orphans(machine: Machine) -> Verdict:
    """What the ledger says was folded has its chunk, topic and article; no row points nowhere."""
    wrong = machine.store.soundness.orphans() if machine.store else []
    if wrong:
        return warn("; ".join(wrong), "`memory rebuild` makes the store anew from the archive")
    return ok("all in place")


def in_step(machine: Machine) -> Verdict:
    """The journal knows of nothing that the store has lost."""
    if machine.store is None:
        return ok("no store yet")
    machine.store.journal.refuse_if_behind(machine.config.journal_dir)
    return ok("in step")


def _can_be_made(machine: Machine) -> bool:
    return bool(machine.archived or journal_files(machine.config.journal_dir))


def _store(machine: Machine) -> Store:
    assert machine.store is not None
    return machine.store
