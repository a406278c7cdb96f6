"""The documents agree with the program."""

from __future__ import annotations

import plistlib
import re
import tomllib
from pathlib import Path

from pipeline import errors
from pipeline.config import keys, load_config
from pipeline.resources import folder
from scripts import docs

ROOT = Path(__file__).parents[1]


def test_generated_pages_are_up_to_date() -> None:
    """docs/config.md, cli.md and doctor.md are what scripts/docs.py writes today."""
    made = {
        "config.md": docs.config_page(),
        "cli.md": docs.cli_page(),
        "doctor.md": docs.doctor_page(),
    }
    for name, page in made.items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == page


def test_every_setting_is_documented() -> None:
    """Each key of the configuration has its row."""
    page = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
    for key, meaning in keys():
        assert f"| `{key.rpartition('.')[2]}` |" in page
        assert meaning in page


def test_the_documented_example_is_accepted() -> None:
    """The sample configuration of docs/config.md can be used as it stands."""
    page = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
    sample = tomllib.loads(page.partition("```toml\n")[2].partition("```")[0])
    config = load_config(**sample)
    assert config.sources.enabled == sample["sources"]["enabled"]


def test_every_exit_code_is_documented() -> None:
    """Each fault's code, and each outcome that has one, stand in docs/cli.md."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for fault in errors.MemoryFault.__subclasses__():
        told_as = fault if "exit_code" in vars(fault) else errors.MemoryFault
        assert f"| {fault.exit_code} | {told_as.__name__} |" in page
    outcomes = [code for name, code in vars(errors).items() if name.startswith("EXIT_")]
    assert len(outcomes) == 4
    assert all(f"| {code} |" in page for code in outcomes)


def test_links_between_documents_lead_somewhere() -> None:
    """Every relative link and picture in a document of the repository exists."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(pages) >= 6
    for page in pages:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_launchd_template_is_well_formed() -> None:
    """One `synthesize` a night, made up for at login, and never as a throttled background."""
    (template,) = [entry for entry in folder("launchd").iterdir() if entry.name.endswith(".plist")]
    job = plistlib.loads(template.read_bytes())
    assert f"{job['Label']}.plist" == template.name
    assert job["ProgramArguments"][1:] == ["synthesize", "--scheduled", "03:00"]
    assert job["StartCalendarInterval"] == {"Hour": 3, "Minute": 0}
    assert job["RunAtLoad"]
    assert job["ProcessType"] != "Background"
    assert job["Umask"] == 0o077
