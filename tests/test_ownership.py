"""The user's edits win: before, during and after a night, and whatever git is in the middle of."""

from __future__ import annotations

import os
import re
import subprocess
import unicodedata
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.errors import VaultFault
from pipeline.history import History
from pipeline.models import Ask
from pipeline.store import Store
from tests.support_night import (
    NIGHT,
    Script,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)

MORROW = NIGHT + timedelta(days=1)
LATER = NIGHT + timedelta(hours=5)
LAST = MORROW + timedelta(days=1)
SESSION = "3b1f0c2a-7d6e-4f50-9a1b-2c3d4e5f6a7b"
OTHER_SESSION = "7c2e1d3b-8e7f-4061-8b2c-3d4e5f607182"
NEWS = "The Lantern login page asks for a code of 6 digits."
OURS = "The Lantern retention job keeps sessions for 45 days."
NEWER = "The Lantern retention job keeps sessions for 90 days."
THEIRS = "Retention was settled with the auditors, see the blue binder."


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night: two articles, everything committed."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    return config


def page(config: Config, name: str = "Lantern project") -> Path:
    """The file of an article."""
    return config.vault / "articles" / f"{name}.md"


def text(config: Config, name: str = "Lantern project") -> str:
    """An article's text, line ends as they are."""
    return page(config, name).read_bytes().decode("utf-8")


def edit(path: Path, old: str, new: str) -> None:
    """Replace text that must be there, byte for byte elsewhere."""
    before = path.read_bytes().decode("utf-8")
    assert old in before
    path.write_bytes(before.replace(old, new, 1).encode("utf-8"))


def say(home: Path, *said: str, session: str = SESSION, start: datetime = LATER) -> None:
    """One more conversation, of the user's words; the first line, which is its title, says none."""
    lines = [("user", words) for words in ("Some notes on the work of today.", *said)]
    write_session(home, "claude-code", session, start, lines)


def knowing(*claims: str, **overrides: Callable[[Ask], str]) -> Script:
    """A good model that makes each claim of the message that says it word for word."""
    script = Script({purpose.replace("__", "/"): made for purpose, made in overrides.items()})
    script.claims = {**script.claims, **{claim: [(claim, "fact")] for claim in claims}}
    return script


def git(config: Config, *words: str, check: bool = True) -> str:
    """What git says, called as the user would."""
    who = ("-c", "user.name=Rosa", "-c", "user.email=rosa@localhost")
    done = subprocess.run(
        ["git", *who, *words], cwd=config.vault, capture_output=True, text=True, check=check
    )
    return done.stdout


def authors(config: Config, words: str) -> set[str]:
    """Who committed a change to how often these words stand in articles."""
    log = git(config, "log", f"-S{words}", "--format=%an", "--", "articles")
    return set(log.splitlines())


def our_commits(config: Config, since: str) -> list[list[str]]:
    """The files of each commit under our name after `since`."""
    log = git(config, "log", "--format=%x00%an", "--name-only", f"{since}..HEAD")
    entries = [entry.strip().split("\n") for entry in log.split("\0") if entry.strip()]
    return [[line for line in rest if line] for name, *rest in entries if name == "nightly-memory"]


def standing(config: Config, name: str = "Lantern project") -> str:
    """The part of an article that says what is so: neither History nor References."""
    return re.split(r"^## (?:History|References)", text(config, name), flags=re.M)[0]


def assert_settled(config: Config, script: Script, *, at: datetime = LAST) -> None:
    """The next night has nothing to do: no model call, no byte, no commit."""
    before, head = files(config.vault), History(config.vault).head()
    again = run_night(config, script, at=at)
    assert (again.status, again.model.asked) == ("nothing", [])
    assert files(config.vault) == before
    assert History(config.vault).head() == head


def assert_ours_alone(config: Config, since: str) -> None:
    """Each commit of ours holds one page of ours."""
    made = our_commits(config, since)
    assert made
    for paths in made:
        assert len(paths) == 1
        assert paths[0].startswith(("articles/", "Talk/", "Meta/"))


# ------------------------------------------------------------------ edits before the night


