"""Nights taken back, attacked: moved pages, edits at the moment of undo, kills at every step."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import assemble
from pipeline.config import Config
from pipeline.history import History
from pipeline.publish import heal, publish_talk
from pipeline.review import Reviewer
from pipeline.review.merging import without
from pipeline.review.undoing import undo
from pipeline.store.ledger import Ledger
from pipeline.vault import Vault
from tests.support_night import (
    NIGHT,
    Script,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)

NEXT = NIGHT + timedelta(days=1)
T = TypeVar("T")
NEWS = "The Lantern backup runs at 04:15 on the host named beryl."


def decide(config: Config, action: Callable[[Reviewer], T], at: datetime = NEXT) -> T:
    """Do something by day."""
    with assemble.reviewer(config, now=lambda: at) as reviewer:
        return action(reviewer)


def pages(config: Config) -> dict[str, bytes]:
    """Articles and Talk pages."""
    return {
        path: content
        for path, content in files(config.vault).items()
        if path.startswith(("articles/", "Talk/"))
    }


def script(relation: str = "unrelated", *claims: str) -> Script:
    """A good model that knows these claims too."""
    made = {c: [(c, "fact")] for c in (NEWS, *claims)}
    base = Script({"synthesize/relation": lambda ask: relation})
    return replace(base, claims={**base.claims, **made})


def second(home: Path, *texts: str, session: str = "01a227e9-11a7-7b0c-92c2-99aa37193c02") -> None:
    """One more conversation of the user alone."""
    write_session(
        home,
        "pi",
        session,
        datetime(2026, 11, 28, 9, 0, tzinfo=UTC),
        [("user", text) for text in (texts or (NEWS,))],
    )


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night."""
    config = make_vault()
    write_sessions(home)
    run_night(config, at=NIGHT)
    return config


def lantern(config: Config) -> Path:
    """The file of the article."""
    return next((config.vault / "articles").rglob("Lantern*"))


def settled(
    config: Config, s: Script | None = None, at: datetime = NEXT + timedelta(days=3)
) -> None:
    """The next night asks nothing, changes no byte and makes no commit."""
    before, head = files(config.vault), History(config.vault).head()
    night = run_night(config, s or script(), at=at)
    assert night.model.asked == []
    assert night.status == "nothing"
    assert files(config.vault) == before
    assert History(config.vault).head() == head


@pytest.mark.parametrize("relation", ["updates", "contradicts", "unrelated", "same"])
def test_every_kind(home: Path, config: Config, relation: str) -> None:
    """Whatever a night did with a claim, undo restores the bytes and nothing comes back."""
    before = pages(config)
    newer = "The Lantern retention job keeps sessions for 90 days."
    second(home, newer, NEWS)
    run_night(config, script(relation, newer), at=NEXT)
    assert pages(config) != before
    decide(config, lambda r: undo("", "", r))
    assert pages(config) == before
    settled(config, script(relation, newer))
    # the same again in another conversation
    write_session(
        home,
        "pi",
        "01a227ea-11a7-7b0c-92c2-99aa37193c05",
        datetime(2026, 11, 29, 9, 0, tzinfo=UTC),
        [("user", newer), ("user", NEWS)],
    )
    run_night(config, script(relation, newer), at=NEXT + timedelta(days=5))
    assert newer.encode() not in b"".join(pages(config).values())
    assert NEWS.encode() not in b"".join(pages(config).values())


def test_moved_and_undone_by_name(home: Path, config: Config) -> None:
    """An article the user moved to a folder is found by its name."""
    before = pages(config)
    second(home)
    run_night(config, script(), at=NEXT)
    page = lantern(config)
    moved = page.parent / "work" / page.name
    moved.parent.mkdir()
    page.rename(moved)
    _, done = decide(config, lambda r: undo(page.stem, "", r))
    assert moved.read_bytes() == before[f"articles/{page.name}"], done


def test_renamed_and_undone_at_once(home: Path, config: Config) -> None:
    """A file renamed since the night, which no run has seen yet, is found by what it says."""
    before = pages(config)
    second(home)
    run_night(config, script(), at=NEXT)
    page = lantern(config)
    page.rename(page.with_name("Streetlight.md"))
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "undo"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert page.with_name("Streetlight.md").read_bytes() == before[f"articles/{page.name}"]


