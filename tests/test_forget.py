"""What is forgotten is nowhere in our files and does not come back; what is left is told."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from pipeline import assemble
from pipeline.archive import Archive
from pipeline.chronicle import change_line
from pipeline.cli import app
from pipeline.config import Config
from pipeline.errors import ConfigFault
from pipeline.history import History
from pipeline.keeping.backing_up import backup, unfinished
from pipeline.keeping.forgetting import Forgetter, Wanted
from pipeline.keeping.rebuilding import rebuild
from pipeline.keeping.searching import Needles, folded, occurrences, pieces
from pipeline.keeping.striking import strike
from pipeline.publish import publish_talk
from pipeline.records import Change, Draft
from pipeline.store import Store
from pipeline.store.forgetting import Forgetting
from pipeline.store.journal import Journal, journal_files
from pipeline.store.ledger import Folding
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
from tests.test_rebuild import DAY, assert_silent, contents, lose

# what only the conversation says that is forgotten
WORDS = [
    b"the queue length of each worker",
    b"reads the queue length from metrics.json",
    b"dashboard shows the queue",
]


@pytest.fixture(autouse=True)
def own_temporary_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What other processes on this machine leave in theirs is looked at, and is not ours."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("temporary")))


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    config.log_dir.mkdir(parents=True)
    (config.log_dir / "20261128-030000.log").write_text(
        "2026-11-28 refused: The Lantern dashboard shows the queue length of each worker. (why)\n"
        "2026-11-28 ended: done\n"
    )
    return config


def conv_of(config: Config) -> str:
    """The conversation about the dashboard."""
    store = Store(config.store_path)
    (conv,) = store.forgetting.containing("dashboard shows", folded)
    store.close()
    return conv


def memory(*arguments: str, code: int = 0) -> str:
    """What the command prints."""
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.stdout


def owned(config: Config) -> dict[str, bytes]:
    """Every file of ours but the vault, unpacked."""
    found = {}
    for folder in (config.cache_dir, config.data_dir, config.log_dir):
        for name, data in files(folder).items():
            if name.endswith((".zst", ".damaged")):
                reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
                data = reader.read()
            found[f"{folder}/{name}"] = data
    return found


def assert_nowhere(config: Config, words: list[bytes] = WORDS) -> None:
    """None of it in any byte, nor its own words in a search index."""
    for name, data in owned(config).items():
        for piece in words:
            assert piece not in data, name
    store = Store(config.store_path)
    for table, value in store.forgetting.cells():
        assert not any(piece.decode() in value for piece in words), table
    indexed = store._connection.execute(
        "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'dashboard'"
    ).fetchone()
    assert indexed[0] == 0
    store._connection.execute(
        "CREATE VIRTUAL TABLE temp.v USING fts5vocab(main, messages_fts, row)"
    )
    assert not store._connection.execute("SELECT * FROM temp.v WHERE term = 'metrics'").fetchall()
    store.close()


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
    store.ledger.fail("synthesize", "x", quoted, now=NIGHT, pause=DAY, max_attempts=5)
    run = store.runs.last()
    assert run is not None
    store.runs.finish(
        run.id, NIGHT, status="done", vault="", results={"refused": [[quoted, "no “support”"]]}
    )
    store.journal.write()
    store.close()
    memory("forget", conv, "--from-articles", "--yes", code=9)
    assert_nowhere(config)


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


# ------------------------------------------------------------------ what a loss brings with it


def test_it_does_not_come_back_by_the_commits(config: Config) -> None:
    """Database and journal damaged after it: the commits tell of it, and are not believed."""
    conv = conv_of(config)
    memory("forget", conv, "--from-articles", "--yes", code=9)
    run_night(config, at=NIGHT + DAY)
    path = journal_files(config.journal_dir)[-1]
    path.write_bytes(path.read_bytes()[:-5])  # commits are asked then
    lose(config)
    rebuild(config)
    assert_nowhere(config)
    store = Store(config.store_path)
    assert store.soundness.orphans() == []
    store.close()
    assert_silent(config, at=2 * DAY)


def test_the_commits_tell_what_was_forgotten_where_nothing_else_does(config: Config) -> None:
    """Database and journal are gone, the transcript is not: it is not read again."""
    conv = conv_of(config)
    memory("forget", conv, "--from-articles", "--yes", code=9)
    pages = files(config.vault / "articles")
    lose(config)
    shutil.rmtree(config.journal_dir)
    rebuild(config)
    assert_nowhere(config)
    run_night(config, at=NIGHT + DAY)
    assert_nowhere(config)
    assert files(config.vault / "articles") == pages
    store = Store(config.store_path)
    assert store.conversations.counts()["conversations"] == 3
    store.close()


def test_what_stands_in_an_article_stays_known_as_ours(config: Config) -> None:
    """Forgotten without its sentences, and the database lost: they can be struck out still."""
    conv = conv_of(config)
    memory("forget", conv, "--yes", code=9)
    lose(config)
    for path in journal_files(config.journal_dir):
        path.write_bytes(path.read_bytes()[:-5])
    rebuild(config)
    memory("forget", conv, "--from-articles", "--yes", code=9)
    assert_nowhere(config)
    assert b"queue length" not in b"".join(files(config.vault / "articles").values())


def test_what_killed_commands_left_behind_goes_too(config: Config, tmp_path: Path) -> None:
    """Half archives, half databases, half restores, half pages; a half backup is named."""
    conv = conv_of(config)
    quoted = "The Lantern dashboard shows the queue length of each worker."
    (archived,) = config.archive_dir.rglob(f"{conv}.jsonl.zst")
    packed = archived.read_bytes()
    halves = [
        archived.with_name(f".{archived.name}.part"),
        config.cache_dir / "rebuilding" / "memory.sqlite",
        config.vault / ".git" / "nightly-memory" / "page-99",
        config.data_dir.with_name(f".{config.data_dir.name}.restoring") / "archive" / "x",
        config.cache_dir / ".memory.sqlite.restoring",
        config.vault.with_name(".MemoryVault.restoring") / "articles" / "x.md",
    ]
    for half in halves:
        half.parent.mkdir(parents=True, exist_ok=True)
        half.write_bytes(packed if "archive" in str(half) else quoted.encode())
    backup(config, tmp_path / "disk")
    (made,) = (tmp_path / "disk").iterdir()
    made.rename(unfinished(made))
    told = json.loads(memory("forget", conv, "--from-articles", "--yes", "--json", code=9))
    assert not [half for half in halves if half.exists()]
    assert_nowhere(config)
    assert str(unfinished(made)) in [place for place, _ in told["left"]]


@pytest.fixture
def hangar(config: Config, home: Path) -> Config:
    """A third topic, named after what one conversation says; it has no article."""
    said = [("user", "The Zeppelin hangar of Otto Brandt is leased until 2031.")]
    write_session(home, "pi", "01a227e0-11a7-7b0c-92c2-99aa37193caa", NIGHT, said)
    script = Script(
        overrides={
            "cluster/name": lambda _: "Zeppelin hangar of Otto Brandt",
            "chunk/label": lambda _: "Lease of the Zeppelin hangar of Otto Brandt",
            "cluster/route": lambda _: "none of these",
        }
    )
    run_night(config, script, at=NIGHT + DAY)
    assert "| Zeppelin hangar of Otto Brandt |" in buckets_page(config).read_text()
    return config


def buckets_page(config: Config) -> Path:
    """Where the user says of topics what they want."""
    return config.vault / "Meta" / "Buckets.md"


def test_a_topic_named_after_it_goes_too(hangar: Config) -> None:
    """Nothing else was said of it: its row goes, and it does not come back."""
    told = json.loads(
        memory("forget", "--match", "Otto Brandt", "--from-articles", "--yes", "--json", code=9)
    )
    assert told["topics"] == ["Zeppelin hangar of Otto Brandt"]
    for name, data in {**owned(hangar), **files(hangar.vault)}.items():
        assert b"Brandt" not in data, name
    assert_silent(hangar, at=2 * DAY)
    assert "Harbor project" in buckets_page(hangar).read_text()


@pytest.mark.parametrize(
    "decided",
    [
        ["merge", "Zeppelin hangar of Otto Brandt", "Harbor project"],
        ["split", "Zeppelin hangar of Otto Brandt", "Lease", "--match", "leased", "--yes"],
    ],
)
def test_a_topic_that_was_emptied_goes_with_what_it_was_named_after(
    hangar: Config, decided: list[str]
) -> None:
    """Its chunk is another topic's by then, and its row would come back if the user deleted it."""
    memory("buckets", *decided)
    memory("forget", "--match", "Otto Brandt", "--from-articles", "--yes", code=9)
    for name, data in {**owned(hangar), **files(hangar.vault)}.items():
        assert b"Brandt" not in data, name
    assert_silent(hangar, at=2 * DAY)


