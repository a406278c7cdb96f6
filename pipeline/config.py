"""What the user may set.

A setting is looked for in the command's flags, then the environment (`MEMORY_…`), then the
configuration file, then the default. docs/config.md is generated from the fields below, so each
carries its own explanation.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from pipeline import ordinary
from pipeline.errors import ConfigFault
from pipeline.policy import Count
from pipeline.tables import (
    APP,
    AdaptersConfig,
    Folder,
    IngestConfig,
    NightConfig,
    ProjectConfig,
    ServerConfig,
    SourcesConfig,
    home,
    xdg,
)

PREFIX = "MEMORY_"
FILE_VARIABLE = "MEMORY_CONFIG"


def config_path() -> Path:
    """The configuration file, whether it exists or not: $MEMORY_CONFIG, or the XDG place."""
    if named := os.environ.get(FILE_VARIABLE):
        try:
            return Path(named).expanduser().absolute()
        except (OSError, RuntimeError) as error:
            raise ConfigFault(
                f"{FILE_VARIABLE} is {named!r}, which leads to no folder",
                mend="give the whole path of the configuration file",
            ) from error
    return xdg("XDG_CONFIG_HOME", ".config") / "config.toml"


def _all(value: Any) -> Any:
    return None if value == "all" else value


def _zone(name: str) -> str:
    if name != "local":
        try:
            ZoneInfo(name)
        except (OSError, ValueError, LookupError) as error:
            raise ValueError('must be "local" or an IANA name such as "Area/City"') from error
    return name


class Config(BaseSettings):
    """All settings of one run. Frozen; made by `load_config`."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,
    )

    vault: Folder = Field(
        default_factory=lambda: home() / "MemoryVault",
        description="The wiki: a folder of Markdown under git, whose git folder may be elsewhere. "
        "Default `~/MemoryVault`. On a Mac keep it out of Documents, Desktop and iCloud, which a "
        "scheduled job may not read.",
    )
    cache_dir: Folder = Field(
        default_factory=lambda: xdg("XDG_CACHE_HOME", ".cache"),
        description="Derived state: memory.sqlite, models. Default "
        "`$XDG_CACHE_HOME/nightly-memory`, else `~/.cache/nightly-memory`.",
    )
    data_dir: Folder = Field(
        default_factory=lambda: xdg("XDG_DATA_HOME", ".local/share"),
        description="Durable state: the archive of redacted conversations. Default "
        "`$XDG_DATA_HOME/nightly-memory`, else `~/.local/share/nightly-memory`.",
    )
    models_dir: Folder = Field(
        default_factory=lambda data: data["cache_dir"] / "models",
        description="Where fetched models are kept. Default `models` under `cache_dir`.",
    )
    model: str = Field(
        default="auto",
        description="The language model: an alias of `memory model list`, a hub name, a local "
        "folder, `auto`, which chooses by this machine's memory, or `openai:NAME`, the model of "
        "that name on the server of `[server]`.",
    )
    embedder: str = Field(
        default="minilm",
        description="The model that compares texts, or `none` to go by words alone.",
    )
    max_minutes: Count = Field(
        default=120,
        description="Minutes after which a run stops at the next safe point; the rest is done the "
        "next night.",
    )
    max_tokens: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Tokens the model may write in a run before it stops at the next safe point; 0 "
        "sets no limit.",
    )
    max_prompt_tokens: Annotated[int, Field(ge=512)] = Field(
        default=4096, description="Tokens of one prompt at most; longer texts are windowed."
    )
    batch: Count = Field(default=8, description="Requests the model works on side by side.")
    model_timeout_seconds: Count = Field(
        default=600,
        description="Seconds a model that runs here may take for one step of its work, or to be "
        "loaded. After them its process counts as hung and is ended.",
    )
    offline: bool = Field(
        default=False,
        description="Never download, not even by `memory model fetch`. A run never does anyway.",
    )
    since_days: Annotated[Annotated[int, Field(ge=0)] | None, BeforeValidator(_all)] = Field(
        default=14,
        description="How many days back the first night looks, or `all`.",
    )
    commit_user_edits: bool = Field(
        default=True,
        description="Commit your uncommitted edits to the vault, as you and apart from the run's "
        "own commits, before the run writes. When off, articles with such edits are skipped and "
        "reported.",
    )
    timezone: Annotated[str, AfterValidator(_zone)] = Field(
        default="local",
        description="The zone of the dates in the wiki: `local`, or an IANA name.",
    )
    night: NightConfig = Field(
        default=NightConfig(), description="When a scheduled run may work, and what it leaves."
    )
    sources: SourcesConfig = Field(
        default=SourcesConfig(), description="Where conversations are read from."
    )
    ingest: IngestConfig = Field(
        default=IngestConfig(), description="What is taken from the transcripts."
    )
    project: ProjectConfig = Field(
        default=ProjectConfig(),
        description="The memory of a project: `anvil-memory` and `memory project`.",
    )
    server: ServerConfig = Field(
        default=ServerConfig(), description="The server of a model named `openai:NAME`."
    )
    adapters: AdaptersConfig = Field(
        default=AdaptersConfig(),
        description="LoRA adapters for stages: folders as `mlx_lm.lora` writes them. A stage "
        "without one uses the model as it is.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is Pydantic's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags over environment over file."""
        file = TomlConfigSettingsSource(settings_cls, toml_file=config_path())
        return (init_settings, env_settings, file)

    @property
    def store_path(self) -> Path:
        """memory.sqlite."""
        return self.cache_dir / "memory.sqlite"

    @property
    def lock_path(self) -> Path:
        """Held by the one run at a time."""
        return self.cache_dir / "run.lock"

    @property
    def log_dir(self) -> Path:
        """The logs of the runs: where Console looks for them on a Mac, else the XDG place."""
        if sys.platform == "darwin":
            return home() / "Library" / "Logs" / APP
        return xdg("XDG_STATE_HOME", ".local/state") / "logs"

    @property
    def archive_dir(self) -> Path:
        """The archive of redacted conversations."""
        return self.data_dir / "archive"

    @property
    def journal_dir(self) -> Path:
        """The journal: what memory.sqlite holds beside the conversations, written down."""
        return self.data_dir / "journal"

    @property
    def zone(self) -> tzinfo | None:
        """As `datetime.astimezone` takes it; None is the machine's own zone, changes included."""
        return None if self.timezone == "local" else ZoneInfo(self.timezone)


def load_config(**overrides: Any) -> Config:
    """The settings for one command; `overrides` are its flags, None where one was not given.

    A relative path in a flag is taken from the working folder. Raises ConfigFault for a file that
    is not TOML, an unknown key, or a value of the wrong form; the message names key and place.
    """
    flags: dict[str, Any] = {
        name: Path(value).expanduser().absolute() if isinstance(value, Path) else value
        for name, value in overrides.items()
        if value is not None
    }
    path = config_path()
    _refuse_unknown_variables()
    try:
        _refuse_other_than_file(path)
        return Config(**flags)
    except ValidationError as error:
        raise _explained(error.errors()[0], path, flags) from error
    except SettingsError as error:
        raise _unreadable_variable(error) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigFault(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}",
            mend="make it a readable text file in UTF-8, or move it aside",
        ) from error
    except (ValueError, RecursionError) as error:  # of a number with too many digits, too
        raise ConfigFault(
            f"{path} is not TOML: {error}", mend="mend the line it names, or move the file aside"
        ) from error