def test_renamed_by_title_and_undone_by_name(home: Path, config: Config) -> None:
    """An article is taken back under the name it has by now."""
    before = pages(config)
    second(home)
    run_night(config, script(), at=NEXT)
    page = lantern(config)
    page.rename(page.with_name("Streetlight.md"))
    run_night(config, script(), at=NEXT + timedelta(days=1))
    _, done = decide(config, lambda r: undo("Streetlight", "", r))
    assert page.with_name("Streetlight.md").read_bytes() == before[f"articles/{page.name}"], done


def test_an_edit_at_the_moment_of_undo(
    home: Path, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P7: what the user saves while undo is at work is not overwritten."""
    second(home)
    run_night(config, script(), at=NEXT)
    page = lantern(config)
    real = History.show
    edited: list[int] = []

    def show(self: History, commit: str, path: str) -> str | None:
        if path.endswith(page.name) and not edited:
            edited.append(1)
            page.write_text(
                page.read_text().replace("# Lantern project", "# Lantern project\n\nMine.")
            )
        return real(self, commit, path)

    monkeypatch.setattr(History, "show", show)
    decide(config, lambda r: undo("", "", r))
    assert "Mine." in page.read_text()


@pytest.mark.parametrize(
    "where", ["same paragraph after", "same paragraph before", "own paragraph", "below end"]
)
def test_user_edits_around(home: Path, config: Config, where: str) -> None:
    """P11: a sentence of the user directly beside ours stays, ours goes."""
    page = lantern(config)
    second(home)
    run_night(config, script(), at=NEXT)
    text = page.read_text()
    line = next(row for row in text.splitlines() if NEWS in row)
    (sent,) = re.findall(re.escape(NEWS) + r"(?:\[\^\d+\])+", line)
    if where == "same paragraph after":
        new = text.replace(sent, sent + " Mine own.")
    elif where == "same paragraph before":
        new = text.replace(sent, "Mine own. " + sent)
    elif where == "own paragraph":
        new = text.replace(line, line + "\n\nMine own.")
    else:
        new = text + "\nMine own.\n"
    page.write_text(new)
    _, done = decide(config, lambda r: undo("", "", r))
    after = page.read_text()
    assert "Mine own." in after
    assert NEWS not in after, done


@pytest.mark.parametrize("form", ["crlf", "bom", "nofinal", "cjk", "tabs"])
def test_bytes(home: Path, config: Config, form: str) -> None:
    """Line ends, byte order mark, a missing last newline, no spaces, code: byte for byte."""
    page = lantern(config)
    raw = page.read_bytes()
    if form == "crlf":
        raw = raw.replace(b"\n", b"\r\n")
    elif form == "bom":
        raw = b"\xef\xbb\xbf" + raw
    elif form == "nofinal":
        raw = raw.rstrip(b"\n")
    elif form == "cjk":
        raw = raw.replace(
            b"## References",
            "私の文です。もう一つの文。\u2028そして\x0b最後。\n\n## References".encode(),
        )
    else:
        raw = raw.replace(
            b"## References",
            b"\tcode [^1]\n\n> quote [^1]\n\n```js\na[^1]\n```\n\n## References",
        )
    page.write_bytes(raw)
    second(home)
    run_night(config, script(), at=NEXT)
    assert NEWS.encode() in page.read_bytes()
    _, done = decide(config, lambda r: undo("", "", r))
    assert page.read_bytes() == raw, done
    settled(config)


def test_twice_goes_to_the_run_before_then_ends(home: Path, config: Config) -> None:
    """Undo goes back night by night, and says so when nothing is left."""
    second(home)
    run_night(config, script(), at=NEXT)
    decide(config, lambda r: undo("", "", r))
    decide(config, lambda r: undo("", "", r))
    assert pages(config) == {}
    with pytest.raises(Exception, match="nothing to take back"):
        decide(config, lambda r: undo("", "", r))
    settled(config)


class Kill(BaseException):
    """The process ends here."""


STEPS: dict[str, tuple[type, str, bool]] = {
    "before announce": (Ledger, "announce", False),
    "after announce": (Ledger, "announce", True),
    "after write": (Vault, "write", True),
    "after remove": (Vault, "remove", True),
    "after commit": (History, "commit", True),
    "after settle": (Ledger, "settle", True),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("nth", [0, 1])
@pytest.mark.parametrize("first", [False, True])
def test_killed_undo(
    home: Path, config: Config, monkeypatch: pytest.MonkeyPatch, step: str, nth: int, first: bool
) -> None:
    """Killed at any step of any page, healed and repeated: as an undisturbed undo."""
    before = {} if first else pages(config)
    if not first:
        second(home)
        second(
            home,
            "The Harbor importer reads files in blocks of 128 MB.",
            session="01a227e9-22a7-7b0c-92c2-88aa37193c02",
        )
        run_night(
            config,
            script("contradicts", "The Harbor importer reads files in blocks of 128 MB."),
            at=NEXT,
        )
        assert len({p for p, b in pages(config).items() if before.get(p) != b}) >= 2
    owner, name, after = STEPS[step]
    real: Any = getattr(owner, name)
    count = [0]

    def killing(self: Any, *a: Any, **k: Any) -> Any:
        mine = count[0] == nth
        count[0] += 1
        if mine and not after:
            raise Kill
        result = real(self, *a, **k)
        if mine and after:
            raise Kill
        return result

    with monkeypatch.context() as m:
        m.setattr(owner, name, killing)
        with suppress(Kill):
            decide(config, lambda r: undo("", "", r))
    decide(config, lambda r: heal(r.press, NEXT))
    state = History(config.vault).state()
    assert not (state.staged or state.unstaged or state.untracked), state
    if pages(config) != before:
        decide(config, lambda r: undo("", "", r))
    assert pages(config) == before
    night = run_night(config, script(), at=NEXT + timedelta(days=2))
    assert night.model.asked == []
    assert pages(config) == before
    settled(config)


@given(st.text("ab. \n[^1]-#", max_size=40), st.text("ab. \n[^1]-#", max_size=40))
def test_an_untouched_page_goes_back_to_what_it_was(before: str, after: str) -> None:
    """Whatever the two texts are."""
    assert without(after, after, before) == before
    assert without(before, before, before) == before


def test_the_same_sentence_changed_by_both_stays() -> None:
    """Of a sentence the user changed after us, nothing is taken back."""
    assert without("A cat. A red dog.\n", "A cat. A dog.\n", "A cat. A cow.\n") is None
    assert without("A cat. Mine.\n", "A cat. A dog.\n", "A cat.\n") is None


def test_two_entries_on_one_talk_page_survive_a_kill_between_them(config: Config) -> None:
    """P5: the second is not taken for the first, which has the same run and topic."""

    def tell(entry: str) -> Callable[[Reviewer], None]:
        return lambda r: publish_talk(
            r.press, "Lantern project", "Lantern project", [entry],
            run="20261128-030000", at=NIGHT, trailers={"Run": "20261128-030000"},
        )  # fmt: skip

    decide(config, tell("The first entry."))

    def killed(*_: object, **__: object) -> None:
        raise Kill

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Vault, "write", killed)
        with pytest.raises(Kill):
            decide(config, tell("The second entry."))
    decide(config, lambda r: heal(r.press, NEXT))
    talk = (config.vault / "Talk" / "Lantern project.md").read_text()
    assert "The first entry." in talk
    assert "The second entry." in talk


@pytest.mark.parametrize("by_hand", [False, True])
def test_what_stands_in_the_way_is_said(home: Path, config: Config, by_hand: bool) -> None:
    """A later night can be taken back first; what the user changed is for their own hand."""
    run = History(config.vault).log()[0].trailers["Run"]
    second(home)
    run_night(config, script(), at=NEXT)
    page = lantern(config)
    if by_hand:
        text = page.read_text("utf-8")
        page.write_text(text.replace("keeps sessions for 45 days", "keeps them for 45 days"))
    _, found = decide(config, lambda r: undo(run, "", r))
    (reason,) = (one.reason for one in found if one.path.endswith(page.name))
    assert ("take that back first" in reason, "you changed" in reason) == (not by_hand, by_hand)
    decide(config, lambda r: undo("", "", r))
    decide(config, lambda r: undo(run, "", r))
    assert page.exists() == by_hand
