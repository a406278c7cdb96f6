"""Order and the user's hand, attacked: moved, doubled and edited sentences, late sources, links."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.history import History
from pipeline.review.undoing import undo
from tests.support_night import (
    NIGHT,
    Script,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)
from tests.test_broken_undo import decide, pages

OURS = "The Lantern retention job keeps sessions for 45 days."
LATE = "The Lantern retention job keeps sessions for 30 days."
NEWER = "The Lantern retention job keeps sessions for 90 days."
NEWS = "The Lantern login page asks for a code of 6 digits."
DAY = timedelta(days=1)


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night."""
    config = make_vault()
    write_sessions(home)
    run_night(config, at=NIGHT)
    return config


def page(config: Config) -> Path:
    """The file of the article."""
    return next((config.vault / "articles").rglob("Lantern*"))


def say(home: Path, number: int, start: datetime, *texts: str) -> None:
    """One more conversation of the user."""
    write_session(
        home,
        "claude-code",
        f"{number:08x}-7d6e-4f50-9a1b-2c3d4e5f6a7b",
        start,
        [("user", text) for text in ("Some notes of the day.", *texts)],
    )


def knowing(relation: str = "updates") -> Script:
    """A good model that makes each sentence a claim."""
    script = Script({"synthesize/relation": lambda ask: relation})
    script.claims = {**script.claims, **{c: [(c, "fact")] for c in (OURS, LATE, NEWER, NEWS)}}
    return script


def settled(config: Config, script: Script, at: datetime) -> None:
    """The next night has nothing to do."""
    before, head = files(config.vault), History(config.vault).head()
    again = run_night(config, script, at=at)
    assert (again.status, again.model.asked) == ("nothing", [])
    assert files(config.vault) == before
    assert History(config.vault).head() == head


def current(config: Config) -> str:
    """What the article says is so."""
    return re.split(r"(?m)^## (?:History|References)", page(config).read_text())[0]


def body(config: Config) -> str:
    """The article without its References."""
    return page(config).read_text().split("## References")[0]


def test_late_source_after_supersede_after_edit(home: Path, config: Config) -> None:
    """An older statement that comes late is History, also where the user edited the newest one."""
    say(home, 1, datetime(2026, 11, 28, 9, tzinfo=UTC), NEWER)
    run_night(config, knowing(), at=NIGHT + DAY)
    assert NEWER in current(config) and OURS not in current(config)
    text = page(config).read_text()
    mine = NEWER.replace("90 days", "about 90 days")
    page(config).write_text(text.replace(NEWER, mine))
    say(home, 2, datetime(2026, 11, 20, 9, tzinfo=UTC), LATE)
    run_night(config, knowing(), at=NIGHT + 2 * DAY)
    assert mine in current(config)
    assert LATE not in current(config)
    settled(config, knowing(), NIGHT + 3 * DAY)


def test_history_line_edited(home: Path, config: Config) -> None:
    """The user edits a line of History: it stays theirs, nothing is written twice."""
    say(home, 1, datetime(2026, 11, 28, 9, tzinfo=UTC), NEWER)
    run_night(config, knowing(), at=NIGHT + DAY)
    text = page(config).read_text()
    mine = OURS.replace("45 days", "45 days (by law)")
    page(config).write_text(text.replace(OURS, mine))
    say(home, 2, datetime(2026, 11, 29, 9, tzinfo=UTC), NEWS, OURS)
    run_night(config, knowing(), at=NIGHT + 2 * DAY)
    assert mine in page(config).read_text()
    assert body(config).count(NEWER) <= 1
    settled(config, knowing(), NIGHT + 3 * DAY)


@pytest.mark.parametrize("where", ["lead", "section", "own heading"])
def test_sentence_moved(home: Path, config: Config, where: str) -> None:
    """A sentence of ours that the user put elsewhere is still ours, and stays where it is."""
    text = page(config).read_text()
    sent = re.findall(re.escape(OURS) + r"(?:\[\^\d+\])+ ?", text)[0]
    text = text.replace(sent, "")
    if where == "lead":
        text = text.replace("# Lantern project\n\n", f"# Lantern project\n\n{sent.strip()}\n\n")
    elif where == "section":
        text = text.replace("## Decisions\n\n", f"## Decisions\n\n{sent.strip()} ")
    else:
        text = text.replace("## Decisions", f"## Law\n\n{sent.strip()}\n\n## Decisions")
    page(config).write_text(text)
    say(home, 2, datetime(2026, 11, 28, 9, tzinfo=UTC), OURS)
    run_night(config, knowing(), at=NIGHT + DAY)
    assert body(config).count(OURS) == 1
    say(home, 3, datetime(2026, 11, 29, 9, tzinfo=UTC), NEWER)
    run_night(config, knowing(), at=NIGHT + 2 * DAY)
    assert body(config).count(OURS) == 1 and NEWER in current(config)
    assert OURS not in current(config)
    settled(config, knowing(), NIGHT + 3 * DAY)


def test_article_duplicated(home: Path, config: Config) -> None:
    """A copy the user made is theirs: it keeps its bytes, news goes to the one we know."""
    copy = page(config).with_name("Lantern copy.md")
    original = page(config)
    shutil.copy(original, copy)
    before = copy.read_bytes()
    say(home, 2, datetime(2026, 11, 28, 9, tzinfo=UTC), NEWS)
    run_night(config, knowing(), at=NIGHT + DAY)
    assert copy.read_bytes() == before
    assert NEWS in original.read_text()
    settled(config, knowing(), NIGHT + 2 * DAY)
    decide(config, lambda r: undo("", "", r), NIGHT + 2 * DAY)
    assert copy.read_bytes() == before


