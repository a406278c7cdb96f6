"""One page into the vault: announced, written, committed, recorded, in that order.

A run can be killed between any two of these steps. What was announced is in the store before the
page is touched, so `heal` at the next start finishes it exactly as the undisturbed run would have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pipeline.authorship import signed
from pipeline.errors import VaultFault
from pipeline.history import History
from pipeline.prose import flat
from pipeline.store import Store
from pipeline.store.ledger import Folding, Intent, PageFile
from pipeline.unsettled import unsettled
from pipeline.vault import ChangedUnderneath, Vault


@dataclass(frozen=True, slots=True)
class Press:
    """The parts that publishing needs. commit_user_edits: see the config of that name."""

    store: Store
    vault: Vault
    history: History
    commit_user_edits: bool


def digest(text: str) -> str:
    """sha256 hex of the bytes of a page."""
    return hashlib.sha256(text.encode()).hexdigest()


def refuse_unsettled(path: str, text: str | None) -> None:
    """Raise ChangedUnderneath for a page that has this text and that only its owner can settle.

    `publish` asks for every page; whoever works long on a text asks before.
    """
    if text is not None and (reason := unsettled(text)):
        raise ChangedUnderneath(f"{path} {reason}", mend="`memory doctor` says how to settle it")


def publish(
    press: Press,
    file: PageFile,
    *,
    run: str,
    at: datetime,
    subject: str,
    trailers: Mapping[str, str],
    folding: Folding,
) -> str:
    """Write `file`, or delete it, commit that alone, record the folding; return the commit.

    The user's own uncommitted edits of the page are committed first, as theirs. Raises
    ChangedUnderneath, with nothing written, when the page is not the one the text was made from,
    is for the user to settle, or holds uncommitted edits and the config says to leave those alone;
    VaultFault when it cannot be written, or the user has begun a merge or the like since the run
    began.
    """
    press.history.refuse_if_unfit()
    if press.vault.hash(file.path) != file.before_hash:
        raise ChangedUnderneath(f"{file.path} was edited meanwhile")
    if reason := press.history.reason_to_leave(file.path):
        raise ChangedUnderneath(f"{file.path} {reason}")
    before = press.vault.page(file.path)
    refuse_unsettled(file.path, before)
    if press.history.is_dirty(file.path):
        if not press.commit_user_edits:
            raise ChangedUnderneath(f"{file.path} has uncommitted edits of yours")
        press.history.commit_user_edits([file.path], at=at)
    told = signed(file.path, before, file.content) | dict(trailers)
    intent = press.store.ledger.announce(run, file, subject, told, folding)
    # a database that is lost after the commit comes back with this, and `heal` adopts the commit
    press.store.journal.write()
    try:
        _put(press, file)
    except VaultFault:
        # what stands there after all, its folder only not synced, is for `heal` to commit
        if press.vault.hash(file.path) != _after_hash(file):
            press.store.ledger.withdraw(intent)
        raise
    return _commit(press, intent, at)


def publish_talk(
    press: Press,
    stem: str,
    title: str,
    entries: Sequence[str],
    *,
    run: str,
    at: datetime,
    trailers: Mapping[str, str],
) -> None:
    """Put the entries on the article's Talk page: each once, and never one the user has settled.

    Raises ChangedUnderneath when the page is being edited.
    """
    told = press.store.ledger.told(stem)
    fresh = tuple(dict.fromkeys(line for line in map(flat, entries) if line and line not in told))
    path, _, _ = press.vault.talk(stem, ())
    # before it is read: what the user saves in between must not be overwritten
    known = press.vault.hash(path)
    _, before, after = press.vault.talk(stem, fresh)
    if after == before:
        return
    publish(
        press,
        PageFile(path, known, after),
        run=run,
        at=at,
        subject=f"talk: {title}",
        trailers=trailers,
        folding=Folding(told=tuple((stem, line) for line in fresh)),
    )


def heal(press: Press, at: datetime) -> list[str]:
    """Finish or withdraw what a killed run had announced; say what was done, a line each."""
    lines = []
    for intent in press.store.ledger.intents():
        path = intent.file.path
        commit = _committed(press, intent)
        found = press.vault.hash(path)
        if commit:
            press.store.ledger.settle(intent, commit, at)
            lines.append(f"adopted the commit of {path} from run {intent.run}")
        elif found in (intent.file.before_hash, _after_hash(intent.file)):
            if found == intent.file.before_hash:
                try:
                    _put(press, intent.file)
                except VaultFault as error:
                    # one page that can no longer be written must not stop every later night
                    press.store.ledger.withdraw(intent)
                    lines.append(f"left {path} to be made again: {error}")
                    continue
            _commit(press, intent, at)
            lines.append(f"finished {path}, which run {intent.run} had begun")
        else:
            # the user edited the page after the kill: their bytes stand, the chunks stay pending
            press.store.ledger.withdraw(intent)
            lines.append(f"left {path} as you edited it after run {intent.run} was killed")
    return lines


def _put(press: Press, file: PageFile) -> None:
    if file.content is None:
        press.vault.remove(file.path, expect=file.before_hash)
    else:
        press.vault.write(file.path, file.content, expect=file.before_hash)


def _after_hash(file: PageFile) -> str:
    """What the file hashes to once it is as announced: "" for one that is gone."""
    return "" if file.content is None else digest(file.content)


def _commit(press: Press, intent: Intent, at: datetime) -> str:
    commit = press.history.commit(
        [intent.file.path],
        intent.subject,
        trailers=intent.trailers,
        at=at,
        content=intent.file.content,
        deleted=intent.file.content is None,
    )
    press.store.ledger.settle(intent, commit, at)
    return commit


def _committed(press: Press, intent: Intent) -> str:
    """The commit that carries this publication, "" if the kill came before it."""
    path, content = intent.file.path, intent.file.content
    trailers = {key: flat(value) for key, value in intent.trailers.items()}
    for commit in press.history.log(path):
        alike = commit.subject == flat(intent.subject) and commit.trailers == trailers
        # a run can publish a page twice under the same words, as two entries on one Talk page
        if alike and press.history.holds(commit.sha, path, content):
            return commit.sha
    return ""
