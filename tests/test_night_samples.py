"""A night over every public sample transcript ends well, and the next one is silent."""

from __future__ import annotations

import json
import re
import shutil
import zlib
from pathlib import Path

from pipeline.models import Ask
from tests.support_night import NIGHT, Script, files, make_vault, run_night
from tests.support_transcripts import samples

# The samples are dated up to the day they were made.
LATE = NIGHT.replace(year=2027)


class Parrot(Script):
    """A poor model that makes claims of whatever is said, word for word."""

    def choose(self, purpose: str, ask: Ask) -> str:
        """Keep everything, file it under the first, relate nothing."""
        return {"chunk/keep": "keep", "synthesize/relation": "unrelated"}.get(
            purpose, ask.options[0]
        )

    def write(self, purpose: str, ask: Ask) -> str:
        """A few names for all topics; the message's own sentences as claims."""
        if purpose == "chunk/label":
            return "Work on the thing"
        if purpose == "cluster/name":
            return f"Topic {'ABCDEFG'[zlib.crc32(ask.prompt.encode()) % 7]}"
        if purpose == "synthesize/claims":
            said = re.split(r"(?<=[a-z!])[.!]\s", ask.prompt.partition(": ")[2])[:3]
            texts = [f"{part.strip()}." for part in said if 20 < len(part) < 250]
            return json.dumps({"claims": [f"fact: {text}" for text in texts]})
        notes = ask.prompt.partition("Notes:")[2].strip().splitlines()
        return json.dumps({"sentences": [note.removeprefix("- ") for note in notes]})


def test_a_night_over_all_samples_loses_no_article_and_the_next_is_silent(home: Path) -> None:
    """No job fails, articles are written, and a second night asks and changes nothing (P4)."""
    data = samples()
    shutil.copytree(data / "claude-code", home / ".claude" / "projects" / "samples")
    shutil.copytree(data / "pi", home / ".pi" / "agent" / "sessions" / "--samples--")
    config = make_vault()
    night = run_night(config, Parrot(), at=LATE)
    assert night.status == "done", night.results.rejected
    assert night.results.counts["folded"] > 0
    before = files(config.vault)
    again = run_night(config, Parrot(), at=LATE)
    assert (again.status, again.model.asked) == ("nothing", [])
    assert files(config.vault) == before
