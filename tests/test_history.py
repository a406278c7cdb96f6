"""The vault's git, on real repositories: ours is committed, the user's work is left alone."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from pipeline.errors import VaultFault
from pipeline.history import History, State

AT = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=Someone", "-c", "user.email=s@example.org", *arguments],
        cwd=root,
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    History(root).init()
    (root / "articles").mkdir()
    (root / "articles" / "A.md").write_text("one\n")
    (root / "articles" / "B.md").write_text("bee\n")
    History(root).commit(["articles/A.md", "articles/B.md"], "start", at=AT)
    return root


@pytest.fixture
def history(root: Path) -> History:
    return History(root)


def test_init_twice_is_init_once(tmp_path: Path) -> None:
    """A second init leaves the repository as it is, on branch main, without hooks."""
    history = History(tmp_path / "new" / "vault")
    history.init()
    history.init()
    assert history.state() == State("main", "", (), (), ())
    assert history.head() == ""
    assert history.log() == []
    assert not (tmp_path / "new" / "vault" / ".git" / "hooks").exists()


def test_commits_without_any_git_identity(history: History, root: Path) -> None:
    """No user.name and no user.email anywhere: we still commit, as ourselves."""
    shown = git(root, "log", "-1", "--format=%an <%ae> %cn <%ce>").strip()
    us = "nightly-memory <nightly-memory@localhost>"
    assert shown == f"{us} {us}"


def test_the_clock_given_dates_the_commit(history: History, root: Path) -> None:
    """The same content at the same time gives the same commit, so a night can be replayed."""
    assert git(root, "log", "-1", "--format=%aI %cI").split() == ["2031-05-06T07:08:09+00:00"] * 2
    (root / "x.md").write_text("x")
    east = AT.astimezone(timezone(timedelta(hours=5, minutes=30)))
    history.commit(["x.md"], "x", at=east)
    assert git(root, "log", "-1", "--format=%aI").strip() == "2031-05-06T12:38:09+05:30"


def test_staged_and_unstaged_changes_of_the_user_survive(history: History, root: Path) -> None:
    """Nothing staged by the user goes with our commit, and all of it stays staged."""
    (root / "staged.md").write_text("staged\n")
    (root / "articles" / "B.md").write_text("bee staged\n")
    git(root, "add", "staged.md", "articles/B.md")
    (root / "articles" / "B.md").write_text("bee staged, then edited\n")
    (root / "loose.md").write_text("untracked\n")
    (root / "articles" / "A.md").write_text("ours\n")
    index_before = git(root, "ls-files", "--stage", "staged.md", "articles/B.md")

    sha = history.commit(["articles/A.md"], "update: A", at=AT)

    assert git(root, "show", "--name-only", "--format=", sha).split() == ["articles/A.md"]
    assert git(root, "ls-files", "--stage", "staged.md", "articles/B.md") == index_before
    assert history.state() == State(
        branch="main",
        operation="",
        staged=("articles/B.md", "staged.md"),
        unstaged=("articles/B.md",),
        untracked=("loose.md",),
    )
    assert (root / "articles" / "B.md").read_text() == "bee staged, then edited\n"
    assert not history.is_dirty("articles/A.md")


def test_commit_takes_new_deleted_and_strangely_named_files(history: History, root: Path) -> None:
    """Any file name is one path, never a pattern or an option; a deleted file is committed so."""
    names = ["articles/*.md", "-n", "ü é 日本.md", ":(top)x.md", 'a "quoted".md', "new/deep/x.md"]
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "articles" / "A.md").unlink()
    (root / "articles" / "B.md").write_text("not committed\n")
    sha = history.commit([*names, "articles/A.md", "never/was.md"], "many", at=AT)
    shown = git(root, "show", "-z", "--name-only", "--format=", sha).strip("\0").split("\0")
    assert set(shown) == {*names, "articles/A.md"}
    assert history.is_dirty("articles/B.md")
    assert all(not history.is_dirty(name) for name in names)


def test_ignored_files_are_committed_when_asked(history: History, root: Path) -> None:
    """A page the user's .gitignore covers is still ours to commit."""
    (root / ".gitignore").write_text("*.md\n")
    (root / "articles" / "New.md").write_text("x\n")
    history.commit(["articles/New.md"], "new", at=AT)
    assert git(root, "show", "HEAD:articles/New.md") == "x\n"


def test_nothing_new_makes_no_commit(history: History, root: Path) -> None:
    """Committing files that hold nothing new gives the commit that is there."""
    head = history.head()
    assert history.commit(["articles/A.md"], "again", at=AT) == head
    assert len(history.log()) == 1


