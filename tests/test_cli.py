"""The command line: what is wrong is said with its cure and its own exit code, and JSON is JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import cli
from pipeline.lock import one_run
from tests.support_command import memory


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own, in the test's home."""
    return subprocess.run(
        [sys.executable, "-m", "pipeline", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
    )


def test_init_twice_changes_nothing(home: Path) -> None:
    """A second init leaves a vault that the user has edited as it is."""
    assert memory("init").returncode == 0
    page = home / "MemoryVault" / "Meta" / "Topics_to_Ignore.md"
    page.write_text("- my own words\n")
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=home / "MemoryVault", capture_output=True, check=True
    ).stdout
    assert memory("init").returncode == 0
    assert page.read_text() == "- my own words\n"
    again = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=home / "MemoryVault", capture_output=True, check=True
    ).stdout
    assert again == head


def test_init_names_the_next_step(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is fetched before the first night, which never downloads."""
    monkeypatch.setenv("MEMORY_MODEL", "e4b")
    assert run("init").stdout.splitlines()[-1] == "next: memory model fetch e4b"
    (home / "config.json").write_text("{}")  # a folder with a model is taken as it is
    monkeypatch.setenv("MEMORY_MODEL", str(home))
    assert run("init").stdout.splitlines()[-1] == "next: memory synthesize --dry-run"


def test_a_night_without_transcripts_needs_no_model(home: Path) -> None:
    """Nothing to do is said in one line, although no model was ever fetched."""
    memory("init")
    done = memory("synthesize", "--model", "e4b")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith("nothing new")


def test_a_dry_run_says_that_it_was_one(home: Path) -> None:
    """Who reads what it would do is told that nothing was done."""
    memory("init")
    done = memory("synthesize", "--dry-run", "--model", "e4b")
    assert "on copies" in done.stdout.splitlines()[-1]
    assert "on copies" not in memory("synthesize", "--model", "e4b").stdout


def test_no_vault_yet(home: Path) -> None:
    """The fault names the place and the command that mends it; exit 3."""
    done = run("synthesize")
    assert done.returncode == 3
    assert str(home / "MemoryVault") in done.stderr and "memory init" in done.stderr


def test_a_second_start_says_so(home: Path) -> None:
    """P12: one run at a time; exit 8."""
    memory("init")
    lock = home / ".cache" / "nightly-memory" / "run.lock"
    with one_run(lock):
        done = run("synthesize")
    assert done.returncode == 8
    assert f"process {os.getpid()}" in done.stderr


def test_a_missing_model_is_named_with_its_cure(home: Path) -> None:
    """Exit 5, and the command that fetches it."""
    done = memory("model", "path", "qwen3-4b")
    assert done.returncode == 5
    assert "memory model fetch qwen3-4b" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["synthesize", "--stage", "dream"], ["dream", "cluster"]),
        (["synthesize", "--model", "no-such"], ["no-such", "e4b"]),
    ],
)
def test_unknown_names_list_the_known(home: Path, arguments: list[str], words: list[str]) -> None:
    """A typo is answered with what would have been accepted."""
    memory("init")
    done = memory(*arguments)
    assert done.returncode in (3, 5)
    assert all(word in done.stderr for word in words)


@pytest.mark.parametrize(
    "arguments", [["status", "--json"], ["config", "show", "--json"], ["model", "list", "--json"]]
)
def test_json_is_json_before_and_after_init(home: Path, arguments: list[str]) -> None:
    """A program can read it whatever state the machine is in."""
    for _ in range(2):
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)
        memory("init")


def test_a_run_in_json_is_lines_of_json(home: Path) -> None:
    """Events and the result, one object a line, the result last."""
    memory("init")
    done = run("synthesize", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1]["status"] == "nothing"


def test_flags_win_over_the_environment_over_the_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vault named last in that order is the one that is made."""
    config = home / ".config" / "nightly-memory" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'vault = "{home}/of-file"\n')
    memory("init")
    monkeypatch.setenv("MEMORY_VAULT", f"{home}/of-environment")
    memory("init")
    memory("init", "--vault", f"{home}/of-flag")
    for name in ("of-file", "of-environment", "of-flag"):
        assert (home / name / "Meta" / "Changelog.md").is_file()


def test_every_command_shows_an_example() -> None:
    """Help that does not show how it is used sends people to the source."""
    groups = [cli.app, *(group.typer_instance for group in cli.app.registered_groups)]
    commands = [command for group in groups if group for command in group.registered_commands]
    assert commands
    for command in commands:
        assert command.callback is not None
        assert "Example: memory" in (command.callback.__doc__ or ""), command.callback


def test_a_run_that_cannot_begin_leaves_no_trace(home: Path) -> None:
    """A wrong setting is no run: status does not speak of one that is at work."""
    memory("init")
    assert run("synthesize", "--model", "no-such").returncode == 5
    assert json.loads(run("status", "--json").stdout)["last_run"] is None


def test_offline_means_no_download(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `offline` a model that is not there stays not there; exit 5."""
    monkeypatch.setenv("MEMORY_OFFLINE", "true")
    monkeypatch.setenv("MEMORY_MODELS_DIR", f"{home}/models")
    assert memory("model", "fetch", "minilm").returncode == 5
    assert not (home / "models" / "minilm").exists()


def test_the_users_own_prompt_takes_the_place_of_the_shipped(home: Path) -> None:
    """A broken one stops the run before it begins, and is named; exit 3."""
    memory("init")
    own = home / ".config" / "nightly-memory" / "prompts" / "chunk"
    own.mkdir(parents=True)
    (own / "label.md").write_text("no front matter")
    done = memory("synthesize")
    assert done.returncode == 3
    assert "label.md" in done.stderr
