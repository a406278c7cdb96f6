"""A wiki of 1,000 articles with 100,000 claims and messages behind it, and what a search costs."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipeline.recall.index import NAME
from pipeline.recall.library import Library, opened
from pipeline.recall.listing import looked
from pipeline.recall.searching import Filters, search
from pipeline.store import Store

ARTICLES, CONVERSATIONS, MESSAGES, CLAIMS = 1000, 1600, 50, 20_000
ROOT = Path(__file__).parents[1]
_SENTENCE = (
    "parser line keep said bed bean seed water soil frost config deploy branch review test error "
    "cache queue worker index column table release session"
)
_COMMON = _SENTENCE.split()
_ROUNDS = 20
_TRIES = 5  # of each query; a machine with other work to do slows one search in three, not all five


def speed() -> dict[str, float]:
    """Milliseconds: p50 and p95 in a process, a whole process, an update, the first index.

    Undisturbed: of each query the least of some tries, between which all others are asked.
    """
    with tempfile.TemporaryDirectory(prefix="recall-speed-") as place:
        home = Path(place)
        environ = _environ(home)
        cache, vault = home / "cache" / "nightly-memory", home / "MemoryVault"
        _fill(cache / "memory.sqlite")
        _write(vault)
        with opened(vault, cache, {}) as library:
            begun = time.perf_counter()
            library.sections.fresh()
            built = time.perf_counter() - begun
            tries = [list(_timed(library)) for _ in range(_TRIES)]
            looked = [_looked(vault) for _ in range(20)]
            updates = [_edited(vault, library, number) for number in range(15)]
        wholes = [_whole(query, environ) for number in (1, 2) for query in _queries(number)]
        bare = [_process([sys.executable, "-c", "pass"], environ) for _ in range(10)]
        each, used = map(sorted, zip(*tries[0], strict=True))
        least = sorted(min(took for took, _ in times) for times in zip(*tries, strict=True))
        return {
            "search_p50_ms": round(statistics.median(each), 1),
            "search_p95_ms": round(each[int(len(each) * 0.95)], 1),
            "search_undisturbed_p50_ms": round(statistics.median(least), 1),
            "search_undisturbed_p95_ms": round(least[int(len(least) * 0.95)], 1),
            "search_processor_p50_ms": round(statistics.median(used), 1),
            "search_processor_p95_ms": round(used[int(len(used) * 0.95)], 1),
            "of_which_looking_for_edits_ms": round(statistics.median(looked), 1),
            "search_whole_process_ms": round(statistics.median(wholes), 0),
            "search_whole_process_worst_ms": round(max(wholes), 0),
            "bare_python_ms": round(statistics.median(bare), 0),
            "index_update_ms": round(statistics.median(updates), 1),
            "index_update_worst_ms": round(max(updates), 1),
            "index_built_s": round(built, 1),
            "index_mb": round((cache / NAME).stat().st_size / 1e6, 1),
        }


def _timed(library: Library) -> Iterator[tuple[float, float]]:
    """Milliseconds of each search, by the clock and of the processor."""
    for number in range(_ROUNDS + 1):
        for query in _queries(number):
            begun, worked = time.perf_counter(), time.process_time()
            search(library, query, Filters(), 10)
            took, used = time.perf_counter() - begun, time.process_time() - worked
            if number:  # the first round warms what every later one finds
                yield took * 1000, used * 1000


def _queries(number: int) -> tuple[str, ...]:
    """Ten kinds of queries, with other words in each round: none is answered twice."""
    chance = random.Random(number)
    one, two, three, four, five = chance.sample(_COMMON, 5)
    rare = [f"tail{chance.randrange(9000)}" for _ in range(6)]
    topic = chance.randrange(ARTICLES)
    return (
        f"{one} drops {rare[0]} {two}",
        one,
        f"why did we choose the {two} for the {three}",
        " ".join(rare[1:4]),
        f"{three} {four} {five}",
        f"what did the {four} of Topic {topic} say about {one}",
        f"src/mod{topic}/file{number}.py",
        f"Topic {topic} retention",
        f"which {one} kept {rare[4]} and the {two} {three} for the {four} {five}",
        rare[5].replace("ai", "ia"),
    )


def _looked(vault: Path) -> float:
    begun = time.perf_counter()
    looked(vault)
    return (time.perf_counter() - begun) * 1000


def _edited(vault: Path, library: Library, number: int) -> float:
    """One article gets a sentence more; what it takes until a search would find it."""
    path = vault / "articles" / f"Topic {number}.md"
    path.write_text(path.read_text("utf-8") + "\nA sentence by hand.\n", "utf-8")
    begun = time.perf_counter()
    library.sections.fresh()
    return (time.perf_counter() - begun) * 1000


def _whole(query: str, environ: dict[str, str]) -> float:
    return _process([sys.executable, "-m", "pipeline.front", "search", query], environ)


def _process(argv: list[str], environ: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(argv, env=environ, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return (time.perf_counter() - begun) * 1000


# ------------------------------------------------------------------ the world


def _environ(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has its bytecode beside it
    return kept | {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "PYTHONPATH": str(ROOT),
        "PYTHONPYCACHEPREFIX": str(home / "bytecode"),
    }


@contextmanager
def _settled() -> Iterator[None]:
    """Files written in the block look as if they had been left alone for long."""
    yield
    time.sleep(2.1)


def _write(vault: Path) -> None:
    words = _words(2)
    (vault / "articles").mkdir(parents=True)
    with _settled():
        for number in range(ARTICLES):
            parts = [f"---\ntitle: Topic {number}\naliases: [subject {number}]\n---\n"]
            parts.append(f"# Topic {number}\n\nTopic {number} {words(14)}.[^1]\n")
            for heading in ("Decisions", "Retention of rows", "Problems", "History"):
                said = " ".join(f"The {words(14)}.[^{1 + at % 2}]" for at in range(6))
                parts.append(f"\n## {heading}\n\n{said}\n")
            conv = f"{number % CONVERSATIONS:08x}"
            parts.append(
                f"\n## References\n\n[^1]: `conv:{conv}` (2026-11-01, pi, message 2) — title\n"
                f"[^2]: `conv:{conv}` (2026-11-02, pi, messages 3–4) — title\n"
            )
            (vault / "articles" / f"Topic {number}.md").write_text("".join(parts), "utf-8")


def _words(seed: int) -> Callable[[int], str]:
    chance = random.Random(seed)

    def some(count: int) -> str:
        words = [
            *chance.choices(_COMMON, k=count * 2 // 3),
            *(f"tail{chance.randrange(9000)}" for _ in range(count // 3)),
        ]
        chance.shuffle(words)
        return " ".join(words)

    return some


def _fill(path: Path) -> None:
    words = _words(1)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    store = Store(path)
    rows = store._connection
    with store.together():
        for number in range(CONVERSATIONS):
            conv = f"{number:08x}"
            at = (start + timedelta(hours=number)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
            rows.execute(
                "INSERT INTO conversations (conv, source, session_id, title, project, started_at, "
                "updated_at, content_hash) "
                "VALUES (?, 'pi', ?, 'A title', '/srv/project', ?, ?, '')",
                (conv, conv, at, at),
            )
            rows.executemany(
                "INSERT INTO messages (conv, position, message_id, role, at, text) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (conv, p, f"{conv}-{p}", "user" if p % 2 else "assistant", at, words(60))
                    for p in range(MESSAGES)
                ],
            )
            rows.execute(
                "INSERT INTO chunks (id, conv, ordinal, first, last, label, keep) "
                "VALUES (?, ?, 0, 0, ?, 'label', 1)",
                (conv, conv, MESSAGES - 1),
            )
        for number in range(CLAIMS):
            rows.execute(
                "INSERT INTO claims (id, chunk_id, ordinal, text, messages, kind, support) "
                "VALUES (?, ?, ?, ?, '[1]', 'fact', 1.0)",
                (str(number), f"{number % CONVERSATIONS:08x}", number, words(15)),
            )
    store.soundness.index_again("messages_fts")
    store.fulltext.gather()  # as a night does
    store.close()


if __name__ == "__main__":
    for name, figure in speed().items():
        print(f"{name:32} {figure}")