def test_an_emptied_topic_that_others_speak_of_stays(hangar: Config, home: Path) -> None:
    """What the user wants of it still holds for what is said elsewhere."""
    said = [("user", "Otto told me that the Zeppelin hangar of Otto Brandt has a new roof.")]
    write_session(home, "pi", "01a227e0-11a7-7b0c-92c2-99aa37193cbb", NIGHT, said)
    run_night(hangar, at=NIGHT + DAY + DAY / 2)
    memory("buckets", "merge", "Zeppelin hangar of Otto Brandt", "Harbor project")
    memory("forget", "--match", "leased until", "--from-articles", "--yes", code=9)
    (row,) = [r for r in buckets_page(hangar).read_text().splitlines() if "| Zeppelin" in r]
    assert row.endswith("| → Harbor project |")


def test_a_topic_that_the_user_wrote_of_keeps_its_row(hangar: Config) -> None:
    """Their words stay, and are named; without --from-articles every row does."""
    page = buckets_page(hangar)
    row = next(line for line in page.read_text().splitlines() if "Zeppelin" in line)
    cells = row.split("|")
    cells[3:5] = [" airship ", " where I keep it "]
    page.write_text(page.read_text().replace(row, "|".join(cells)))
    run_night(hangar, at=NIGHT + DAY)
    memory("forget", "--match", "Otto Brandt", "--yes", code=9)
    run_night(hangar, at=NIGHT + 2 * DAY)
    assert "where I keep it" in page.read_text()
    told = json.loads(
        memory("forget", "--match", "Otto Brandt", "--from-articles", "--yes", "--json", code=9)
    )
    assert "where I keep it" in page.read_text() and "airship" in page.read_text()
    assert "Meta/Buckets.md" in [place for place, _ in told["left"]]
    assert_silent(hangar, at=3 * DAY)


