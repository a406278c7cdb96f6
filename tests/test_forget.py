"""What is forgotten is nowhere in our files and does not come back; what is left is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline import assemble
from pipeline.archive import Archive
from pipeline.cli import app
from pipeline.config import Config
from pipeline.errors import ConfigFault
from pipeline.history import History
from pipeline.keeping.forgetting import Forgetter, Wanted
from pipeline.keeping.rebuilding import rebuild
from pipeline.keeping.searching import folded, occurrences
from pipeline.publish import publish_talk
from pipeline.records import Draft
from pipeline.store import Store
from pipeline.store.forgetting import Forgetting
from pipeline.store.journal import Journal
from pipeline.store.ledger import Folding
from tests.support_command import printed as memory
from tests.support_forget import (
    WORDS,
    assert_nowhere,
    config,
    conv_of,
    own_temporary_folder,
    owned,
)
from tests.support_night import (
    CONVERSATIONS,
    NIGHT,
    Script,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)
from tests.support_rebuild import DAY, assert_silent, lose

__all__ = ["config", "own_temporary_folder"]  # fixtures


def test_every_byte_is_gone_with_the_sentences(config: Config, home: Path) -> None:
    """Store, WAL, index, archive, journal, log and articles; what is left is named."""
    conv = conv_of(config)
    told = json.loads(
        memory("forget", f"conv:{conv}", "--from-articles", "--yes", "--json", code=9)
    )
    assert_nowhere(config)
    pages = b"".join(data for name, data in files(config.vault).items() if name.endswith(".md"))
    assert not any(piece in pages for piece in WORDS)
    assert b"keeps sessions for 45 days" in pages
    assert not Archive(config.archive_dir).has(conv)
    places = [place for place, _ in told["left"]]
    assert any(place.endswith(".jsonl") and str(home) in place for place in places)
    assert any(place.endswith(".git") for place in places)
    assert len(places) == 2
    store = Store(config.store_path)
    assert store.soundness.orphans() == []
    assert store.soundness.indexes_out_of_step() == []
    store.close()
    log = (config.log_dir / "20261128-030000.log").read_text()
    assert log == "2026-11-28 ended: done\n"


def test_it_does_not_come_back(config: Config, home: Path) -> None:
    """Neither from its transcript, grown or touched or forked, nor after a rebuild."""
    conv = conv_of(config)
    memory("forget", conv, "--from-articles", "--yes", code=9)
    assert_silent(config, at=DAY)
    lose(config)
    rebuild(config)
    assert_nowhere(config)
    (transcript,) = home.rglob("*01a227e0-11a7*.jsonl")
    grown = transcript.read_text()
    transcript.write_text(grown + "\n")
    assert_silent(config, at=2 * DAY)
    kind, _, start, said = CONVERSATIONS[2]
    # a fork: the same messages under another id, and something new
    more = ("user", "The Lantern dashboard is called Beacon now.")
    write_session(home, kind, "01a227e0-11a7-7b0c-92c2-99aa37193cff", start, [*said, more])
    night = run_night(config, at=NIGHT + 3 * DAY)
    assert night.results.counts["messages"] == 1
    for name, data in owned(config).items():
        assert not any(piece in data for piece in WORDS), name


def test_without_from_articles_the_pages_stay(config: Config) -> None:
    """They are listed with the command that changes them; the rest is gone all the same."""
    conv = conv_of(config)
    before, head = files(config.vault), History(config.vault).head()
    told = json.loads(memory("forget", conv, "--yes", "--json", code=9))
    assert files(config.vault) == before and History(config.vault).head() == head
    assert any("--from-articles" in advice for _, advice in told["left"])
    assert all("memory.sqlite" not in place for place, _ in told["left"])
    store = Store(config.store_path)
    assert store.conversations.find(conv) is None
    store.close()
    # and its article can be added to as before
    session = "01a227e0-11a7-7b0c-92c2-99aa37193caa"
    said = [("user", "The Lantern worker restarts hourly.")]
    write_session(Path.home(), "pi", session, NIGHT, said)
    claims = {"worker restarts": [("The Lantern worker restarts hourly.", "fact")]}
    night = run_night(config, Script(claims=claims), at=NIGHT + DAY)
    assert night.results.rejected == []
    lantern = next((config.vault / "articles").glob("Lantern*")).read_text()
    assert "restarts hourly" in lantern
    assert "queue length" in lantern


def test_the_sentences_can_be_struck_out_later(config: Config) -> None:
    """A second call with the text finds what the first left in the pages."""
    memory("forget", conv_of(config), "--yes", code=9)
    told = json.loads(
        memory("forget", "--match", "queue length", "--from-articles", "--yes", "--json", code=9)
    )
    # the conversation is not known any more, so the pages' own citations decide
    assert "articles/Lantern project.md" in told["pages"]


def test_the_conversation_can_be_named_again(config: Config) -> None:
    """Forgotten without its sentences, it is known by what the vault's commits say of it."""
    conv = conv_of(config)
    memory("forget", conv, "--yes", code=9)
    memory("forget", f"conv:{conv}", "--from-articles", "--yes", code=9)
    pages = b"".join(files(config.vault / "articles").values())
    assert not any(piece in pages for piece in WORDS)
    assert_nowhere(config)