def test_a_sentence_the_user_edited_is_theirs(home: Path, config: Config) -> None:
    """Later news never replaces it; it stays where it is and the Talk page answers it."""
    mine = "The Lantern retention job keeps all sessions for 45 days by law."
    edit(page(config), OURS, mine)
    head = History(config.vault).head()
    say(home, NEWER)
    script = knowing(NEWER, synthesize__relation=lambda ask: "updates")
    assert run_night(config, script, at=MORROW).status == "done"
    assert mine in standing(config)
    assert "## History" not in text(config)
    talk = (config.vault / "Talk" / "Lantern project.md").read_text(encoding="utf-8")
    assert NEWER in talk
    assert authors(config, mine) == {"You"}
    assert_ours_alone(config, head)
    assert_settled(config, script)


def test_a_sentence_the_user_deleted_does_not_come_back(home: Path, config: Config) -> None:
    """Said again in another conversation, it stays deleted; the news beside it is written."""
    line = next(line for line in text(config).splitlines(keepends=True) if OURS in line)
    kept = re.sub(re.escape(OURS) + r"(?:\[\^\d+\])+ ?", "", line)
    edit(page(config), line, kept)
    say(home, OURS, NEWS)
    script = knowing(OURS, NEWS)
    run_night(config, script, at=MORROW)
    assert OURS not in text(config)
    assert NEWS in text(config)
    assert_settled(config, script)


def test_a_deleted_article_does_not_come_back(home: Path, config: Config) -> None:
    """The news about it is reported, in the results and on the changelog, not written."""
    page(config).unlink()
    say(home, NEWS)
    night = run_night(config, knowing(NEWS), at=MORROW)
    assert not page(config).exists()
    assert any("Lantern project" in problem for problem in night.results.problems)
    changelog = (config.vault / "Meta" / "Changelog.md").read_text(encoding="utf-8")
    assert "1 new claims about it" in changelog or "1 new claim about it" in changelog
    # the deletion is the user's to commit
    assert git(config, "status", "--porcelain") == ' D "articles/Lantern project.md"\n'
    assert_settled(config, knowing(NEWS))


def test_a_moved_article_is_found_in_its_folder(home: Path, config: Config) -> None:
    """In a subfolder it is the same article: news goes there, nothing is made where it was."""
    folder = config.vault / "articles" / "work"
    folder.mkdir()
    page(config).rename(folder / "Lantern project.md")
    head = History(config.vault).head()
    say(home, NEWS)
    run_night(config, knowing(NEWS), at=MORROW)
    assert NEWS in (folder / "Lantern project.md").read_text(encoding="utf-8")
    assert not page(config).exists()
    assert_ours_alone(config, head)
    assert_settled(config, knowing(NEWS))


RENAMES: dict[str, Callable[[str], str]] = {
    "the file": lambda content: content,
    "the file and the title": lambda content: content.replace("Lantern project", "Streetlight"),
}


@pytest.mark.parametrize("retitle", RENAMES.values(), ids=RENAMES.keys())
def test_a_renamed_article_is_the_same_article(
    home: Path, config: Config, retitle: Callable[[str], str]
) -> None:
    """News goes to it under its new name; its sentences are still ours, deleted ones still gone."""
    before = text(config)
    table = "The Lantern session table lives in db/sessions.sql."
    before = re.sub(re.escape(table) + r"(?:\[\^\d+\])+ ?", "", before)
    assert table not in before and OURS in before
    page(config).unlink()
    page(config, "Streetlight").write_text(retitle(before), encoding="utf-8")
    say(home, NEWS, NEWER, table)
    script = knowing(NEWS, NEWER, table, synthesize__relation=lambda ask: "updates")
    script.claims = {**script.claims, "session table lives": [(table, "fact")]}
    run_night(config, script, at=MORROW)
    assert not page(config).exists()
    after = text(config, "Streetlight")
    assert NEWS in after
    assert table not in after
    assert NEWER in standing(config, "Streetlight")
    assert OURS not in standing(config, "Streetlight")
    assert OURS in after  # in History
    assert_settled(config, script)


