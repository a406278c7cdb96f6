"""Two machines that write to one vault through git, each with sessions and a store of its own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config import Config, load_config
from pipeline.errors import EXIT_UNSOUND
from pipeline.models import Ask
from pipeline.store import Store
from tests import support_command
from tests.support_night import (
    CLAIMS,
    CONVERSATIONS,
    NIGHT,
    Night,
    Script,
    make_vault,
    run_night,
    write_session,
)

LANTERN, HARBOR = "Lantern project.md", "Harbor project.md"
NEWS = "The Lantern backup runs at 04:15 on the host named beryl."
MORE = "The Lantern restore test runs every second Tuesday on beryl."


@dataclass
class Machine:
    """A home, in which everything is done."""

    home: Path
    enter: Callable[[Path], None]

    @property
    def config(self) -> Config:
        self.enter(self.home)
        return load_config(timezone="UTC", since_days="all")

    def tell(self, topic: str) -> None:
        """The conversations about a topic."""
        for kind, session, start, said in CONVERSATIONS:
            if topic in said[0][1]:
                write_session(self.home, kind, session, start, said)

    def night(self, days: int = 0) -> Night:
        """Both are started at the same second; what it wrote is handed to the other."""
        self.git("pull", "--quiet")
        night = run_night(self.config, at=NIGHT + timedelta(days=days))
        self.git("push", "--quiet")
        return night

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.config.vault), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def memory(self, *arguments: str, code: int = 0) -> str:
        """What the command says."""
        self.enter(self.home)
        done = support_command.memory(*arguments)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def articles(self) -> list[str]:
        return sorted(path.name for path in (self.config.vault / "articles").iterdir())

    def run(self) -> str:
        """The id of the newest run in the vault."""
        trailer = "--format=%(trailers:key=Run,valueonly)"
        return self.git("log", "-1", "--grep=^Run: ", trailer).strip()


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Machine, Machine]:
    """The laptop wrote of the lantern; then the desktop, in the same second, of the harbor."""

    def enter(home: Path) -> None:
        monkeypatch.setenv("HOME", str(home))
        for name in ("CONFIG_HOME", "CACHE_HOME", "DATA_HOME", "STATE_HOME"):
            monkeypatch.setenv(f"XDG_{name}", str(home / name))
        home.mkdir(exist_ok=True)

    enter(tmp_path / "laptop")
    git_config = tmp_path / "gitconfig"
    git_config.write_text(
        "[user]\nname = Me\nemail = me@example.org\n[init]\ndefaultBranch = main\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(git_config))
    laptop, desktop = Machine(tmp_path / "laptop", enter), Machine(tmp_path / "desktop", enter)
    remote = tmp_path / "remote.git"
    vault = make_vault().vault
    subprocess.run(["git", "clone", "--quiet", "--bare", vault, remote], check=True)
    laptop.git("remote", "add", "origin", str(remote))
    laptop.git("fetch", "--quiet")
    laptop.git("branch", "--quiet", "--set-upstream-to=origin/main")
    subprocess.run(["git", "clone", "--quiet", remote, desktop.config.vault], check=True)
    laptop.tell("Lantern")
    laptop.night()
    desktop.tell("Harbor")
    desktop.night()
    laptop.git("pull", "--quiet")
    return laptop, desktop


def test_undo_takes_back_what_this_machine_wrote(machines: tuple[Machine, Machine]) -> None:
    """Not the other's run of the same second, which is newer in the vault, and is named."""
    laptop, desktop = machines
    assert laptop.articles() == [HARBOR, LANTERN]
    theirs = laptop.run()
    shown = laptop.memory("review")
    assert "+# Lantern project" in shown and "+# Harbor project" not in shown
    assert "Lantern" in laptop.memory("diff")
    told = laptop.memory("undo")
    assert laptop.articles() == [HARBOR]
    assert f"memory undo {theirs}" in told
    again = laptop.memory("undo", code=3)
    assert f"memory undo {theirs}" in again and laptop.articles() == [HARBOR]
    laptop.git("push", "--quiet")
    desktop.git("pull", "--quiet")
    desktop.memory("undo")
    assert desktop.articles() == []


def test_an_undoing_on_the_other_machine_is_told(machines: tuple[Machine, Machine]) -> None:
    """`memory log` says that it was taken back, and undo means no other run instead."""
    laptop, desktop = machines
    laptop.memory("undo", laptop.run())
    assert laptop.articles() == [LANTERN]
    laptop.git("push", "--quiet")
    desktop.git("pull", "--quiet")
    assert "new Harbor project: 4 claims (taken back)" in desktop.memory("log")
    assert "(taken back)" not in laptop.memory("log")
    desktop.memory("undo", code=3)
    assert desktop.articles() == [LANTERN]


