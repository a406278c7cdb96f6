"""The user's edits win: while the model thinks, and whatever git is in the middle of."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.errors import VaultFault
from pipeline.history import History
from pipeline.models import Ask
from tests.support_night import files, make_vault, run_night, write_sessions
from tests.support_ownership import (
    LAST,
    MORROW,
    NEWER,
    NEWS,
    THEIRS,
    assert_ours_alone,
    assert_settled,
    authors,
    edit,
    git,
    knowing,
    page,
    say,
    text,
)


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night: two articles, everything committed."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    return config


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
