"""`memory buckets`: each decision stands on the page and in the store, and loses nothing."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline import assemble
from pipeline.cli import app
from pipeline.config import Config, config_path
from pipeline.history import History
from pipeline.keeping.rebuilding import rebuild
from pipeline.lock import one_run
from pipeline.models import Ask
from pipeline.records import Draft
from pipeline.store import Store
from pipeline.store.buckets import Buckets
from pipeline.store.ledger import Folding
from tests import support_command
from tests.support_night import (
    NIGHT,
    Script,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)

DAY = timedelta(days=1)
LATER = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
SESSION = "3b1f0c2a-7d6e-4f50-9a1b-2c3d4e5f6a7b"
NEWS = "The Lantern login page asks for 2 factors."
LONE = "The Zeppelin hangar is leased until 2031."


@pytest.fixture
def config(home: Path) -> Config:
    return first_night(home, script())


def first_night(home: Path, model: Script) -> Config:
    """A vault after it: two articles, and a topic of one conversation."""
    write_sessions(home)
    write_session(home, "pi", "01a227e0-11a7-7b0c-92c2-99aa37193caa", LATER - DAY, [("user", LONE)])
    config = make_vault()
    run_night(config, model, at=NIGHT)
    return config


def script(**claims: str) -> Script:
    """A good model that knows a third topic, and these claims by words of their messages."""
    usual = Script()

    def third(purpose: str, ask: Ask) -> Any:
        said = ask.prompt.partition("Piece:")[2] or ask.prompt
        if "Zeppelin" not in said:
            return (usual.choose if ask.options else usual.write)(purpose, ask)
        rows = [row for row in ask.prompt.splitlines() if "Zeppelin hangar" in row[:20]]
        return (rows[0][0] if rows else "none of these") if ask.options else "Zeppelin hangar"

    purposes = ("cluster/name", "cluster/route", "chunk/label")
    made = Script({purpose: partial(third, purpose) for purpose in purposes})
    known = {"hangar is leased": LONE, "login page asks": NEWS, **claims}
    made.claims = {**made.claims, **{words: [(text, "fact")] for words, text in known.items()}}
    return made


def memory(*arguments: str, code: int = 0) -> str:
    """What the command prints."""
    return support_command.printed("buckets", *arguments, code=code)


def listed() -> dict[str, dict[str, Any]]:
    """The topics by name."""
    return {one["name"]: one for one in json.loads(memory("--json"))}


def page(config: Config) -> Path:
    """The table."""
    return config.vault / "Meta" / "Buckets.md"


def article(config: Config, name: str) -> str:
    """The text of an article."""
    return (config.vault / "articles" / f"{name}.md").read_text(encoding="utf-8")


def prose(text: str) -> str:
    """What an article says, without what wikify adds below."""
    return text.partition("## See also")[0].partition("## References")[0]


def assert_settled(config: Config, at: datetime = NIGHT + 8 * DAY) -> None:
    """Page and store say the same: the next night asks nothing and changes no byte."""
    before, head = files(config.vault), History(config.vault).head()
    night = run_night(config, script(), at=at)
    assert (night.status, night.model.asked, night.results.problems) == ("nothing", [], [])
    assert files(config.vault) == before and History(config.vault).head() == head


def ledger(config: Config) -> dict[str, list[str]]:
    """By topic the outcome of each of its chunks."""
    store = Store(config.store_path)
    found = {
        bucket.name: sorted(one.outcome for one in store.buckets.placed(bucket.name))
        for bucket in store.buckets.all()
    }
    store.close()
    return found


def test_topics_are_listed_and_shown(config: Config) -> None:
    """States, counts and the last day; under any of its names a topic with claims and citations."""
    topics = listed()
    assert set(topics) == {"Lantern project", "Harbor project", "Zeppelin hangar"}
    assert topics["Lantern project"]["state"] == "article"
    assert topics["Lantern project"]["conversations"] == 2
    assert topics["Zeppelin hangar"] | {"last": ""} == {
        "name": "Zeppelin hangar", "article": "", "state": "captured", "merged_into": "",
        "aliases": [], "description": "Zeppelin hangar", "chunks": 1, "conversations": 1,
        "folded": 0, "last": "",
    }  # fmt: skip
    assert [one["name"] for one in json.loads(memory("--state", "captured", "--json"))] == [
        "Zeppelin hangar"
    ]
    assert re.search(r"captured +1 chunk +1 conversation  Zeppelin hangar", memory())
    assert "2026-11-27" in memory()
    told = memory("show", "zeppelin  HANGAR")
    assert LONE in told and re.search(r"\(conv:[0-9a-f]{8,}#1; waiting\)", told)
    shown = json.loads(memory("show", "Lantern project", "--json"))
    assert {one["outcome"] for one in shown["chunks"]} == {"folded"}
    # of four messages and of two, counted from 1 as in a footnote
    assert shown["chunks"][0]["first"] == 1 and shown["chunks"][-1]["last"] == 2
    assert "no topic is in the state" in str(fault("--state", "odd"))


def fault(*arguments: str) -> str:
    """What is wrong with a command, and its mend."""
    done = CliRunner().invoke(app, ["buckets", *arguments])
    assert done.exception is not None and not isinstance(done.exception, SystemExit), done.output
    return f"{done.exception} / {getattr(done.exception, 'mend', '')}"


def test_a_renamed_topic_goes_on_under_its_name(home: Path, config: Config) -> None:
    """Ledger, page and later news follow; the article keeps its place; nothing is folded twice."""
    before = ledger(config)["Lantern project"]
    text = page(config).read_text(encoding="utf-8") + "\nMy own words.\n"
    page(config).write_text(text)
    memory("rename", "Lantern project", "Lantern works")
    row = next(line for line in text.splitlines() if line.startswith("| Lantern"))
    cells = row.split("|")
    cells[1], cells[3] = " Lantern works ", " Lantern project "
    assert page(config).read_text(encoding="utf-8") == text.replace(row, "|".join(cells))
    assert ledger(config)["Lantern works"] == before and "Lantern project" not in ledger(config)
    assert_settled(config)
    write_session(home, "claude-code", SESSION, LATER, [("user", NEWS)])
    run_night(config, script(), at=NIGHT + 9 * DAY)
    assert NEWS in article(config, "Lantern project")
    assert article(config, "Lantern project").count("for 45 days.[^") == 1
    assert_settled(config, NIGHT + 10 * DAY)
    memory("rename", "Lantern project", "Lantern project")  # by its alias, back again
    assert ledger(config)["Lantern project"] == sorted([*before, "folded"])
    assert_settled(config, NIGHT + 11 * DAY)


def test_a_renamed_topic_is_the_same_after_a_rebuild(config: Config) -> None:
    """The journal knows of it, and of what is folded."""
    memory("rename", "Lantern project", "Lantern works")
    memory("merge", "Zeppelin hangar", "Harbor project")
    before = ledger(config)
    config.store_path.unlink()
    rebuild(config)
    assert ledger(config) == before


def test_a_captured_topic_keeps_what_waits(home: Path, config: Config) -> None:
    """Renamed before it has an article: the second conversation brings one, under the new name."""
    memory("rename", "Zeppelin hangar", "Zeppelin hangar lease")
    assert_settled(config)
    said = "The Zeppelin hangar has 4 gates."
    write_session(home, "claude-code", SESSION, LATER, [("user", said)])
    run_night(config, script(**{"has 4 gates": said}), at=NIGHT + 9 * DAY)
    text = article(config, "Zeppelin hangar lease")
    assert LONE in text and said in text
    # the page says so that same night
    assert listed()["Zeppelin hangar lease"]["article"] == "Zeppelin hangar lease"
    assert "| [[Zeppelin hangar lease]] |" in page(config).read_text(encoding="utf-8")
    assert_settled(config, NIGHT + 10 * DAY)


def test_a_merged_topic_takes_what_waits_along(home: Path, config: Config) -> None:
    """What waits is folded into the other article; what is folded stays, with a note; and back."""
    lantern = article(config, "Lantern project")
    memory("merge", "Zeppelin hangar", "Harbor project")
    memory("merge", "Lantern project", "Harbor project")
    assert article(config, "Lantern project") == lantern
    talk = (config.vault / "Talk" / "Lantern project.md").read_text(encoding="utf-8")
    assert "“Harbor project”" in talk
    run_night(config, script(), at=NIGHT + 2 * DAY)
    harbor = article(config, "Harbor project")
    assert LONE in harbor and "for 45 days" not in harbor
    assert_settled(config, NIGHT + 3 * DAY)
    memory("heed", "Lantern project")
    assert set(ledger(config)["Lantern project"]) == {"folded"}
    assert_settled(config, NIGHT + 4 * DAY)
    write_session(home, "claude-code", SESSION, LATER, [("user", NEWS)])
    run_night(config, script(), at=NIGHT + 9 * DAY)
    assert NEWS in article(config, "Lantern project")
    assert "merged into it: Zeppelin hangar\n" in memory("show", "Harbor project")


def test_an_ignored_topic_waits(home: Path, config: Config) -> None:
    """Nothing is written while it is ignored; once it is heeded, what waited is."""
    memory("ignore", "Lantern project")
    assert_settled(config)
    before = article(config, "Lantern project")
    write_session(home, "claude-code", SESSION, LATER, [("user", NEWS)])
    run_night(config, script(), at=NIGHT + 9 * DAY)
    assert article(config, "Lantern project") == before
    memory("heed", "Lantern project")
    run_night(config, script(), at=NIGHT + 10 * DAY)
    assert NEWS in article(config, "Lantern project")
    assert_settled(config, NIGHT + 11 * DAY)


def test_names_and_words_of_a_topic(config: Config) -> None:
    """Aliases come and go, a description is what later conversations are routed by."""
    memory("alias", "Lantern project", "--add", "LP", "--add", "the lamp, mine")
    memory("describe", "Lantern project", "all of | the lamp [[x]]")
    told = json.loads(memory("alias", "LP", "--remove", "lp", "--json"))
    assert told["aliases"] == ["the lamp mine"]
    assert told["description"] == "all of | the lamp [[x]]"
    assert_settled(config)


def test_part_of_a_topic_is_split_off(home: Path, config: Config) -> None:
    """What waits goes over; what is folded stays, or is both's by --folded; and back by a merge."""
    said = "The Zeppelin hangar has 4 gates."
    memory("ignore", "Zeppelin hangar")
    write_session(home, "claude-code", SESSION, LATER, [("user", said)])
    run_night(config, script(**{"has 4 gates": said}), at=NIGHT + 2 * DAY)
    memory("heed", "Zeppelin hangar")
    arguments = ["split", "Zeppelin hangar", "Hangar gates", "--match", "GATES hangar"]
    before = files(config.vault), ledger(config)
    planned = json.loads(memory(*arguments, "--dry-run", "--json"))
    assert (files(config.vault), ledger(config)) == before
    assert planned["new"] and len(planned["moving"]) == 1 and planned["staying"] == []
    memory(*arguments, "--yes")
    assert ledger(config)["Hangar gates"] == [""] == ledger(config)["Zeppelin hangar"]
    told = fault("split", "Lantern project", "Lamp", "--match", "dashboard", "--yes")
    assert "folded into Lantern project" in told and "--folded" in told
    lantern = article(config, "Lantern project")
    memory(
        "split", "Lantern project", "Harbor project", "--match", "dashboard", "--folded", "--yes"
    )
    run_night(config, script(**{"has 4 gates": said}), at=NIGHT + 3 * DAY)
    shared = "The Lantern dashboard shows the queue length of each worker."
    assert shared in article(config, "Harbor project")
    assert prose(article(config, "Lantern project")) == prose(lantern)
    assert_settled(config, NIGHT + 4 * DAY)
    memory("merge", "Hangar gates", "Zeppelin hangar")
    assert len(ledger(config)["Zeppelin hangar"]) == 2