def test_a_settled_talk_entry_does_not_come_back(home: Path, config: Config) -> None:
    """The user deletes what they settled; the same contradiction said again is not entered."""
    script = knowing(NEWER, synthesize__relation=lambda ask: "contradicts")
    say(home, NEWER)
    run_night(config, script, at=MORROW)
    talk = config.vault / "Talk" / "Lantern project.md"
    entry = next(line for line in talk.read_text(encoding="utf-8").splitlines() if NEWER in line)
    edit(talk, entry + "\n", "")
    line = next(line for line in text(config).splitlines(keepends=True) if NEWER in line)
    edit(page(config), line, re.sub(re.escape(NEWER) + r"(?:\[\^\d+\])+ ?", "", line))
    say(home, NEWER, session=OTHER_SESSION, start=LATER + timedelta(days=1))
    run_night(config, script, at=LAST)
    assert NEWER not in talk.read_text(encoding="utf-8")
    assert NEWER not in text(config)
    assert_settled(config, script, at=LAST + timedelta(days=1))


# ------------------------------------------------------------------ uncommitted, staged


def test_what_the_user_staged_stays_staged_and_theirs(home: Path, config: Config) -> None:
    """Staged, unstaged and new files elsewhere: none goes with our commits, the index stays."""
    harbor, note = page(config, "Harbor project"), config.vault / "articles" / "Mine.md"
    edit(harbor, "# Harbor project\n", f"# Harbor project\n\n{THEIRS}\n")
    note.write_text("# Mine\n\nOnly staged.\n", encoding="utf-8")
    git(config, "add", "articles/Harbor project.md", "articles/Mine.md")
    edit(harbor, THEIRS, f"{THEIRS} Not staged.")
    (config.vault / "todo.txt").write_text("buy lamps", encoding="utf-8")
    git(config, "rm", "-q", "--cached", "README.md")
    before, staged = git(config, "status", "--porcelain"), git(config, "diff", "--cached")
    head, bytes_ = History(config.vault).head(), files(config.vault)
    say(home, NEWS)
    run_night(config, knowing(NEWS), at=MORROW)
    assert NEWS in text(config)
    assert git(config, "status", "--porcelain") == before
    assert git(config, "diff", "--cached") == staged
    for name in ("articles/Harbor project.md", "articles/Mine.md", "todo.txt", "README.md"):
        assert (config.vault / name).read_bytes() == bytes_[name]
    assert_ours_alone(config, head)
    assert {p for paths in our_commits(config, head) for p in paths} <= {
        "articles/Lantern project.md", "Meta/Changelog.md", "Meta/Buckets.md",
    }  # fmt: skip
    assert_settled(config, knowing(NEWS))


@pytest.mark.parametrize("stage", [False, True], ids=["unstaged", "staged"])
def test_edits_of_the_page_itself_are_committed_as_the_users(
    home: Path, config: Config, *, stage: bool
) -> None:
    """What the user wrote on the page that gets news is committed first, in their name."""
    edit(page(config), "# Lantern project\n", f"# Lantern project\n\n{THEIRS}\n")
    if stage:
        git(config, "add", "articles/Lantern project.md")
    head = History(config.vault).head()
    say(home, NEWS)
    run_night(config, knowing(NEWS), at=MORROW)
    assert THEIRS in text(config) and NEWS in text(config)
    assert authors(config, THEIRS) == {"You"}
    assert authors(config, NEWS) == {"nightly-memory"}
    assert git(config, "status", "--porcelain") == ""
    assert_ours_alone(config, head)
    assert_settled(config, knowing(NEWS))


def test_a_half_staged_page_keeps_both_versions(home: Path, config: Config) -> None:
    """What was staged and what was typed since are both in the history, as the user's."""
    edit(page(config), "# Lantern project\n", "# Lantern project\n\nThe staged wording.\n")
    git(config, "add", "articles/Lantern project.md")
    edit(page(config), "The staged wording.", THEIRS)
    say(home, NEWS)
    run_night(config, knowing(NEWS), at=MORROW)
    assert THEIRS in text(config) and NEWS in text(config)
    assert authors(config, THEIRS) == {"You"}
    assert authors(config, "The staged wording.") == {"You"}
    assert_settled(config, knowing(NEWS))


