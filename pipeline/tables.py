"""The tables of the configuration file, and the folders that settings name.

docs/config.md is generated from the fields below, so each carries its own explanation.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from pipeline.errors import ConfigFault
from pipeline.patterns import checked
from pipeline.policy import Count, Table

APP = "nightly-memory"
ADAPTER_FILES = ("adapter_config.json", "adapters.safetensors")


def home() -> Path:
    """The user's home folder. Raises ConfigFault where none can be told.

    An empty HOME would otherwise put the vault at the root of the file system.
    """
    try:
        found = Path.home()
    except RuntimeError as error:
        raise ConfigFault("no home folder can be found", mend="set HOME") from error
    if os.environ.get("HOME") == "" or not found.is_absolute():
        raise ConfigFault("HOME is set, but not to an absolute path", mend="set HOME to one")
    return found


def xdg(variable: str, default: str) -> Path:
    """The folder of this program under an XDG base folder; a relative one is ignored (XDG says)."""
    named = Path(os.environ.get(variable, ""))
    return (named if named.is_absolute() else home() / default) / APP


def _expanded(value: Any) -> Any:
    """Put the home folder in the place of `~`."""
    if isinstance(value, str | Path) and str(value).startswith("~"):
        home()
        try:
            return Path(value).expanduser()
        except RuntimeError as error:
            raise ValueError("no such user") from error
    return value


def _absolute(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("must not hold a NUL")
    # a scheduled run starts in another folder than the user's shell did
    if not path.is_absolute():
        raise ValueError("must be an absolute path or begin with ~")
    return path


def _usable(patterns: dict[str, str]) -> dict[str, str]:
    for name, pattern in patterns.items():
        checked(name, pattern)
    return patterns


Folder = Annotated[Path, BeforeValidator(_expanded), AfterValidator(_absolute)]


def _holds_adapter(folder: Path) -> Path:
    missing = [name for name in ADAPTER_FILES if not (folder / name).is_file()]
    if missing:
        raise ValueError(f"holds no {missing[0]}")
    return folder


Adapter = Annotated[Folder, AfterValidator(_holds_adapter)]


class SourcesConfig(Table):
    """Where conversations are read from."""

    enabled: list[str] = Field(
        default=["pi", "claude-code", "codex", "claude-ai", "chatgpt", "observations"],
        description="Names of the sources that are read.",
    )
    roots: dict[str, list[Folder]] = Field(
        default={},
        description="Folders to look under, by source name. A source that is not named here looks "
        "where its program keeps its transcripts.",
    )


class IngestConfig(Table):
    """What is taken from the transcripts."""

    quiet_minutes: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="Minutes a session must have been quiet before it is read; unset, the shipped "
        "policy's number.",
    )
    exclude_projects: list[str] = Field(
        default=[],
        description="Projects never read: shell patterns over the project's folder, such as "
        "`*/private/*`.",
    )
    project_aliases: dict[str, str] = Field(
        default={},
        description="Projects that moved: old folder = new folder. What was said in the old one, "
        "or below it, belongs to the new one.",
    )
    subagents: bool = Field(
        default=False, description="Read the sessions of sub-agents and helpers too."
    )
    redact_emails: bool = Field(default=False, description="Take e-mail addresses out of the text.")
    redact_phones: bool = Field(default=False, description="Take phone numbers out of the text.")
    redact_payments: bool = Field(
        default=False,
        description="Take bank account numbers (IBAN) and payment card numbers out of the text; "
        "only those whose check digits are right.",
    )
    redact_patterns: Annotated[dict[str, str], AfterValidator(_usable)] = Field(
        default={},
        description="What else is taken out: a table of names and regular expressions (Python's), "
        "each written as `[REDACTED:name]` and counted by name. Refused are expressions that match "
        "nothing at all, or whose search can take far longer than the text is long.",
    )

    @property
    def redaction(self) -> dict[str, Any]:
        """What `redact` is told beside the text."""
        return {
            "emails": self.redact_emails,
            "phones": self.redact_phones,
            "payments": self.redact_payments,
            "patterns": self.redact_patterns,
        }


class ServerConfig(Table):
    """The server of a model named `openai:NAME`."""

    url: str = Field(
        default="http://127.0.0.1:8080/v1",
        description="Where the server listens, up to and with `/v1`.",
    )
    remote: bool = Field(
        default=False,
        description="Let the server be another machine than this one. Your conversations, "
        "redacted, are then sent there; otherwise nothing leaves this machine.",
    )
    key_variable: str = Field(
        default="",
        description="The environment variable that holds the server's key; a key is never written "
        "into this file.",
    )
    key_item: str = Field(
        default="",
        description="The service name of the keychain item that holds the key (on a Mac). "
        "`key_variable` goes before it.",
    )
    timeout_seconds: Count = Field(
        default=300, description="Seconds the server may take for one request."
    )


class AdaptersConfig(Table):
    """LoRA adapters for stages: folders as `mlx_lm.lora` writes them. A stage without one uses the
    model as it is.
    """

    chunk: Adapter | None = Field(default=None, description="For the stage chunk.")
    cluster: Adapter | None = Field(default=None, description="For the stage cluster.")
    synthesize: Adapter | None = Field(default=None, description="For the stage synthesize.")
    wikify: Adapter | None = Field(default=None, description="For the stage wikify.")


class NightConfig(Table):
    """When a scheduled run may work, and what it leaves behind."""

    on_battery: bool = Field(
        default=False, description="Let a scheduled run work on battery power too."
    )
    min_battery: Annotated[int, Field(ge=0, le=100)] = Field(
        default=40, description="Percent of charge below which a run on battery power is skipped."
    )
    low_power: bool = Field(
        default=False, description="Let a scheduled run work in low power mode too."
    )
    min_free_gb: Annotated[float, Field(ge=0)] = Field(
        default=2.0,
        description="Gigabytes that must be free on the disks of the vault, the store and the "
        "archive before a run begins.",
    )
    idle_minutes: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Minutes without a key press or a movement of the mouse before a scheduled run "
        "begins (on a Mac); 0 does not ask. Where the Mac is asleep at night, the run begins when "
        "you wake it, and would then be skipped.",
    )
    stage_minutes: Count = Field(
        default=90,
        description="Minutes after which a stage stops at the next safe point, so that the stages "
        "after it get their turn.",
    )
    keep_logs: Count = Field(default=30, description="Logs of runs that are kept.")
    notify: bool = Field(
        default=True, description="Show a notification when a scheduled run failed."
    )
    on_finish: list[str] = Field(
        default=[],
        description="A command to start when a run has ended: program and arguments. It gets the "
        "run's result as JSON on its standard input.",
    )


class ProjectConfig(Table):
    """The memory of a project: `anvil-memory` and `memory project`."""

    types: list[str] = Field(
        default=[], description="Kinds of observations beside those that are there already."
    )