def test_what_cannot_be_is_refused_and_changes_nothing(config: Config) -> None:
    """Unknown and odd names, merges that lead nowhere: what it is, and how to mend it."""
    before, known = files(config.vault, git=True), ledger(config)
    memory("ignore", "Zeppelin hangar")
    after = files(config.vault)
    for arguments, words in (
        (["show", "Lantren project"], "did you mean 'Lantern project'"),
        (["rename", "Nothing of the sort", "x"], "`memory buckets` lists"),
        (["rename", "Lantern project", "harbor  Project"], "a topic called 'Harbor project'"),
        (["rename", "Lantern project", "a/b: c?"], "for instance 'a-b- c'"),
        (["rename", "Lantern project", "..."], "cannot be the name of a file"),
        (["rename", "Lantern project", "<% x %>"], "cannot be the name of a file"),
        (["merge", "Lantern project", "lantern project"], "into itself"),
        (["merge", "Lantern project", "Zeppelin hangar"], "is ignored"),
        (["alias", "Lantern project", "--add", "harbor project"], "called 'Harbor project'"),
        (["alias", "Lantern project", "--remove", "LP"], "has no alias 'LP'"),
        (["alias", "Lantern project"], "say which alias"),
        (["split", "Lantern project", "Lamp"], "--match WORDS"),
        (["split", "Lantern project", "Lamp", "--chunk", "zz"], "begins with 'zz'"),
        (["split", "Lantern project", "Zeppelin hangar", "--match", "dashboard"], "is ignored"),
        (["split", "Lantern project", "Lantern project", "--match", "dashboard"], "itself"),
    ):  # fmt: skip
        assert words in fault(*arguments), arguments
        assert files(config.vault) == after, arguments
    memory("heed", "Zeppelin hangar")
    assert files(config.vault) == {k: v for k, v in before.items() if not k.startswith(".git/")}
    assert ledger(config) == known


