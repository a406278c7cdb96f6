"""pipeline.gates: sentences that retire, move or merge leave their place only as a draft says."""

from __future__ import annotations

import pytest

from pipeline.gates.merging import says_more
from pipeline.records import (
    MergeRepeat,
    MoveSentence,
    Retire,
    SentenceRef,
)
from pipeline.vault import apply
from tests.support_gates import (
    ARTICLE,
    KNUTH,
    REDATED,
    changed,
    definition,
    draft,
    gate,
    refused,
    sentence_of,
)

BACKUP = "The store is backed up to Oslo every night."
AGAIN = "Every night the store is backed up."
TIDY = changed(
    ARTICLE,
    (
        f"{BACKUP}[^1]\n",
        f"{BACKUP}[^1] The backup keeps every row of every table.[^4]\n\n{AGAIN}[^3]\n",
    ),
    (KNUTH, KNUTH + definition("3", 4) + definition("4", 5)),
)
ROWS = "Expired rows are deleted in batches of 500."
RETIRE = draft(Retire(SentenceRef(6, 1), "2026-03-09"), words=0)
RETIRED = changed(
    TIDY,
    REDATED,
    (f" {ROWS}[^2]", ""),
    ("ran every hour.[^1]\n", f"ran every hour.[^1]\n- 2026-03-09: {ROWS}[^2]\n"),
)
MOVE = draft(MoveSentence(SentenceRef(6, 1), "Operations"), words=0)
MOVED = changed(
    TIDY, REDATED, (f" {ROWS}[^2]", ""), (f"{AGAIN}[^3]\n", f"{AGAIN}[^3] {ROWS}[^2]\n")
)
MERGE = draft(MergeRepeat(sentence_of(TIDY, BACKUP), sentence_of(TIDY, AGAIN)), words=0)
MERGED = changed(TIDY, REDATED, (f"{AGAIN}[^3]\n\n", ""), (f"{BACKUP}[^1]", f"{BACKUP}[^1][^3]"))
LEAVING = {"retire": (RETIRED, RETIRE), "move": (MOVED, MOVE), "merge": (MERGED, MERGE)}


@pytest.mark.parametrize("name", LEAVING)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_sentence_may_leave_its_place_as_the_draft_says(name: str, newline: str) -> None:
    """What retires stands in History, what moves elsewhere, what repeats hands on its source."""
    after, made = (LEAVING[name][0].replace("\n", newline), LEAVING[name][1])
    before = TIDY.replace("\n", newline)
    assert apply(before, made, today="2026-03-10", paragraph_sentences=5) == after
    assert gate(after, made, before=before) == ()


@pytest.mark.parametrize("name", LEAVING)
def test_a_sentence_leaves_only_as_the_draft_says(name: str) -> None:
    """None of these changes is explained by another edit, or by none."""
    after, made = LEAVING[name]
    for other, (_, said_otherwise) in LEAVING.items():
        if other != name:
            assert gate(after, said_otherwise, before=TIDY)
    assert gate(after, draft(words=0), before=TIDY)
    assert gate(TIDY, made, before=TIDY)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"- 2026-03-09: {ROWS}[^2]\n", ""),
        (f"- 2026-03-09: {ROWS}[^2]\n", f"- 2026-03-08: {ROWS}[^2]\n"),
        (f"- 2026-03-09: {ROWS}[^2]\n", f"- 2026-03-09: {ROWS}\n"),
        (f"- 2026-03-09: {ROWS}[^2]\n", f"- 2026-03-09: {ROWS}[^1]\n"),
        (f"- 2026-03-09: {ROWS}[^2]\n", f"- 2026-03-09: {ROWS}[^2]\n- 2026-03-09: {ROWS}[^2]\n"),
        ("10 minutes.[^2]\n", f"10 minutes.[^2] {ROWS}[^2]\n"),
        ("10 minutes.[^2]\n", "10 minutes.[^2] \n"),
    ],
)
def test_a_retired_sentence_is_told_in_history_once(old: str, new: str) -> None:
    """With its date and its source, and no longer where it stood."""
    assert gate(changed(RETIRED, (old, new)), RETIRE, before=TIDY)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f" {ROWS}[^2]", ""),
        (f" {ROWS}[^2]", f" {ROWS}"),
        (f" {ROWS}[^2]", f" {ROWS}[^1]"),
        (f" {ROWS}[^2]", f" {ROWS}[^2][^1]"),
        (f" {ROWS}[^2]", f" {ROWS.replace('500', '50')}[^2]"),
        (f" {ROWS}[^2]", f" {ROWS}[^2] {ROWS}[^2]"),
        (f" {ROWS}[^2]\n", f"\n\n## Rows\n\n{ROWS}[^2]\n"),
        (f" {ROWS}[^2]\n\n## History", f"\n\n## History\n\n{ROWS}[^2]"),
        ("10 minutes.[^2]\n", f"10 minutes.[^2] {ROWS}[^2]\n"),
    ],
)
def test_a_moved_sentence_arrives_once_as_it_was(old: str, new: str) -> None:
    """Under the section that the draft names, verbatim and with its sources alone."""
    assert gate(changed(MOVED, (old, new)), MOVE, before=TIDY)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"{BACKUP}[^1][^3]", f"{BACKUP}[^1]"),
        (f"{BACKUP}[^1][^3]", f"{BACKUP}[^3]"),
        (f"{BACKUP}[^1][^3]", f"{BACKUP}[^1][^3][^2]"),
        ("every table.[^4]", "every table.[^4][^3]"),
        (definition("3", 4), ""),
        (definition("3", 4), definition("3", 5)),
    ],
)
def test_a_merged_repeat_loses_no_source(old: str, new: str) -> None:
    """Each of its sources stands with the sentence that says it, and with no other."""
    assert gate(changed(MERGED, (old, new)), MERGE, before=TIDY)


