"""Hooks go into an agent's settings and out again; what else stands there stays."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.project import agent_settings
from pipeline.project.agent_settings import EVENTS, installed, with_ours, without_ours
from tests.support_project import Project, new_project

WRONG = 3

# As people write them: other keys before and after, in their own indentation.
WITHOUT = (
    '{\n    "model": "opus",\n    "permissions": {"allow": ["Bash(ls:*)"],\n\t"deny": []}\n}\n'
)
WITH_OTHERS = """\
{
  "env": { "A": "ü", "B": "1" },
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "Edit",
        "hooks": [
          {
            "type": "command",
            "command": "format.sh"
          }
        ]
      }
    ]
  },
  "model": "opus"
}
"""


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    return new_project(tmp_path / "garden", capsys, monkeypatch)


def _add(text: str) -> str:
    return with_ours(text, json.loads(text or "{}"), "memory-hook")


def _remove(text: str) -> str:
    return without_ours(text, json.loads(text or "{}"))


@pytest.mark.parametrize("text", [WITHOUT, WITH_OTHERS, "{}", '{"a": 1}', '{"a":1,"b":[2]}', ""])
def test_they_come_and_go(text: str) -> None:
    """All events are there after it, once; taken out, the settings say what they said."""
    more = _add(text)
    said = json.loads(more)
    assert installed(said) == list(EVENTS)
    assert _add(more) == more
    before = json.loads(text or "{}")
    for name in before.keys() - {"hooks"}:
        assert said[name] == before[name]
    assert json.loads(_remove(more)) == before


@pytest.mark.parametrize("text", [WITHOUT, WITH_OTHERS])
def test_what_else_stands_there_keeps_its_bytes(text: str) -> None:
    """Nothing but the hooks changes, and after install and remove it is the same file."""
    assert _remove(_add(text)) == text
    more = _add(text)
    for line in text.splitlines():
        if '"' in line and "hooks" not in line:
            assert line.rstrip(",") in more


def test_other_hooks_keep_their_bytes() -> None:
    """However they are written: only lines are added, and taken away again."""
    text = (
        '{"hooks": {"Stop": [ {"hooks":[{"type":"command","command":"a.sh"}]} ],\n'
        '  "Notification": [{"hooks": [{"command": "b.sh",   "type": "command"}]}]}, "z": 1}'
    )
    more = _add(text)
    assert '[ {"hooks":[{"type":"command","command":"a.sh"}]}' in more
    assert '"Notification": [{"hooks": [{"command": "b.sh",   "type": "command"}]}]' in more
    assert more.endswith(', "z": 1}')
    assert installed(json.loads(more)) == list(EVENTS)
    assert _remove(more) == text


groups = st.lists(
    st.fixed_dictionaries(
        {"hooks": st.lists(st.fixed_dictionaries({"command": st.text(max_size=6)}), max_size=2)}
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=100)
@given(
    st.dictionaries(st.sampled_from([*EVENTS, "Notification"]), groups, max_size=4),
    st.sampled_from([None, 2, "\t"]),
)
def test_any_other_hooks_come_through(hooks: dict[str, object], indent: int | None) -> None:
    """Ours are added and taken away, the others are where and how they were, to the byte."""
    text = json.dumps({"a": 1, "hooks": hooks, "b": [2]}, indent=indent)
    more = _add(text)
    said = json.loads(more)["hooks"]
    assert all(said[event][: len(kept)] == kept for event, kept in hooks.items())  # type: ignore[arg-type]
    assert installed(json.loads(more)) == list(EVENTS)
    if hooks:
        assert _remove(more) == text


def test_another_version_of_ours_is_replaced() -> None:
    """A program that moved is not called twice; other people's hooks stay where they are."""
    old = with_ours(WITH_OTHERS, json.loads(WITH_OTHERS), "/old/place/memory-hook")
    new = with_ours(old, json.loads(old), "/new/place/memory-hook")
    assert "/old/place" not in new
    groups = json.loads(new)["hooks"]["PostToolUse"]
    assert [group["hooks"][0]["command"] for group in groups] == [
        "format.sh",
        "/new/place/memory-hook post-tool-use",
    ]


def test_a_hook_of_ours_among_others_goes_alone() -> None:
    """A group that somebody put it into keeps its own hooks; names like ours are not ours."""
    said = {
        "hooks": {
            "Stop": [
                {
                    "hooks": [
                        {"type": "command", "command": "memory-hook stop"},
                        {"type": "command", "command": "not-memory-hook-but-else stop"},
                    ]
                }
            ]
        }
    }
    left = json.loads(without_ours(json.dumps(said), said))
    (group,) = left["hooks"]["Stop"]
    assert [hook["command"] for hook in group["hooks"]] == ["not-memory-hook-but-else stop"]


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150)
@given(
    st.dictionaries(st.text(max_size=6).filter(lambda name: name != "hooks"), plain, max_size=4),
    st.sampled_from([None, 2, 4, "\t"]),
    st.booleans(),
)
def test_any_settings_come_through(
    said: dict[str, object], indent: int | None, ascii: bool
) -> None:
    """Whatever else they hold and however they are written, both ways and to the byte back."""
    text = json.dumps(said, indent=indent, ensure_ascii=ascii)
    more = _add(text)
    assert installed(json.loads(more)) == list(EVENTS)
    assert json.loads(_remove(more)) == said
    if said:
        assert _remove(more) == text


