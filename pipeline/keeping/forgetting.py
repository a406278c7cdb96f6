"""Conversations forgotten: out of the store, the archive, the journal and the logs, and proved so.

First what it would do (`plan`), which changes nothing; then `forget`, which can be killed at any
moment and done again; then a search of every file of ours for pieces of what was said. What is not
ours to change is named: the agent's own transcript, the vault's commits, backups.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from pipeline.archive import Archive
from pipeline.chronicle import CHANGELOG
from pipeline.config import Config
from pipeline.errors import ConfigFault, StoreFault, VaultFault
from pipeline.gates import section_words
from pipeline.history import Commit, History
from pipeline.keeping.asides import BEFORE, REBUILDING
from pipeline.keeping.backing_up import walk
from pipeline.keeping.pages import Cited, as_read, citing, pages, resting_on
from pipeline.keeping.proving import holding, left_outside
from pipeline.keeping.putting_back import left_unrestored
from pipeline.keeping.searching import Needles, as_stored, folded, occurrences, pieces
from pipeline.keeping.striking import strike, strike_lines
from pipeline.policy import load_policy
from pipeline.projects import Projects
from pipeline.publish import Press, digest, heal, publish
from pipeline.recall.index import NAME as SEARCH_INDEX
from pipeline.records import Conversation
from pipeline.repository import versioned
from pipeline.sqlite import files_of
from pipeline.store import Store
from pipeline.store.journal import journal_files
from pipeline.store.ledger import Folding, PageFile
from pipeline.synthesis.renames import follow_renames
from pipeline.vault import ChangedUnderneath, Vault

Clock = Callable[[], datetime]

_CITATION = re.compile(r"(?:conv:)?(?P<conv>[0-9a-f]{8,32})", re.IGNORECASE)
_ARTICLES, _TALK, _BUCKETS = "articles/", "Talk/", "Meta/Buckets.md"
_LEAST = 3  # characters of a text that is looked for; every conversation holds one of less
_MANY = 200  # conversations that git is asked for at once


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be forgotten: one of a conversation, a text, a project; "" for the others."""

    conv: str = ""
    match: str = ""
    project: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What `forget` would do. others: what is out of the store already, as after a kill.

    pages, commits: what of the vault tells of it. topics: those without an article of which nothing
    else was said. deleted: files of ours that go whole.
    """

    conversations: tuple[Conversation, ...]
    others: tuple[str, ...]
    pages: tuple[Cited, ...]
    topics: frozenset[str]
    commits: tuple[Commit, ...]
    deleted: tuple[Path, ...]
    needles: Needles
    match: str = ""

    @property
    def convs(self) -> list[str]:
        """Every conversation that is to be forgotten."""
        return sorted({c.conv for c in self.conversations} | set(self.others))


@dataclass(slots=True)
class Forgotten:
    """What became of it. struck: sentences taken out, by page. kept: (page, sentence, why).

    left: (place, what to do about it) of everything that still holds a piece of it.
    """

    convs: list[str]
    struck: dict[str, int] = field(default_factory=dict)
    kept: list[tuple[str, str, str]] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)


class Forgetter:
    """Works on one open store; whoever makes it holds the run lock."""

    def __init__(
        self, config: Config, store: Store, *, now: Clock = lambda: datetime.now(UTC)
    ) -> None:
        self._config = config
        self._store = store
        self._now = now
        self._archive = Archive(config.archive_dir)
        self._vault = Vault(config.vault)
        self._history = History(config.vault)
        self._press = Press(store, self._vault, self._history, config.commit_user_edits)
        self._has_vault = versioned(config.vault)

    # ------------------------------------------------------------------ the plan

    def plan(self, wanted: Wanted) -> Plan:
        """What is to be forgotten and where it stands. Changes nothing.

        Raises ConfigFault when nothing is meant by it.
        """
        forgetting = self._store.forgetting
        unfinished = forgetting.unfinished()
        chosen = self._chosen(wanted)
        convs = sorted({*chosen, *unfinished})
        texts = forgetting.texts(convs)
        standing = (text for _, text in pages(self._config.vault))
        written = occurrences(wanted.match, itertools.chain(texts, standing))
        commits = self._commits(convs, written)
        composed = self._composed(convs, commits)
        needles = Needles(pieces([*texts, *composed]), map(as_stored, written))
        # what others say as well is theirs, and no proof against us
        needles = needles.without(needles.in_texts(forgetting.other_texts(convs)))
        found = (self._store.conversations.find(conv) for conv in convs)
        made = Plan(
            conversations=tuple(one for one in found if one is not None),
            others=tuple(conv for conv in convs if self._store.conversations.find(conv) is None),
            pages=tuple(citing(self._config.vault, convs, needles)),
            topics=forgetting.topics_of(convs),
            commits=tuple(commits),
            deleted=tuple(self._whole_files(convs)),
            needles=needles,
            match=wanted.match,
        )
        if not convs and not (wanted.match and self._stands_somewhere(made)):
            raise ConfigFault(
                f"nothing is known of {wanted.match or wanted.project!r}",
                mend="`memory sources` shows what was read",
            )
        return made

    def _chosen(self, wanted: Wanted) -> list[str]:
        if wanted.match:
            if len("".join(wanted.match.split())) < _LEAST:
                raise ConfigFault(
                    f"{wanted.match!r} stands nearly everywhere", mend="give more of it"
                )
            return self._store.forgetting.containing(wanted.match, folded)
        if wanted.project:
            return self._of_project(wanted.project)
        found = _CITATION.fullmatch(wanted.conv.strip().strip("`"))
        if found is None:
            raise ConfigFault(
                f"{wanted.conv!r} names no conversation",
                mend="write it as it stands in a footnote: conv:HASH; or use --match or --project",
            )
        conv = found["conv"].lower()
        if self._store.conversations.find(conv) is None:
            if conv in self._store.forgetting.unfinished() or self._commits([conv]):
                return [conv]  # begun before, or forgotten and still in the vault
            raise ConfigFault(
                f"no conversation conv:{conv} is in the store",
                mend="a footnote names what it cites; `memory rebuild` brings a lost store back",
            )
        return [conv]

    def _of_project(self, named: str) -> list[str]:
        """By the folder as it was written down, or as whoever stands in it names it."""
        if found := self._store.forgetting.of_project(named):
            return found
        here = Path(named).expanduser().absolute()
        if "/" not in named and not here.is_dir():
            return []
        # a worktree, a subfolder, a link: what is said there belongs to the repository
        projects = Projects(self._config.ingest.project_aliases, Path.home())
        folders = {str(here), projects.of(str(here)), projects.of(str(here.resolve()))}
        return sorted({c for one in folders for c in self._store.forgetting.of_project(one)})

    def _commits(self, convs: Sequence[str], written: Sequence[str] = ()) -> list[Commit]:
        """Commits that tell of these conversations, or of a text in one of these forms."""
        if not self._has_vault:
            return []
        some = [convs[start : start + _MANY] for start in range(0, len(convs), _MANY)]
        patterns = [f"conv:({'|'.join(part)})" for part in some]
        if written:  # the user's own notes were committed too
            patterns.append("|".join(map(_literally, written)))
        found = [commit for pattern in patterns for commit in self._history.mentions(pattern)]
        return list({commit.sha: commit for commit in found}.values())

    def _composed(self, convs: Sequence[str], commits: Sequence[Commit]) -> list[str]:
        """Sentences that were ever written on the word of these conversations alone."""
        found = []
        for sha, paths in self._history.files([c.sha for c in commits]).items() if commits else ():
            for path in paths:
                if path.startswith(_ARTICLES):
                    found += resting_on(self._history.show(sha, path) or "", convs)
        return found

    def _whole_files(self, convs: Sequence[str]) -> Iterator[Path]:
        """What cannot be changed in part: damaged files, and databases that were moved aside."""
        yield from sorted(self._config.cache_dir.glob(f"{self._config.store_path.name}{BEFORE}*"))
        journal, archive = self._config.journal_dir, self._config.archive_dir
        # beside the damaged ones copies, as a program that syncs folders makes them
        yield from sorted(set(journal.glob("*.zst*")) - set(journal_files(journal)))
        for conv in convs:
            beside = set(archive.rglob(f"{conv}[!0-9a-f]*"))
            yield from sorted(beside - set(archive.rglob(f"{conv}.jsonl.zst")))
        # what was killed left it behind, and whoever holds the lock is alone with it
        yield from sorted(archive.rglob(".*.part"))
        yield from sorted((self._config.cache_dir / REBUILDING).glob("*"))
        yield from left_unrestored(self._config)
        # an index of words, which the next search makes anew
        yield from filter(Path.exists, files_of(self._config.cache_dir / SEARCH_INDEX))
        if self._has_vault:
            yield from sorted((self._history.git_dir() / "nightly-memory").glob("page-*"))

    def _stands_somewhere(self, plan: Plan) -> bool:
        return bool(plan.pages) or any(holding(self._config, self._store, plan.needles))

    # ------------------------------------------------------------------ the deed

    def forget(self, plan: Plan, *, from_articles: bool) -> Forgotten:
        """Take it out everywhere; then look whether anything is left, and where.

        from_articles: also strike out the sentences that rest on nothing else. Done again after a
        kill, it goes on.
        """
        convs, needles, store = plan.convs, plan.needles, self._store
        done = Forgotten(convs)
        heal(self._press, self._now())
        follow_renames(store, self._vault)  # else what we wrote passes for the user's
        transcripts = store.forgetting.transcripts(convs)
        store.forgetting.begin(convs, self._now())
        store.journal.write()  # also a database that is lost now comes back without them
        if from_articles:
            named = (_BUCKETS, CHANGELOG) if plan.topics else ()
            for path in dict.fromkeys((*(cited.path for cited in plan.pages), *named)):
                self._strike(path, plan, done)
        for conv in convs:
            self._archive.remove(conv)
        for path in plan.deleted:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        for log in self._logs():
            _strike_log(log, needles)
        standing = {
            PurePosixPath(path).stem: text
            for path, text in as_read(self._config.vault)
            if path.startswith(_ARTICLES)
        }
        store.forgetting.erase(convs, needles.said, lambda stem: standing.get(stem, ""))
        store.journal.rewrite()
        store.forgetting.clean()
        done.left += holding(self._config, store, needles)
        done.left += left_outside(self._config, convs, needles, transcripts, len(plan.commits))
        store.forgetting.finish(convs)
        store.journal.write()
        return done

    def _strike(self, path: str, plan: Plan, done: Forgotten) -> None:
        if not path.startswith((_ARTICLES, _TALK)) and path not in (CHANGELOG, _BUCKETS):
            return  # the user's
        run = f"forget-{self._now().astimezone(self._config.zone):%Y%m%d-%H%M%S}"
        folding = Folding()
        struck: tuple[str, ...] = ()
        try:
            known = self._vault.hash(path)
            text = self._vault.page(path) or ""
            if path.startswith(_ARTICLES):
                stem = PurePosixPath(path).stem
                written = self._store.ledger.written_sentences(stem)
                found = strike(
                    text,
                    plan.convs,
                    lambda sentence: sentence in written,
                    today=self._now().astimezone(self._config.zone).date().isoformat(),
                    paragraph_sentences=load_policy().synthesize.paragraph_sentences,
                )
                after, struck = found.after, found.sentences
                done.kept += [(path, sentence, why) for sentence, why in found.kept]
                if stem in self._store.ledger.known_articles():
                    folding = Folding(
                        stem=stem,
                        written_hash=digest(after),
                        words=section_words(after),
                        linked=True,
                    )
            elif path.startswith(_TALK):
                told = self._store.ledger.told(PurePosixPath(path).stem)
                after = strike_lines(text, plan.convs, plan.needles.said, told.__contains__)
            else:
                # a line of the changelog tells of more than one conversation: only what quotes goes
                after = strike_lines(
                    text,
                    plan.convs,
                    plan.needles.said,
                    plan.needles.said,
                    self._store.forgetting.described(plan.topics),
                )
            if after == text:
                return
            self._store.forgetting.cut_down(folding.stem)
            publish(
                self._press,
                PageFile(path, known, after),
                run=run,
                at=self._now(),
                subject=f"forget: {path.removesuffix('.md')}",
                trailers={"Forgets": " ".join(plan.convs), "At": self._now().isoformat()},
                folding=folding,
            )
        except (ChangedUnderneath, VaultFault) as fault:
            done.kept.append((path, "", str(fault)))
            return
        done.struck[path] = len(struck)

    def _logs(self) -> list[Path]:
        folder = self._config.log_dir
        return [path for path in walk(folder) if path.is_file() and not path.is_symlink()]


def history_advice(vault: Path) -> list[str]:
    """How the user takes the text out of the vault's commits, which we never rewrite."""
    return [
        "the commits of the vault keep what they held; only you can rewrite them, and every copy",
        "of the repository keeps them until it is rewritten or cloned anew:",
        "  1. memory backup; have git-filter-repo, which does not come with git",
        "  2. write each title and sentence listed above into FILE, one a line, followed by ==>",
        f"  3. git -C '{vault}' filter-repo --force --replace-text FILE",
        f"  4. git -C '{vault}' reflog expire --expire=now --all",
        f"  5. git -C '{vault}' gc --prune=now",
        "  6. delete FILE and the backup",
    ]


def _literally(text: str) -> str:
    """An extended regular expression, as POSIX has them, that this text matches."""
    words = (re.sub(r"[\\.\[(){*+?^$|]", r"\\\g<0>", word) for word in text.split())
    return "[[:space:]]+".join(words)


def _strike_log(path: Path, needles: Needles) -> None:
    """A log without the lines that quote it, in place: whoever appends to it has it open."""
    try:
        with path.open("r+b") as file:
            data = file.read()
            lines = data.splitlines(keepends=True)
            kept = [line for line in lines if not needles.found(line)]
            if len(kept) == len(lines):
                return
            file.seek(0)
            file.write(b"".join(kept))
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreFault(f"the log {path} cannot be changed: {error.strerror}") from error
