"""The server is put into an agent's settings and taken out; every other byte stays as it is."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.errors import ConfigFault
from pipeline.mcp.clients import installing, uninstalling
from pipeline.mcp.entries import NAME, with_json, with_toml, without_json, without_toml
from pipeline.user_files import FileChange, put

HERE = Path("settings")
ENTRY = {"command": "/opt/bin/memory", "args": ["mcp", "--vault", '/a "b"/c\\d']}

JSON_FILES = [
    "",
    "{}",
    "{}\n",
    '{"a": 1}',
    '{\n\t"theme": "dark",\n\t"n": 1.0\n}\n',
    '{\n  "mcpServers": {\n    "other": {"command": "x", "args": []}\n  },\n  "z": "é"\n}',
    '{"mcpServers":{"b":{"command":"x"},"c":{}},"projects":{"/p":{"mcpServers":{}}}}\n',
    '{\r\n    "a": [1,\r\n 2]\r\n}\r\n',
    '\ufeff{\n  "a": {"mcpServers": 1}\n}\n',
]
TOML_FILES = [
    "",
    'model = "x"\n',
    'model = "x"',
    "# only a comment\n\n",
    'a = 1\n\n[mcp_servers.other]\ncommand = "x"\n\n[profiles.p]\nmodel = "y" # said\n',
    "a = 1\r\n[b]\r\nc = 2\r\n",
    '[mcp_servers."with.dot"]\ncommand = "x"\n\n\n',
    'text = """\n[not a table]\n"""\n',
]


@pytest.mark.parametrize("text", JSON_FILES)
def test_json_gets_the_server_and_gives_it_back(text: str) -> None:
    """In, once, beside what is there; out, and the bytes are those of before."""
    changed = with_json(HERE, text, ENTRY)
    said = json.loads(changed.removeprefix("\ufeff"))
    before = json.loads(text.removeprefix("\ufeff") or "{}")
    assert said.pop("mcpServers") == {**before.pop("mcpServers", {}), NAME: ENTRY}
    assert said == before
    assert with_json(HERE, changed, ENTRY) == changed
    back = without_json(HERE, changed)
    assert back == text or json.loads(back.removeprefix("\ufeff")) == json.loads(text or "{}")
    if '"' in text:
        assert back == text


@pytest.mark.parametrize("text", TOML_FILES)
def test_toml_gets_the_server_and_gives_it_back(text: str) -> None:
    """A table at the end; out again, and the bytes are those of before."""
    changed = with_toml(HERE, text, ENTRY)
    assert changed.startswith(text)
    assert tomllib.loads(changed)["mcp_servers"][NAME] == ENTRY
    assert with_toml(HERE, changed, ENTRY) == changed
    assert without_toml(HERE, changed) == text


@pytest.mark.parametrize("text", TOML_FILES)
def test_what_the_user_adds_after_it_stays(text: str) -> None:
    """A table put below ours is kept when ours goes, and ours takes its own parts with it."""
    changed = with_toml(HERE, text, ENTRY)
    nl = "\r\n" if "\r\n" in changed else "\n"
    own = f'{nl}[mcp_servers.{NAME}.env]{nl}A = "b"{nl}{nl}[last]{nl}d = 1{nl}'
    back = without_toml(HERE, changed + own)
    if text.endswith("\n"):
        assert back == f"{text}{nl}[last]{nl}d = 1{nl}"
    assert tomllib.loads(back) == {**tomllib.loads(text), "last": {"d": 1}}


def test_another_path_takes_the_place_of_the_old_one() -> None:
    """Installed anew after the program moved: one entry, the new one."""
    moved = {**ENTRY, "command": "/usr/bin/memory"}
    for text in JSON_FILES:
        changed = with_json(HERE, with_json(HERE, text, ENTRY), moved)
        assert json.loads(changed.removeprefix("\ufeff"))["mcpServers"][NAME] == moved
        assert changed.count(f'"{NAME}"') == 1
    for text in TOML_FILES:
        assert with_toml(HERE, with_toml(HERE, text, ENTRY), moved) == with_toml(HERE, text, moved)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"mcpServers": []}', "{'a': 1}", '{"a": 1,}', "// note\n{}"]
)
def test_broken_json_is_left_alone(text: str) -> None:
    """A fault that names the file; nothing is made of it."""
    with pytest.raises(ConfigFault, match="settings cannot be changed"):
        with_json(HERE, text, ENTRY)
    with pytest.raises(ConfigFault, match="settings cannot be changed"):
        without_json(HERE, text)


def test_toml_that_cannot_take_a_table_is_left_alone() -> None:
    """Broken, or with all servers in one inline table: the fault says what to write by hand."""
    with pytest.raises(ConfigFault, match="not TOML"):
        with_toml(HERE, "a = = 1\n", ENTRY)
    with pytest.raises(ConfigFault) as fault:
        with_toml(HERE, 'mcp_servers = { other = { command = "x" } }\n', ENTRY)
    assert f"[mcp_servers.{NAME}]" in fault.value.mend


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=8), _VALUES, max_size=4),
    st.dictionaries(st.text(max_size=8), _VALUES, min_size=1, max_size=3),
    st.sampled_from([None, 2, "\t"]),
)
def test_any_settings_keep_what_they_say(said: Any, servers: Any, indent: Any) -> None:
    """Whatever else stands there, in whatever layout, comes back to the byte."""
    servers.pop(NAME, None)
    settings = {**said, "mcpServers": servers} if servers else dict(said)
    text = json.dumps(settings, indent=indent)
    changed = with_json(HERE, text, ENTRY)
    assert json.loads(changed) == {**settings, "mcpServers": {**servers, NAME: ENTRY}}
    assert json.loads(without_json(HERE, changed)) == settings
    if settings:
        assert without_json(HERE, changed) == text


# ------------------------------------------------------------------ clients


@pytest.mark.parametrize(
    ("client", "settings", "skill"),
    [
        ("claude-code", ".claude.json", ".claude/skills/nightly-memory/SKILL.md"),
        ("codex", ".codex/config.toml", ".agents/skills/nightly-memory/SKILL.md"),
        ("pi", None, ".pi/agent/skills/nightly-memory/SKILL.md"),
        ("claude-desktop", "Claude/claude_desktop_config.json", None),
    ],
)
def test_each_client_gets_what_it_can_use(
    home: Path, client: str, settings: str | None, skill: str | None
) -> None:
    """The server where it reads servers, the skill where it reads skills, and both gone again."""
    plan = installing(client, "user", [])
    written = [change.path for change in plan.files]
    for change in plan.files:
        put(change)
    assert [path.is_relative_to(home) for path in written] == [True] * len(written)
    wanted = [place for place in (settings, skill) if place]
    assert [str(path).endswith(place) for path, place in zip(written, wanted, strict=True)]
    if settings:
        text = written[0].read_text()
        said = tomllib.loads(text) if settings.endswith("toml") else json.loads(text)
        entry = said["mcp_servers" if settings.endswith("toml") else "mcpServers"][NAME]
        assert Path(entry["command"]).is_absolute()
        assert Path(entry["command"]).is_file()
        assert entry["args"] == ["mcp"]
    else:
        assert "no MCP" in plan.said[0]
    assert all(c.before == c.after for c in installing(client, "user", []).files)
    for change in uninstalling(client, "user").files:
        put(change)
    if skill:
        assert not (home / skill).exists()
    if settings:
        assert NAME not in written[0].read_text()


def test_a_projects_settings_name_no_path_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are shared with others."""
    monkeypatch.chdir(tmp_path)
    plan = installing("claude-code", "project", [])
    assert [c.path for c in plan.files] == [
        tmp_path / ".mcp.json",
        tmp_path / ".claude/skills/nightly-memory/SKILL.md",
    ]
    entry = json.loads(plan.files[0].after or "")["mcpServers"][NAME]
    assert entry == {"type": "stdio", "command": "memory", "args": ["mcp"]}


