"""Nights killed at many moments and run again: the end must be that of a night left in peace.

    python scripts/crash.py [--points N] [--signal KILL|TERM] [--seed S] [--world NAME]

The night runs in a child process, which is killed before or after a chosen write, rename, fsync,
statement that changes the database, commit, git call or model call. Real transcripts, store,
archive, vault and git; the model's replies are canned. After SIGKILL the night is run again; after
SIGTERM the child has ten seconds to end by itself before that. Then articles, ledger, claims and
git history are compared with those of the undisturbed night, whatever names the runs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from pipeline import assemble
from pipeline.config import Config, load_config
from pipeline.history import History
from pipeline.models import Ask
from pipeline.publish import heal
from pipeline.review.deciding import accept
from tests import test_review as review
from tests.doubles import CannedModel
from tests.support_night import (
    CLAIMS,
    NIGHT,
    Script,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)
from tests.support_wikify import ENGLISH, LONG, grown, same, script, tell

MORROW = NIGHT + timedelta(days=1)
GRACE = 10.0  # seconds from SIGTERM to the end of the process
PROCESSES = 2
CHANGELOG = "Meta/Changelog.md"

# What names a run or its commits differs between one run and two; so does how sure the routing was,
# since a topic that was named before the kill is there to be found by the rest of its batch.
_NAMES_THE_RUN = {"run", "commit", "id", "at", "updated_at", "created_at", "decided_at", "score"}
_TABLES = (
    "conversations messages chunks buckets chunk_buckets claims synthesized_bucket_chunks articles "
    "written_sentences changes holds intents source_files watermarks attempts told led merged"
)

FOUR, FIVE = (
    "The Lantern importer refuses files larger than 4 GB.",
    "The Lantern importer writes a report of 5 pages.",
)
NEWS = {
    "keeps sessions for 90 days": [
        ("The Lantern retention job keeps sessions for 90 days.", "fact")
    ],
    "code of 6 digits": [("The Lantern login page asks for a code of 6 digits.", "fact")],
    "blocks of 64 MB": [("The Harbor importer reads files in blocks of 64 MB.", "fact")],
    "shown to the Harbor": [
        ("The Lantern project was shown to the Harbor project by Amina Okafor.", "event")
    ],
}


def main() -> int:
    """Kill, resume, compare; 1 if a night ended otherwise than the undisturbed one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--signal", choices=["KILL", "TERM"], default="KILL")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--world", choices=[*WORLDS], action="append")
    given = parser.parse_args()
    number = signal.Signals[f"SIG{given.signal}"]
    worlds = given.world or [*WORLDS]
    tasks = [
        (world, number, given.points // len(worlds), given.seed, part, PROCESSES)
        for world in worlds
        for part in range(PROCESSES)
    ]
    began = time.monotonic()
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
        told = [line for lines in pool.starmap(trial, tasks, chunksize=1) for line in lines]
    bad = [line for line in told if not line.startswith("ok")]
    print("\n".join(bad))
    print(
        f"{len(told)} nights ended by SIG{given.signal} in {time.monotonic() - began:.0f} s, "
        f"{len(told) - len(bad)} like the undisturbed one, {len(bad)} not"
    )
    return 1 if bad or not told else 0


def trial(world: str, number: int, points: int, seed: int, part: int, parts: int) -> list[str]:
    """This part's share of the points of a world; a line each, "ok …" or what differs."""
    os.environ.update({"GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC"})
    with tempfile.TemporaryDirectory(prefix="crash-") as place:
        home, kept = Path(place, "home"), Path(place, "kept")
        for name in [n for n in os.environ if n.startswith(("XDG_", "MEMORY_"))]:
            del os.environ[name]
        os.environ["HOME"] = str(home)
        home.mkdir()
        make, night = WORLDS[world]
        make(home)
        shutil.copytree(home, kept, symlinks=True)
        counting = Path(place, "count")
        _child(lambda: _counted(night, counting, at=0, number=0))
        total = int(counting.read_text())
        expected = state(load_config(timezone="UTC", since_days="all"))
        drawn = random.Random(seed).sample(range(1, total + 1), min(points, total))
        return [
            f"{_one(night, point, number, home, kept, expected)} {world} {point}/{total}"
            for point in sorted(drawn)[part::parts]
        ]


def _one(
    night: Callable[[], None],
    point: int,
    number: int,
    home: Path,
    kept: Path,
    expected: dict[str, Any],
) -> str:
    shutil.rmtree(home)
    shutil.copytree(kept, home, symlinks=True)
    code, seconds = _child(lambda: _counted(night, home / "count", at=point, number=number))
    (home / "count").unlink(missing_ok=True)
    if number == signal.SIGTERM:
        if seconds > GRACE:
            return f"took {seconds:.1f} s to end after SIGTERM:"
        if code not in (0, -number):  # before the run took the signals, they end the process
            return f"ended with {code} after SIGTERM:"
    elif code != -number:
        return f"was to be killed, but ended with {code}:"
    again, _ = _child(night)
    if again != 0:
        return f"could not be run again ({again}):"
    found = state(load_config(timezone="UTC", since_days="all"))
    if wrong := "\n".join(_differences(found, expected)):
        return f"{wrong}\n in"
    silent, _ = _child(night)
    if silent != 0 or state(load_config(timezone="UTC", since_days="all")) != found:
        return "was not silent the third time:"
    return "ok"


def _differences(found: Any, expected: Any, where: str = "") -> list[str]:
    """What stands in one and not in the other, a line each."""
    if found == expected:
        return []
    if isinstance(found, dict):
        keys = sorted({*found, *expected})
        return [
            line
            for key in keys
            for line in _differences(found.get(key), expected.get(key), f"{where} {key}")
        ]
    if isinstance(found, list) and isinstance(expected, list):
        more = [f"{where}: also {item}" for item in found if item not in expected]
        return more + [f"{where}: not {item}" for item in expected if item not in found]
    return [f"{where}: {found!r}\n not {expected!r}"]


def _child(work: Callable[[], None]) -> tuple[int, float]:
    """Do it in a process of its own; its exit code, and the seconds from its signal to its end."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    ended = time.time()
    marker = Path(os.environ["HOME"], "signalled")
    began = float(marker.read_text()) if marker.is_file() else ended
    marker.unlink(missing_ok=True)
    return os.waitstatus_to_exitcode(status), ended - began


# ------------------------------------------------------------------ moments


class Moments:
    """Counts the moments at which a process can be stopped, and stops it at one of them."""

    def __init__(self, at: int, number: int) -> None:
        self.seen = 0
        self._at = at
        self._number = number

    def pass_by(self) -> None:
        """One more moment; the chosen one is the last."""
        self.seen += 1
        if self.seen == self._at:
            Path(os.environ["HOME"], "signalled").write_text(str(time.time()))
            os.kill(os.getpid(), self._number)

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call with a moment before it and one after it."""

        def watched(*args: Any, **kwargs: Any) -> Any:
            self.pass_by()
            result = call(*args, **kwargs)
            self.pass_by()
            return result

        return watched

    def writing(self, file: Any) -> Any:
        """A file opened for writing: half of what is written, a moment, the rest, a moment."""
        moments = self

        class Watched:
            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

            def __enter__(self) -> Any:
                file.__enter__()
                return self

            def __exit__(self, *error: Any) -> Any:
                return file.__exit__(*error)

            def write(self, data: Any) -> int:
                half = len(data) // 2
                file.write(data[:half])
                file.flush()
                moments.pass_by()
                file.write(data[half:])
                file.flush()
                moments.pass_by()
                return len(data)

        return Watched()


def _counted(night: Callable[[], None], counting: Path, *, at: int, number: int) -> None:
    """The night with a moment around everything that leaves a trace."""
    moments = Moments(at, number)

    class Connection(sqlite3.Connection):
        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            reading = sql.lstrip().upper().startswith(("SELECT", "PRAGMA", "WITH"))
            call = super().execute if reading else moments.around(super().execute)
            done: sqlite3.Cursor = call(sql, *args)
            return done

        def executemany(self, *args: Any) -> sqlite3.Cursor:
            done: sqlite3.Cursor = moments.around(super().executemany)(*args)
            return done

    connect = sqlite3.connect
    patched: Any = sqlite3
    patched.connect = lambda *a, **k: connect(*a, factory=Connection, **k)
    system: Any = os
    fdopen = os.fdopen
    for name in ("fsync", "replace", "rename", "unlink", "mkdir"):
        setattr(system, name, moments.around(getattr(os, name)))
    system.fdopen = lambda *a, **k: moments.writing(fdopen(*a, **k))
    processes: Any = subprocess
    processes.run = moments.around(subprocess.run)
    model: Any = CannedModel
    for name in ("choose", "write"):
        setattr(model, name, moments.around(getattr(model, name)))
    night()
    if not at:
        counting.write_text(str(moments.seen))


# ------------------------------------------------------------------ worlds


def _first(home: Path) -> None:
    write_sessions(home)
    make_vault()


def _first_night() -> None:
    run_night(load_config(timezone="UTC", since_days="all"))


def _second(home: Path) -> None:
    """A vault after its first night, edited by its user, and a day of news about it."""
    _first(home)
    _first_night()
    said = [
        ("user", "The Lantern retention job keeps sessions for 90 days."),
        ("assistant", "The Lantern retention job keeps sessions for 90 days now."),
        ("user", "The Lantern login page asks for a code of 6 digits."),
        ("user", "The Lantern project was shown to the Harbor project by Amina Okafor."),
    ]
    session = "3b1f0c2a-7d6e-4f50-9a1b-2c3d4e5f6a7b"
    write_session(home, "claude-code", session, NIGHT + timedelta(hours=5), said)
    again = [
        ("user", "The Harbor importer reads files in blocks of 64 MB, as it did."),
        ("assistant", "The Harbor importer reads files in blocks of 64 MB."),
    ]
    write_session(
        home, "pi", "01a227e0-11a7-7b0c-92c2-99aa37193c02", NIGHT + timedelta(hours=6), again
    )
    vault = load_config(timezone="UTC", since_days="all").vault
    page = next(path for path in sorted((vault / "articles").glob("*.md")) if "Harbor" in path.stem)
    page.write_text(page.read_text() + "\n## Mine\n\nA note of my own that nobody may touch.\n")


def _second_night() -> None:
    script = Script(claims={**CLAIMS, **NEWS})

    def relation(ask: Ask) -> str:
        both = "45 days" in ask.prompt and "90 days" in ask.prompt
        return "updates" if both else "unrelated"

    script.overrides = {"synthesize/relation": relation}
    run_night(load_config(timezone="UTC", since_days="all"), script, at=MORROW)


def _grown(home: Path) -> None:  # noqa: ARG001 - everything is where HOME says
    """A long article with a repeat in it, which its user renamed and changed a figure of."""
    config = make_vault()
    grown(config, ENGLISH, LONG)
    page = config.vault / "articles" / "Lantern project.md"
    page.write_text(page.read_text().replace("larger than 2 GB", "larger than 3 GB"))
    page.rename(page.with_name("Lantern.md"))
    tell(config, NIGHT + timedelta(hours=10), FOUR, FIVE)


def _grown_night() -> None:
    """Merges the repeat, follows the rename, and answers the user's figure on the Talk page."""
    answers = script(*ENGLISH, FOUR, FIVE, repeat=same)

    def relation(ask: Ask) -> str:
        return "updates" if "3 GB" in ask.prompt and "4 GB" in ask.prompt else "unrelated"

    answers.overrides = {**answers.overrides, "synthesize/relation": relation}
    run_night(load_config(timezone="UTC", since_days="all"), answers, at=MORROW)


def _doubted(home: Path) -> None:
    """An article, and news that would outdate most of it."""
    make_vault()
    write_session(home, *review.FIRST)
    again = "33333333-3333-4333-8333-333333333333"
    later = review.FIRST[2] + timedelta(hours=3)
    write_session(home, "claude-code", again, later, review.FIRST[3][-2:])
    run_night(load_config(timezone="UTC", since_days="all"), review.script())
    write_session(home, *review.SECOND)


def _doubted_night() -> None:
    """Holds the draft."""
    run_night(load_config(timezone="UTC", since_days="all"), review.script(), at=MORROW)


def _held(home: Path) -> None:
    """The draft waits."""
    _doubted(home)
    _doubted_night()


def _held_day() -> None:
    """Its user accepts it, and the night comes."""
    config = load_config(timezone="UTC", since_days="all")
    with assemble.reviewer(config, now=lambda: MORROW) as reviewer:
        heal(reviewer.press, MORROW)  # as the command does
        accept(reviewer.press.store.holds.open(), reviewer)
    run_night(config, review.script(), at=MORROW + timedelta(days=1))


WORLDS: dict[str, tuple[Callable[[Path], None], Callable[[], None]]] = {
    "first": (_first, _first_night),
    "second": (_second, _second_night),
    "grown": (_grown, _grown_night),
    "doubted": (_doubted, _doubted_night),
    "held": (_held, _held_day),
}


# ------------------------------------------------------------------ what must be equal


def state(config: Config) -> dict[str, Any]:
    """All that a night leaves behind, without what names the run."""
    vault = files(config.vault)
    changelog = vault.pop(CHANGELOG, b"").decode()
    history = History(config.vault)
    return {
        "vault": {name: data.decode() for name, data in vault.items()},
        "changelog": sorted(
            line for line in changelog.splitlines() if line.startswith("- ") and "conv:" in line
        ),
        "uncommitted": _git(config, "status", "--porcelain"),
        "sound": _git(config, "fsck", "--no-dangling", "--no-progress"),
        "commits": sorted(
            (commit.subject, sorted((k, v) for k, v in commit.trailers.items() if k != "Run"))
            for commit in history.log()
            if not commit.subject.startswith("changelog:")
        ),
        "ledger": _rows(config),
        "archive": sorted(p.name for p in config.archive_dir.rglob("*") if p.is_file()),
        "left over": [str(p) for p in config.vault.rglob(".*.part")],
    }


def _git(config: Config, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(config.vault), *arguments], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def _rows(config: Config) -> dict[str, list[str]]:
    found = {}
    with closing(sqlite3.connect(config.store_path)) as store:
        for table in _TABLES.split():
            cursor = store.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            kept = [i for i, name in enumerate(names) if name not in _NAMES_THE_RUN]
            found[table] = sorted(json.dumps([_plain(row[i]) for i in kept]) for row in cursor)
    return found


def _plain(value: Any) -> Any:
    """The value, without what names the run where it is an object in JSON."""
    if isinstance(value, str) and value.startswith("{"):
        return _plain(json.loads(value))
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if k not in _NAMES_THE_RUN}
    return value


if __name__ == "__main__":
    raise SystemExit(main())