def remember(key: str, value: str | int) -> None:
    """Write a plain key into the configuration file, in the place of what it had there.

    Everything else in the file stays as it is. Raises ConfigFault when it cannot be written.
    """
    path = config_path()
    line = f"{key} = {json.dumps(value)}\n"
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        # keys of no table stand before the first one
        head, table, rest = text.partition("\n[") if not text.startswith("[") else ("", "", text)
        found = re.compile(rf"^{key}\s*=.*\n?", re.MULTILINE)
        head = found.sub(lambda _: line, head, count=1) if found.search(head) else line + head
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(head + table + rest, encoding="utf-8")
    except OSError as error:
        raise ConfigFault(
            f"{path} cannot be written: {error.strerror or error}",
            mend=f"put `{line.strip()}` in it",
        ) from error


def keys(model: type[BaseModel] = Config, under: str = "") -> Iterator[tuple[str, str]]:
    """Every key a file may set, dotted, with its explanation; tables come after plain keys."""
    tables = []
    for name, info in model.model_fields.items():
        inner = info.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            tables.append((f"{under}{name}.", inner))
        else:
            yield under + name, info.description or ""
    for prefix, inner in tables:
        yield from keys(inner, prefix)


def variable(key: str) -> str:
    """The environment variable that sets a dotted key."""
    return PREFIX + key.replace(".", "__").upper()