def test_a_skill_that_the_user_changed_stays(home: Path) -> None:
    """It is neither replaced nor taken away, and that is said."""
    skill = home / ".pi/agent/skills/nightly-memory/SKILL.md"
    put(installing("pi", "user", []).files[0])
    skill.write_text(skill.read_text() + "my own words\n")
    for plan in (installing("pi", "user", []), uninstalling("pi", "user")):
        assert plan.files == ()
        assert "is yours and stays" in plan.said[-1]


def test_the_skill_is_what_agents_can_read(home: Path) -> None:
    """Name and description in front, the name that of its folder, no longer than is allowed."""
    text = installing("pi", "user", []).files[0].after or ""
    head = text.split("---\n")[1].splitlines()
    fields = dict(line.split(": ", 1) for line in head)
    assert fields["name"] == "nightly-memory"
    assert 50 < len(fields["description"]) < 1024
    assert len(text) < 4000


# ------------------------------------------------------------------ the file, and the command


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    """The last word is whoever wrote last."""
    path = tmp_path / "x.json"
    path.write_text("{ }")
    with pytest.raises(ConfigFault, match="changed meanwhile"):
        put(FileChange(path, "{}", "{1}"))
    with pytest.raises(ConfigFault, match="changed meanwhile"):
        put(FileChange(path, None, "{1}"))
    assert path.read_text() == "{ }"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_and_rights_stay(tmp_path: Path) -> None:
    """Settings are often kept elsewhere."""
    real = tmp_path / "real.json"
    real.write_text("{}")
    real.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(real)
    put(FileChange(link, "{}", "{}\n"))
    assert link.is_symlink()
    assert real.read_text() == "{}\n"
    assert real.stat().st_mode & 0o777 == 0o640
    real.chmod(0o440)
    with pytest.raises(ConfigFault, match="read-only"):
        put(FileChange(link, "{}\n", "x"))