def test_what_stands_nearly_everywhere_is_not_forgotten(config: Config) -> None:
    """A text of a letter or two would take every conversation with it."""
    done = CliRunner().invoke(app, ["forget", "--match", " e ", "--yes"])
    assert isinstance(done.exception, ConfigFault)
    store = Store(config.store_path)
    assert store.conversations.counts()["conversations"] == 4
    store.close()


def test_a_sentence_of_the_user_stays(config: Config) -> None:
    """Also one that cites the conversation; a sentence with another source stays without it."""
    conv = conv_of(config)
    page = next((config.vault / "articles").glob("Lantern*"))
    text = page.read_text()
    label = next(
        line.partition("[^")[2].partition("]")[0]
        for line in text.splitlines()
        if line.startswith("[^") and f"conv:{conv}" in line
    )
    mine = f"I like the dashboard best.[^{label}]"
    head, mark, rest = text.partition("## References")
    page.write_text(f"{head}{mine}\n\n{mark}{rest}")
    told = json.loads(memory("forget", conv, "--from-articles", "--yes", "--json", code=9))
    assert mine in page.read_text()
    assert ["articles/Lantern project.md", "I like the dashboard best.", "it is yours"] in told[
        "kept"
    ]


def test_talk_and_changelog_lose_what_quotes_it(config: Config) -> None:
    """Entries of ours and titles; the user's own lines stay, and are named as left."""
    conv = conv_of(config)
    quoted = "The Lantern dashboard shows the queue length of each worker."
    stem = "Lantern project"
    with assemble.reviewer(config, now=lambda: NIGHT) as reviewer:
        publish_talk(
            reviewer.press,
            stem,
            stem,
            [f"{quoted} (`conv:{conv}`, 2026-11-27) The article says: more.", "Another matter."],
            run="r",
            at=NIGHT,
            trailers={"Run": "r"},
        )
        reviewer.press.store.journal.write()
    talk = config.vault / "Talk" / f"{stem}.md"
    talk.write_text(talk.read_text() + f"- I doubt it: {quoted}\n")
    rules = config.vault / "Meta" / "Editorial_Guidelines.md"
    rules.write_text(rules.read_text() + f"\n- Never write: {quoted}\n")
    told = json.loads(memory("forget", conv, "--from-articles", "--yes", "--json", code=9))
    assert talk.read_text().splitlines()[-2:] == ["- Another matter.", f"- I doubt it: {quoted}"]
    assert quoted in rules.read_text()
    left = [place for place, _ in told["left"]]
    assert "Talk/Lantern project.md" in left and "Meta/Editorial_Guidelines.md" in left
    changelog = (config.vault / "Meta" / "Changelog.md").read_text()
    assert f"`conv:{conv}` (2026-11-27, pi)" in changelog and "queue" not in changelog


def test_what_is_made_of_it_goes_too(config: Config) -> None:
    """Held drafts, results of runs, reasons of failed jobs and the user's reasons that quote it."""
    conv = conv_of(config)
    quoted = "The Lantern dashboard shows the queue length of each worker."
    store = Store(config.store_path, config.journal_dir)
    store.holds.add(
        "r", Draft("A", "A", "", "A", (), ()), None, quoted, Folding(), ("growth",), NIGHT
    )
    store.holds.object("Lantern project", f"I never said: {quoted}", NIGHT)
    store.attempts.fail("synthesize", "x", quoted, now=NIGHT, pause=DAY, max_attempts=5)
    run = store.runs.last()
    assert run is not None
    store.runs.finish(
        run.id, NIGHT, status="done", vault="", results={"refused": [[quoted, "no “support”"]]}
    )
    store.journal.write()
    store.close()
    memory("forget", conv, "--from-articles", "--yes", code=9)
    assert_nowhere(config)