def test_bytes_are_committed_as_they_are(history: History, root: Path) -> None:
    """Line ends are the page's own, whatever the user's core.autocrlf says."""
    git(root, "config", "core.autocrlf", "true")
    (root / "articles" / "A.md").write_bytes(b"a\r\nb\n")
    history.commit(["articles/A.md"], "crlf", at=AT)
    done = subprocess.run(
        ["git", "cat-file", "blob", "HEAD:articles/A.md"], cwd=root, capture_output=True, check=True
    )
    assert done.stdout == b"a\r\nb\n"


def test_hooks_and_signing_of_the_user_do_not_run(history: History, root: Path) -> None:
    """A hook that would refuse and a signature that would ask for a passphrase are not ours."""
    hooks = root / ".git" / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg", "reference-transaction", "post-commit"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {root}/{name}.ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    git(root, "config", "commit.gpgsign", "true")
    (root / "articles" / "A.md").write_text("two\n")
    history.commit(["articles/A.md"], "two", at=AT)
    assert not list(root.glob("*.ran"))
    assert history.log()[0].subject == "two"


def test_trailers_come_back(history: History, root: Path) -> None:
    """Trailers written with a commit are read from the log; a subject cannot forge one."""
    (root / "articles" / "A.md").write_text("two\n")
    trailers = {"Run": "01J", "Bucket": "A: b, c", "Chunks": "aa bb", "Model": ""}
    sha = history.commit(["articles/A.md"], "new: A\n\nRun: forged", trailers=trailers, at=AT)
    [newest, first] = history.log()
    assert newest.sha == sha == history.head()
    assert newest.subject == "new: A Run: forged"
    assert dict(newest.trailers) == trailers
    assert dict(first.trailers) == {}
    assert git(root, "log", "-1", "--format=%(trailers:key=Run,valueonly)").strip() == "01J"


def test_log_of_one_file_and_since_a_commit(history: History, root: Path) -> None:
    """The log can be asked for one file, and for what came after a commit."""
    start = history.head()
    for name in ("A", "B", "A"):
        with (root / "articles" / f"{name}.md").open("a") as file:
            file.write("more\n")
        history.commit([f"articles/{name}.md"], f"update: {name}", at=AT)
    assert [c.subject for c in history.log("articles/A.md")] == ["update: A"] * 2 + ["start"]
    assert [c.subject for c in history.log(since=start)] == ["update: A", "update: B", "update: A"]


def test_messages_of_the_user_are_no_trailers(history: History, root: Path) -> None:
    """A body of prose is not taken for trailers."""
    git(root, "commit", "-q", "--allow-empty", "-m", "mine", "-m", "Run: x\nand some prose")
    assert dict(history.log()[0].trailers) == {}


def test_user_edits_are_committed_as_the_user(history: History, root: Path) -> None:
    """The user's own edits carry the user's name, or a neutral one where git knows none."""
    (root / "articles" / "A.md").write_text("mine\n")
    history.commit_user_edits(["articles/A.md"], at=AT)
    shown = git(root, "log", "-1", "--format=%an <%ae>|%cn|%s").strip()
    assert shown == "You <you@localhost>|You|vault: your edits"
    git(root, "config", "user.name", "Ada Example")
    git(root, "config", "user.email", "ada@example.org")
    (root / "articles" / "A.md").write_text("mine again\n")
    history.commit_user_edits(["articles/A.md"], at=AT)
    assert git(root, "log", "-1", "--format=%an <%ae>").strip() == "Ada Example <ada@example.org>"


def test_dirty_means_any_difference_from_the_last_commit(history: History, root: Path) -> None:
    """Edited, staged, untracked and deleted files are dirty; clean and absent ones are not."""
    assert not history.is_dirty("articles/A.md")
    assert not history.is_dirty("articles/Absent.md")
    (root / "articles" / "A.md").write_text("two\n")
    assert history.is_dirty("articles/A.md")
    git(root, "add", "articles/A.md")
    assert history.is_dirty("articles/A.md")
    (root / "articles" / "New.md").write_text("new\n")
    assert history.is_dirty("articles/New.md")
    (root / "articles" / "B.md").unlink()
    assert history.is_dirty("articles/B.md")


def test_renamed_files_are_read_right(history: History, root: Path) -> None:
    """A staged rename is one staged path, and what follows it is still read."""
    git(root, "mv", "articles/A.md", "articles/Renamed.md")
    (root / "z.md").write_text("z")
    state = history.state()
    assert state.staged == ("articles/Renamed.md",)
    assert state.untracked == ("z.md",)


