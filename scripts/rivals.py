"""Others at the vault while a night runs: a second run, and an editor that saves all the time.

    python scripts/rivals.py [--starts 20] [--rounds 100] [--seed S]

Starts: two runs begin at the same moment; one must do the night, the other say that it is busy.
Rounds: a process rewrites articles, in place or by rename, every few milliseconds while the night
runs; every line it saved must stand at the end, none of them in a commit of ours.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pipeline.config import load_config
from pipeline.errors import BusyFault
from pipeline.lock import one_run
from scripts.crash import WORLDS, state

BUSY = 8
NOTE = "A note by the editor"


def main() -> int:
    """Both kinds of rivals; 1 if anything was lost or mixed up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    os.environ.update({"GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC"})
    for name in [n for n in os.environ if n.startswith(("XDG_", "MEMORY_"))]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="rivals-") as place:
        home, kept = Path(place, "home"), Path(place, "kept")
        os.environ["HOME"] = str(home)
        home.mkdir()
        WORLDS["second"][0](home)
        shutil.copytree(home, kept, symlinks=True)
        bad = [*_starts(given.starts, home, kept)]
        saved, wrong = _rounds(given.rounds, given.seed, home, kept)
    print("\n".join([*bad, *wrong]))
    print(
        f"{given.starts} starts of two runs at once, {given.rounds} nights with {saved} saves by "
        f"an editor: {len(bad) + len(wrong)} went wrong"
    )
    return 1 if bad or wrong else 0


def _fresh(home: Path, kept: Path) -> None:
    shutil.rmtree(home)
    shutil.copytree(kept, home, symlinks=True)


# ------------------------------------------------------------------ two runs


def _starts(number: int, home: Path, kept: Path) -> list[str]:
    night = WORLDS["second"][1]
    _fresh(home, kept)
    night()
    expected = state(load_config(timezone="UTC", since_days="all"))
    bad = []
    for turn in range(number):
        _fresh(home, kept)
        ready, go = os.pipe()
        pids = [_started(ready, go) for _ in range(2)]
        os.close(ready)
        os.write(go, b"go")
        os.close(go)
        codes = sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids)
        if codes != [0, BUSY]:
            bad.append(f"start {turn}: the two runs ended with {codes}")
        elif state(load_config(timezone="UTC", since_days="all")) != expected:
            bad.append(f"start {turn}: the vault is not that of one run")
    return bad


def _started(ready: int, go: int) -> int:
    """A process that waits at the gate, then runs the night under the lock."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.close(go)
        os.read(ready, 1)
        try:
            with one_run(load_config(timezone="UTC").lock_path):
                WORLDS["second"][1]()
            code = 0
        except BusyFault as fault:
            code = fault.exit_code
    finally:
        os._exit(code)


# ------------------------------------------------------------------ an editor


def _rounds(number: int, seed: int, home: Path, kept: Path) -> tuple[int, list[str]]:
    wrong, saved = [], 0
    for turn in range(number):
        _fresh(home, kept)
        config = load_config(timezone="UTC", since_days="all")
        notes = home / "notes"
        pid = os.fork()
        if not pid:
            _edit(config.vault / "articles", notes, random.Random(seed * 1000 + turn))
        time.sleep(0.01)
        try:
            WORLDS["second"][1]()
        finally:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
        told = [line.split("\t") for line in notes.read_text().splitlines()]
        saved += len(told)
        notes.unlink()
        WORLDS["second"][1]()  # the night after, in peace
        for name, note in told:
            if note not in (config.vault / "articles" / name).read_text():
                wrong.append(f"round {turn}: {name} has lost {note!r}")
        if ours := _in_our_commits(config.vault):
            wrong.append(f"round {turn}: {ours} lines of the editor's are in commits of ours")
    return saved, wrong


def _edit(articles: Path, notes: Path, chance: random.Random) -> None:
    """Save an article with one more line, again and again, until told to stop."""
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stopping.append(number))
    pages = sorted(articles.glob("*.md"))
    with notes.open("a") as log:
        for number in range(100_000):
            if stopping:
                break
            page = chance.choice(pages)
            note = f"{NOTE}, the {number}th."
            text = page.read_text() + f"\n{note}\n"
            if chance.random() < 0.5:
                page.write_text(text)
            else:
                beside = page.with_name(".swap")
                beside.write_text(text)
                beside.replace(page)
            log.write(f"{page.name}\t{note}\n")
            log.flush()
            time.sleep(chance.random() * 0.02)
    os._exit(0)


def _in_our_commits(vault: Path) -> int:
    done = subprocess.run(
        ["git", "-C", str(vault), "log", "--author=nightly-memory", "-p", "--format=%H"],
        capture_output=True,
        text=True,
        check=True,
    )
    return sum(line.startswith("+") and NOTE in line for line in done.stdout.splitlines())


if __name__ == "__main__":
    raise SystemExit(main())