def test_a_beginning_that_both_runs_share_names_neither(machines: tuple[Machine, Machine]) -> None:
    """They are listed; a few more letters tell."""
    laptop, _ = machines
    theirs = laptop.run()
    for command in ("undo", "diff"):
        assert f"{theirs}" in laptop.memory(command, "20261128-030000", code=3)
    assert "Harbor" in laptop.memory("diff", theirs[:-1])
    assert laptop.articles() == [HARBOR, LANTERN]


def test_a_lost_store_means_the_newest_run_in_the_vault(
    machines: tuple[Machine, Machine],
) -> None:
    """As nothing tells which were its own."""
    laptop, _ = machines
    config = laptop.config
    for path in (*config.store_path.parent.glob("memory.sqlite*"), *config.journal_dir.iterdir()):
        path.unlink()
    assert "Harbor" in laptop.memory("diff")


def test_nights_without_news_change_nothing(machines: tuple[Machine, Machine]) -> None:
    """P4: the rows of the other's topics are right as they are, and nothing is told of them."""
    laptop, desktop = machines
    before = laptop.git("rev-parse", "HEAD")
    for day in (1, 2):
        for machine in machines:
            night = machine.night(day)
            assert night.results.problems == [] and night.model.asked == []
    assert desktop.git("rev-parse", "HEAD") == before
    assert desktop.git("status", "--short") == ""


def test_news_go_into_the_article_that_the_other_machine_made(
    machines: tuple[Machine, Machine],
) -> None:
    """Its topic has that article here too."""
    _, desktop = machines
    desktop.tell("Lantern")
    desktop.night(1)
    assert desktop.articles() == [HARBOR, LANTERN]


def test_what_lasts_is_told_once_by_each_machine(machines: tuple[Machine, Machine]) -> None:
    """Though the newest section of the changelog is the other's, and tells of something else."""
    laptop, desktop = machines
    for machine, row in ((laptop, "| ??? | | | | |"), (desktop, "| Gull | | | | → Nowhere |")):
        machine.git("pull", "--quiet")
        page = machine.config.vault / "Meta" / "Buckets.md"
        page.write_text(page.read_text("utf-8") + row + "\n", "utf-8")
        machine.git("commit", "--quiet", "-am", "a row")
        machine.night(1)
    for day in (2, 3):
        for machine in machines:
            machine.night(day)
    before = laptop.git("rev-parse", "HEAD")
    for machine in machines:
        assert len(machine.night(4).results.problems) == 2
    assert desktop.git("rev-parse", "HEAD") == before


def test_a_citation_of_the_other_machine_is_not_called_a_fault(
    machines: tuple[Machine, Machine],
) -> None:
    """Neither where it is looked up nor by the doctor, who has nobody take it out."""
    laptop, _ = machines
    page = (laptop.config.vault / "articles" / HARBOR).read_text("utf-8")
    conv = page.partition("conv:")[2][:8]
    assert "on another machine" in laptop.memory("source", f"conv:{conv}", code=3)
    told = laptop.memory("doctor", code=EXIT_UNSOUND)
    assert "read on another machine" in told and "footnotes out" not in told


def say(machine: Machine, text: str) -> None:
    """One more conversation, the same wherever it is read."""
    session = "01a227e9-11a7-7b0c-92c2-99aa3719" + ("3c02" if text == NEWS else "3c03")
    write_session(machine.home, "pi", session, NIGHT - timedelta(hours=2), [("user", text)])


def knowing(pull: Callable[[], None] = lambda: None) -> Script:
    """A model that knows the news. pull: is called while it works."""

    def keep(ask: Ask) -> str:
        pull()
        return "keep"

    claims = {**CLAIMS, NEWS: [(NEWS, "fact")], MORE: [(MORE, "fact")]}
    return Script({"chunk/keep": keep}, claims=claims)


def test_news_under_the_old_name_go_to_the_renamed_article(
    machines: tuple[Machine, Machine],
) -> None:
    """Git merges them into the file; the topic goes on with it, and nothing is given up."""
    laptop, desktop = machines
    articles = laptop.config.vault / "articles"
    renamed = (articles / LANTERN).rename(articles / "Lighthouse.md")
    renamed.write_text(renamed.read_text().replace("Lantern project\n", "Lighthouse\n"))
    laptop.git("add", "-A")
    laptop.git("commit", "-qm", "mine")
    run_night(laptop.config, at=NIGHT + timedelta(days=1))
    say(desktop, NEWS)
    run_night(desktop.config, knowing(), at=NIGHT + timedelta(days=1))
    desktop.git("push", "--quiet")
    laptop.git("pull", "--quiet", "--no-rebase", "--no-edit")
    assert NEWS in renamed.read_text()
    say(laptop, MORE)
    night = run_night(laptop.config, knowing(), at=NIGHT + timedelta(days=2))
    assert (night.results.problems, night.results.rejected) == ([], [])
    text = renamed.read_text()
    assert all(text.count(f"{said}[^") == 1 for said in (NEWS, MORE))
    assert laptop.articles() == [HARBOR, "Lighthouse.md"]


