"""Chunks that are not worth remembering: recorded, and never asked about again."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.recall.library import library
from pipeline.recall.searching import Filters, search
from tests.support_night import NIGHT, Script, make_vault, run_night, write_sessions


@pytest.mark.parametrize("why", ["the model", "the user"])
def test_what_is_dropped_is_dropped_once_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """Whether the model saw nothing in it or its topic stands on Topics_to_Ignore.md."""
    monkeypatch.setenv("HOME", str(tmp_path))
    config = make_vault()
    write_sessions(tmp_path)
    script = Script()
    if why == "the model":
        script = Script(
            overrides={"chunk/keep": lambda ask: "drop" if "Harbor" in ask.prompt else "keep"}
        )
    else:
        page = config.vault / "Meta" / "Topics_to_Ignore.md"
        page.write_text(page.read_text("utf-8") + "\n- Harbor\n", "utf-8")
    first = run_night(config, script)
    assert {asked.purpose for asked in first.model.asked} > {"chunk/keep"}
    said = [a.ask.prompt for a in first.model.asked if not a.purpose.startswith("chunk/")]
    assert any("Lantern" in prompt for prompt in said)
    assert not any("Harbor" in prompt for prompt in said)
    assert run_night(config, script, at=NIGHT).model.asked == []
    with library(config) as lib:
        hits = search(lib, "zstd for the Harbor archives", Filters(), 5)
    # what the user wants ignored is not given either
    assert any("zstd" in hit.snippet for hit in hits) == (why == "the model")