def test_edits_are_left_uncommitted_when_the_user_wants_that(home: Path, config: Config) -> None:
    """commit_user_edits = false: that article waits, named with its reason; the others go on."""
    config = config.model_copy(update={"commit_user_edits": False})
    edit(page(config), "# Lantern project\n", f"# Lantern project\n\n{THEIRS}\n")
    before, state = page(config).read_bytes(), git(config, "status", "--porcelain")
    harbor = "The Harbor importer has a limit of 31 connections."
    say(home, NEWS)
    say(home, harbor, session=OTHER_SESSION)
    script = knowing(NEWS, harbor)
    night = run_night(config, script, at=MORROW)
    assert night.status == "partial"
    assert [job for job, _ in night.results.rejected] == ["synthesize: bucket Lantern project"]
    assert "uncommitted edits of yours" in night.results.rejected[0][1][0]
    assert page(config).read_bytes() == before
    assert git(config, "status", "--porcelain") == state
    assert harbor in text(config, "Harbor project")
    git(config, "commit", "-qam", "mine")
    assert run_night(config, script, at=LAST).status == "done"
    assert NEWS in text(config) and THEIRS in text(config)
    assert authors(config, THEIRS) == {"Rosa"}
    assert_settled(config, script, at=LAST + timedelta(days=1))


# ------------------------------------------------------------------ edits during the night


def saved_in_place(path: Path, content: str) -> None:
    """As most editors do."""
    path.write_text(content, encoding="utf-8")


def saved_by_rename(path: Path, content: str) -> None:
    """As careful editors do: the page is another inode afterwards."""
    beside = path.with_name(".swap")
    beside.write_text(content, encoding="utf-8")
    beside.replace(path)


@pytest.mark.parametrize("save", [saved_in_place, saved_by_rename])
def test_an_edit_while_the_model_thinks_is_kept(
    home: Path, config: Config, save: Callable[[Path, str], None]
) -> None:
    """The draft is made again from what the user saved; both stand in the page."""
    moments: list[Ask] = []

    def thinking(ask: Ask) -> str:
        if not moments:
            old = text(config)
            title = "# Lantern project\n"
            save(page(config), old.replace(title, f"{title}\n{THEIRS}\n"))
        moments.append(ask)
        return "unrelated"

    head = History(config.vault).head()
    say(home, NEWER)
    script = knowing(NEWER, synthesize__relation=thinking)
    assert run_night(config, script, at=MORROW).status == "done"
    assert len(moments) == 2
    assert THEIRS in text(config) and NEWER in text(config)
    assert authors(config, THEIRS) == {"You"}
    assert authors(config, NEWER) == {"nightly-memory"}
    assert_ours_alone(config, head)
    assert_settled(config, script)


def test_a_user_who_keeps_typing_is_not_disturbed(home: Path, config: Config) -> None:
    """Edited once more while the draft was made again: the page waits for the next night."""
    moments: list[Ask] = []

    def thinking(ask: Ask) -> str:
        moments.append(ask)
        if len(moments) <= 2:
            with page(config).open("a", encoding="utf-8") as file:
                file.write(f"\nTyped {len(moments)}.\n")
        return "unrelated"

    say(home, NEWER)
    script = knowing(NEWER, synthesize__relation=thinking)
    night = run_night(config, script, at=MORROW)
    assert night.status == "partial"
    assert "edited meanwhile" in night.results.rejected[0][1][0]
    assert NEWER not in text(config)
    assert text(config).endswith("\nTyped 1.\n\nTyped 2.\n")
    assert authors(config, "Typed 2.") == set()  # still the user's to commit
    assert run_night(config, script, at=LAST).status == "done"
    assert NEWER in text(config) and "Typed 2." in text(config)
    assert authors(config, "Typed 2.") == {"You"}
    assert_settled(config, script, at=LAST + timedelta(days=1))


