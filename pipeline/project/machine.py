"""The few settings a project's store needs, read without the library that checks all of them.

They stand in the same places as every setting (pipeline/config.py): environment over file over
default. What is wrong in them is passed over here; every other command names it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pipeline import ordinary
from pipeline.errors import StoreFault
from pipeline.project.place import user_path

_APP = "nightly-memory"
_PREFIX = "MEMORY_"
_REGISTER = "projects.txt"
_ON = frozenset({"1", "true", "yes", "on", "t", "y"})
_OFF = frozenset({"0", "false", "no", "off", "f", "n"})


class Settings(NamedTuple):
    """What of the configuration a project's store needs.

    cache_dir, data_dir, vault: folders, there or not. types: kinds of observations beside the
    shipped ones. redaction: keyword arguments for `redact`. ignored: what was passed over, and why.
    timezone: of the days, as it was written.
    """

    cache_dir: Path
    data_dir: Path
    vault: Path
    types: tuple[str, ...]
    redaction: Mapping[str, Any]
    ignored: tuple[str, ...]
    timezone: str = "local"


def settings(environ: Mapping[str, str], home: Path) -> Settings:
    """The settings in force. Never fails: a file that cannot be read leaves the defaults."""
    ignored: list[str] = []
    # the names of variables count in any case, as for every other command
    environ = {key.upper(): value for key, value in environ.items()}
    file = _file(environ, home, ignored)
    ingest = _table("ingest", environ, file, ignored)
    project = _table("project", environ, file, ignored)
    types = project.get("types")
    patterns = ingest.get("redact_patterns")
    return Settings(
        cache_dir=_folder("cache_dir", environ, file, home, ignored)
        or _xdg("XDG_CACHE_HOME", environ, home / ".cache"),
        data_dir=_folder("data_dir", environ, file, home, ignored)
        or _xdg("XDG_DATA_HOME", environ, home / ".local" / "share"),
        vault=_folder("vault", environ, file, home, ignored) or home / "MemoryVault",
        types=tuple(str(one) for one in types) if isinstance(types, list) else (),
        redaction={
            "emails": _switch(ingest, "redact_emails", ignored),
            "phones": _switch(ingest, "redact_phones", ignored),
            "payments": _switch(ingest, "redact_payments", ignored),
            "patterns": _usable(patterns, ignored),
        },
        ignored=tuple(ignored),
        timezone=str(environ.get(f"{_PREFIX}TIMEZONE") or file.get("timezone") or "local"),
    )


# ------------------------------------------------------------------ the list of stores


def register(data_dir: Path, database: Path) -> bool:
    """Have the nightly run read this store; True if it did not yet.

    Raises StoreFault where the list of stores cannot be written.
    """
    if database in registered(data_dir):
        return False
    there = data_dir / _REGISTER
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        with there.open("a", encoding="utf-8") as file:
            file.write(f"{database}\n")
    except OSError as error:
        raise StoreFault(
            f"the nightly run does not read this project: cannot write {there}: {error.strerror}",
            mend="check that folder's permissions and free space, then repeat `anvil-memory init`",
        ) from error
    return True


def registered(data_dir: Path) -> list[Path]:
    """The stores that `init` made on this machine, each once; they need not be there any more."""
    try:
        text = ordinary.content(data_dir / _REGISTER).decode("utf-8", errors="replace")
    except OSError:
        return []
    return [Path(line) for line in dict.fromkeys(text.splitlines()) if line and "\0" not in line]


# ------------------------------------------------------------------ reading settings


def _file(environ: Mapping[str, str], home: Path, ignored: list[str]) -> dict[str, Any]:
    named = environ.get(f"{_PREFIX}CONFIG")
    path = (
        user_path(named)
        if named
        else _xdg("XDG_CONFIG_HOME", environ, home / ".config") / "config.toml"
    )
    try:
        text = ordinary.content(path).decode("utf-8")
    except FileNotFoundError:  # then what reads it need not be loaded
        return {}
    except (OSError, ValueError) as error:
        ignored.append(f"{path}: {error}")
        return {}
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        ignored.append(f"{path}: {error}")
        return {}


def _xdg(variable: str, environ: Mapping[str, str], otherwise: Path) -> Path:
    named = Path(environ.get(variable, ""))
    return (named if named.is_absolute() else otherwise) / _APP


def _folder(
    key: str,
    environ: Mapping[str, str],
    file: Mapping[str, Any],
    home: Path,
    ignored: list[str],
) -> Path | None:
    value = environ.get(_PREFIX + key.upper()) or file.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        if (value == "~" or value.startswith("~/")) and "\0" not in value:
            return home / value[2:]
        if Path(value).is_absolute() and "\0" not in value:
            return Path(value)
    ignored.append(f"{key}: {value!r} is no absolute path")
    return None


def _table(
    name: str, environ: Mapping[str, str], file: Mapping[str, Any], ignored: list[str]
) -> dict[str, Any]:
    """A table of the file, with what the environment says of it put over it."""
    written = file.get(name)
    table: dict[str, Any] = dict(written) if isinstance(written, dict) else {}
    if written is not None and not isinstance(written, dict):
        ignored.append(f"{name} is no table")
    whole = _PREFIX + name.upper()
    given = {key.upper(): value for key, value in environ.items() if value}
    if whole in given:
        value = _value(given[whole])
        if isinstance(value, dict):
            table |= value
        else:
            ignored.append(f"{whole} does not hold a JSON table")
    for variable, text in given.items():
        if not variable.startswith(f"{whole}__"):
            continue
        key, _, inner = variable[len(whole) + 2 :].lower().partition("__")
        if inner:
            below = table.get(key)
            table[key] = {**(below if isinstance(below, dict) else {}), inner: text}
        else:
            table[key] = _value(text)
    return table


def _switch(table: Mapping[str, Any], key: str, ignored: list[str]) -> bool:
    """A setting that is on or off, in every way it may be written; off unless it is there."""
    value = table.get(key, False)
    said = str(value).lower()
    if said in _ON or said == "1.0":
        return True
    if said not in _OFF and said != "0.0":
        ignored.append(f"{key}: {value!r} is neither on nor off")
    return False


def _value(text: str) -> Any:
    if text.lower() in _ON:
        return True
    try:
        return json.loads(text)
    except ValueError:
        return text


def _usable(patterns: object, ignored: list[str]) -> dict[str, str]:
    kept: dict[str, str] = {}
    if patterns is None or patterns == {}:
        return kept
    if not isinstance(patterns, dict):
        ignored.append("ingest.redact_patterns is no table")
        return kept
    from pipeline.patterns import checked

    for name, pattern in patterns.items():
        try:
            checked(name, pattern)
        except (ValueError, TypeError, re.error) as error:
            ignored.append(f"ingest.redact_patterns: {error}")
        else:
            kept[name] = pattern
    return kept
