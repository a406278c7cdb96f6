"""What is forgotten does not come back by a loss, and goes from what losses and others left."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.chronicle import change_line
from pipeline.config import Config
from pipeline.keeping.backing_up import backup, unfinished
from pipeline.keeping.proving import holding
from pipeline.keeping.rebuilding import rebuild
from pipeline.keeping.searching import Needles
from pipeline.keeping.striking import strike_lines
from pipeline.models import Ask
from pipeline.records import Change
from pipeline.store import Store
from pipeline.store.journal import journal_files
from tests.support_command import printed as memory
from tests.support_forget import (
    assert_nowhere,
    config,
    conv_of,
    own_temporary_folder,
    owned,
)
from tests.support_night import (
    NIGHT,
    Script,
    files,
    run_night,
    write_session,
)
from tests.support_rebuild import DAY, assert_silent, contents, lose

__all__ = ["config", "own_temporary_folder"]  # fixtures


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


@pytest.mark.parametrize("arrow", ["→ {}", "-> **{}**", "← {}: leased", "← [[{}]]: leased"])
def test_an_arrow_that_leads_to_it_goes_too(config: Config, home: Path, arrow: str) -> None:
    """As the user wrote it by day, no night obeyed it, and nobody said what the topic is called."""
    said = [("user", "The Zeppelin hangar of Otto Brandt is leased until 2031.")]
    write_session(home, "pi", "01a227e0-11a7-7b0c-92c2-99aa37193caa", NIGHT, said)
    called = {"cluster/name": "Airship shelter", "cluster/route": "none of these"}
    named = {purpose: lambda _, reply=reply: reply for purpose, reply in called.items()}
    run_night(config, Script(overrides=named), at=NIGHT + DAY)
    page = buckets_page(config)
    row = next(line for line in page.read_text().splitlines() if "| Harbor project |" in line)
    asked = f"{row.rsplit('|', 2)[0]}| {arrow.format('Airship shelter')} |"
    page.write_text(page.read_text().replace(row, asked))
    memory("forget", "--match", "Otto Brandt", "--from-articles", "--yes", code=9)
    assert "| Harbor project |" in page.read_text()
    assert "Airship" not in page.read_text()


@pytest.mark.parametrize(
    "cell", ["→ Home: kitchen", "← Home: kitchen: sink", "→ Home and more", "Home", "← Homes: sink"]
)
def test_an_arrow_to_another_topic_is_none_to_it(cell: str) -> None:
    """One whose name begins alike, as the page has it: what the user decided there stands."""
    rows = "| Home |  |  |  | captured |\n| Home: kitchen |  |  |  | captured |\n"
    asked = f"| Plans |  |  |  | {cell} |\n"
    after = strike_lines(rows + asked, (), lambda _: False, lambda _: True, {"Home": ""})
    assert after == rows.split("\n", 1)[1] + asked


def test_what_could_not_be_read_is_told_without_what_was_said(config: Config, home: Path) -> None:
    """One of three answers: the night says so in words that nobody has to forget."""
    said = [("user", f"The crane number {n} of the Quarry lifts {n}0 tons.") for n in (4, 5, 6)]
    write_session(home, "pi", "01a227e0-11a7-7b0c-92c2-99aa37193cdd", NIGHT, said)

    def answer(ask: Ask) -> str:
        return "so far so good" if "number 5" in ask.prompt else json.dumps({"claims": []})

    night = run_night(config, Script(overrides={"synthesize/claims": answer}), at=NIGHT + DAY)
    (told,) = (one for one in night.results.problems if "1 of 3 parts" in one)
    assert re.search(r"conv:\w+", told) and "Quarry" not in told and not night.results.rejected
    assert told in (config.vault / "Meta" / "Changelog.md").read_text(encoding="utf-8")


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


def test_a_search_beside_it_takes_nothing_away(config: Config) -> None:
    """The database is looked through byte by byte, and stays locked: what another program closes
    is not taken for the last that was open, with what is still to be written."""
    store = Store(config.store_path, config.journal_dir)
    assert list(holding(config, store, Needles([b"said by nobody at all"]))) == []
    other = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.close()"
    )
    looked = "SELECT count(*) FROM messages"
    subprocess.run([sys.executable, "-c", other, str(config.store_path), looked], check=True)
    store._connection.execute("CREATE TABLE written_last (x)")
    told = subprocess.run(
        [sys.executable, "-c", other, str(config.store_path), "SELECT * FROM written_last"],
        check=False,
        capture_output=True,
    )
    store.close()
    assert told.returncode == 0, told.stderr
    assert "written_last" in contents(config.store_path)
