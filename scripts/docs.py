"""Write the generated pages of docs/, or with --check say which of them are out of date.

docs/config.md comes from the fields of pipeline.config.Config, docs/cli.md from the commands' own
help and from the faults in pipeline/errors.py, docs/doctor.md from the table of checks.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from pydantic import BaseModel

from pipeline import errors
from pipeline.config import FILE_VARIABLE, Config, keys, variable
from pipeline.doctor import CHECKS, SETTINGS

ROOT = Path(__file__).parents[1]

CONFIG_HEAD = f"""\
# Configuration

<!-- written by scripts/docs.py; edit the fields in pipeline/config.py -->

Every setting has a default, so a configuration file is needed only for what you want otherwise. A
setting is looked for in this order:

1. the command's flag, where there is one;
2. the environment variable;
3. the file `~/.config/nightly-memory/config.toml` (under `$XDG_CONFIG_HOME`, if that is set;
   `{FILE_VARIABLE}` names another file);
4. the default.

`memory config path` prints where the file is looked for, `memory config show` what is in force. An
unknown key, in the file or as a `MEMORY_…` variable, is an error that names the nearest known one.
Folders are absolute or begin with `~`. In the environment, lists and tables are written as JSON.

The numbers the pipeline judges by (thresholds, sizes, the write gate's limits) are not settings:
they stand, explained, in `vault_meta/policy.toml`.

"""

SAMPLE = """\
vault = "~/MemoryVault"
max_minutes = 90

[sources]
enabled = ["pi"]

[ingest]
exclude_projects = ["*/private/*"]
"""

EXIT_HEAD = """\
## Exit codes

| code | name | meaning |
|---|---|---|
| 0 | | the command did all it had to do, or had nothing to do |
"""

OUTCOMES = {
    errors.EXIT_PARTIAL: "part of the work failed; the rest was kept",
    errors.EXIT_STOPPED: "stopped at a safe point, by a signal or the time budget, with work left",
    errors.EXIT_SKIPPED: "a scheduled run that the machine's power, heat, memory or disk held back",
    errors.EXIT_UNSOUND: "`memory doctor` found something that does not work",
}

DOCTOR_HEAD = """\
# What the doctor looks at

<!-- written by scripts/docs.py from pipeline/doctor -->

`memory doctor` looks at each of these and says `ok`, `warn` or `fail`, what is wrong, and the cure.
It exits with 14 when something fails; warnings alone are no failure. A check whose ground is gone
is left out: without a store there is nothing to look for in it. `memory doctor --fix` does what is
safe, which the last column says, tells what it did, and looks again; it never touches what you
wrote.

What is asked of macOS (launchd, folders that a scheduled job may not read) is built to Apple's
documentation and has not been seen on a Mac.

| code | what is looked at | must be so | `--fix` |
|---|---|---|---|
"""


def config_page() -> str:
    """docs/config.md."""
    tomllib.loads(SAMPLE)
    lines = [CONFIG_HEAD, "An example:\n\n```toml\n", SAMPLE, "```\n"]
    table = None
    for key, text in keys():
        name, _, last = key.rpartition(".")
        if name != table:
            lines.append(f"\n## {f'`[{name}]`' if name else 'Settings'}\n\n")
            if name:
                lines.append(f"{Config.model_fields[name].description}\n\n")
            lines.append("| key | default | environment | meaning |\n|---|---|---|---|\n")
            table = name
        lines.append(f"| `{last}` | {_default(key)} | `{variable(key)}` | {text} |\n")
    return "".join(lines)


def _default(key: str) -> str:
    model: type[BaseModel] = Config
    *tables, last = key.split(".")
    for name in tables:
        inner = model.model_fields[name].annotation
        assert isinstance(inner, type) and issubclass(inner, BaseModel)
        model = inner
    info = model.model_fields[last]
    if info.default_factory is not None:
        return "see meaning"
    if info.default is None:
        return "unset"
    text = str(info.default) if not isinstance(info.default, bool) else str(info.default).lower()
    return f"`{text}`".replace("'", '"')


def cli_page() -> str:
    """docs/cli.md."""
    # COLUMNS and the colour switches would otherwise leak from the terminal into the page
    done = subprocess.run(
        [sys.executable, "-m", "typer", "pipeline.cli", "utils", "docs", "--name", "memory"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    head = "<!-- written by scripts/docs.py from the commands' --help and pipeline/errors.py -->"
    text = html.unescape(done.stdout.strip())
    # the lists of subcommands cut their sentences short; each command has its own section below
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n?)+\n?", "", text)
    text = re.sub(r"^Example: (.+)$", r"Example: `\1`", text, flags=re.MULTILINE)
    title, _, rest = text.partition("\n")
    return f"{title}\n\n{head}\n{rest}\n\n{exit_codes()}"


def exit_codes() -> str:
    """The table of exit codes, from the tree of faults."""
    lines = {
        errors.MemoryFault.exit_code: "| 1 | MemoryFault | any other fault |\n",
        2: "| 2 | | the command line itself is wrong |\n",
    }
    waiting = list(errors.MemoryFault.__subclasses__())
    while waiting:
        fault = waiting.pop()
        waiting += fault.__subclasses__()
        if "exit_code" in vars(fault):
            meaning = (fault.__doc__ or "").splitlines()[0].rstrip(".")
            meaning = meaning[0].lower() + meaning[1:]
            lines[fault.exit_code] = f"| {fault.exit_code} | {fault.__name__} | {meaning} |\n"
    for code, meaning in OUTCOMES.items():
        lines[code] = f"| {code} | | {meaning} |\n"
    return EXIT_HEAD + "".join(lines[code] for code in sorted(lines))


def doctor_page() -> str:
    """docs/doctor.md."""
    rows = [(SETTINGS, "settings", "The configuration can be read.", "")]
    for check in CHECKS:
        meaning = (check.look.__doc__ or "").splitlines()[0]
        mend = check.mend.__doc__ if check.mend else None
        rows.append(
            (check.code, check.title, meaning, (mend or "").splitlines()[0] if mend else "")
        )
    return DOCTOR_HEAD + "".join(f"| {' | '.join(row)} |\n" for row in sorted(rows))


def main() -> int:
    """Write the pages, or compare them; 1 when one was out of date."""
    pages = {
        "docs/config.md": config_page(),
        "docs/cli.md": cli_page(),
        "docs/doctor.md": doctor_page(),
    }
    stale = [
        name
        for name, text in pages.items()
        if not (ROOT / name).exists() or (ROOT / name).read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"{name} is out of date: run scripts/docs.py", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (ROOT / name).write_text(pages[name], encoding="utf-8")
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