def test_what_the_user_wrote_on_the_page_is_obeyed_first(config: Config) -> None:
    """A command finds the topic under the name that was just written there by hand."""
    text = page(config).read_text(encoding="utf-8")
    page(config).write_text(text.replace("| Zeppelin hangar |", "| Airship shed |", 1))
    memory("ignore", "Airship shed")
    assert listed()["Airship shed"]["state"] == "ignored"
    assert "Zeppelin hangar" not in listed()
    assert_settled(config)


def test_a_row_that_the_user_deletes_comes_back_and_is_told_of(config: Config) -> None:
    """With its words and its chunks; the changelog says how a topic is kept out."""
    memory("describe", "Zeppelin hangar", "where it is kept")
    text = page(config).read_text(encoding="utf-8")
    rows = text.splitlines(keepends=True)
    page(config).write_text("".join(row for row in rows if "Zeppelin" not in row))
    known = ledger(config)
    night = run_night(config, script(), at=NIGHT + DAY)
    assert [problem for problem in night.results.problems if "'Zeppelin hangar'" in problem]
    assert "no row any more" in (config.vault / "Meta" / "Changelog.md").read_text("utf-8")
    assert page(config).read_text(encoding="utf-8") == text and ledger(config) == known
    assert_settled(config)


def test_what_is_not_understood_stays_and_is_told_once(config: Config) -> None:
    """The changelog tells it the first night; the words stay in the table until they are mended."""
    text = page(config).read_text(encoding="utf-8")
    odd = text.replace("| captured |", "| perhaps |")
    odd = odd.replace("| article |\n", "| → nowhere |\n", 1)
    page(config).write_text(odd)
    night = run_night(config, script(), at=NIGHT + DAY)
    assert len(night.results.problems) == 2
    told = (config.vault / "Meta" / "Changelog.md").read_text("utf-8")
    assert "'perhaps'" in told and "'nowhere'" in told
    run_night(config, script(), at=NIGHT + 2 * DAY)
    assert (config.vault / "Meta" / "Changelog.md").read_text("utf-8") == told
    assert page(config).read_text(encoding="utf-8") == odd
    assert {one["state"] for one in listed().values()} == {"article", "captured"}
    done = CliRunner().invoke(app, ["buckets"])
    assert "'perhaps'" in done.stderr and "'nowhere'" in done.stderr
    page(config).write_text(text.replace("| captured |", "| ignored |"))
    assert "has edits of yours" in memory()
    page(config).write_text(text)
    assert_settled(config)


