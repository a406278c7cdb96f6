"""What a call of a project's memory costs, as whole processes, with 100,000 observations there.

    python benchmarks/project.py [--rows 100000] [--json FILE]

The median and the best of 15 calls each, beside a bare `python -c pass` in the same minute, since
machines differ; the search inside a process; the size on disk; and eight processes that handle
1,000 events each while two search. Calls are made as the installed programs are: one process each.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline import hook
from pipeline.project.cleaning import cleaner
from pipeline.project.observations import NewObservation
from pipeline.project.searching import Filters
from pipeline.project.spool import folder_of, waiting
from pipeline.project.store import ProjectStore
from pipeline.project.vocabulary import CONCEPTS

ROOT = Path(__file__).parents[1]
CALLS = 15
WRITERS, EACH, READERS = 8, 1000, 2
_SENTENCE = (
    "the parser reads each line and keeps what was said about beds beans seeds water soil frost "
    "config deploy branch review test error cache queue worker index column table release session"
)
_COMMON = _SENTENCE.split()
_QUERIES = ("parser drops tail17", "frost", "the", "retention", "deploy queue worker", "tail4*")
_KINDS = ("bugfix", "feature", "refactor", "discovery", "decision", "change")
_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")


def main() -> None:
    """Print the rows."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=100_000)
    arguments.add_argument("--only", choices=("calls", "together"))
    arguments.add_argument("--json", type=Path, help="write the figures to this file too")
    given = arguments.parse_args()
    figures: dict[str, object] = {"rows": given.rows}
    if given.only != "together":
        figures |= _alone(given.rows)
    if given.only != "calls":
        with _project(0) as folder:
            figures |= _together(folder)
    for name, value in figures.items():
        print(f"{name:44} {value}")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


def _alone(rows: int) -> dict[str, object]:
    figures: dict[str, object] = {}
    with _project(rows) as folder:
        database = folder / ".anvil" / "memory.db"
        figures["megabytes per 1,000"] = round(database.stat().st_size / 1000 / rows, 3)
        figures |= {f"search in process, ms: {q}": _inside(database, q) for q in _QUERIES}
        figures |= _calls(folder)
    return figures


# ------------------------------------------------------------------ a project


@contextmanager
def _project(rows: int) -> Iterator[Path]:
    """A repository with a store of so many observations, and a home of its own."""
    with tempfile.TemporaryDirectory(prefix="project-") as place:
        folder = Path(place).resolve() / "garden"
        folder.mkdir()
        environ = {name: str(Path(place) / name) for name in ("HOME", "XDG_CONFIG_HOME")}
        environ |= {f"XDG_{name}_HOME": str(Path(place) / name) for name in ("CACHE", "DATA")}
        os.environ.update(environ)
        # an installed program has its bytecode beside it
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPATH"] = str(ROOT)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(place) / "bytecode")
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
        _anvil(folder, "init")
        _fill(folder / ".anvil" / "memory.db", rows)
        yield folder


def _fill(database: Path, rows: int) -> None:
    chance = random.Random(1)
    begun = time.time_ns() // 1_000_000 - rows * 60_000
    store = ProjectStore(database, lambda text: text)
    with store.transaction():
        for number in range(rows):
            words = [
                *chance.choices(_COMMON, k=50),
                *(f"tail{chance.randrange(9000)}" for _ in ".........."),
            ]
            chance.shuffle(words)
            store.observations.add(
                NewObservation(
                    type=chance.choice(_KINDS),
                    title=" ".join(words[:8]),
                    subtitle=" ".join(words[8:14]),
                    content=" ".join(words[14:]),
                    files=(f"src/mod{number % 300}/file{number % 2000}.py",),
                    concepts=(chance.choice(CONCEPTS[:7]),),
                    project="garden",
                    at=begun + number * 60_000,
                )
            )
    store.close()


# ------------------------------------------------------------------ one call


