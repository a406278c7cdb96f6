"""How fast transcripts are read, beside merely decoding their JSON.

    python benchmarks/ingest.py [--quick] [--json FILE]

Over generated transcripts whose shape is that of the shared samples (one byte in fifty is said by
somebody, the rest is tool output and what stands around it), and over the samples where they are:
parsing; reading, that is parsing, redaction, ids and titles; and the whole stage, which has a store
with its full-text index and an archive to fill, each time from nothing. All of it beside
`json.loads` over the same lines in the same run, since machines differ. Then the walk over known
sessions with nothing new, and the peak memory of one large file, in a process of its own. CPU
seconds; of what is compared, the best of as many tries of each.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from pipeline import assemble
from pipeline.config import Config, load_config
from pipeline.desk import Desk
from pipeline.errors import SourceFault
from pipeline.history import History
from pipeline.models import Model
from pipeline.reading.leaving import left_out
from pipeline.reading.session import read
from pipeline.stages import ingest

_VOCABULARY = (
    "the parser reads each line and keeps what was said about beds beans seeds water soil frost "
    "config deploy branch review test error cache queue worker index column table release"
)
WORDS = _VOCABULARY.split()
SAMPLES = Path(__file__).parents[2] / "shared" / "data" / "transcripts"
START = datetime(2025, 3, 4, 9, 0, tzinfo=UTC)
_TRIES = 9


def main() -> None:
    """Print the rows."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="a tenth of the size")
    arguments.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.peak:
        _read_one(given.peak)
        return
    scale = 1 if given.quick else 10
    figures = {**_speed(scale), **_known(1000 * scale), **_peak(30 * scale)}
    for name, value in figures.items():
        print(f"{name:<56} {value:>10,.2f}")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