def test_an_article_deleted_while_the_model_thinks_stays_deleted(
    home: Path, config: Config
) -> None:
    """Not even the draft that was under way brings it back."""

    def thinking(ask: Ask) -> str:
        page(config).unlink(missing_ok=True)
        return "unrelated"

    say(home, NEWER)
    script = knowing(NEWER, synthesize__relation=thinking)
    run_night(config, script, at=MORROW)
    assert not page(config).exists()
    assert_settled(config, script)


def test_an_edit_between_write_and_commit_is_not_ours(
    home: Path, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our commit holds what we wrote; what the user typed after that is committed as theirs."""
    real = History.commit
    seen: list[object] = []

    def commit(self: History, *args: object, **kwargs: object) -> str:
        if not seen and args[0] == ["articles/Lantern project.md"]:
            seen.append(args)
            with page(config).open("a", encoding="utf-8") as file:
                file.write(f"\n{THEIRS}\n")
        return real(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(History, "commit", commit)
    say(home, NEWS)
    run_night(config, knowing(NEWS), at=MORROW)
    assert seen
    assert text(config).endswith(f"\n{THEIRS}\n") and NEWS in text(config)
    assert authors(config, THEIRS) <= {"You"}
    assert authors(config, NEWS) == {"nightly-memory"}
    assert_settled(config, knowing(NEWS))
    assert text(config).endswith(f"\n{THEIRS}\n")


def test_a_merge_begun_while_the_model_thinks_is_left_to_the_user(
    home: Path, config: Config
) -> None:
    """Nothing is committed into it and no conflict is settled for the user."""
    git(config, "branch", "other")
    edit(page(config), "# Lantern project\n", "# Lantern project\n\nMine.\n")
    git(config, "commit", "-qam", "mine")
    git(config, "checkout", "-q", "other")
    edit(page(config), "# Lantern project\n", "# Lantern project\n\nTheirs.\n")
    git(config, "commit", "-qam", "theirs")
    git(config, "checkout", "-q", "main")
    head = History(config.vault).head()
    states: list[tuple[str, bytes]] = []

    def thinking(ask: Ask) -> str:
        if not states:
            git(config, "merge", "other", check=False)
            states.append((git(config, "status", "--porcelain"), page(config).read_bytes()))
        return "unrelated"

    say(home, NEWER)
    script = knowing(NEWER, synthesize__relation=thinking)
    night = run_night(config, script, at=MORROW)
    assert night.status == "partial"
    assert "merge is in progress" in night.results.rejected[0][1][0]
    assert (git(config, "status", "--porcelain"), page(config).read_bytes()) == states[0]
    assert states[0][0].startswith("UU ")
    assert History(config.vault).head() == head
    git(config, "merge", "--abort")
    assert run_night(config, script, at=LAST).status == "done"
    assert NEWER in text(config) and "Mine." in text(config)


# ------------------------------------------------------------------ git in other states


def test_a_rebase_in_progress_is_left_to_the_user(home: Path, config: Config) -> None:
    """No commit, no byte; once it is over, the night is made up for."""
    git(config, "branch", "other")
    for branch, words in (("other", "Theirs."), ("main", "Mine.")):
        git(config, "checkout", "-q", branch)
        edit(page(config), "# Lantern project\n", f"# Lantern project\n\n{words}\n")
        git(config, "commit", "-qam", words)
    git(config, "rebase", "other", check=False)
    say(home, NEWS)
    before, state = files(config.vault), git(config, "status", "--porcelain")
    with pytest.raises(VaultFault, match="rebase is in progress"):
        run_night(config, knowing(NEWS), at=MORROW)
    assert files(config.vault) == before
    assert git(config, "status", "--porcelain") == state
    git(config, "rebase", "--abort")
    assert run_night(config, knowing(NEWS), at=LAST).status == "done"
    assert NEWS in text(config) and "Mine." in text(config)


def test_a_vault_is_written_on_the_branch_the_user_chose(home: Path, config: Config) -> None:
    """Switched between two nights: our commits go there, the branch left behind stays as it was."""
    main = History(config.vault).head()
    git(config, "checkout", "-q", "-b", "trial")
    say(home, NEWS)
    run_night(config, knowing(NEWS), at=MORROW)
    assert git(config, "rev-parse", "main").strip() == main
    assert git(config, "symbolic-ref", "--short", "HEAD").strip() == "trial"
    assert_ours_alone(config, "main")
    assert_settled(config, knowing(NEWS))
    git(config, "checkout", "-q", "main")
    git(config, "merge", "-q", "trial")
    assert NEWS in text(config)
    assert_settled(config, knowing(NEWS), at=LAST + timedelta(days=1))


def test_a_night_needs_no_git_identity(
    home: Path, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No name, no mail, no configuration anywhere: the user's edits and ours are both committed."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "XDG_")) or name in ("USER", "LOGNAME", "EMAIL", "USERNAME"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    assert not (home / ".gitconfig").exists()
    edit(page(config), "# Lantern project\n", f"# Lantern project\n\n{THEIRS}\n")
    say(home, NEWS)
    assert run_night(config, knowing(NEWS), at=MORROW).status == "done"
    assert authors(config, THEIRS) == {"You"}
    assert authors(config, NEWS) == {"nightly-memory"}


# ------------------------------------------------------------------ files of other kinds


def test_a_read_only_article_is_left_alone(home: Path, config: Config) -> None:
    """Write protection is a wish: the page stays, the reason is said, lifted it is written."""
    page(config).chmod(0o444)
    before, head = page(config).read_bytes(), History(config.vault).head()
    say(home, NEWS)
    night = run_night(config, knowing(NEWS), at=MORROW)
    assert night.status == "partial"
    (job, reasons), *_ = night.results.rejected
    assert job == "synthesize: bucket Lantern project"
    assert "read-only" in reasons[0]
    assert page(config).read_bytes() == before
    assert page(config).stat().st_mode & 0o777 == 0o444
    assert all(p == ["Meta/Changelog.md"] for p in our_commits(config, head))
    store = Store(config.store_path)
    assert store.ledger.intents() == []
    store.close()
    page(config).chmod(0o644)
    assert run_night(config, knowing(NEWS), at=LAST).status == "done"
    assert NEWS in text(config)
    assert_settled(config, knowing(NEWS), at=LAST + timedelta(days=1))


def test_a_changelog_that_cannot_be_written_tells_all_when_it_can(
    home: Path, config: Config
) -> None:
    """Write-protected for six nights of news, it is never given up; the articles go on."""
    changelog = config.vault / "Meta" / "Changelog.md"
    changelog.chmod(0o444)
    before = changelog.read_bytes()
    said = [
        f"The Lantern login page has a button {number} pixels wide." for number in range(41, 47)
    ]
    for number, claim in enumerate(said):
        start = LATER + timedelta(days=number)
        say(home, claim, session=f"3b1f0c2a-7d6e-4f50-9a1b-{number:012x}", start=start)
        night = run_night(config, knowing(*said), at=MORROW + timedelta(days=number))
        assert night.status == "done"
        assert any("changelog was not written" in problem for problem in night.results.problems)
        assert claim in text(config)
    assert changelog.read_bytes() == before
    changelog.chmod(0o644)
    run_night(config, knowing(*said), at=MORROW + timedelta(days=7))
    after = changelog.read_text(encoding="utf-8")
    assert after.count("- updated [[Lantern project") == 6
    assert_settled(config, knowing(*said), at=MORROW + timedelta(days=8))


def test_an_announced_page_turned_read_only_does_not_stop_later_nights(
    home: Path, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the write, protected since: the next night says so and goes on."""

    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    say(home, NEWS)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("pipeline.vault.Vault.write", dies)
        run_night(config, knowing(NEWS), at=MORROW)
    page(config).chmod(0o444)
    harbor = "The Harbor importer has a limit of 31 connections."
    say(home, harbor, session=OTHER_SESSION)
    script = knowing(NEWS, harbor)
    assert run_night(config, script, at=MORROW + timedelta(hours=1)).status == "partial"
    assert harbor in text(config, "Harbor project")
    assert NEWS not in text(config)
    page(config).chmod(0o644)
    run_night(config, script, at=LAST)
    assert NEWS in text(config)


def new_topic(home: Path) -> None:
    """A third project, spoken of in two conversations."""
    claims = ORCHARD
    say(home, claims[0])
    say(home, claims[1], session=OTHER_SESSION, start=LATER + timedelta(hours=1))


ORCHARD = (
    "The Orchard sensors report the soil moisture every 10 minutes.",
    "The Orchard pumps are switched by a relay on port 7.",
)


def on_orchard(**overrides: Callable[[Ask], str]) -> Script:
    """A good model that knows the third project."""
    script = knowing(*ORCHARD)
    usual = Script(claims=script.claims)

    def named(purpose: str) -> Callable[[Ask], str]:
        def answer(ask: Ask) -> str:
            said = ask.prompt.partition("Piece:")[2] or ask.prompt
            if "Orchard" not in said:
                made = usual.choose if purpose == "cluster/route" else usual.write
                return str(made(purpose, ask))
            if purpose == "chunk/label":
                return "Watering the Orchard"
            if purpose == "cluster/name":
                return "Orchard watering"
            rows = ask.prompt.partition("Piece:")[0].splitlines()
            return next((row[0] for row in rows if "Orchard" in row), "none of these")

        return answer

    purposes = ("chunk/label", "cluster/name", "cluster/route")
    script.overrides = {purpose: named(purpose) for purpose in purposes}
    return script


def test_an_article_the_user_wrote_of_a_new_topic_is_taken_up(home: Path, config: Config) -> None:
    """Same title, never committed: it is kept, committed as theirs, and the news is added."""
    mine = "---\ntags: [garden]\n---\n# Orchard Watering\n\nPlanted in spring.\n\n- [ ] buy hose\n"
    page(config, "orchard WATERING").write_text(mine, encoding="utf-8")
    head = History(config.vault).head()
    new_topic(home)
    run_night(config, on_orchard(), at=MORROW)
    names = sorted(p.stem for p in (config.vault / "articles").glob("*.md"))
    assert names == ["Harbor project", "Lantern project", "orchard WATERING"]
    after = text(config, "orchard WATERING")
    assert ORCHARD[0] in after and ORCHARD[1] in after
    for line in mine.splitlines():
        assert line in after.splitlines()
    assert authors(config, "Planted in spring.") == {"You"}
    assert_ours_alone(config, head)
    assert_settled(config, on_orchard())


def test_a_new_article_never_shares_a_file_with_one_of_the_users(
    home: Path, config: Config
) -> None:
    """A page of that file name in other case, about something else, stays what it is."""
    mine = "# Cider press\n\nIt leaks.\n"
    page(config, "ORCHARD watering").write_text(mine, encoding="utf-8")
    new_topic(home)
    run_night(config, on_orchard(), at=MORROW)
    assert text(config, "ORCHARD watering") == mine
    made = {p.stem for p in (config.vault / "articles").glob("*.md")}
    assert len({unicodedata.normalize("NFC", stem).casefold() for stem in made}) == len(made) == 4
    assert authors(config, "It leaks.") == set()
    assert_settled(config, on_orchard())


@pytest.mark.parametrize("lead", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
@pytest.mark.parametrize("nl", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_line_ends_and_byte_order_mark_are_kept(
    home: Path, config: Config, lead: bytes, nl: bytes
) -> None:
    """Saved by a Windows editor, the page keeps what it had; every line there before stands."""
    before = lead + page(config).read_bytes().replace(b"\n", nl)
    page(config).write_bytes(before)
    head = History(config.vault).head()
    say(home, NEWS)
    night = run_night(config, knowing(NEWS), at=MORROW)
    after = page(config).read_bytes()
    assert night.status == "done" and NEWS.encode() in after
    assert after.startswith(lead + b"---" + nl)
    assert after.count(b"\n") == after.count(nl)
    gone = set(before.split(nl)) - set(after.split(nl))
    assert all(line.startswith(b"updated:") or re.search(rb"\[\^\d+\]$", line) for line in gone), (
        gone
    )
    assert_ours_alone(config, head)
    assert_settled(config, knowing(NEWS))
