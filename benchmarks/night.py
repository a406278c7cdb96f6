"""What a night costs that has little to do, beside all that was said before.

    python benchmarks/night.py [--quick] [--json FILE]

Nothing new: `memory synthesize` as a whole process over 10,000 known conversations and 1,000
articles; seconds by the clock, the best of three, and whether it asked a model or changed a byte.
One piece of news: the same small conversation told to memories of 10, 100 and 1,000 articles, ten
of as many conversations behind each, in a process of its own; CPU seconds of everything but the
models, git's included, the least of several, and what the models were asked. Flat means that the
largest of the three costs no more than 1.2 times the smallest. The replies are canned; how the
memories are made is told in night_world.py.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from benchmarks.night_models import Canned, HashedWords
from benchmarks.night_world import BUILT, grow, home_config, invented, sentence, tell, topic
from pipeline import assemble, orchestrator
from pipeline.control import Control

_NEWS = 900  # number of the first statement that is news
_MINUTES = 60.0
_ASKED = ("calls", "prompt_tokens", "output_tokens", "embedded")


def main() -> None:
    """Print the rows."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="a tenth of the size")
    arguments.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments.add_argument("--news", nargs=2, metavar=("HOME", "NUMBER"), help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.news:
        print(json.dumps(news(Path(given.news[0]), int(given.news[1]))))
        return
    sizes, conversations = ((10, 30, 100), 1000) if given.quick else ((10, 100, 1000), 10_000)
    with tempfile.TemporaryDirectory() as place:
        homes = {articles: Path(place) / str(articles) for articles in sizes}
        for articles, home in homes.items():
            grow(home, articles, conversations)
        figures = {**_idle(homes[sizes[-1]]), **_flat(homes, 3 if given.quick else 5)}
    for name, value in figures.items():
        print(f"{name:<56} {value:>10,.3f}")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


# ------------------------------------------------------------------ nothing new


def _idle(home: Path) -> dict[str, float]:
    """A night without news, as the user's schedule starts it."""
    config = home_config(home)
    before = _bytes(config.vault), _bytes(config.archive_dir)
    seconds, spent = [], 0
    for _ in range(3):
        began = time.perf_counter()
        done = _process("-m", "pipeline", "synthesize", "--json", home=home)
        seconds.append(time.perf_counter() - began)
        told = json.loads(done.splitlines()[-1])
        spent += int(told["spent"]["calls"])
    return {
        "idle_s": min(seconds),
        "idle_cpu_s": _cpu_of("-m", "pipeline", "synthesize", "--json", home=home),
        "idle_start_cpu_s": _cpu_of("-c", "import pipeline.cli, pipeline.orchestrator", home=home),
        "idle_model_calls": spent,
        "idle_changed": float(before != (_bytes(config.vault), _bytes(config.archive_dir))),
        "store_mb": config.store_path.stat().st_size / 1e6,
    }


def _bytes(root: Path) -> str:
    """A digest of every file of a folder, names included."""
    found = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        found.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return found.hexdigest()


def _process(*arguments: str, home: Path) -> str:
    settings = {
        "MEMORY_VAULT": str(home / "vault"),
        "MEMORY_CACHE_DIR": str(home / "cache"),
        "MEMORY_DATA_DIR": str(home / "data"),
        "MEMORY_SINCE_DAYS": "all",
        "MEMORY_TIMEZONE": "UTC",
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".state"),
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **settings},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{arguments}: {done.stderr}{done.stdout}")
    return done.stdout


def _cpu_of(*arguments: str, home: Path) -> float:
    """CPU seconds of a process and all it started, the least of three."""
    return min(_cpu_once(*arguments, home=home) for _ in range(3))


def _cpu_once(*arguments: str, home: Path) -> float:
    before = _spent(resource.RUSAGE_CHILDREN)
    _process(*arguments, home=home)
    return _spent(resource.RUSAGE_CHILDREN) - before


def _spent(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


# ------------------------------------------------------------------ one piece of news


def _flat(homes: dict[int, Path], times: int) -> dict[str, float]:
    """The sizes in turn, again and again, so that what else the machine does befalls all alike."""
    told: dict[int, list[dict[str, float]]] = {articles: [] for articles in homes}
    for number in range(times + 1):
        for articles, home in homes.items():
            out = _process(__file__, "--news", str(home), str(number), home=home)
            if number:  # the first night after the build looks at every article and topic once
                told[articles].append(json.loads(out))
    least = {a: min(row["seconds"] for row in rows) for a, rows in told.items()}
    work = {a: min(row["work"] for row in rows) for a, rows in told.items()}
    asked = [[{k: row[k] for k in _ASKED} for row in rows] for rows in told.values()]
    return {
        "cost_flatness": max(least.values()) / min(least.values()),
        "work_flatness": max(work.values()) / min(work.values()),
        **{f"{articles}_articles_s": seconds for articles, seconds in least.items()},
        **{f"{articles}_articles_work_s": seconds for articles, seconds in work.items()},
        **{f"news_{key}": asked[0][0][key] for key in _ASKED},
        "news_asked_alike": float(all(rows == asked[0] for rows in asked)),
    }


def news(home: Path, number: int) -> dict[str, float]:
    """One night with one new conversation, about the topic of this number.

    seconds: CPU of this process and of git, without the models. work: without start-up too.
    """
    about = topic(number)
    near = topic(number + 1).name
    told = [
        sentence(about.name, _NEWS),
        sentence(about.name, _NEWS + 1).replace(" per shard", f" for {near}"),
    ]
    said = [
        ("user", f"{told[0]} It came up while we looked at {near}."),
        ("assistant", " ".join(invented(100 * number + n) for n in range(40)).capitalize() + "."),
        ("user", told[1]),
        ("assistant", "That is how it is set now."),
    ]
    day = number + 2
    tell(home, about, 0, said, day)
    began = _spent(resource.RUSAGE_SELF) + _spent(resource.RUSAGE_CHILDREN)
    embedder, model = HashedWords(), Canned(told)
    desk = assemble.desk(
        home_config(home),
        models=assemble.Models(model.opened, embedder),
        say=lambda _event: None,
        now=lambda: BUILT + timedelta(days=day),
    )
    status = orchestrator.run(desk, Control(_MINUTES))
    spent = desk.store.runs.spent(desk.run)
    results = desk.results
    desk.store.close()
    ended = _spent(resource.RUSAGE_SELF) + _spent(resource.RUSAGE_CHILDREN)
    if status != "done" or results.counts["folded"] != 1:
        raise SystemExit(f"the news were not folded: {status} {results.as_json()}")
    return {
        "seconds": ended - embedder.seconds,
        "work": ended - began - embedder.seconds,
        "calls": spent["calls"],
        "prompt_tokens": spent["prompt_tokens"],
        "output_tokens": spent["output_tokens"],
        "embedded": embedder.texts,
    }


if __name__ == "__main__":
    main()