def test_copies_that_a_syncing_program_made_garble_nothing(config: Config) -> None:
    """They are no conversations and no part of the journal, and go with what is forgotten."""
    conv = conv_of(config)
    (archived,) = config.archive_dir.rglob(f"{conv}.jsonl.zst")
    (written,) = journal_files(config.journal_dir)
    for path in (archived, written):
        for other in (" 2.jsonl.zst", ".sync-conflict-1.jsonl.zst"):
            shutil.copy2(path, path.with_name(path.name.replace(".jsonl.zst", other)))
    before = contents(config.store_path)
    lose(config)
    assert rebuild(config).problems == ()
    assert contents(config.store_path) == before
    memory("forget", conv, "--from-articles", "--yes", code=9)
    assert_nowhere(config)


def test_an_archive_file_under_another_name_is_told_of(config: Config) -> None:
    """Its messages are not taken for those of the conversation it is named after."""
    conv = conv_of(config)
    (archived,) = config.archive_dir.rglob(f"{conv}.jsonl.zst")
    shutil.copy2(archived, archived.with_name("0badc0de.jsonl.zst"))
    before = contents(config.store_path)
    lose(config)
    assert any("0badc0de" in problem for problem in rebuild(config).problems)
    assert contents(config.store_path) == before


def test_copies_of_a_killed_dry_run_are_named(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They lie where temporary files do, and are whoever's who runs one now: not ours to delete."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    copies = tmp_path / "nightly-memory-abc" / "cache" / "memory.sqlite"
    copies.parent.mkdir(parents=True)
    shutil.copy2(config.store_path, copies)
    told = json.loads(
        memory("forget", conv_of(config), "--from-articles", "--yes", "--json", code=9)
    )
    assert str(tmp_path / "nightly-memory-abc") in [place for place, _ in told["left"]]


def test_a_vault_moved_aside_is_named_whatever_it_is_called(config: Config, home: Path) -> None:
    """Also where its name means something to a shell."""
    odd = config.vault.rename(home / "wiki [a*]")
    (home / "wiki [a*].before-20000131-030000").mkdir()
    told = json.loads(
        memory("forget", conv_of(config), "--vault", str(odd), "--yes", "--json", code=9)
    )
    assert str(home / "wiki [a*].before-20000131-030000") in [place for place, _ in told["left"]]


def test_the_changelog_tells_of_a_change_whose_source_is_forgotten(config: Config) -> None:
    """A line without a source, and with the id alone where the archive lost it."""
    store = Store(config.store_path)
    change = Change("r", "A", "A", "c", "new", 1, 0, 0, (), ())
    assert change_line(change, store, None) == "- new [[A]]: 1 claim"
    lost = replace(change, convs=("00000000",))
    assert change_line(lost, store, None) == "- new [[A]]: 1 claim from `conv:00000000`"
    store.close()


@settings(max_examples=80)
@given(
    st.text("abc äß日本", min_size=24, max_size=200),
    st.binary(max_size=40),
    st.binary(max_size=40),
)
def test_no_place_hides_a_piece(text: str, before: bytes, after: bytes) -> None:
    """Between any bytes, at any offset: each piece of a text is found where the text stands."""
    wanted = pieces([text])
    found = Needles(wanted).found(before + text.encode() + after)
    assert found == wanted
    assert Needles(wanted).in_texts(["x", text, "y"]) == wanted


def test_a_piece_is_found_wherever_it_stands() -> None:
    """At any offset, plain or within JSON; and only if it is there."""
    text = "The harbour was closed for 12 days.\nDer Hafen war zwölf Tage lang geschlossen."
    needles = Needles(pieces([text]))
    for offset in range(20):
        assert needles.said("-" * offset + text.splitlines()[0] + "…")
    assert not needles.said("The harbour was open. Der Hafen war")
    assert needles.said(json.dumps({"a": ["b", text]}, ensure_ascii=False))
    assert Needles((), [b"xyz"]).said("a xyz b")
    assert not Needles((), [b"xyz"]).said("a xy z b")


# ------------------------------------------------------------------ struck out of a page

GONE, STAYS = "aaaaaaaa", "bbbbbbbb"
_NOTES = {
    "1": f"`conv:{GONE}` (2000-01-31, pi, message 1) — what was asked",
    "2": f"`conv:{STAYS}` (2000-01-31, pi, message 2) — something else",
    "3": f"`conv:{GONE}` (2000-01-31, pi, messages 3–4) — what was asked",
    "own": "my own note",
}
_MARKS = st.sampled_from(
    [(), ("1",), ("2",), ("3",), ("1", "3"), ("1", "2"), ("own",), ("1", "own")]
)
_PARAGRAPH = st.lists(st.tuples(_MARKS, st.booleans()), min_size=1, max_size=4)
_OTHER = st.sampled_from(
    [
        "```c\nint a[^1];\n```\n",
        "- one[^1]\n- two\n",
        "> quoted[^1]\n",
        "## Heading\n",
        "| a |\n|---|\n| b[^1] |\n",
    ]
)
_PAGE = st.lists(st.one_of(_PARAGRAPH, _OTHER), max_size=8)


@settings(max_examples=60, deadline=None)
@given(_PAGE, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_page_loses_only_what_rests_on_the_forgotten(
    parts: list[str | list[tuple[tuple[str, ...], bool]]], nl: str, history: bool
) -> None:
    """Ours that cite nothing else go; every other sentence and block stays as it was, in order."""
    blocks: list[str] = []
    ours: set[str] = set()
    gone: list[str] = []
    stay: list[str] = []
    number = 0
    for part in parts:
        if isinstance(part, str):
            blocks.append(part)
            continue
        line = []
        for labels, written in part:
            number += 1
            text = f"The sentence {number} says this."
            line.append(text + "".join(f"[^{label}]" for label in labels))
            if written:
                ours.add(text)
            goes = written and labels and set(labels) <= {"1", "3"}
            (gone if goes else stay).append(text)
        blocks.append(" ".join(line) + "\n")
    if history:
        ours.add("It was so before.")
        gone.append("It was so before.")
        blocks.append("## History\n")
        blocks.append("- 2000-01-01: It was so before.[^1]\n- 1999-01-01: And so.[^2]\n")
    notes = "".join(f"[^{label}]: {note}\n" for label, note in _NOTES.items())
    text = "# Page\n\n" + "\n".join([*blocks, "## References\n", notes])
    text = text.replace("\n", nl)
    done = strike(text, {GONE}, ours.__contains__, today="2000-02-01", paragraph_sentences=4)
    stuck = {sentence for sentence, why in done.kept if "neighbours" in why}
    assert sorted(done.sentences) == sorted(set(gone) - stuck)
    left = [s for s in [*stay, *gone] if s in done.after]
    assert left == [s for s in [*stay, *gone] if s not in done.sentences]
    for block in blocks:
        if not block.startswith(("The", "##", "- 2000")):
            assert block.replace("\n", nl) in done.after
    assert "what was asked" not in done.after
    assert "my own note" in done.after and "something else" in done.after
    again = strike(done.after, {GONE}, ours.__contains__, today="2000-02-01", paragraph_sentences=4)
    assert again.after == done.after or stuck
    if not gone:
        own = [line for line in text.splitlines(True) if not line.startswith(("[^1]:", "[^3]:"))]
        now = done.after.splitlines(True)
        assert own == [line for line in now if not line.startswith(("[^1]:", "[^3]:"))]