def test_what_arrives_while_a_night_runs_is_known(machines: tuple[Machine, Machine]) -> None:
    """A plugin pulls at any hour; what the user deletes of it does not come back."""
    laptop, desktop = machines
    say(desktop, NEWS)
    run_night(desktop.config, knowing(), at=NIGHT + timedelta(days=1))
    desktop.git("push", "--quiet")
    say(laptop, MORE)
    laptop_vault = laptop.config.vault

    def pull() -> None:
        laptop.git("pull", "--quiet")

    run_night(laptop.config, knowing(pull), at=NIGHT + timedelta(days=1))
    page = laptop_vault / "articles" / LANTERN
    text = page.read_text()
    assert NEWS in text
    kept = re.sub(re.escape(NEWS) + r"\[\^\d+\] ?", "", text)
    assert f"{NEWS}[" not in kept
    page.write_text(kept)
    laptop.git("commit", "-qam", "mine")
    say(laptop, NEWS)
    run_night(laptop.config, knowing(), at=NIGHT + timedelta(days=2))
    assert f"{NEWS}[" not in page.read_text()


def test_what_the_other_machine_folded_is_not_promised_here(
    machines: tuple[Machine, Machine],
) -> None:
    """Only that one can fold it again."""
    laptop, _ = machines
    run_night(laptop.config, at=NIGHT + timedelta(days=1))
    laptop.git("reset", "--quiet", "--hard", ":/^init")
    told = laptop.memory("retry", "--lost")
    assert "'Lantern project' (once)" in told and "Harbor" not in told


def test_a_conversation_that_went_on_is_cut_as_the_other_machine_cut_it(
    machines: tuple[Machine, Machine],
) -> None:
    """Folded in two nights there, read here as a whole: what was struck is not said otherwise."""
    laptop, desktop = machines
    said = [("user", text) for text in ("Some notes on the work of today.", NEWS, MORE)]
    session = "3b1f0c2a-7d6e-4f50-9a1b-2c3d4e5f6a7b"
    start = NIGHT + timedelta(hours=5)
    for day, count in ((1, 2), (2, 3)):
        write_session(laptop.home, "claude-code", session, start, said[:count])
        run_night(laptop.config, knowing(), at=NIGHT + timedelta(days=day))
    page = laptop.config.vault / "articles" / LANTERN
    struck, count = re.subn(re.escape(NEWS) + r"\[\^\d+\] ", "", page.read_text("utf-8"))
    assert count == 1
    page.write_text(struck, "utf-8")
    laptop.git("commit", "-qam", "not wanted")
    laptop.git("push", "--quiet")
    desktop.git("pull", "--quiet")
    page = desktop.config.vault / "articles" / LANTERN
    folded = page.read_bytes()
    assert MORE.encode() in folded
    write_session(desktop.home, "claude-code", session, start, said)
    otherwise = {NEWS: [("On the host beryl a backup of Lantern is made at 04:15.", "fact")]}
    run_night(desktop.config, Script(claims=otherwise), at=NIGHT + timedelta(days=3))
    assert page.read_bytes() == folded
    # and what is said in it from now on is news
    last = "The Lantern alarm rings on the phone of whoever is on duty."
    write_session(desktop.home, "claude-code", session, start, [*said, ("user", last)])
    run_night(desktop.config, Script(claims={last: [(last, "fact")]}), at=NIGHT + timedelta(days=4))
    assert last.encode() in page.read_bytes()


def harbor_row(machine: Machine) -> str:
    page = (machine.config.vault / "Meta" / "Buckets.md").read_text("utf-8")
    return next(row for row in page.splitlines() if row.startswith("| Harbor"))


def quiet(machines: tuple[Machine, Machine], days: tuple[int, ...]) -> None:
    """Nights without news, from the second round on which nothing may be committed."""
    heads = []
    for day in days:
        for machine in machines:
            assert machine.night(day).results.problems == []
        heads.append(machines[-1].git("rev-parse", "HEAD"))
    assert len(set(heads[1:])) <= 1
    assert machines[0].git("rev-parse", "HEAD") == heads[-1]


SILO = "The Harbor silo holds 900 loads of grain in the summer."


