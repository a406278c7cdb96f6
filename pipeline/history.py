"""The vault's git: what is uncommitted, commits by path, the log with its trailers, diffs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pipeline.committing import Committer, as_blob, as_gone, as_they_stand
from pipeline.errors import VaultFault
from pipeline.git import Git
from pipeline.pathnames import Pathnames
from pipeline.prose import flat
from pipeline.repository import text_of, versioned

OURS = "nightly-memory <nightly-memory@localhost>"
_OPERATIONS = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
_HOLDS = "Holds"  # the trailer that names the file of a commit that changes nothing
_TRAILER = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9-]*):(?: (?P<value>.*))?")


@dataclass(frozen=True, slots=True)
class State:
    """The working tree as git sees it. branch: "" when HEAD is detached.

    operation: "merge", "rebase", "cherry-pick" or "revert" while one is in progress, else "".
    staged, unstaged, untracked: paths from the vault's root; a path can be staged and unstaged.
    """

    branch: str
    operation: str
    staged: tuple[str, ...]
    unstaged: tuple[str, ...]
    untracked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; trailers are the `Key: value` lines that end its message."""

    sha: str
    subject: str
    trailers: Mapping[str, str]


class History:
    """The git repository whose working tree is `root`.

    Every method raises VaultFault when git is missing or refuses, or `root` is no repository of
    its own.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._git = Git(root)
        self._names = Pathnames(root, self._git)
        self._committer = Committer(root, self._git)

    def init(self, object_format: str = "") -> None:
        """Make the repository, on branch main, unless there is one. object_format: "sha1" or
        "sha256"; "" for git's own choice."""
        self._root.mkdir(parents=True, exist_ok=True)
        if not versioned(self._root):
            chosen = [f"--object-format={object_format}"] if object_format else []
            self._git.run(["init", "--quiet", "--template=", *chosen])

    def work_in_root(self) -> None:
        """Have `root` be the working tree, whatever the repository's settings say: a submodule's
        name the folder it was made in, and a copy of it would work there."""
        config = self._root / ".git" / "config"
        if config.is_file():
            named = ("config", "--file", str(config), "--unset-all", "core.worktree")
            # else git would go there before it reads what is asked
            here = {"GIT_WORK_TREE": str(self._root)}
            self._git.run(named, env=here, fails_with="", no=6)  # 5: it names none

    def state(self) -> State:
        """What is uncommitted and what is going on."""
        staged, unstaged, untracked = [], [], []
        branch = ""
        fields = iter(self._git("status", "--porcelain=v2", "--branch", "-z", "-uall").split("\0"))
        for field in fields:
            kind, _, rest = field.partition(" ")
            if field.startswith("# branch.head "):
                branch = field.removeprefix("# branch.head ")
            elif kind in ("1", "2", "u"):
                path = field.split(" ", {"1": 8, "2": 9, "u": 10}[kind])[-1]
                if kind == "2":
                    next(fields)  # where a renamed file came from
                if rest[0] != ".":
                    staged.append(path)
                if rest[1] != ".":
                    unstaged.append(path)
            elif kind == "?":
                untracked.append(rest)
        return State(
            branch="" if branch == "(detached)" else branch,
            operation=self._operation(),
            staged=tuple(staged),
            unstaged=tuple(unstaged),
            untracked=tuple(untracked),
        )

    def refuse_if_unfit(self) -> None:
        """Raise VaultFault while a merge or the like is in progress, or HEAD is detached."""
        if operation := self._operation():
            raise VaultFault(
                f"a {operation} is in progress in {self._root}",
                mend=f"finish it, or end it with `git {operation} --abort`",
            )
        # asked before every write, so not by a look at all files
        if not self._git("symbolic-ref", "--quiet", "HEAD", fails_with=""):
            raise VaultFault(
                f"{self._root} is not on a branch: its HEAD is detached",
                mend="check a branch out (`git switch main`) or make one (`git switch -c NAME`)",
            )

    def is_dirty(self, path: str) -> bool:
        """Whether the file differs from its last commit, staged or not, or was never committed.

        Also one that `git status` passes over: ignored, skip-worktree, assume-unchanged. What is
        in it may stand nowhere else.
        """
        path = self._names.of(path)
        if self._git("status", "--porcelain", "-z", "-uall", "--", path):
            return True
        if not os.path.lexists(self._root / path):
            return False
        return self._git("hash-object", "--", path).strip() != self._blob("HEAD", path)

    def reason_to_leave(self, path: str) -> str:
        """Why this path must be left alone, whatever stands there; "" for no reason.

        A page is not deleted if git was told not to put it out, and one with conflicts has more
        than one text.
        """
        path = self._names.of(path)
        listed = self._git("ls-files", "-t", "--stage", "-z", "--", path)
        tags = {entry[0] for entry in listed.split("\0") if entry}
        if "M" in tags:
            return "has conflicts that are not settled"
        if "S" in tags and not os.path.lexists(self._root / path):
            return "is left out of the working tree by a sparse checkout"
        return ""

    def head(self) -> str:
        """The current commit, "" before the first."""
        return self._git("rev-parse", "--verify", "--quiet", "HEAD", fails_with="").strip()

    def commit(
        self,
        paths: Sequence[str],
        message: str,
        *,
        trailers: Mapping[str, str] | None = None,
        author: str = OURS,
        at: datetime | None = None,
        content: str | None = None,
        deleted: bool = False,
    ) -> str:
        """Commit these files, and nothing else; return the commit.

        They are committed as they stand; with `content`, which is for a single file, as that text,
        so that an edit made to it this very moment stays the user's and uncommitted; with
        `deleted` as gone, whatever somebody has put there since. The filters of .gitattributes
        apply: whoever has pages encrypted has these encrypted too.

        The commit that is there already is returned when they hold nothing new; with trailers a
        commit of its own still tells of them, as when somebody has committed a file of ours just
        now. Waits for another git's lock; raises VaultFault that names the lock when it stays. `at`
        dates the commit.
        """
        paths = [self._names.of(path) for path in paths]
        lines = [f"{key}: {flat(value)}".rstrip() for key, value in (trailers or {}).items()]
        text = "\n".join([flat(message), *([""] if lines else []), *lines, ""])
        unchanged = f"{text}{_HOLDS}: {flat(paths[0])}\n" if lines and len(paths) == 1 else ""
        if content is not None:
            (path,) = paths
            blob = self._hashed(path, content, "-w")
            mode = self._git("ls-files", "--stage", "-z", "--", path).partition(" ")[0]
            staging = as_blob(path, blob, mode if mode == "100755" else "100644")
        else:
            staging = as_gone(paths) if deleted else as_they_stand(paths)
        return self._committer.commit(paths, staging, text, author, at=at, if_unchanged=unchanged)

    def commit_user_edits(self, paths: Sequence[str], *, at: datetime | None = None) -> str:
        """Commit these files as the user's own work, under the user's name.

        Of a file that was edited further after it was staged, the staged version comes first: the
        index is about to hold the later one, and nothing else would hold the earlier.
        """
        name = self._git("config", "user.name", fails_with="").strip() or "You"
        mail = self._git("config", "user.email", fails_with="").strip() or "you@localhost"
        author, subject = f"{name} <{mail}>", "vault: your edits"
        state = self.state()
        paths = [self._names.of(path) for path in paths]
        for path in sorted(set(paths) & set(state.staged) & set(state.unstaged)):
            entry = self._git("ls-files", "--stage", "-z", "--", path).rstrip("\0")
            if not entry:
                continue  # its deletion was staged
            mode, blob, _ = entry.partition("\t")[0].split(" ")
            staging = as_blob(path, blob, mode)
            self._committer.commit([path], staging, f"{subject}\n", author, at=at)
        return self.commit(paths, subject, author=author, at=at)

    def log(self, path: str = "", *, since: str = "") -> list[Commit]:
        """Commits, newest first: of one file, if given; after the commit `since`, if given."""
        if not self.head():
            return []
        named, env = self._names.asked([path] if path else [])
        return self._logged(f"{since}..HEAD" if since else "HEAD", "--", *named, env=env)

    def files(self, commits: Sequence[str]) -> dict[str, list[str]]:
        """Paths each of these commits changed, against its first parent, or holds all the same."""
        listed = self._git(
            "diff-tree", "--stdin", "--root", "--name-only", "--no-renames", "-r", "-z",
            "-m", "--first-parent", given="".join(f"{commit}\n" for commit in commits),
        )  # fmt: skip
        found: dict[str, list[str]] = {commit: [] for commit in commits}
        current = ""
        for field in listed.split("\0"):
            if field in found:  # a commit that changed nothing is not listed
                current = field
            elif field:
                found[current].append(field)
        if empty := [commit for commit, paths in found.items() if not paths]:
            told = "".join(f"{commit}\n" for commit in empty)
            for commit in self._logged("--no-walk=unsorted", "--stdin", given=told):
                if path := commit.trailers.get(_HOLDS):
                    found[commit.sha].append(path)
        return {commit: self._names.each_once(paths) for commit, paths in found.items()}

    def before(self, commit: str) -> str:
        """The commit that this one was made on, "" for the first.

        Of one that only tells of a file in a commit of somebody else's: what that was made on.
        """
        (this,) = self._logged("-1", commit)
        if path := this.trailers.get(_HOLDS):
            named, env = self._names.asked([path])
            commit = self._git("log", "-1", "--format=%H", commit, "--", *named, env=env).strip()
        return self._git("rev-parse", "--verify", "--quiet", f"{commit}^", fails_with="").strip()

    def contains(self, commit: str) -> bool:
        """Whether what is checked out comes after this commit."""
        base = self._git("merge-base", commit, "HEAD", fails_with="", no=129).strip()
        return base == commit

    def show(self, commit: str, path: str) -> str | None:
        """A file's text as of a commit ("" = before the first), None where it was not there.

        As git would put it out: where it settles the line ends, a page may have had others.
        """
        if not commit:
            return None
        path = self._names.of(path, commit)
        if not self._git("ls-tree", "-z", commit, "--", path):
            return None
        return self._git("cat-file", "--filters", f"{commit}:{path}")

    def holds(self, commit: str, path: str, content: str | None) -> bool:
        """Whether the file is as committed there if this is its text, None for no file."""
        path = self._names.of(path, commit)
        blob = "" if content is None else self._hashed(path, content)
        return self._blob(commit, path) == blob

    def diff(self, old: str, new: str, paths: Sequence[str] = ()) -> str:
        """The unified diff between two commits; "" for `old` is the time before the first."""
        start = old or self._git("hash-object", "-t", "tree", "--stdin").strip()
        named, env = self._names.asked(paths)
        return self._diff(start, new, "--", *named, env=env)

    def mentions(self, pattern: str) -> list[Commit]:
        """Commits, on any branch, that brought what matches into a page or took it out.

        pattern: an extended regular expression, as POSIX has them.
        """
        if not self.head():
            return []
        return self._logged("--all", "--pickaxe-regex", f"-S{pattern}", "--")

    def bundle(self, path: Path) -> bool:
        """Write all commits, branches and tags to one file; False before the first commit."""
        if not self.head():
            return False
        self._git("bundle", "create", str(path), "--all", "HEAD")
        return True

    def shallow(self) -> tuple[str, ...]:
        """Commits whose parents are not here, as of a clone with a depth; none of a whole one."""
        listed = Path(self._git("rev-parse", "--git-path", "shallow").rstrip("\n"))
        return tuple(text_of(self._root / listed).split())

    def unbundle(self, path: Path, head: str, branch: str, shallow: Sequence[str] = ()) -> None:
        """Make the repository with what `bundle` wrote, at the commit `head`; no file is put out.

        branch: the one that is checked out, "" for none. shallow: as it was said there; without
        these git would miss their parents in the bundle.
        """
        self.init("sha256" if len(head) == 64 else "sha1")
        if shallow:
            told = "".join(f"{commit}\n" for commit in shallow)
            (self.git_dir() / "shallow").write_text(told, "utf-8")
        self._git("bundle", "verify", str(path))
        self._git("fetch", "--quiet", "--update-head-ok", str(path), "+refs/*:refs/*", "HEAD")
        if branch:
            self._git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        else:
            self._git("update-ref", "--no-deref", "HEAD", head)
        self._git("read-tree", "HEAD")

    def git_dir(self) -> Path:
        """The repository's own folder, absolute."""
        return self._git.folder

    # -------------------------------------------------------------- inside

    def _logged(
        self, *wanted: str, given: str = "", env: Mapping[str, str] | None = None
    ) -> list[Commit]:
        """What `git log` tells of with these arguments."""
        told = self._git("log", "-z", "--format=tformat:%H%x00%B", *wanted, given=given, env=env)
        fields = told.split("\0")
        return [
            _commit(sha.strip(), body) for sha, body in zip(fields[::2], fields[1::2], strict=False)
        ]

    def _operation(self) -> str:
        """The merge or the like that is in progress, "" for none."""
        git_dir = self.git_dir()
        return next((name for file, name in _OPERATIONS.items() if (git_dir / file).exists()), "")

    def _hashed(self, path: str, content: str, *options: str) -> str:
        """The name of the blob that holds a file with this text."""
        named = ("hash-object", *options, "--stdin", f"--path={path}")
        return self._git(*named, given=content).strip()

    def _blob(self, commit: str, path: str) -> str:
        """The name of the blob that holds the file in this commit, "" for none."""
        wanted = ("rev-parse", "--verify", "--quiet", f"{commit}:{path}")
        return self._git(*wanted, fails_with="").strip()

    def _diff(self, *arguments: str, env: Mapping[str, str]) -> str:
        options = ("--no-color", "--no-ext-diff", "--no-textconv")
        raw = self._git("diff", *options, *arguments, env=env)
        # for people to read, who would rather see a replacement character than a traceback
        return raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _commit(sha: str, body: str) -> Commit:
    subject, _, rest = body.strip("\n").partition("\n")
    last = rest.rpartition("\n\n")[2].strip("\n")
    found = [_TRAILER.fullmatch(line) for line in last.split("\n")] if last else []
    trailers = {t["key"]: t["value"] or "" for t in found if t} if all(found) else {}
    return Commit(sha, subject, trailers)