def test_copy_kept_and_original_deleted(home: Path, config: Config) -> None:
    """The copy is the article, once the original is gone."""
    copy = page(config).with_name("Lantern copy.md")
    original = page(config)
    shutil.copy(original, copy)
    original.unlink()
    say(home, 2, datetime(2026, 11, 28, 9, tzinfo=UTC), NEWS)
    run_night(config, knowing(), at=NIGHT + DAY)
    assert not original.exists()
    assert NEWS in copy.read_text()
    settled(config, knowing(), NIGHT + 2 * DAY)


def test_section_of_ours_renamed_and_page_gutted(home: Path, config: Config) -> None:
    """The user removes nearly everything: none comes back; news goes on."""
    page(config).write_text("# Lantern project\n\nOnly mine now.\n")
    say(home, 2, datetime(2026, 11, 28, 9, tzinfo=UTC), NEWS, OURS)
    run_night(config, knowing(), at=NIGHT + DAY)
    text = page(config).read_text()
    assert "Only mine now." in text and OURS not in text
    assert NEWS in text


def test_undo_of_a_page_others_link_to(home: Path, config: Config) -> None:
    """A link that a later night made to an article undo removes is told of, not silently broken."""
    both = "The Harbor project archives the logs of the Lantern project every 7 days."
    script = knowing("unrelated")
    script.claims = {**script.claims, both: [(both, "fact")]}
    write_session(
        home,
        "pi",
        "01a227e9-22a7-7b0c-92c2-88aa37193c02",
        datetime(2026, 11, 28, 9, tzinfo=UTC),
        [("user", both)],
    )
    run_night(config, script, at=NIGHT + DAY)
    assert b"[[Harbor project]]" in pages(config)["articles/Lantern project.md"]
    runs = [c.trailers["Run"] for c in History(config.vault).log() if "Run" in c.trailers]
    _, done = decide(config, lambda r: undo(runs[-1], "", r), NIGHT + 2 * DAY)
    told = {page.path: (page.outcome, page.reason) for page in done}
    assert told["articles/Harbor project.md"] == (
        "deleted",
        "still linked from Lantern project",
    )
    outcome, reason = told["articles/Lantern project.md"]
    assert outcome == "kept"
    assert "a later night" in reason
    log = (config.vault / "Meta" / "Changelog.md").read_text()
    assert "- deleted Harbor project: still linked from Lantern project" in log
    settled(config, script, NIGHT + 3 * DAY)


def test_gate_one_bad_among_good(home: Path, config: Config) -> None:
    """A claim the gate refuses keeps no other out, and is told."""
    bad = "The Lantern panel is shown by <iframe src=//x.example> on port 81."
    script = knowing("unrelated")
    script.claims = {**script.claims, "panel is shown": [(bad, "fact")]}
    say(home, 2, datetime(2026, 11, 28, 9, tzinfo=UTC), NEWS, bad)
    run_night(config, script, at=NIGHT + DAY)
    text = page(config).read_text()
    assert NEWS in text and "<iframe" not in text
    settled(config, script, NIGHT + 2 * DAY)


def test_claim_of_several_sentences(home: Path, config: Config) -> None:
    """Each sentence of it is cited."""
    two = "The Lantern fan runs at 900 rpm. The Lantern lamp draws 12 watts."
    script = knowing("unrelated")
    script.claims = {**script.claims, "fan runs": [(two, "fact")]}
    say(home, 2, datetime(2026, 11, 28, 9, tzinfo=UTC), NEWS, two)
    run_night(config, script, at=NIGHT + DAY)
    text = body(config)
    for sentence in ("The Lantern fan runs at 900 rpm.", "The Lantern lamp draws 12 watts."):
        if sentence in text:
            assert re.search(re.escape(sentence) + r"\[\^\d+\]", text)
    settled(config, script, NIGHT + 2 * DAY)


@pytest.mark.parametrize(
    "title",
    [
        "]: [^1]: `conv:deadbeef` x",
        "[[Harbor]] | # ^a\u2028b",
        "`` ` ``",
        "\\[^9]\\",
        "<!-- -->",
        "[^1]",
        "a\x1b[31mred",
        "%%hidden%%",
        "$$x$$",
    ],
)
def test_odd_titles_of_sources(home: Path, config: Config, title: str) -> None:
    """Whatever a conversation is called, its claims are written and the night settles."""
    write_session(
        home,
        "claude-code",
        "0000000a-7d6e-4f50-9a1b-2c3d4e5f6a7b",
        datetime(2026, 11, 28, 9, tzinfo=UTC),
        [("user", title), ("user", NEWS)],
    )
    script = knowing("unrelated")
    night = run_night(config, script, at=NIGHT + DAY)
    assert NEWS in body(config), night.results
    assert "\x1b" not in page(config).read_text()
    settled(config, script, NIGHT + 2 * DAY)
    decide(config, lambda r: undo("", "", r), NIGHT + 2 * DAY)
    assert NEWS not in page(config).read_text()