def test_an_undo_on_the_other_machine_is_learnt_by_one_that_knew_the_run(
    machines: tuple[Machine, Machine],
) -> None:
    """Its topic has no article here either: the nights are quiet, and news found it anew."""
    laptop, desktop = machines
    laptop.night(1)
    desktop.memory("undo")
    desktop.git("push", "--quiet")
    quiet(machines, (2, 3, 4))
    assert "[[" not in harbor_row(laptop)
    for number in (4, 5):
        session = f"01a227e9-11a7-7b0c-92c2-99aa37193c0{number}"
        start = NIGHT + timedelta(days=4, hours=number)
        write_session(laptop.home, "pi", session, start, [("user", SILO)])
    script = Script(claims={**CLAIMS, SILO: [(SILO, "fact")]})
    night = run_night(laptop.config, script, at=NIGHT + timedelta(days=5))
    assert (night.results.problems, night.results.rejected) == ([], [])
    page = laptop.config.vault / "articles" / HARBOR
    assert SILO in page.read_text("utf-8") and "[[" in harbor_row(laptop)
    # the undo is told of in the vault for ever, and means the first night alone
    before = laptop.git("rev-parse", "HEAD")
    store = Store(laptop.config.store_path)
    store.runs.clear_found()
    store.close()
    night = run_night(laptop.config, at=NIGHT + timedelta(days=6))
    assert (night.status, laptop.git("rev-parse", "HEAD")) == ("nothing", before)
    assert "[[" in harbor_row(laptop)


def test_an_undo_under_the_old_name_is_learnt_of_the_renamed_article(
    machines: tuple[Machine, Machine],
) -> None:
    """The other machine says what the page was called when the night wrote it."""
    laptop, desktop = machines
    articles = laptop.config.vault / "articles"
    (articles / HARBOR).rename(articles / "Port.md")
    laptop.git("add", "-A")
    laptop.git("commit", "-qm", "mine")
    laptop.night(1)
    desktop.night(1)
    desktop.memory("undo")
    desktop.git("push", "--quiet")
    assert desktop.articles() == [LANTERN]
    quiet(machines, (2, 3, 4))
    assert laptop.articles() == [LANTERN] and "[[" not in harbor_row(laptop)


def test_a_store_that_passed_over_an_undo_learns_of_it(
    machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an older version left it: the nights had looked at that commit already."""
    laptop, desktop = machines
    laptop.night(1)
    desktop.memory("undo")
    desktop.git("push", "--quiet")
    with monkeypatch.context() as older:
        older.setattr("pipeline.keeping.adopting.learn_undone", lambda *_, **__: None)
        for day in (2, 3):
            for machine in machines:
                machine.night(day)
    quiet(machines, (4, 5, 6))
    assert "[[" not in harbor_row(laptop)


def test_what_was_taken_back_on_the_other_machine_is_not_said_again(
    machines: tuple[Machine, Machine],
) -> None:
    """Not from another piece either, as where the conversation was cut otherwise."""
    laptop, desktop = machines
    say(desktop, NEWS)
    run_night(desktop.config, knowing(), at=NIGHT + timedelta(days=1))
    desktop.memory("undo")
    desktop.git("push", "--quiet")
    laptop.git("pull", "--quiet")
    session, said = "01a227e9-11a7-7b0c-92c2-99aa37193c02", [("user", NEWS), ("user", MORE)]
    write_session(laptop.home, "pi", session, NIGHT - timedelta(hours=2), said)
    run_night(laptop.config, knowing(), at=NIGHT + timedelta(days=2))
    text = (laptop.config.vault / "articles" / LANTERN).read_text("utf-8")
    assert f"{MORE}[" in text and f"{NEWS}[" not in text


def test_what_the_other_machine_folded_goes_into_no_second_topic(
    machines: tuple[Machine, Machine],
) -> None:
    """Though the model here would have filed it elsewhere; it is not asked."""
    laptop, desktop = machines
    for machine in machines:
        say(machine, NEWS)
    run_night(laptop.config, knowing(), at=NIGHT + timedelta(days=1))
    laptop.git("push", "--quiet")
    desktop.git("pull", "--quiet")

    def route(ask: Ask) -> str:
        topics = ask.prompt.partition("Piece:")[0].splitlines()
        return next(row[0] for row in topics if "Harbor" in row)

    elsewhere = Script({"cluster/route": route}, claims=knowing().claims)
    run_night(desktop.config, elsewhere, at=NIGHT + timedelta(days=2))
    articles = desktop.config.vault / "articles"
    assert f"{NEWS}[" in (articles / LANTERN).read_text("utf-8")
    assert NEWS not in (articles / HARBOR).read_text("utf-8")
