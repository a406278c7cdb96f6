"""A whole night whose model, in a process of its own, is killed by what one conversation says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from pipeline import assemble, orchestrator
from pipeline.config import Config
from pipeline.control import Control
from pipeline.models.child import ChildModel
from pipeline.results import RunResults
from tests.doubles import HashEmbedder
from tests.support_child import DIES, DIES_ONCE, scripted
from tests.support_night import NIGHT, files, make_vault, run_night, write_session, write_sessions
from tests.test_models_child import processes

SESSION = "0b5e2d11-4a6c-4d7e-9f80-1a2b3c4d5e6f"


def say(home: Path, word: str) -> None:
    """The sessions of the small night and one more, with this word in it."""
    write_sessions(home)
    said = [
        ("user", f"The Lantern console prints {word} in a bright yellow colour since yesterday."),
        ("assistant", f"The Lantern console prints {word} whenever its queue runs empty."),
    ]
    write_session(home, "claude-code", SESSION, datetime(2026, 11, 27, 18, 0, tzinfo=UTC), said)


def another_world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A vault and a store beside those of the undisturbed night."""
    for name in ("VAULT", "CACHE_DIR", "DATA_DIR"):
        monkeypatch.setenv(f"MEMORY_{name}", str(folder / name))
    return make_vault()


def run(config: Config, folder: Path, at: datetime = NIGHT) -> tuple[str, RunResults]:
    """One night with the model in a process of its own."""
    desk = assemble.desk(
        config,
        models=assemble.Models(
            lambda account: ChildModel(
                "canned", partial(scripted, folder), account=account, batch=8, silence=60
            ),
            HashEmbedder(),
        ),
        say=lambda event: None,
        now=lambda: at,
    )
    try:
        return orchestrator.run(desk, Control(60)), desk.results
    finally:
        desk.store.close()


def test_the_job_that_kills_its_model_is_held_and_the_rest_is_done(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retried once, then set aside with the reason; every other conversation is folded as ever."""
    write_sessions(home)
    wanted = files(run_night(make_vault()).config.vault / "articles")
    config = another_world(tmp_path, monkeypatch)
    say(home, DIES)
    status, results = run(config, tmp_path)
    assert status == "partial"
    ((_, reasons),) = results.rejected
    assert "was ended by SIGKILL twice" in reasons[0]
    assert files(config.vault / "articles") == wanted
    assert processes() == []
    # it rests, and no later night is kept from its own work by it
    status, results = run(config, tmp_path, NIGHT + timedelta(hours=1))
    assert status == "nothing" and results.rejected == []


def test_killed_once_the_night_is_as_if_nothing_had_been(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The retry does all of it: same articles, nothing rejected, no process left."""
    say(home, "once")
    wanted = files(run_night(make_vault()).config.vault / "articles")
    config = another_world(tmp_path, monkeypatch)
    say(home, DIES_ONCE)
    status, results = run(config, tmp_path)
    assert status == "done" and results.rejected == []
    assert (tmp_path / "died").exists()
    articles = files(config.vault / "articles")
    assert {
        name: text.replace(DIES_ONCE.encode(), b"once") for name, text in articles.items()
    } == wanted
    assert processes() == []