# ------------------------------------------------------------------ saying what is wrong


def _refuse_other_than_file(path: Path) -> None:
    """Raise OSError for what is no file, or a link to nothing: it would pass for no settings."""
    if os.path.lexists(path):
        ordinary.opened(path).close()


def _nearest(key: str) -> str:
    """A mend that names the known key most like `key`, if one is like it at all."""

    def likeness(known: str) -> float:
        rivals = (known, known.rpartition(".")[2])
        asked = (key, key.rpartition(".")[2])
        return max(SequenceMatcher(None, a, b).ratio() for a in asked for b in rivals)

    # of equals, the one in the same table
    best = max(
        (known for known, _ in keys()),
        key=lambda known: (likeness(known), SequenceMatcher(None, key, known).ratio()),
    )
    if likeness(best) < 0.6:
        return "`memory config show` lists the known keys"
    return f"did you mean `{best}`?"


def _refuse_unknown_variables() -> None:
    known = {variable(key) for key, _ in keys()} | {FILE_VARIABLE}
    # a table may be set whole (as JSON), and a table of free names by name
    known |= {name.rpartition("__")[0] for name in known if "__" in name}
    free = tuple(variable(key) + "__" for key in ("sources.roots", "ingest.redact_patterns"))
    for name in sorted(os.environ):
        if not name.upper().startswith(PREFIX):
            continue
        if name.upper() not in known and not name.upper().startswith(free):
            asked = name[len(PREFIX) :].lower().replace("__", ".")
            raise ConfigFault(
                f"the environment variable {name} sets no known key", mend=_nearest(asked)
            )


def _unreadable_variable(error: SettingsError) -> ConfigFault:
    field = str(error).partition('"')[2].partition('"')[0]
    names = [name for name in sorted(os.environ) if name.upper().startswith(variable(field))]
    return ConfigFault(
        f"the environment variable {' or '.join(names)} does not hold JSON",
        mend='lists are written as ["one", "two"], tables as {"key": "value"}',
    )


def _explained(problem: ErrorDetails, path: Path, flags: Mapping[str, Any]) -> ConfigFault:
    """The fault for the first thing Pydantic found wrong."""
    steps = [str(step) for step in problem["loc"]]
    key = ".".join(steps)
    if _holds(flags, steps):
        place = "the command's flags"
    elif names := [
        name
        for depth in range(len(steps), 0, -1)
        for name in os.environ
        if name.upper() == variable(".".join(steps[:depth]))
    ]:
        place = f"the environment variable {names[0]}"
    else:
        place = str(path)
    if problem["type"] == "extra_forbidden":
        return ConfigFault(f"unknown key `{key}` in {place}", mend=_nearest(key))
    accepted = next((text for known, text in keys() if key.startswith(known)), "it is a table")
    reason = problem["msg"].removeprefix("Value error, ")
    return ConfigFault(
        f"`{key}` is {problem['input']!r} in {place}: {reason[0].lower()}{reason[1:]}",
        mend=f"{key}: {accepted}",
    )


def _holds(values: Mapping[str, Any], steps: list[str]) -> bool:
    """Whether `values` has something at the end of `steps`."""
    here: Any = values
    for step in steps:
        if not isinstance(here, Mapping) or step not in here:
            return here is not values and not isinstance(here, Mapping)
        here = here[step]
    return True