def _anvil(folder: Path, *arguments: str) -> list[str]:
    argv = [*_program("anvil-memory"), *arguments]
    subprocess.run(argv, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return argv


def _program(name: str) -> list[str]:
    """The installed program, or the module it starts where it is not installed."""
    beside = Path(sys.executable).with_name(name)
    module = {"anvil-memory": "pipeline.anvil", "memory-hook": "pipeline.hook"}[name]
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", module]


def _calls(folder: Path) -> dict[str, object]:
    observe = ["observe", "--type", "change", "--title", "A title", "--content", "Some text " * 30]
    lines: dict[str, tuple[list[str], str]] = {
        "python -c pass": ([sys.executable, "-c", "pass"], ""),
        "capture": ([*_program("anvil-memory"), *observe], ""),
        "context": ([*_program("anvil-memory"), "context", "--format", "inject"], ""),
    }
    for query in _QUERIES:
        lines[f"search: {query}"] = ([*_program("anvil-memory"), "search", query], "")
    for event in _EVENTS:
        payload = {
            "session_id": "agent-1", "cwd": str(folder), "source": "startup",
            "prompt": "Make the peas grow", "tool_name": "Edit",
            "tool_input": {"file_path": f"{folder}/src/a.py", "old_string": "a", "new_string": "b"},
            "tool_response": {"structuredPatch": [{"newStart": 3, "newLines": 9}]},
        }  # fmt: skip
        lines[f"hook: {event}"] = ([*_program("memory-hook"), event], json.dumps(payload))
    found: dict[str, object] = {}
    seconds: dict[str, list[float]] = {name: [] for name in lines}
    for argv, given in lines.values():  # whose bytecode is not there yet
        subprocess.run(argv, cwd=folder, input=given.encode(), capture_output=True, check=True)
    # in turn, so that a busy moment of the machine falls on all of them alike
    for _ in range(CALLS):
        for name, (argv, given) in lines.items():
            begun = time.perf_counter()
            subprocess.run(
                argv, cwd=folder, input=given.encode(), stdout=subprocess.DEVNULL, check=True
            )
            seconds[name].append(time.perf_counter() - begun)
    for name, each in seconds.items():
        median, best = statistics.median(each) * 1000, min(each) * 1000
        found[f"whole process, ms: {name}"] = f"median {median:.0f}, best {best:.0f}"
    return found


def _inside(database: Path, query: str) -> float:
    store = ProjectStore(database, cleaner({}))
    each = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        store.observations.search(query, Filters(), 10)
        each.append((time.perf_counter() - begun) * 1000)
    store.close()
    return round(statistics.median(each), 1)


# ------------------------------------------------------------------ many calls at once


def _together(folder: Path) -> dict[str, object]:
    database = folder / ".anvil" / "memory.db"
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    done = context.Event()
    writers = [context.Process(target=_writer, args=(folder, n, queue)) for n in range(WRITERS)]
    readers = [
        context.Process(target=_reader, args=(database, done, queue)) for _ in range(READERS)
    ]
    begun = time.perf_counter()
    for process in (*writers, *readers):
        process.start()
    longest = max(queue.get(timeout=600) for _ in writers)
    seconds = time.perf_counter() - begun
    done.set()
    searches = sum(queue.get() for _ in readers)
    for process in (*writers, *readers):
        process.join()
    waited = sum(1 for _ in folder_of(database).iterdir()) if waiting(database) else 0
    _anvil(folder, "stats")  # writes what waits
    store = ProjectStore(database, cleaner({}))
    rows, problems = store.stats()["observations"], store.problems()
    store.close()
    return {
        f"{WRITERS} writers, rows of {WRITERS * EACH}": rows,
        "index in step": not problems,
        "seconds for all of them": round(seconds, 1),
        "longest hook, s": round(longest, 2),
        "events that still waited at the end": waited,
        "searches meanwhile": int(searches),
    }


def _writer(folder: Path, number: int, queue: multiprocessing.Queue[float]) -> None:
    """Each event as a hook handles it, from the search for the store to its closing."""
    longest = 0.0
    try:
        for one in range(EACH):
            payload = {
                "session_id": f"agent-{number}", "cwd": str(folder), "tool_name": "Bash",
                "tool_input": {"command": f"git commit -m 'writer {number} item {one}'"},
                "tool_response": {},
            }  # fmt: skip
            begun = time.perf_counter()
            stream = io.BytesIO(json.dumps(payload).encode())
            hook.run(["PostToolUse"], stream, os.environ, Path.home())
            longest = max(longest, time.perf_counter() - begun)
    finally:
        queue.put(longest)


def _reader(database: Path, done: object, queue: multiprocessing.Queue[float]) -> None:
    count = 0
    while not done.is_set():  # type: ignore[attr-defined]
        store = ProjectStore(database, cleaner({}))
        store.observations.search("writer item", Filters(), 10)
        store.close()
        count += 1
    queue.put(count)


if __name__ == "__main__":
    main()