def _speed(scale: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as place:
        for n in range(2 * scale):
            _transcript(Path(place, f"p/{uuid.UUID(int=n)}.jsonl"), n, 80)
        figures = _compared("generated", {"claude-code": [place]})
    if SAMPLES.is_dir():
        roots = {name: [str(SAMPLES / name)] for name in ("claude-code", "pi", "codex")}
        figures |= _compared("samples", roots)
    return figures


def _compared(what: str, roots: dict[str, list[str]]) -> dict[str, float]:
    """Rates in MB/s, and what they are beside merely decoding."""
    rounds = [_round(roots) for _ in range(_TRIES)]
    size = rounds[0][0] / 1e6
    decode, parse, read, whole = (min(times) for times in list(zip(*rounds, strict=True))[1:])
    return {
        f"{what}: MB": size,
        f"{what}: decoding, MB/s": size / decode,
        f"{what}: parsing ÷ decoding": decode / parse,
        f"{what}: reading ÷ decoding": decode / read,
        f"{what}: the whole stage ÷ decoding": decode / whole,
    }


def _round(roots: dict[str, list[str]]) -> tuple[float, ...]:
    """Bytes, and seconds for decoding, parsing, reading, and for the whole stage from nothing."""
    with _home(roots) as (desk, _):
        paths = {source.name: list(source.discover()) for source in desk.sources}
        files = [path for found in paths.values() for path in found]
        return (
            sum(path.stat().st_size for path in files),
            _seconds(lambda: _decode(files)),
            _seconds(lambda: _parse(desk, paths)),
            _seconds(lambda: _read(desk)),
            _seconds(lambda: _night(desk)),
        )


def _parse(desk: Desk, paths: dict[str, list[Path]]) -> None:
    for source in desk.sources:
        for path in paths[source.name]:
            with suppress(SourceFault):
                for _ in source.read(path):
                    pass


def _read(desk: Desk) -> None:
    for batch in ingest.work(ingest.pending(desk), desk):
        with suppress(SourceFault):
            for session in batch.read(batch.start):
                if left_out(session, batch.job, desk) is None:
                    read(session, batch.job, batch.projects, desk)


def _known(sessions: int) -> dict[str, float]:
    with _home() as (desk, claude):
        for n in range(sessions):
            _transcript(claude / f"p{n % 50}/{uuid.UUID(int=n)}.jsonl", n, 1)
        _night(desk)
        opened: list[object] = []
        path_open = Path.open

        def counting(self: Path, *args: object, **more: object) -> object:
            opened.append(self)
            return path_open(self, *args, **more)  # type: ignore[call-overload]

        Path.open = counting  # type: ignore[method-assign, assignment]
        try:
            seconds = min(_seconds(lambda: ingest.pending(desk)) for _ in range(3))
        finally:
            Path.open = path_open  # type: ignore[method-assign]
        return {
            f"{sessions} known sessions, s (goal < 1.5)": seconds,
            "files opened among them": len(opened),
        }


def _peak(megabytes: int) -> dict[str, float]:
    """Peak memory over that of a process that reads a tiny file, in MB."""
    peaks = []
    for size in (1, megabytes):
        done = subprocess.run(
            [sys.executable, __file__, "--peak", str(size)],
            capture_output=True,
            check=True,
            text=True,
        )
        peaks.append(float(done.stdout))
    return {
        f"peak memory for a file of {megabytes} MB, MB (goal < 500)": peaks[1],
        "of it the program itself, MB": peaks[0],
    }


def _read_one(megabytes: int) -> None:
    with _home() as (desk, claude):
        path = claude / f"p/{uuid.UUID(int=7)}.jsonl"
        _transcript(path, 7, 1)
        with path.open("a") as file:
            while file.tell() < megabytes * 1_000_000:
                file.writelines(_lines(7, 50, file.tell()))
        _night(desk)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


# ------------------------------------------------------------------ material


def _transcript(path: Path, seed: int, turns: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        file.writelines(_lines(seed, turns, 0))
    long_ago = (START - timedelta(days=1)).timestamp()
    os.utime(path, (long_ago, long_ago))
    return path


def _lines(seed: int, turns: int, offset: int) -> Iterator[str]:
    """Turns as Claude Code writes them: a prompt, a call, its long result, an answer."""
    rng = random.Random(seed * 1_000_003 + offset)
    for turn in range(turns):
        at = START + timedelta(seconds=offset % 10**6 + turn * 60)
        result = "\n".join(f'{n}\t"{" ".join(rng.choices(WORDS, k=9))}"' for n in range(370))
        call = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "a.md"}}
        shown = [{"type": "tool_result", "tool_use_id": "t", "content": result}]
        for kind, content in (
            ("user", " ".join(rng.choices(WORDS, k=25))),
            ("assistant", [call]),
            ("user", shown),
            ("assistant", [{"type": "text", "text": " ".join(rng.choices(WORDS, k=60))}]),
        ):
            yield (
                json.dumps(
                    {
                        "type": kind,
                        "uuid": str(uuid.UUID(int=rng.getrandbits(128))),
                        "sessionId": "s",
                        "cwd": "/home/dev/garden",
                        "version": "2.1.17",
                        "timestamp": at.isoformat(),
                        "message": {
                            "role": kind,
                            "id": f"m{offset}-{turn}-{kind}",
                            "content": content,
                        },
                    }
                )
                + "\n"
            )


# ------------------------------------------------------------------ running


class _Unasked:
    """In the place of a model: ingest asks none, but a desk wants to know how it counts."""

    def count(self, text: str) -> int:
        return len(text)


@contextmanager
def _home(roots: dict[str, list[str]] | None = None) -> Iterator[tuple[Desk, Path]]:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        config: Config = load_config(
            vault=str(root / "vault"),
            cache_dir=str(root / "cache"),
            data_dir=str(root / "data"),
            sources={
                "enabled": list(roots or ["claude-code"]),
                "roots": roots or {"claude-code": [str(root / "claude")]},
            },
        )
        History(config.vault).init()
        desk = assemble.desk(
            config,
            models=assemble.Models(lambda _account: cast("Model", _Unasked()), None),
            say=lambda _event: None,
        )
        yield desk, root / "claude"
        desk.store.close()


def _night(desk: Desk) -> None:
    for batch in ingest.work(ingest.pending(desk), desk):
        ingest.keep(batch, desk)


def _decode(paths: list[Path]) -> None:
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                with suppress(ValueError):  # the samples hold broken lines
                    json.loads(line)


def _seconds(action: Callable[[], object]) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began


if __name__ == "__main__":
    main()
