"""What is read: transcripts that go before they are read, and those that cannot be."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from pipeline.assemble import sources
from pipeline.doctor.checks import Machine, Verdict, counted, fail, ok, warn
from pipeline.inventory import days_kept
from pipeline.sources import claude_code

_FEW_DAYS = 7  # kept fewer than this, a week away from the machine loses conversations
_NEAR = 0.9  # of those days without a run: the oldest are about to go


def purged(machine: Machine) -> Verdict:
    """Claude Code keeps its transcripts long enough for a run to read them (cleanupPeriodDays)."""
    if claude_code.NAME not in machine.config.sources.enabled:
        return ok("Claude Code is not read")
    roots = machine.config.sources.roots.get(claude_code.NAME)
    if not any(map(Path.exists, roots or claude_code.default_roots(machine.environ, machine.home))):
        return ok("there are none of Claude Code")
    days = days_kept(machine.environ, machine.home)
    cure = "set cleanupPeriodDays in Claude Code's settings.json to 365 or more"
    if days <= 0:
        return warn(f"Claude Code keeps no transcripts (cleanupPeriodDays is {days})", cure)
    last = machine.nights.last_success
    if last is not None and machine.now - last > _NEAR * timedelta(days=days):
        return fail(
            f"Claude Code deletes transcripts after {days} days, and none was read for "
            f"{(machine.now - last).days}",
            "run `memory synthesize` now",
        )
    if days < _FEW_DAYS:
        return warn(f"Claude Code deletes transcripts after {counted(days, 'day')}", cure)
    return ok(f"after {days} days; what was read by then stays in the archive")


def readable(machine: Machine) -> Verdict:
    """A source has a folder to look in, and every transcript found there could be read."""
    found = sources(machine.config, machine.store)
    if not any(root.exists() for source in found for root in source.roots):
        names = ", ".join(source.name for source in found)
        return warn(
            f"no folder of any source is there ({names or 'none is enabled'})",
            "`memory sources` shows where is looked; set sources.roots",
        )
    files = machine.store.conversations.files() if machine.store else {}
    failed = [state for state in files.values() if state.failures]
    if failed:
        return warn(
            f"{counted(len(failed), 'transcript')} could not be read, the first "
            f"{failed[0].path}: {failed[0].last_error}",
            "`memory sources` lists them; they are tried again every night",
        )
    return ok(f"{counted(len(files), 'transcript')} read")
