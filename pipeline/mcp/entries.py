"""The server in an agent's settings, JSON or TOML: put in, taken out, every other byte kept."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.errors import ConfigFault
from pipeline.project.json_text import parts, with_one_more, without
from pipeline.user_files import unusable

NAME = "nightly-memory"
_SERVERS = "mcpServers"
_TABLES = "mcp_servers"
_HEADER = re.compile(r"[ \t]*\[\[?[ \t]*(?P<name>[^\[\]#\r\n]+?)[ \t]*\]\]?[ \t]*(?:#.*)?$")
_OURS = re.compile(rf"\"?{_TABLES}\"?[ \t]*\.[ \t]*[\"']?{NAME}[\"']?(?:[ \t]*\..*)?")

Entry = Mapping[str, Any]


def with_json(path: Path, text: str, entry: Entry) -> str:
    """The settings with this server in them; the same text where it is there already.

    Raises ConfigFault, naming the file, for what cannot be changed without loss.
    """
    said = _json(path, text)
    servers = said.get(_SERVERS, {})
    if servers.get(NAME) == entry:
        return text
    if not text.strip("\ufeff \t\r\n"):
        return json.dumps({_SERVERS: {NAME: entry}}, indent=2, ensure_ascii=False) + "\n"
    indent = re.search(r"\n([ \t]+)\"", text)
    step = indent[1] if indent else "  "
    wanted = {**said, _SERVERS: {**servers, NAME: entry}}
    try:
        changed = _without_member(text)
        top = changed.index("{")
        shown = json.dumps({NAME: entry}, indent=step, ensure_ascii=False)
        inside = _member(changed, top, _SERVERS)
        if inside is None:
            changed = with_one_more(changed, top, f'"{_SERVERS}": {shown}', step, 1)
        else:
            own = json.dumps(entry, indent=step, ensure_ascii=False)
            changed = with_one_more(changed, inside, f'"{NAME}": {own}', step, 2)
    except (ValueError, IndexError) as error:
        raise unusable(path, f"it is written in an unusual way ({error})") from error
    return _checked(path, changed, _json(path, changed) == wanted, json.dumps(wanted[_SERVERS]))


def without_json(path: Path, text: str) -> str:
    """The settings without this server; the same text where it is not there."""
    said = _json(path, text)
    if NAME not in said.get(_SERVERS, {}):
        return text
    left = {name: value for name, value in said[_SERVERS].items() if name != NAME}
    wanted = {**said, _SERVERS: left}
    try:
        changed = _without_member(text)
        if not left:
            top = changed.index("{")
            names = [part.name for part in parts(changed, top)[0]]
            changed = without(changed, top, names.index(_SERVERS))
            del wanted[_SERVERS]
    except (ValueError, IndexError) as error:
        raise unusable(path, f"it is written in an unusual way ({error})") from error
    return _checked(path, changed, _json(path, changed) == wanted, f'take "{NAME}" out of it')


def with_toml(path: Path, text: str, entry: Entry) -> str:
    """As `with_json`, for a file of TOML; the server's table stands at the end."""
    said = _toml(path, text)
    if said.get(_TABLES, {}).get(NAME) == entry:
        return text
    bare = without_toml(path, text)
    newline = "\r\n" if "\r\n" in text else "\n"
    # JSON writes strings and lists of strings as TOML does
    lines = [f"[{_TABLES}.{NAME}]"]
    lines += [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in entry.items()]
    table = newline.join(lines)
    if not bare:
        changed = table + newline
    elif bare.endswith("\n"):
        changed = f"{bare}{newline}{table}{newline}"
    else:  # no line end after it either: that tells `without_toml` that there was none
        changed = f"{bare}{newline}{newline}{table}"
    wanted = {**_toml(path, bare)}
    wanted[_TABLES] = {**wanted.get(_TABLES, {}), NAME: dict(entry)}
    try:
        same = tomllib.loads(changed) == wanted
    except tomllib.TOMLDecodeError:  # as where the servers are written as one inline table
        same = False
    return _checked(path, changed, same, f"put this at its end: {'; '.join(lines)}")


def without_toml(path: Path, text: str) -> str:
    """The settings without the server's table, those below it and the line put before it."""
    said = _toml(path, text)
    if NAME not in said.get(_TABLES, {}):
        return text
    kept: list[str] = []
    gone: list[str] = []
    ours = False
    for line in text.splitlines(keepends=True):
        header = _HEADER.fullmatch(line.rstrip("\r\n"))
        if header:
            began, ours = ours, bool(_OURS.fullmatch(header["name"]))
            if ours and not began and kept and not kept[-1].strip():
                kept.pop()
            if began and not ours:
                kept += _introduction(gone)
        (gone if ours else kept).append(line)
    changed = "".join(kept + _introduction(gone) if ours else kept)
    if kept and not text.endswith("\n"):
        changed = changed.removesuffix("\n").removesuffix("\r")
    left = {name: value for name, value in said[_TABLES].items() if name != NAME}
    wanted = {name: value for name, value in said.items() if name != _TABLES}
    if left:
        wanted[_TABLES] = left
    try:
        found = tomllib.loads(changed)
    except tomllib.TOMLDecodeError:
        found = {}
    if not found.get(_TABLES, True):  # an empty [mcp_servers] of the user's
        del found[_TABLES]
    return _checked(path, changed, found == wanted, f"take {NAME} out of it")


def _introduction(lines: list[str]) -> list[str]:
    """The empty lines and comments at their end: they belong to what follows."""
    last = len(lines)
    while last and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
        last -= 1
    return lines[last:]


def _checked(path: Path, changed: str, same: bool, by_hand: str) -> str:
    if not same:
        raise ConfigFault(
            f"{path} cannot be changed without touching more than our own lines",
            mend=f"do it by hand: {by_hand}",
        )
    return changed


def _member(text: str, at: int, name: str) -> int | None:
    """Where the value of the object's member of this name begins; of a name twice the last."""
    found = [part.value for part in parts(text, at)[0] if part.name == name]
    return found[-1] if found else None


def _without_member(text: str) -> str:
    """The text without our server, wherever it stands among the others."""
    inside = _member(text, text.index("{"), _SERVERS)
    if inside is None:
        return text
    names = [part.name for part in parts(text, inside)[0]]
    return without(text, inside, names.index(NAME)) if NAME in names else text


def _json(path: Path, text: str) -> dict[str, Any]:
    bare = text.removeprefix("\ufeff")
    try:
        said = json.loads(bare) if bare.strip() else {}
    except ValueError as error:
        raise unusable(path, f"it is not JSON: {error}") from error
    if not isinstance(said, dict) or not isinstance(said.get(_SERVERS, {}), dict):
        raise unusable(path, "it does not hold what settings hold")
    return said


def _toml(path: Path, text: str) -> dict[str, Any]:
    try:
        said = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise unusable(path, f"it is not TOML: {error}") from error
    if not isinstance(said.get(_TABLES, {}), dict):
        raise unusable(path, f"{_TABLES} is no table")
    return said