def test_the_command_shows_the_change_and_asks(home: Path) -> None:
    """Without a terminal and without --yes nothing is changed, and so with --dry-run."""
    settings = home / ".claude.json"
    settings.write_text('{"theme": "dark"}')
    run = CliRunner()
    words = ["mcp", "install", "--client", "claude-code"]
    for more in ([], ["--dry-run"]):
        shown = run.invoke(app, [*words, *more])
        assert shown.exit_code == 0, shown.output
        assert '+  "mcpServers": {' in shown.output or '"mcpServers"' in shown.output
        assert "nothing is changed" in shown.output
        assert settings.read_text() == '{"theme": "dark"}'
    assert "--yes" in run.invoke(app, words).output
    assert json.loads(run.invoke(app, [*words, "--json"]).output)["changed"] is False
    assert settings.read_text() == '{"theme": "dark"}'
    done = run.invoke(app, [*words, "--yes", "--json"])
    assert json.loads(done.output)["changed"] is True
    assert NAME in settings.read_text()
    assert "nothing to change" in run.invoke(app, [*words, "--yes"]).output
    gone = run.invoke(app, ["mcp", "uninstall", "--client", "claude-code", "--yes"])
    assert gone.exit_code == 0
    assert settings.read_text() == '{"theme": "dark"}'


@pytest.mark.parametrize(("answer", "changed"), [(b"n\n", False), (b"y\n", True)])
def test_at_a_terminal_the_user_is_asked(home: Path, answer: bytes, changed: bool) -> None:
    """After the change was shown; it is made for a yes alone."""
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    words = ["mcp", "install", "--client", "codex"]
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", *words],
        stdin=theirs,
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    os.close(ours)
    os.close(theirs)
    assert "[mcp_servers.nightly-memory]" in done.stdout
    assert "make this change?" in done.stderr
    assert (home / ".codex" / "config.toml").exists() is changed


def test_without_the_extra_the_server_says_what_to_install() -> None:
    """One line and its cure, no traceback."""
    code = (
        "import sys; sys.modules['mcp'] = None; sys.argv = ['memory', 'mcp'];"
        "from pipeline.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert "pipx inject nightly-memory mcp" in done.stderr
    assert "Traceback" not in done.stderr
