"""`memory search`, in both ways in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.config import Config, load_config
from pipeline.front import main
from tests.support_recall import article, claimed, store


@pytest.fixture
def config() -> Config:
    """A home with an article, and a conversation with a claim."""
    config = load_config()
    article(config, "Harbor", "# Harbor\n\nIt reads blocks.\n\n## Limits\n\nTwo gigabytes.\n")
    with store(config) as opened:
        claimed(opened, "1a2b3c4d", ["two gigabytes at most"], [("It takes two gigabytes.", 0)])
    return config


def told(*arguments: str) -> str:
    """What the command prints."""
    result = CliRunner().invoke(app, ["search", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def quickly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> str:
    """The same by the way in that loads little."""
    monkeypatch.setattr(sys, "argv", ["memory", "search", *arguments])
    main()
    return capsys.readouterr().out


def test_a_hit_is_told_in_two_lines(config: Config) -> None:
    """Where it stands, and what stands there with the words marked."""
    lines = told("limits of the harbor", "--in", "articles").splitlines()
    assert lines[0].startswith("[[Harbor")
    assert any(line == "    «Two» «gigabytes»." for line in told("two gigabytes").splitlines())
    assert told("nothing of the kind") == "nothing was found\n"


def test_json_holds_every_field(config: Config) -> None:
    """As the docs name them."""
    first = json.loads(told("two gigabytes", "--json", "--in", "claims"))[0]
    assert set(first) == {
        "place", "title", "article", "anchor", "citation", "date", "project", "snippet", "score",
    }  # fmt: skip
    assert (first["place"], first["citation"]) == ("claims", "conv:1a2b3c4d#1")


@pytest.mark.parametrize(
    "arguments",
    [
        ("two gigabytes",),
        ("two gigabytes", "--json"),
        ("gigabytes", "--in", "claims", "--in", "articles", "--limit", "1"),
        ("gigabytes", "--since", "2001-02-03", "--until", "2001-02-03"),
        ("gigabytes", "--project", "project"),
        ("nothing of the kind",),
        ("--", "-1 gigabytes"),
    ],
)
def test_both_ways_in_tell_the_same(
    config: Config,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
) -> None:
    """The quick one is quick, not another."""
    assert quickly(monkeypatch, capsys, *arguments) == told(*arguments)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["x", "--in", "everywhere"], 3, "no place named 'everywhere'"),
        (["x", "--limit", "0"], 2, "--limit"),
        (["x", "--since", "yesterday"], 2, "--since"),
        (["-1"], 2, "No such option"),
        (["-.5"], 2, "No such option"),
        (["x", "--limit", "-1"], 2, "--limit"),
        ([], 2, "Missing argument"),
    ],
)
def test_what_is_asked_wrongly_is_said(
    config: Config,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    """With the exit code every command has for it."""
    monkeypatch.setattr(sys, "argv", ["memory", "search", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert said in capsys.readouterr().err


def test_a_setting_that_is_wrong_is_said(
    config: Config, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The quick way in leaves a zone it cannot use to the one that names it."""
    monkeypatch.setenv("MEMORY_TIMEZONE", "Nowhere/City")
    monkeypatch.setattr(sys, "argv", ["memory", "search", "gigabytes"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 3


@pytest.mark.parametrize(
    "said",
    ["redact_emails = true", 'redact_emails = "true"', "redact_emails = 1", 'redact_emails = "ON"'],
)
def test_what_is_taken_out_is_taken_out_in_both_ways_in(
    config: Config,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    home: Path,
    said: str,
) -> None:
    """However the setting is written that has it taken out."""
    article(config, "People", "# People\n\nThe pelican is joe@example-firm.com here.\n")
    file = home / ".config" / "nightly-memory" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f"[ingest]\n{said}\n", "utf-8")
    assert "[REDACTED:email]" in told("pelican")
    assert quickly(monkeypatch, capsys, "pelican") == told("pelican")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MEMORY_VAULT", "not/absolute"),
        ("memory_vault", "not/absolute"),
        ("MEMORY_INGEST__REDACT_EMAILS", "perhaps"),
        ("MEMORY_INGEST", '{"redact_patterns": 5}'),
    ],
)
def test_a_setting_that_a_search_cannot_obey_is_said(
    config: Config, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """Another vault than the one that was meant, or what was to be taken out, is not told."""
    monkeypatch.setenv(variable, value)
    monkeypatch.setattr(sys, "argv", ["memory", "search", "gigabytes"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 3


@pytest.mark.parametrize("arguments", [["search", "gigabytes"], ["read", "Harbor"], ["list"]])
def test_a_terminal_that_has_not_all_signs_is_told_what_it_can_show(
    config: Config, arguments: list[str]
) -> None:
    """The others by their numbers, and no traceback."""
    article(config, "Harbor", "# Harbor\n\nSeven « gigabytes » – or 北 eight.\n")
    article(config, "北", "# 北\n\nNorth.\n")
    ended = subprocess.run(
        [sys.executable, "-m", "pipeline", *arguments],
        check=False,
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert ended.returncode == 0, ended.stderr
    assert b"Harbor" in ended.stdout
    assert rb"\xab" in ended.stdout or rb"\u5317" in ended.stdout
    assert b"Traceback" not in ended.stderr


def test_a_search_loads_neither_settings_nor_pages(config: Config) -> None:
    """An agent waits for it; what takes long to load is left alone where nothing changed."""
    told("gigabytes")
    script = (
        "import sys; from pipeline.front import main; "
        "sys.argv = ['memory', 'search', 'gigabytes']; main(); "
        "heavy = {'typer', 'pydantic', 'markdown_it', 'rapidfuzz', 'regex', 'numpy', 'mlx'}; "
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
