"""Every fixture of every source against what a reader of it wrote down by hand.

Beside each fixture stands NAME.expected.json: its sessions, each with what was said in it, as
[role, text] or [role, text, {at, cwd, actions}]. What must not come through is marked in fixtures.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SourceFault
from pipeline.records import Session, Utterance
from pipeline.sources import Source
from pipeline.sources.chatgpt import ChatGpt
from pipeline.sources.claude_ai import ClaudeAi
from pipeline.sources.claude_code import ClaudeCode
from pipeline.sources.codex import Codex
from pipeline.sources.pi import Pi
from tests.support_transcripts import FIXTURES, index, samples

SOURCES: dict[str, Callable[[list[Path]], Source]] = {
    "pi": Pi, "claude-code": ClaudeCode, "codex": Codex, "claude-ai": ClaudeAi, "chatgpt": ChatGpt,
}  # fmt: skip
MARK = "NOT-SAID"  # in every text of a fixture that nobody said
CASES = sorted(FIXTURES.rglob("*.expected.json"))


def fixture_of(case: Path) -> Path:
    stem = case.name.removesuffix(".expected.json")
    return next(
        path for end in (".jsonl", ".json") if (path := case.parent / (stem + end)).exists()
    )


def read(path: Path) -> list[Session]:
    name = path.relative_to(FIXTURES).parts[0]
    roots = [FIXTURES / name / "sessions" if name == "codex" else FIXTURES / name]
    return list(SOURCES[name](roots).read(path))


def matches(utterance: Utterance, expected: list[Any]) -> bool:
    role, text, *more = expected
    known = more[0] if more else {}
    return (
        (utterance.role, utterance.text) == (role, text)
        and ("at" not in known or utterance.at == datetime.fromisoformat(known["at"]))
        and utterance.cwd == known.get("cwd", utterance.cwd)
        and known.get("actions", []) == [[a.tool, a.path] for a in utterance.actions]
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.relative_to(FIXTURES)))
def test_what_is_read_is_what_was_said(case: Path) -> None:
    """All that was said, in order, by whom, when and where; nothing more, and no line unnoticed."""
    sessions = read(fixture_of(case))
    expected = json.loads(case.read_text("utf-8"))
    assert len(sessions) == len(expected)
    for session, known in zip(sessions, expected, strict=True):
        found = [[u.role.value, u.text] for u in session.utterances]
        assert found == [said[:2] for said in known["said"]]
        for utterance, said in zip(session.utterances, known["said"], strict=True):
            assert matches(utterance, said), said
        assert session.session_id == known["session_id"]
        assert session.title == known["title"]
        assert session.interactive == known.get("interactive", True)
        assert session.parent == known.get("parent", "")
        assert [bad.line for bad in session.bad_lines] == known.get("bad_lines", [])
        assert MARK not in json.dumps(found) + session.title


def test_every_source_has_fixtures_and_every_fixture_is_known() -> None:
    """None of them is left out; a mark stands in at least one of each source."""
    for name in SOURCES:
        fixtures = [p for p in (FIXTURES / name).rglob("*.json*") if ".expected." not in p.name]
        known = {fixture_of(case) for case in CASES}
        left = {p for p in fixtures if p not in known}
        # what belongs to a fixture but is no transcript that is read
        assert {p for p in left if "acompact" not in p.name and ".meta." not in p.name} <= {
            p for p in left if p.parent.name.endswith("observer-sessions") or "index" in p.name
        }
        assert any(MARK in p.read_text("utf-8", errors="replace") for p in fixtures), name


# Files of the samples that no source reads, and why: the fault must say so, not an empty session.
_REFUSED = {
    "claude-code/agent-sessions/subagent/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f/subagents/"
    "agent-a0ad4f44468bdf20d.meta.json": "what is known about a sub-agent, no transcript",
    "claude-code/simonw-sample_session.web.json": "of the web, one object; not found by its name",
    "claude-code/cass-empty_session.jsonl": "its one line is no entry of the format",
    "codex/agent-sessions-schema_drift.jsonl": "no row of it is one that is known",
    "codex/agent-sessions-session_simple.jsonl": "flat rows, no rollout",
    "codex/agent-sessions-session_branch.jsonl": "flat rows, no rollout",
    "codex/agent-sessions-session_toolcall.jsonl": "flat rows, no rollout",
    "codex/cass-codex_api_design.jsonl": "rows of another program",
    "chatgpt/polylogue-native-browser-capture-v1.json": "a capture of a browser, no export",
}
_WITHOUT_A_SOURCE = {"gemini"}


def test_every_sample_is_read_or_refused() -> None:
    """No sample is passed over in silence; its counts are met in the tests of its source."""
    refused = set()
    for row in index("", suffix=""):
        name = row["file"].split("/")[0]
        if name in _WITHOUT_A_SOURCE:
            continue
        try:
            list(SOURCES[name]([]).read(samples() / row["file"]))
        except SourceFault:
            refused.add(row["file"])
    assert refused == set(_REFUSED)
