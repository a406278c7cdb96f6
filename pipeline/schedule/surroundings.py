"""What a scheduled run needs of the place it was scheduled from, and whether that still stands."""

from __future__ import annotations

import os
import shlex
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from pipeline.config import FILE_VARIABLE, PREFIX, config_path
from pipeline.errors import ConfigFault
from pipeline.schedule.jobs import Installed, Job

COMMAND = "memory"

# A scheduler starts the run without the user's shell. Without these it would fold other transcripts
# into another vault, or find none and report a night without news.
_PLACES = (
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "PI_CODING_AGENT_DIR",
    "PI_CODING_AGENT_SESSION_DIR",
)


def console_script() -> Path:
    """The `memory` command of this very interpreter's environment, absolute, links kept.

    Raises ConfigFault where the program was started without having been installed.
    """
    user = sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    folders = [str(Path(sys.executable).parent), sysconfig.get_path("scripts"), user]
    for folder in folders:
        script = Path(folder) / COMMAND
        if script.is_file() and os.access(script, os.X_OK):
            return _writable(script)
    raise ConfigFault(
        f"the command `{COMMAND}` of {sys.executable} is not in {' or '.join(folders)}",
        mend="install nightly-memory there, then schedule it",
    )


def interpreter_of(script: Path) -> Path | None:
    """The Python that a console script starts, as the script names it; None if it does not say."""
    try:
        with script.open("rb") as file:
            lines = file.read(4096).decode("utf-8", "replace").splitlines()
        if not lines or not lines[0].startswith("#!"):
            return None
        words = lines[0][2:].split()
        # a path too long or with a space is started by way of sh: '''exec' /the/path "$0" "$@"
        if words[:1] == ["/bin/sh"] and len(lines) > 1 and lines[1].startswith("'''exec'"):
            words = shlex.split(lines[1])[1:]
    except (OSError, ValueError):  # ValueError: a quote that nothing closes
        return None
    return Path(words[0]) if words and Path(words[0]).is_absolute() else None


def interpreter_path(script: Path) -> str:
    """The real path of that Python, "" if it cannot be told.

    macOS grants access to folders by this path, and a patch upgrade changes it.
    """
    named = interpreter_of(script)
    return os.path.realpath(named) if named is not None and named.exists() else ""


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of `environ` that say where things are and what is set; paths made absolute.

    Raises ConfigFault for one that a job's file cannot hold.
    """
    kept: dict[str, str] = {}
    for name, value in sorted(environ.items()):
        if not value:
            continue
        if name == FILE_VARIABLE:
            kept[name] = str(config_path())
        elif name.upper().startswith(PREFIX):
            kept[name] = value
        elif name in _PLACES:
            path = Path(value).expanduser()
            # a relative XDG folder counts as unset; others are taken from the working folder
            if path.is_absolute() or not name.startswith("XDG_"):
                kept[name] = str(path.absolute())
    for name, value in kept.items():
        if not _plain(value):
            raise ConfigFault(
                f"{name} holds characters that a job's file cannot hold",
                mend="set it in the configuration file instead, or to a plain path",
            )
    return kept


def moved(installed: Installed, wanted: Job) -> list[str]:
    """What no longer stands as it did when the job was installed, a sentence each."""
    found = []
    python = interpreter_of(installed.script)
    if not os.access(installed.script, os.X_OK):
        found.append(f"its command {installed.script} is gone")
    elif python is not None and not python.exists():
        found.append(f"the Python {python} of its command is gone")
    elif installed.interpreter and interpreter_path(installed.script) != installed.interpreter:
        found.append(
            f"its Python was {installed.interpreter} and is {interpreter_path(installed.script)}: "
            "grants of access to folders went to the old one"
        )
    if installed.script != wanted.script:
        found.append(f"it starts {installed.script}; this is {wanted.script}")
    names = {name for name, _ in installed.environment.items() ^ wanted.environment.items()}
    if names:
        found.append(f"it was scheduled with other values of {', '.join(sorted(names))}")
    return found


def crontab_line(job: Job) -> str:
    """The job as a line of a crontab."""
    settings = [f"{name}={shlex.quote(value)}" for name, value in job.environment.items()]
    command = " ".join([*settings, *(shlex.quote(word) for word in job.arguments)])
    # cron takes a bare per cent sign for the end of the line
    return f"{job.at.minute} {job.at.hour} * * * " + command.replace("%", r"\%")


def _writable(script: Path) -> Path:
    if not _plain(str(script)):
        raise ConfigFault(
            f"{str(script)!r} is a path that a job's file cannot hold",
            mend="install nightly-memory at a path of plain characters",
        )
    return script


def _plain(text: str) -> bool:
    """Whether XML and a unit file can hold it: no control characters, no undecodable bytes."""
    return text.replace("\t", " ").isprintable()
