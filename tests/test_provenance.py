"""Every citation of the wiki opens: `memory source`, and `memory sources` over what is read."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest

from pipeline.config import config_path, load_config
from pipeline.store import Store
from tests.support_command import memory
from tests.support_night import NIGHT, make_vault, run_night, write_sessions


@pytest.fixture
def vault(home: Path) -> Path:
    """A vault after one night."""
    config = make_vault()
    write_sessions(home)
    run_night(config)
    return config.vault


def test_each_footnote_opens_what_it_cites(vault: Path) -> None:
    """The sentence's words stand in the cited message, with what was said around it."""
    page = next((vault / "articles").glob("Harbor*")).read_text()
    label = re.search(r"12 customers by Amina Okafor\.\[\^(\d+)\]", page)
    assert label
    note = re.search(rf"^\[\^{label[1]}\]: `(conv:[0-9a-f]+)` .*message (\d+)", page, re.M)
    assert note
    done = memory("source", f"{note[1]}#{note[2]}", "--json")
    assert done.returncode == 0, done.stderr
    (cited,) = [m for m in json.loads(done.stdout)["messages"] if m["cited"]]
    assert cited["text"] == "The Harbor importer was tested with 12 customers by Amina Okafor."
    shown = memory("source", f"{note[1]}#{note[2]}", "--context", "1").stdout
    assert "> " in shown and "passed the test of Amina Okafor" in shown


def test_what_is_opened_is_redacted_by_the_rules_in_force_now(vault: Path) -> None:
    """A pattern of the user's that came after the conversation was read counts here as well."""
    page = next((vault / "articles").glob("Harbor*")).read_text()
    found = re.search(r"`(conv:[0-9a-f]+)`", page)
    assert found
    whole = memory("source", found[1], "--json").stdout
    assert "Harbor" in whole
    config_path().parent.mkdir(parents=True, exist_ok=True)
    config_path().write_text('[ingest.redact_patterns]\nboat = "Harbor"\n', encoding="utf-8")
    for form in ([], ["--json"]):
        told = memory("source", found[1], *form).stdout
        assert "Harbor" not in told and "[REDACTED:boat]" in told


@pytest.mark.parametrize("left", ["in the store", "in the archive alone"])
def test_what_is_being_forgotten_is_not_opened(vault: Path, left: str) -> None:
    """A forgetting that was killed: what is not taken out yet is not told."""
    page = next((vault / "articles").glob("Harbor*")).read_text()
    found = re.search(r"`(conv:([0-9a-f]+))`", page)
    assert found
    store = Store(load_config().store_path)
    store.forgetting.begin([found[2]], NIGHT)
    store.close()
    if left != "in the store":
        with sqlite3.connect(load_config().store_path) as raw:
            raw.execute("DELETE FROM conversations WHERE conv = ?", (found[2],))
    done = memory("source", found[1])
    assert (
        done.returncode == 3 and "is being forgotten" in done.stderr and "Harbor" not in done.stdout
    )


def test_the_archive_answers_when_the_store_is_gone(vault: Path, home: Path) -> None:
    """A citation opens a year later, without memory.sqlite and without the transcript."""
    page = next((vault / "articles").glob("Lantern*")).read_text()
    conv = re.search(r"conv:[0-9a-f]{8}", page)
    assert conv
    before = memory("source", conv[0], "--json").stdout
    for file in home.rglob("memory.sqlite*"):
        file.unlink()
    for file in [*home.rglob(".claude/**/*.jsonl"), *home.rglob(".pi/**/*.jsonl")]:
        file.unlink()
    assert json.loads(memory("source", conv[0], "--json").stdout) == json.loads(before)


@pytest.mark.parametrize(
    ("citation", "word"),
    [
        ("conv:00000000", "was ever read"),
        ("not a citation", "conv:HASH"),
        ("../../etc/passwd", "conv:HASH"),
        ("conv:zzzzzzzz", "conv:HASH"),
    ],
)
def test_a_citation_of_nothing(vault: Path, citation: str, word: str) -> None:
    """What cannot be opened is said with how to write it; exit 3."""
    done = memory("source", citation)
    assert done.returncode == 3 and word in done.stderr
    assert vault.is_dir()


def test_a_message_that_is_not_there(vault: Path) -> None:
    """The fault says how many there are."""
    page = next((vault / "articles").glob("Lantern*")).read_text()
    conv = re.search(r"conv:[0-9a-f]{8}", page)
    assert conv
    done = memory("source", f"{conv[0]}#99")
    assert done.returncode == 3 and "messages 1 to " in done.stderr


def test_sources_tells_what_is_read(vault: Path, home: Path) -> None:
    """Sessions, those read, those new, those that failed with the reason, and where."""
    folder = home / ".pi" / "agent" / "sessions" / "--home-dev-code--"
    (folder / "2026-11-28T10-00-00-000Z_new.jsonl").write_text("{}\n")
    found = {one["source"]: one for one in json.loads(memory("sources", "--json").stdout)}
    assert (found["pi"]["sessions"], found["pi"]["read"]) == (3, 2)
    assert (found["claude-code"]["sessions"], found["claude-code"]["read"]) == (2, 2)
    assert found["claude-code"]["watermark"].startswith("2026-11-27T16:01")
    assert any("30 days" in note for note in found["claude-code"]["notes"])
    run_night(make_vault())
    told = memory("sources").stdout
    assert "1 failed" in told and "new.jsonl" in told and "not a session of pi" in told
    assert vault.is_dir()