def test_while_a_night_runs_nothing_is_decided(config: Config) -> None:
    """The run's lock is respected; looking is free."""
    before = files(config.vault)
    with one_run(config.lock_path):
        assert "another" in fault("ignore", "Lantern project")
        assert "Lantern project" in memory()
    assert files(config.vault) == before


def test_a_held_draft_follows_its_topic(config: Config, home: Path) -> None:
    """Renamed while a draft waits: accepted, it is folded under the new name, once."""
    with assemble.reviewer(config) as reviewer:
        (one,) = reviewer.press.store.buckets.placed("Zeppelin hangar")
        draft = Draft("Z", "Z", "", "Zeppelin hangar", (one.chunk.id,), ())
        folding = Folding("Zeppelin hangar", (one.chunk.id,))
        reviewer.press.store.holds.add("r", draft, None, "x", folding, ["odd"], NIGHT)
    assert "is ignored" not in memory("rename", "Zeppelin hangar", "Shed")
    with assemble.reviewer(config) as reviewer:
        (hold,) = reviewer.press.store.holds.open()
        assert (hold.draft.bucket, hold.folding.bucket) == ("Shed", "Shed")
    assert "held draft" in fault("split", "Shed", "Other", "--match", "hangar", "--yes")


@pytest.mark.parametrize("arguments", [["rename", "{0}", "Lantern works"], ["merge", "{0}", "{1}"]])
def test_a_decision_that_is_cut_off_is_obeyed_by_the_next_night(
    config: Config, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    """The page has it already when the process dies before the store does."""
    before = ledger(config)
    known = before["Lantern project"]
    with monkeypatch.context() as patch:
        for name in ("rename", "merge"):
            patch.setattr(Buckets, name, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        named = [one.format("Lantern project", "Harbor project") for one in arguments]
        CliRunner().invoke(app, ["buckets", *named])
    assert ledger(config)["Lantern project"] == known
    run_night(config, script(), at=NIGHT + DAY)
    after = ledger(config)
    if arguments[0] == "rename":
        assert after["Lantern works"] == known and "Lantern project" not in after
    else:
        assert after["Lantern project"] == []
        assert after["Harbor project"] == known + before["Harbor project"]
    assert_settled(config)


def test_edits_that_are_to_be_left_alone_are(config: Config) -> None:
    """With commit_user_edits off, a page with uncommitted edits is not written, nor overruled."""
    file = config_path()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("commit_user_edits = false\n")
    text = page(config).read_text(encoding="utf-8") + "\nMine.\n"
    page(config).write_text(text)
    known = ledger(config)
    assert "uncommitted edits of yours" in fault("rename", "Lantern project", "Lantern works")
    assert page(config).read_text(encoding="utf-8") == text and ledger(config) == known


def test_a_reason_given_later_goes_to_the_topic_as_it_is_called_now(config: Config) -> None:
    """The commits of a night keep the old name; who takes it back means the topic."""
    memory("rename", "Lantern project", "Lantern works")
    memory("merge", "Harbor project", "Lantern works")
    done = CliRunner().invoke(app, ["undo", "--reason", "it was a trial"])
    assert done.exit_code == 0, done.output
    store = Store(config.store_path)
    assert store.holds.objections("Lantern works", 9) == ["it was a trial"]
    store.close()
    # both articles are gone with that night, and the table says so from the next one on
    run_night(config, script(), at=NIGHT + DAY)
    assert "[[" not in page(config).read_text(encoding="utf-8")
    assert_settled(config)
