"""`memory doctor`: a table of checks, each with a code, a verdict and a cure.

A check is one function; to add one, write it in the file of its theme and name it in CHECKS. Codes
are never given to another check: users look them up.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.config import Config, config_path
from pipeline.doctor import (
    archive,
    database,
    installed,
    models,
    nights,
    pages,
    places,
    reading,
    vault,
)
from pipeline.doctor.checks import Check, Level, Machine, Verdict, fail, ok
from pipeline.errors import ConfigFault, MemoryFault
from pipeline.lock import one_run

__all__ = [
    "CHECKS",
    "SETTINGS",
    "Check",
    "Finding",
    "Level",
    "Machine",
    "examine",
    "mend",
    "settings",
]

SETTINGS = "D01"
_LOG = logging.getLogger(__name__)
CHECKS: tuple[Check, ...] = (
    # the store first: others need it
    Check("D40", "store", database.sound, database.make_anew),
    Check("D41", "search index", database.indexed, database.index_again, after=("D40",)),
    Check("D42", "rows of the store", database.orphans, after=("D40",)),
    Check("D43", "store and journal", database.in_step, after=("D40",)),
    Check("D02", "prompts and policy", installed.prompts),
    Check("D03", "room for a prompt", installed.room, after=("D02",)),
    Check("D04", "name of the package", installed.owner),
    Check("D10", "schedule", nights.scheduled),
    Check("D11", "schedule as installed", nights.drifted, after=("D10",)),
    Check("D12", "last success", nights.succeeded, after=("D40",)),
    Check("D13", "lock", nights.locked),
    Check("D14", "speed of the model", nights.slowed, after=("D40",)),
    Check("D15", "work given up", nights.parked, after=("D40",)),
    Check("D20", "vault", vault.there),
    Check("D21", "places", places.reachable),
    Check("D22", "the vault's git", vault.versioned, after=("D20",)),
    Check("D23", "git locks", vault.locks, vault.remove_locks, after=("D20",)),
    Check("D24", "git identity", vault.identity, after=("D22",)),
    Check("D25", "pages and folders of the vault", vault.pages, vault.seed, after=("D20",)),
    Check("D26", "what was written", vault.kept, after=("D22", "D40")),
    Check("D27", "conflicts in pages", pages.settled, after=("D20",)),
    Check("D28", "footnotes of one number", pages.footnoted, after=("D20",)),
    Check("D29", "copies of articles", pages.copied, after=("D20",)),
    Check("D30", "model", models.model),
    Check("D31", "embedder", models.embedder),
    Check("D50", "archive", archive.whole, archive.write_again, after=("D40",)),
    Check("D51", "citations", archive.cited, after=("D20", "D40")),
    Check("D60", "free disk", places.free),
    Check("D61", "permissions", places.private, places.make_private),
    Check("D62", "folders", places.folders, places.make_folders),
    Check("D70", "transcripts that are deleted", reading.purged, after=("D40",)),
    Check("D71", "sources", reading.readable, after=("D40",)),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; level and the rest as in checks.Verdict. mendable: --fix can help."""

    code: str
    title: str
    level: Level
    what: str
    cure: str
    mendable: bool = False

    def as_json(self) -> dict[str, Any]:
        """The finding in JSON-able values."""
        return asdict(self)


def settings(load: Callable[[], Config]) -> tuple[Config | None, Finding]:
    """Whether the settings can be read, and the settings if so: nothing else can be looked at."""
    try:
        config, verdict = load(), ok(f"{config_path()} {_state_of_file()}")
    except ConfigFault as fault:
        config, verdict = None, fail(str(fault), fault.mend)
    except OSError as error:
        config, verdict = None, fail(f"{config_path()} cannot be read: {error.strerror}", "")
    return config, _finding(SETTINGS, "settings", verdict)


def examine(machine: Machine) -> list[Finding]:
    """What every check finds, by code. One whose ground is gone (see Check.after) is left out."""
    found: list[Finding] = []
    failed: set[str] = set()
    for check in CHECKS:
        if not failed.isdisjoint(check.after):
            failed.add(check.code)  # nor do those make sense that build on this one
        else:
            verdict = _looked(check, machine)
            helps = check.mend is not None and verdict.level is not Level.OK
            found.append(_finding(check.code, check.title, verdict, mendable=helps))
            if verdict.level is Level.FAIL:
                failed.add(check.code)
    return sorted(found, key=lambda finding: finding.code)


def mend(machine: Machine, found: Sequence[Finding]) -> list[tuple[str, str]]:
    """Do what is safe about the findings; (code, what was done) of each.

    Raises BusyFault while a run is at work.
    """
    wanted = {finding.code for finding in found if finding.mendable}
    done = []
    if wanted:
        with one_run(machine.config.lock_path):
            for check in CHECKS:
                if check.code in wanted and check.mend is not None:
                    try:
                        done.append((check.code, check.mend(machine)))
                    except Exception as error:  # the other cures are not held up by it
                        done.append((check.code, f"could not be mended: {error}"))
    return done


def _looked(check: Check, machine: Machine) -> Verdict:
    try:
        return check.look(machine)
    except MemoryFault as fault:
        return fail(str(fault), fault.mend)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return fail(
            f"cannot be looked at: {error.strerror or error}{where}", "check its permissions"
        )
    except Exception as error:  # a doctor that falls over what is broken is of no use
        _LOG.debug("the check %s fell over", check.code, exc_info=error)
        return fail(
            f"cannot be looked at: {type(error).__name__}: {error}",
            "`memory --debug doctor` shows where; if it is the store, `memory rebuild`",
        )


def _finding(code: str, title: str, verdict: Verdict, *, mendable: bool = False) -> Finding:
    return Finding(code, title, verdict.level, verdict.what, verdict.cure, mendable)


def _state_of_file() -> str:
    return "is read" if config_path().is_file() else "is not there: the defaults hold"