@pytest.mark.parametrize(
    ("again", "word"),
    [
        ("Every night the store is backed up to Turku.", "Turku"),
        ("Turku has the store backed up every night.", "Turku"),
        ("The store is backed up every night for 30 days.", "30"),
        ("Every night the store `main.db` is backed up.", "main.db"),
        ("The store is not backed up every night.", "denial"),
        ("The store is wiped every night.", "too many words"),
        ("The old store that held sessions and logins is backed up.", "too many words"),
    ],
)
def test_what_says_more_is_no_repeat(again: str, word: str) -> None:
    """A number, a name, a denial or many words of its own would be lost with it."""
    before = changed(TIDY, (AGAIN, again))
    refused(MERGED, MERGE, word, before=before)


@pytest.mark.parametrize(
    ("repeat", "kept", "says_it"),
    [
        ("The cache is on.", "The cache is on.", True),
        ("…", "…", True),
        ("Logins stay in the Postgres store.", "The Postgres store is where logins stay.", True),
        ("Every night rows go to Oslo.", "Rows go to Oslo every night.", True),
        ("Logins are kept in Postgres.", "Keep logins in Postgres.", True),
        ("Postgres replaced Redis.", "Redis replaced Postgres.", False),
        ("The client calls the server.", "The server calls the client.", False),
        ("The client calls the server.", "The client is called by the server.", False),
        ("The move went from Oslo to Turku.", "The move went to Oslo, from Turku.", False),
        ("There are 20 jobs on 5 hosts.", "There are 5 jobs on 20 hosts.", False),
        ("The cache is on.", "The cache is on only if the flag is set.", False),
        ("The cache is on.", "The cache may be on.", False),
        ("The cache is on.", "The cache is off.", False),
        ("The job runs before the backup.", "The job runs after the backup.", False),
        ("All jobs run here.", "Some jobs run here.", False),
        ("The cache was on.", "The cache is on.", False),
        ("缓存保存在磁盘上。", "缓存保存在磁盘上，每天清理。", True),
        ("缓存保存在磁盘上。", "缓存不保存在磁盘上。", False),
        ("The nightly job cache is enabled on the Oslo build host for tests.",
         "The nightly job cache is disabled on the Oslo build host for tests.", False),
        ("The limit is 20 MB a user.", "The limit is 20 GB a user.", False),
        ("Run `make all` before each release of the store.",
         "Run `make test` before each release of the store.", False),
    ],
)  # fmt: skip
def test_a_repeat_is_what_the_other_sentence_says_too(
    repeat: str, kept: str, says_it: bool
) -> None:
    """In another order or form, yes; with another word in the same place it may be the opposite."""
    assert (not says_more(repeat, kept)) is says_it


def test_a_source_a_sentence_gains_from_its_repeat_must_support_it() -> None:
    """The repeat may say less than the sentence that stays: its source then does not carry it."""
    before = changed(TIDY, (definition("3", 4), definition("3", 2)))
    after = changed(MERGED, (definition("3", 4), definition("3", 2)))
    refused(after, MERGE, "not supported", before=before)


@pytest.mark.parametrize("mark", ["", "[^knuth]"])
def test_the_users_sentences_never_leave_their_place(mark: str) -> None:
    """What no conversation backs is the user's, with a footnote of their own too."""
    before = changed(TIDY, (f"{ROWS}[^2]", f"{ROWS}{mark}"), (f"{AGAIN}[^3]", f"{AGAIN}{mark}"))
    before = changed(before, (definition("3", 4), ""))
    for _, made in LEAVING.values():
        after = apply(before, made, today="2026-03-10", paragraph_sentences=5)
        refused(after, made, "the user's own", before=before)
    kept = changed(TIDY, (f"{BACKUP}[^1]", f"{BACKUP}{mark}"))
    after = apply(kept, MERGE, today="2026-03-10", paragraph_sentences=5)
    refused(after, MERGE, "the user's own", before=kept)


def test_a_footnote_of_the_user_is_not_lost_with_a_repeat() -> None:
    """It goes where the sources go."""
    before = changed(TIDY, (f"{AGAIN}[^3]", f"{AGAIN}[^3][^knuth]"))
    after = apply(before, MERGE, today="2026-03-10", paragraph_sentences=5)
    assert f"{BACKUP}[^1][^3][^knuth]" in after
    refused(MERGED, MERGE, "its footnote [^knuth]", before=before)
