"""The archive: what citations lead to."""

from __future__ import annotations

import re

from pipeline.archive import Archive
from pipeline.doctor.checks import Machine, Verdict, counted, fail, named, ok, warn
from pipeline.errors import VaultFault
from pipeline.footnotes import citations
from pipeline.markdown import parse
from pipeline.vault import Vault

_CONV = re.compile(r"^ {0,3}\[\^[^\]\n]+\]:[ \t]*`conv:([0-9a-f]{8,64})`", re.MULTILINE)


def whole(machine: Machine) -> Verdict:
    """Every conversation of the store has its file in the archive."""
    lost = _lost(machine)
    if lost:
        return fail(
            f"{named(lost, 'conversation')} of the store not in {machine.config.archive_dir}",
            "memory doctor --fix writes them from the store",
        )
    return ok(f"{counted(len(machine.archived), 'conversation')}")


def write_again(machine: Machine) -> str:
    """Write the missing files from the store, which has the same redacted text."""
    lost, archive = _lost(machine), Archive(machine.config.archive_dir)
    for conv in lost:
        assert machine.store is not None
        conversations = machine.store.conversations
        archive.write(conversations.get(conv), conversations.messages(conv))
    return f"wrote {counted(len(lost), 'conversation')} from the store"


def cited(machine: Machine) -> Verdict:
    """Every conversation that an article cites is in the archive or the store."""
    vault = Vault(machine.config.vault)
    known = machine.archived | (machine.store.soundness.convs() if machine.store else frozenset())
    dead, unreadable, count = [], [], 0
    for stem in vault.stems():
        try:
            text = vault.read(stem) or ""
        except VaultFault as fault:
            unreadable.append(str(fault))
            continue
        found = set(_CONV.findall(text))
        count += len(found)
        # what stands in code is no citation, and parsing every page would take minutes
        if found - known:
            meant = {citation.conv for citation in citations(parse(text)).values()}
            dead += [f"conv:{conv} in {stem}" for conv in sorted(meant - known)]
    if unreadable:
        return fail(unreadable[0], "mend or move that page away: no run can fold into it")
    if dead:
        return warn(
            f"{named(dead, 'citation')} of what is not here: read on another machine that writes "
            "to this vault, or before this store was made, or forgotten, or lost",
            "where another machine has it, `memory source` shows it there, and nothing is wrong; "
            "what was lost comes back with the archive (`memory restore`)",
        )
    return ok(f"{counted(count, 'conversation')} cited, all there")


def _lost(machine: Machine) -> list[str]:
    stored = machine.store.soundness.convs() if machine.store else frozenset()
    return sorted(stored - frozenset(Archive(machine.config.archive_dir).convs()))
