"""`memory prompts`: what is asked can be read, replaced, and is told when it would do harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline import cli
from pipeline.config import config_path
from pipeline.errors import ConfigFault
from pipeline.prompts import Prompts
from pipeline.resources import folder
from pipeline.schematic import faults


@pytest.fixture(scope="module")
def shipped() -> Prompts:
    return Prompts(folder("prompts"))


def own(name: str, old: str, new: str, shipped: Prompts) -> Path:
    """The shipped prompt with one thing changed, as the user's own file."""
    text = shipped.get(name).raw
    assert text.count(old) >= 1, old
    file = config_path().parent / "prompts" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    return file


def run(*arguments: str) -> str:
    """What the command prints; faults are raised."""
    done = CliRunner().invoke(cli.app, ["prompts", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def check() -> dict[str, list[str]]:
    """The faults of each prompt, by the command; its exit follows them."""
    done = CliRunner().invoke(cli.app, ["prompts", "check", "--json"])
    told = json.loads(done.stdout)
    assert told["ok"] == (done.exit_code == 0)
    assert isinstance(done.exception, ConfigFault) or told["ok"]
    return {row["name"]: row["faults"] for row in told["prompts"]}


# ------------------------------------------------------------------ checking


def test_the_shipped_prompts_have_no_fault(home: Path) -> None:
    """Each of them, and the command ends well."""
    found = check()
    assert len(found) == 13 and not any(found.values())
    assert all(line.startswith("ok ") for line in run("check").splitlines())


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("chunk/label", "## user", "## user\nOf 12 May.", "'12': a number or a date"),
        ("chunk/label", "## user", "## user\nIn the month of May, say.", "'May': a date"),
        ("chunk/label", "## user", "## user\nIt was made by Amina.", "'Amina': a name"),
        ("chunk/label", "## user", "## user\ncommit 3f9ab02c", "'3f9ab02c': a hash"),
        ("chunk/label", "$transcript", "(nothing)", "the place $transcript is missing"),
        ("chunk/label", "$transcript", "$transcript $mood", "nothing fills the place $mood"),
        ("chunk/label", "max_tokens: 25", "max_tokens: 0", "max_tokens"),
        ("chunk/label", "regex:", "# regex:", "it has no regex"),
        ("chunk/keep", "options:", "temperature: 0.0 #", "its options are none"),
        ("wikify/split", "## example assistant\nown", "## example assistant\nyes", "'yes'"),
        ("synthesize/claims", '"event: THING', '"rumour: THING', "has not the form asked for"),
        ("chunk/label", "regex: '", "regex: 'X", "its regex is not of the form that is read"),
        ("chunk/label", "regex: '", "regex: '(", "grammar is not valid"),
        ("chunk/label", "---\n", "", "no front matter"),
        ("chunk/label", "max_tokens", "most_tokens", "unknown setting"),
        ("chunk/label", "$transcript", "$ $transcript", "stray dollar"),
        ("chunk/label", "## user", "## person", "has the parts"),
    ],
)
def test_what_is_wrong_with_a_prompt_is_told(
    home: Path, shipped: Prompts, name: str, old: str, new: str, fault: str
) -> None:
    """By its name and in words; every other prompt is well."""
    own(name, old, new, shipped)
    found = check()
    told = "; ".join(found.pop(name))
    assert fault in told
    assert not any(found.values())


def test_every_fault_of_every_prompt_is_told_at_once(home: Path, shipped: Prompts) -> None:
    """The first broken file does not hide the next."""
    own("chunk/keep", "## user", "## person", shipped)
    own("chunk/label", "$transcript", "the year 1999", shipped)
    stray = config_path().parent / "prompts" / "chunk" / "lable.md"
    stray.write_text("x", encoding="utf-8")
    found = check()
    assert "chunk/label" in found["chunk/lable"][0]
    assert len(found["chunk/label"]) == 2 and len(found["chunk/keep"]) == 1
    done = CliRunner().invoke(cli.app, ["prompts", "check"])
    assert "3 of 14 prompts" in str(done.exception)


def test_what_a_prompt_may_hold(shipped: Prompts, home: Path) -> None:
    """Placeholders in capitals, names of places, and capitals that begin a sentence."""
    more = "$transcript\nThe PART of PROJECT. Then: Answer. May it be short?"
    own("chunk/label", "$transcript", more.replace("May it", "It may"), shipped)
    assert not any(check().values())
    changed = Prompts(folder("prompts"), config_path().parent / "prompts")
    assert not faults(changed.get("chunk/label"), shipped.get("chunk/label"))


# ------------------------------------------------------------------ listing and showing


def test_the_list_says_where_each_prompt_comes_from(home: Path, shipped: Prompts) -> None:
    """Its answer, limit, places and digest; a user's own by its file and with another digest."""
    before = {row["name"]: row for row in json.loads(run("list", "--json"))}
    assert before["synthesize/claims"]["answer"] == "json"
    assert before["synthesize/claims"]["max_tokens"] == 240
    assert before["synthesize/claims"]["places"] == ["rules", "transcript"]
    assert before["chunk/keep"]["answer"] == "one of: keep, drop"
    assert before["cluster/route"]["answer"] == "a choice"
    assert not any(row["own"] for row in before.values())
    file = own("chunk/keep", "## user", "## user\nMind this:", shipped)
    after = {row["name"]: row for row in json.loads(run("list", "--json"))}
    assert [name for name, row in after.items() if row != before[name]] == ["chunk/keep"]
    assert after["chunk/keep"]["own"] and after["chunk/keep"]["file"] == str(file)
    assert after["chunk/keep"]["digest"] != before["chunk/keep"]["digest"]
    assert "shipped" in run("list")


@pytest.mark.parametrize("name", ["chunk/keep", "synthesize/claims", "chunk/label"])
def test_what_is_shown_can_be_put_in_its_own_place(home: Path, name: str) -> None:
    """`memory prompts show NAME > prompts/NAME.md` replaces a prompt by itself."""
    file = config_path().parent / "prompts" / f"{name}.md"
    file.parent.mkdir(parents=True)
    file.write_text(run("show", name), encoding="utf-8")
    mine = Prompts(folder("prompts"), config_path().parent / "prompts").get(name)
    assert mine.origin == str(file)
    assert not check()[name]
    told = json.loads(run("show", name, "--json"))
    assert told["own"] and told["system"] and told["examples"][0]["user"]


def test_a_prompt_that_is_not_there(home: Path) -> None:
    """The fault names those that are."""
    with pytest.raises(ConfigFault, match="chunk/sing") as caught:
        run("show", "chunk/sing")
    assert "chunk/label" in caught.value.mend
