"""P4 and P6: a night costs what its news cost, however much is known. Counted, not timed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.night import news
from benchmarks.night_world import grow, home_config, topic
from tests.support_audited import audited
from tests.support_night import Script, files, run_night

CONVERSATIONS = 180  # each topic is spoken of often enough that it is as likely as any other


def test_one_piece_of_news_costs_the_same_among_six_articles_and_among_twelve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The models are asked the same; the same articles are opened; git is called as often."""
    now = time.time_ns
    # a minute on, since a file written this very moment is read again another time
    monkeypatch.setattr("pipeline.entries.time.time_ns", lambda: now() + 60_000_000_000)
    spent = []
    for articles in (6, 12):  # of fewer than five nothing is learnt
        home = tmp_path / str(articles)
        grow(home, articles, CONVERSATIONS)
        news(home, 0)  # the first night looks at everything once
        with audited("open") as opened, audited("subprocess.Popen") as started:
            told = news(home, 1)
        pages = {Path(name).name for name in opened if f"{home}/vault/articles/" in name}
        asked = {key: value for key, value in told.items() if key not in ("seconds", "work")}
        spent.append((asked, pages, started))
    assert spent[0] == spent[1]
    # the one that is written, and the one that was written last before this night
    assert spent[0][1] == {f"{topic(number).name}.md" for number in (0, 1)}


def test_a_grown_memory_without_news_is_silent(tmp_path: Path) -> None:
    """Nothing is asked, written or committed, no article is opened, git is called five times."""
    grow(tmp_path, 5, 60)
    config = home_config(tmp_path)
    run_night(config, Script())  # looks once at what the one that wrote has committed
    before = files(config.vault, git=True), files(config.archive_dir)
    with audited("open") as opened, audited("subprocess.Popen") as started:
        night = run_night(config, Script())
    assert night.status == "nothing"
    assert night.model.asked == []
    assert (files(config.vault, git=True), files(config.archive_dir)) == before
    assert [name for name in opened if name.startswith(str(config.vault / "articles"))] == []
    assert len(started) <= 5


def test_a_night_without_news_loads_no_model_library(tmp_path: Path) -> None:
    """They take seconds to load, and there is nothing to ask."""
    grow(tmp_path, 2, 20)
    heavy = ("mlx", "mlx_lm", "transformers", "tokenizers", "huggingface_hub", "llguidance", "gguf")
    script = f"""
import sys
sys.argv = ["memory", "synthesize", "--json"]
from pipeline.cli import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
print([name for name in {heavy!r} if name in sys.modules])
"""
    settings = {
        "MEMORY_VAULT": str(tmp_path / "vault"),
        "MEMORY_CACHE_DIR": str(tmp_path / "cache"),
        "MEMORY_DATA_DIR": str(tmp_path / "data"),
        "MEMORY_SINCE_DAYS": "all",
        "HOME": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **settings},
        capture_output=True,
        check=True,
        text=True,
    )
    *_, told, loaded = done.stdout.splitlines()
    assert json.loads(told)["status"] == "nothing"
    assert loaded == "[]"