def test_the_command_shows_the_diff_and_changes_the_file(project: Project) -> None:
    """A dry run changes nothing; status tells what is there; removal leaves it as it was."""
    path = project.root / ".claude" / "settings.local.json"
    path.parent.mkdir()
    path.write_text(WITH_OTHERS)
    path.chmod(0o640)
    would = project.ask("hooks", "install", "--dry-run")
    assert path.read_text() == WITH_OTHERS
    assert any(line.startswith("+") and "memory-hook" in line for line in would["diff"])
    assert project.ask("hooks", "status")["missing"] == list(EVENTS)
    assert project.ask("hooks", "install")["diff"] == would["diff"]
    assert project.ask("hooks", "status")["missing"] == []
    assert path.stat().st_mode & 0o777 == 0o640
    assert project.ask("hooks", "install")["changed"] is False
    project.ask("hooks", "remove")
    assert path.read_text() == WITH_OTHERS
    assert sorted(one.name for one in path.parent.iterdir()) == ["settings.local.json"]


def test_each_scope_has_its_file(project: Project, home: Path) -> None:
    """The user's own, the project's shared one, which names the program and not a place."""
    assert project.ask("hooks", "install", "--scope", "user")["settings"] == str(
        home / ".claude" / "settings.json"
    )
    shared = project.root / ".claude" / "settings.json"
    assert project.ask("hooks", "install", "--scope", "project")["settings"] == str(shared)
    called = json.loads(shared.read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert called == "memory-hook stop"


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": 3}}'])
def test_what_cannot_be_read_is_not_touched(project: Project, text: str) -> None:
    """The file and the reason are named."""
    path = project.root / ".claude" / "settings.local.json"
    path.parent.mkdir()
    path.write_text(text)
    code, _, err = project.call("hooks", "install")
    assert code == WRONG
    assert str(path) in err
    assert path.read_text() == text


def test_a_link_stays_a_link(project: Project, tmp_path: Path) -> None:
    """Settings kept elsewhere are changed where they are kept."""
    kept = tmp_path / "dotfiles.json"
    kept.write_text(WITHOUT)
    path = project.root / ".claude" / "settings.local.json"
    path.parent.mkdir()
    path.symlink_to(kept)
    project.ask("hooks", "install")
    assert path.is_symlink()
    assert agent_settings.read(kept)[1]["hooks"]


@pytest.mark.parametrize(
    "text",
    [
        '\ufeff{\n  "a": 1\n}\n',
        '{\r\n  "a": 1\r\n}\r\n',
        '{"hooks":{"Stop":[]},"hooks":{"Stop":[{"hooks":[]}]}}',
        '{"hooks": {"Stop": [{"hooks": [1]}], "Stop": [{"hooks": [2]}]}}',
    ],
)
def test_odd_files_come_back_to_the_byte(project: Project, text: str) -> None:
    """With a mark before it, in another system's lines, with a name that stands twice."""
    path = project.root / ".claude" / "settings.local.json"
    path.parent.mkdir()
    path.write_bytes(text.encode())
    project.ask("hooks", "install")
    once = path.read_bytes().decode()
    assert once.startswith("\ufeff") == text.startswith("\ufeff")
    assert once.count("\r\n") == (once.count("\n") if "\r" in text else 0)
    assert project.ask("hooks", "install")["changed"] is False
    project.ask("hooks", "remove")
    assert path.read_bytes() == text.encode()


def test_a_file_that_is_read_only_is_not_replaced(project: Project) -> None:
    """Whoever protects it means it."""
    path = project.root / ".claude" / "settings.local.json"
    path.parent.mkdir()
    path.write_text("{}")
    path.chmod(0o444)
    code, _, err = project.call("hooks", "install")
    assert (code, "read-only" in err) == (WRONG, True)
    assert path.read_text() == "{}"
    assert len(list(path.parent.iterdir())) == 1


def test_a_command_that_fails_is_heard_of() -> None:
    """Claude Code sends an event of its own for it, which the hook understands."""
    said = json.loads(_add("{}"))["hooks"]["PostToolUseFailure"]
    assert said == [
        {
            "matcher": "Bash",
            "hooks": [
                {"type": "command", "command": "memory-hook post-tool-use-failure", "timeout": 10}
            ],
        }
    ]


def test_settings_made_for_this_machine_are_not_committed(project: Project) -> None:
    """They name the program by its place here; a file that was there is the user's to track."""

    def seen() -> str:
        done = subprocess.run(
            ["git", "status", "--porcelain", "-uall"],
            cwd=project.root,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    before = seen()
    assert ".claude" not in before
    for _ in range(2):
        project.ask("hooks", "install")
        assert seen() == before
    project.ask("hooks", "install", "--scope", "project")
    assert ".claude/settings.json" in seen()  # to be shared