def test_it_is_struck_from_a_page_that_was_just_renamed(config: Config) -> None:
    """What we wrote there is ours under the new name too, before any night has seen that."""
    conv = conv_of(config)
    page = config.vault / "articles" / "Lantern project.md"
    page = page.rename(page.with_stem("Notes on the lantern"))
    memory("forget", conv, "--from-articles", "--yes", code=9)
    text = page.read_text("utf-8")
    assert "The Lantern dashboard shows" not in text
    assert "The Lantern retention job keeps sessions for 45 days." in text


def test_a_text_is_forgotten_in_every_conversation_that_holds_it(config: Config) -> None:
    """Whatever its case; conversations without it stay."""
    memory("forget", "--match", "AMINA okafor", "--from-articles", "--yes", code=9)
    for name, data in owned(config).items():
        assert b"amina" not in data.lower(), name
    pages = b"".join(files(config.vault / "articles").values())
    assert b"Amina" not in pages and b"larger than 2 GB" in pages
    store = Store(config.store_path)
    assert store.conversations.counts()["conversations"] == 3
    store.close()


def test_a_project_is_forgotten(config: Config) -> None:
    """By its folder: every conversation of it, and nothing of another."""
    store = Store(config.store_path)
    (project,) = {
        store.conversations.get(conv).project for conv in Archive(config.archive_dir).convs()
    }
    store.close()
    told = json.loads(memory("forget", "--project", project, "--dry-run", "--json"))
    assert len(told["conversations"]) == 4
    done = CliRunner().invoke(app, ["forget", "--project", "/nowhere", "--yes"])
    assert isinstance(done.exception, ConfigFault)


def test_a_dry_run_only_tells(config: Config) -> None:
    """The sentences, the commits; no byte changes, nothing is asked."""
    before = owned(config), files(config.vault, git=True)
    out = memory("forget", conv_of(config), "--dry-run")
    assert "The Lantern dashboard shows the queue length of each worker." in out
    assert "commit " in out
    after = owned(config), files(config.vault, git=True)
    assert {k: v for k, v in after[0].items() if "run.lock" not in k} == {
        k: v for k, v in before[0].items() if "run.lock" not in k
    }
    assert after[1] == before[1]


def test_it_asks_first(config: Config) -> None:
    """No is no."""
    before = owned(config)
    conv = conv_of(config)
    done = CliRunner().invoke(app, ["forget", conv], input="n\n")
    assert done.exit_code == 1
    store = Store(config.store_path)
    assert store.conversations.find(conv) is not None
    store.close()
    assert before.keys() <= owned(config).keys()