def test_merge_in_progress_stops_us(history: History, root: Path) -> None:
    """In the middle of a merge nothing may be committed."""
    git(root, "switch", "-q", "-c", "other")
    (root / "articles" / "A.md").write_text("theirs\n")
    git(root, "commit", "-qam", "theirs")
    git(root, "switch", "-q", "main")
    (root / "articles" / "A.md").write_text("ours\n")
    git(root, "commit", "-qam", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(root, "merge", "-q", "other")
    assert history.state().operation == "merge"
    with pytest.raises(VaultFault, match="merge is in progress") as fault:
        history.refuse_if_unfit()
    assert "git merge --abort" in fault.value.mend


def test_detached_head_stops_us(history: History, root: Path) -> None:
    """A commit on no branch would be lost, so none is made."""
    history.refuse_if_unfit()
    git(root, "checkout", "-q", "--detach")
    assert history.state().branch == ""
    with pytest.raises(VaultFault, match="HEAD is detached"):
        history.refuse_if_unfit()


def test_a_lock_that_stays_is_reported(
    history: History, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another git's index.lock is waited for, then named; nothing is committed."""
    monkeypatch.setattr("pipeline.git.PATIENCE", 0.3)
    head = history.head()
    (root / "articles" / "A.md").write_text("two\n")
    lock = root / ".git" / "index.lock"
    lock.touch()
    with pytest.raises(VaultFault, match=r"index\.lock") as fault:
        history.commit(["articles/A.md"], "two", at=AT)
    assert "delete" in fault.value.mend
    assert history.head() == head
    lock.unlink()
    assert history.commit(["articles/A.md"], "two", at=AT) != head


def test_leftovers_of_a_killed_run_do_no_harm(history: History, root: Path) -> None:
    """A temporary index and its lock from a killed run are not in the way."""
    own = root / ".git" / "nightly-memory"
    own.mkdir(exist_ok=True)
    (own / "index").write_text("garbage")
    (own / "index.lock").touch()
    (root / "articles" / "A.md").write_text("two\n")
    history.commit(["articles/A.md"], "two", at=AT)
    assert history.log()[0].subject == "two"


def test_a_folder_inside_another_repository_is_no_vault(root: Path) -> None:
    """The vault's commits never land in a repository that happens to contain it."""
    inner = root / "inner"
    inner.mkdir()
    with pytest.raises(VaultFault, match="not a git repository"):
        History(inner).head()


def test_git_variables_of_the_caller_are_not_followed(
    history: History, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started from a git hook, we still write to the vault and nowhere else."""
    other = tmp_path / "other"
    History(other).init()
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    (root / "articles" / "A.md").write_text("two\n")
    history.commit(["articles/A.md"], "two", at=AT)
    assert history.log()[0].subject == "two"
    assert not (other / ".git" / "index").exists()


def test_git_missing_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git the message says so."""
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(VaultFault, match="git cannot be started"):
        History(root).head()


def test_diffs(history: History, root: Path) -> None:
    """Differences between commits, and from nothing, by path."""
    start = history.head()
    (root / "articles" / "A.md").write_text("two\n")
    new = history.commit(["articles/A.md"], "two", at=AT)
    assert "-one\n+two" in history.diff(start, new)
    assert history.diff(start, new, ["articles/B.md"]) == ""
    assert "+bee" in history.diff("", start)


def test_an_edit_between_our_write_and_our_commit_stays_the_users(tmp_path: Path) -> None:
    """What is committed under our name is what we wrote, whatever is on the disk by then."""
    history = History(tmp_path)
    history.init()
    page = tmp_path / "page.md"
    page.write_text("ours, edited by the user at once\n")
    history.commit(["page.md"], "update", content="ours\n")
    committed = subprocess.run(
        ["git", "show", "HEAD:page.md"], cwd=tmp_path, capture_output=True, check=True
    ).stdout
    assert committed == b"ours\n"
    assert page.read_text() == "ours, edited by the user at once\n"
    assert history.state().unstaged == ("page.md",)
    assert history.state().staged == ()


@pytest.mark.parametrize("content", ["", f"{'12' * 20}\n"])
def test_what_a_syncer_left_among_the_branches_is_named(
    history: History, root: Path, content: str
) -> None:
    """`git status` does not show it; nothing needs it."""
    left = root / ".git" / "refs" / "heads" / "main.sync-conflict-20261126-030030-ABCDEFG"
    left.write_text(content)
    for ask in (lambda: history.mentions("one"), lambda: history.bundle(root.parent / "bundle")):
        with pytest.raises(VaultFault, match=str(left)) as raised:
            ask()
        assert "delete that file" in raised.value.mend
    left.unlink()
    assert history.bundle(root.parent / "bundle")


def test_no_branch_of_the_users_own_is_to_be_deleted(history: History, root: Path) -> None:
    """What it leads to may come back."""
    branch = root / ".git" / "refs" / "heads" / "draft"
    branch.write_text(f"{'12' * 20}\n")
    with pytest.raises(VaultFault, match=str(branch)) as raised:
        history.bundle(root.parent / "bundle")
    assert "git fsck" in raised.value.mend and "delete" not in raised.value.mend
