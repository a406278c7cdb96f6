"""Build the wheel, install it into a clean environment, and run the program from there.

Nothing of the checkout is within reach of that run: it works in a folder and a HOME of its own, on
a copy of the fixture transcripts. What is installed is held to the versions of the environment this
script runs in, so that packages come from the cache.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODEL = "smollm2-135m"  # judges nothing, but runs through every stage quickly
SINCE = "2026-11-26"  # the days of the last two fixture sessions, one of each source


def run(
    *command: str | Path,
    env: dict[str, str] | None = None,
    cwd: Path = ROOT,
    fine: tuple[int, ...] = (0,),
) -> str:
    """Run a command and return what it printed; exit with its output when its code is not fine."""
    done = subprocess.run(
        [str(part) for part in command],
        check=False,
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
    )
    if done.returncode not in fine:
        sys.exit(
            f"{' '.join(str(part) for part in command)}: exit {done.returncode}\n"
            f"{done.stdout}{done.stderr}"
        )
    return done.stdout


def install(folder: Path) -> Path:
    """Build the wheel and install it under `folder`; return the environment's bin folder."""
    python = Path(sys.executable)
    run(python, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist")
    (wheel,) = (folder / "dist").glob("*.whl")
    pins = folder / "constraints.txt"
    pins.write_text(run(python, "-m", "pip", "freeze", "--exclude-editable"))
    run(python, "-m", "venv", folder / "venv")
    # most of what is installed is never imported, and the rest is compiled when it is
    how = ("--quiet", "--disable-pip-version-check", "--no-compile")
    run(folder / "venv/bin/pip", "install", *how, "-c", pins, wheel)
    return folder / "venv" / "bin"


def environment(home: Path) -> dict[str, str]:
    """A bare environment: an empty HOME, no git identity; only the models folder is shared."""
    shared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    models = os.environ.get("MEMORY_MODELS_DIR") or str(shared / "nightly-memory" / "models")
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "MEMORY_MODELS_DIR": models,
        "MEMORY_MODEL": MODEL,
    }


def main() -> None:
    """Install, run `memory init` and a dry run, and look that nothing was written by the latter."""
    with tempfile.TemporaryDirectory(prefix="nightly-memory-wheel-") as name:
        folder = Path(name)
        bin_folder = install(folder)
        home = folder / "home"
        shutil.copytree(ROOT / "fixtures" / "demo" / "home", home)
        env = environment(home)
        memory = bin_folder / "memory"
        print(run(memory, "init", env=env, cwd=folder).strip())
        vault = home / "MemoryVault"
        before = run("git", "-C", vault, "log", "--oneline", env=env)
        for model in (MODEL, "minilm"):
            run(memory, "model", "fetch", model, env=env, cwd=folder)
        # All are read, the last of each source is worked through. What a model that judges nothing
        # proposes may well be refused by the gate, which makes the night a partial one (9).
        night = (memory, "synthesize", "--dry-run", "--since", SINCE)
        output = run(*night, env=env, cwd=folder, fine=(0, 9))
        if "6 conversations" not in output:
            sys.exit(f"the dry run did not read the six sessions:\n{output}")
        print(next(line for line in output.splitlines() if line.startswith("run ")))
        if run("git", "-C", vault, "log", "--oneline", env=env) != before:
            sys.exit("a dry run made a commit")
        if dirty := run("git", "-C", vault, "status", "--porcelain", env=env):
            sys.exit(f"a dry run left changes:\n{dirty}")
        print(run(memory, "schedule", "--dry-run", env=env, cwd=folder).strip().splitlines()[0])
        _project(bin_folder, folder / "project", env)


def _project(bin_folder: Path, project: Path, env: dict[str, str]) -> None:
    """An observation of a project is found again by the command and told by the hook."""
    anvil, hook = bin_folder / "anvil-memory", bin_folder / "memory-hook"
    title = "The gate of the north field opens inwards"
    project.mkdir()
    run("git", "init", "--quiet", project, env=env)
    run(anvil, "init", env=env, cwd=project)
    run(anvil, "observe", "--type", "discovery", "--title", title, env=env, cwd=project)
    if title not in run(anvil, "search", "north gate", env=env, cwd=project):
        sys.exit("anvil-memory does not find what it was told")
    said = json.dumps(
        {
            "session_id": "s",
            "cwd": str(project),
            "hook_event_name": "SessionStart",
            "source": "startup",
        }
    )
    done = subprocess.run(
        [hook, "session-start"],
        input=said,
        check=True,
        capture_output=True,
        text=True,
        env=env,
        cwd=project,
    )
    if title not in done.stdout:
        sys.exit(f"the hook does not tell what is known:\n{done.stdout}{done.stderr}")
    print("the memory of a project answers, by its command and by its hook")


if __name__ == "__main__":
    main()