@pytest.mark.parametrize("step", ["remove", "erase", "rewrite", "clean", "finish"])
def test_killed_at_any_step_it_is_finished_by_the_next(
    config: Config, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command goes on; in between nothing of it is read or folded again."""
    conv = conv_of(config)
    owner = {"remove": Archive, "rewrite": Journal}.get(step, Forgetting)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(owner, step, killed)
        store = Store(config.store_path, config.journal_dir)
        forgetter = Forgetter(config, store, now=lambda: NIGHT + DAY)
        forgetter.forget(forgetter.plan(Wanted(conv=conv)), from_articles=True)
    store.close()
    run_night(config, at=NIGHT + DAY)
    memory("forget", conv, "--from-articles", "--yes", code=9)
    assert_nowhere(config)


def test_old_databases_and_backups_are_not_overlooked(config: Config, tmp_path: Path) -> None:
    """A database moved aside is deleted with it; a backup is named."""
    rebuild(config)
    memory("backup", str(tmp_path / "disk"))
    told = json.loads(
        memory("forget", conv_of(config), "--from-articles", "--yes", "--json", code=9)
    )
    assert len(told["deleted"]) == 1
    assert_nowhere(config)
    assert any(str(tmp_path / "disk") in place for place, _ in told["left"])


def test_the_search_finds_what_was_missed(config: Config) -> None:
    """A file of ours that nobody thought of is named, and the exit code tells."""
    (config.data_dir / "notes.txt").write_text(
        "x" * 5000 + " The Lantern dashboard shows the queue length of each worker."
    )
    told = json.loads(
        memory("forget", conv_of(config), "--from-articles", "--yes", "--json", code=9)
    )
    assert any(place.endswith("notes.txt") for place, _ in told["left"])


def test_the_export_it_came_in_is_named(config: Config, tmp_path: Path) -> None:
    """An export holds many conversations; the imported files of its source may hold this one."""
    export = tmp_path / "conversations.json"
    export.write_text("[]")
    store = Store(config.store_path, config.journal_dir)
    store.conversations.remember_import(export, "pi", NIGHT)
    store.journal.write()
    store.close()
    told = json.loads(memory("forget", conv_of(config), "--yes", "--json", code=9))
    assert any(place == str(export) for place, _ in told["left"])


def test_nothing_is_left_where_nothing_is(home: Path) -> None:
    """Without a vault that cites it and with the transcript gone, the exit code is 0."""
    write_sessions(home)
    config = make_vault()
    run_night(config, only="ingest")
    shutil.rmtree(home / ".pi")
    shutil.rmtree(home / ".claude")
    out = memory("forget", conv_of(config), "--yes")
    assert "no file holds a piece" in out
    assert_nowhere(config)


# ------------------------------------------------------------------ how it is named


@pytest.mark.parametrize(
    "match",
    [
        "Ünïted   CAFÉ (v1.*) [a|b]?",
        "u\u0308ni\u0308ted cafe\u0301 (v1.*) [a|b]?",
        "ünïted\ncafé (v1.*) [a|b]?",
    ],
)
def test_a_text_is_found_however_it_is_written(config: Config, home: Path, match: str) -> None:
    """Case, form of letters and line breaks aside; what looks like a pattern is none."""
    session = "01a227e0-11a7-7b0c-92c2-99aa37193cbb"
    said = [
        ("user", "In the Lantern project: the cafe\u0301 is u\u0308nited, not (v1.*)."),
        ("user", "The Lantern: ünïted\n  cafe\u0301 (v1.*) [a|b]? and no more of that."),
    ]
    write_session(home, "pi", session, NIGHT, said)
    run_night(config, at=NIGHT + DAY)
    note = config.vault / "notes.canvas"
    note.write_text("mine: ünïted\n  cafe\u0301 (v1.*) [a|b]?")
    mine = config.vault / "Mine.md"
    mine.write_text("ünïted café (v1.*) [a|b]? is what I wrote\n")
    History(config.vault).commit_user_edits(["Mine.md"])
    told = json.loads(
        memory("forget", "--match", match, "--from-articles", "--yes", "--json", code=9)
    )
    assert len(told["conversations"]) == 1
    places = [place for place, _ in told["left"]]
    assert "notes.canvas" in places and "Mine.md" in places
    assert any(place.endswith(".git") for place in places)
    assert mine.read_text().startswith("ünïted café")
    for name, data in owned(config).items():
        assert "ünïted".encode() not in data, name


def test_two_writings_of_the_same_words_are_one() -> None:
    """And each form in which a text stands is looked for."""
    assert folded("STRASSE\n x") == folded("straße x")
    assert folded("e\u0301") == folded("É")
    found = occurrences("straße x", ["die STRASSE\n\tx, die Straße  x"])
    assert {"STRASSE\n\tx", "Straße  x"} <= set(found)
    assert occurrences("", ["x"]) == []


def test_a_project_is_named_from_within(
    config: Config, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worktree, a subfolder, a link to it, `.`: all mean the repository; `/` means nothing."""
    repository = tmp_path / "kiln"
    (repository / ".git" / "worktrees" / "side").mkdir(parents=True)
    (repository / "src").mkdir()
    tree = tmp_path / "side"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {repository}/.git/worktrees/side\n")
    (tmp_path / "link").symlink_to(repository)
    store = Store(config.store_path, config.journal_dir)
    conv = conv_of(config)
    store._connection.execute(
        "UPDATE conversations SET project = ? WHERE conv = ?", (str(repository), conv)
    )
    store._connection.execute("UPDATE conversations SET project = '' WHERE conv != ?", (conv,))
    store.close()
    monkeypatch.chdir(repository / "src")
    for named in (str(tree), str(repository / "src"), str(tmp_path / "link"), ".", "kiln"):
        told = json.loads(memory("forget", "--project", named, "--dry-run", "--json"))
        assert told["conversations"] == [conv], named
    for named in ("/", "//"):
        done = CliRunner().invoke(app, ["forget", "--project", named, "--yes"])
        assert isinstance(done.exception, ConfigFault)
