"""What the model layer costs, beside a plain loop over mlx_lm on the same prompts.

    python benchmarks/model.py [--models NAME …] [--only PART …] [--asks N] [--json FILE]

The prompts are a stage's own (prompts/synthesize/claims.md and chunk/keep.md) around messages of
fixtures/support. Each side works in a process of its own, so that its peak of memory is its own;
loading is not counted. The plain loop is mlx_lm.stream_generate, which mlx_lm.generate joins: a
fresh call for each prompt, with the same tokens. Both sides have the same weights and the same
BLAS. CPU seconds are those of the process, the clock's stand beside them.

write   32 replies, greedy, without a grammar, since the plain loop has none; share of same texts
choose  32 answers of one word, scored, beside decoding them
same    replies alone, batched and reordered, greedy and seeded, under the stage's grammar
sizes   the replies at batches of 1, 2, 4, 8 and 16
memory  peak in the last pass over one prompt of 4,096 tokens, and over eight together
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipeline.config import Config
from pipeline.models import Account, Ask, blas
from pipeline.models.mlx import MlxModel
from pipeline.prompts import Prompts
from pipeline.records import Call
from pipeline.resources import folder

FIXTURES = Path(__file__).parents[1] / "fixtures" / "support" / "conversations.jsonl"
MODELS = ("smollm2-135m", "qwen-0.5b")
GOAL = 1 / 3  # our CPU seconds over those of the plain loop
_WRITE, _CHOOSE = "synthesize/claims", "chunk/keep"
_BATCH = 8
_SIZES = (1, 2, 4, 8, 16)
_SAME = 8  # replies that are compared alone, batched and reordered
_LONG = 4096  # tokens


@dataclass(frozen=True, slots=True)
class Cost:
    """What one side spent and said. Seconds without loading; bytes of the whole process."""

    texts: tuple[str, ...]
    cpu: float
    wall: float
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    rss_bytes: int
    mlx_bytes: int

    def row(self) -> dict[str, float]:
        """Its figures."""
        return {key: value for key, value in asdict(self).items() if key != "texts"}

    def __str__(self) -> str:
        return (
            f"{self.cpu:8.1f}{self.wall:8.1f}{self.prompt_tokens:9,}{self.cached_tokens:9,}"
            f"{self.output_tokens:8,}{self.rss_bytes / 1e9:7.2f}{self.mlx_bytes / 1e9:7.2f}"
        )


_COLUMNS = {"CPU s": 8, "clock s": 8, "prompt": 9, "cached": 9, "decoded": 8, "RSS GB": 7, "MLX": 7}
_HEAD = " " * 34 + "".join(f"{name:>{width}}" for name, width in _COLUMNS.items())


@dataclass(frozen=True, slots=True)
class Work:
    """What a child is to do: `asks` with one model, decoded at most max_tokens each.

    max_tokens 0 is a choice. together: asks handed over in one call, 0 for all.
    """

    model: str
    asks: tuple[Ask, ...]
    max_tokens: int
    prompt: str
    batch: int = _BATCH
    together: int = 0
    grammar: bool = False
    seeds: tuple[int, ...] = ()


@dataclass(slots=True)
class _Spent:
    calls: list[Call] = field(default_factory=list)

    def account(self, call: Call) -> None:
        self.calls.append(call)

    def sum(self, what: str) -> int:
        return sum(getattr(call, what) for call in self.calls)


# ------------------------------------------------------------------ the two sides


def ours(work: Work) -> Cost:
    """The pipeline's own model."""
    spent = _Spent()
    model = _model(work.model, spent.account, work.batch)
    model.count("")
    prompt = _prompts().get(work.prompt)
    step = work.together or len(work.asks)

    def compute() -> list[str]:
        said: list[str] = []
        for at in range(0, len(work.asks), step):
            asks = work.asks[at : at + step]
            if work.max_tokens:
                replies = model.write(
                    asks,
                    stage="benchmark",
                    purpose=work.prompt,
                    max_tokens=work.max_tokens,
                    grammar=prompt.grammar if work.grammar else None,
                    seeds=work.seeds[at : at + step] or None,
                    temperature=1.0 if work.seeds else 0.0,
                )
                said += [reply.text for reply in replies]
            else:
                choices = model.choose(asks, stage="benchmark", purpose=work.prompt)
                said += [choice.best for choice in choices]
        return said

    return _measured(
        compute,
        lambda: (
            spent.sum("prompt_tokens"),
            spent.sum("cached_tokens"),
            spent.sum("output_tokens"),
        ),
    )


def plain(work: Work) -> Cost:
    """A loop over mlx_lm alone."""
    blas.load()
    # after BLIS, and only in a child: its memory is measured
    from mlx_lm import load, stream_generate  # noqa: PLC0415

    from pipeline.models.chat import Chat  # noqa: PLC0415

    model, tokenizer = load(str(_place(work.model)))[:2]
    prompts = [list(Chat(tokenizer).encode(ask).tokens) for ask in work.asks]
    decoded: list[int] = []

    def compute() -> list[str]:
        said = []
        for prompt in prompts:
            told = list(
                stream_generate(model, tokenizer, prompt, max_tokens=work.max_tokens or _BATCH)
            )
            said.append("".join(response.text for response in told))
            decoded.append(told[-1].generation_tokens)
        return said

    return _measured(compute, lambda: (sum(map(len, prompts)), 0, sum(decoded)))


def last_pass(work: Work) -> Cost:
    """The last pass over prompts of `work.seeds` tokens, where most memory is needed, and one
    token decoded. What came before is zeros: only its size counts.
    """
    blas.load()
    import mlx.core as mx  # noqa: PLC0415 - after BLIS, in a child

    from pipeline.models.chat import Prompt  # noqa: PLC0415
    from pipeline.models.reading import STEP  # noqa: PLC0415

    model = _model(work.model, lambda _call: None, work.batch)
    engine = model.engine
    reader = engine._reader
    whole = [
        (*range(length - STEP // len(work.seeds)), *range(row, row + STEP // len(work.seeds)))
        for row, length in enumerate(work.seeds)
    ]
    prompts = [Prompt(row, len(row) - STEP // len(whole)) for row in whole]

    def begin(tokens: tuple[int, ...], cache: list[Any]) -> None:
        reader.forward(mx.array([[0]]), cache)
        for layer in cache:
            keys, values = layer.state[:2]
            shape = (*keys.shape[:2], len(tokens))
            layer.keys = mx.zeros((*shape, keys.shape[3]), keys.dtype)
            layer.values = mx.zeros((*shape, values.shape[3]), values.dtype)
            layer.offset = len(tokens)
        mx.eval([layer.state for layer in cache])

    reader._prefixes._read = begin

    def compute() -> list[str]:
        done = engine.write(prompts, max_tokens=1, grammar=None, seeds=None, temperature=0.0)
        return [row.text for row in done]

    tokens = sum(map(len, whole))
    return _measured(compute, lambda: (tokens, sum(p.stem for p in prompts), len(whole)))


def _measured(compute: Callable[[], list[str]], tokens: Callable[[], tuple[int, int, int]]) -> Cost:
    import mlx.core as mx  # noqa: PLC0415 - in a child, after BLIS

    cpu, wall = time.process_time(), time.perf_counter()
    texts = compute()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    unit = 1 if sys.platform == "darwin" else 1024
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return Cost(tuple(texts), cpu, wall, *tokens(), rss, int(mx.get_peak_memory()))


def _in_child(side: Callable[[Work], Cost], work: Work) -> Cost:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(side, work).result()


def _model(name: str, account: Account, batch: int) -> MlxModel:
    return MlxModel(name, _place(name), account=account, batch=batch)


def _place(name: str) -> Path:
    return Config().models_dir / name


# ------------------------------------------------------------------ what is asked


def _prompts() -> Prompts:
    return Prompts(folder("prompts"))


def messages(count: int) -> list[str]:
    """The first messages of the fixtures that say something, as a stage shows them."""
    rows = map(json.loads, FIXTURES.read_text("utf-8").splitlines())
    said = [
        f"{message['role'].upper()}: {message['text']}"
        for row in rows
        for message in row["messages"]
        if len(message["text"].split()) > 3  # "yes, do that" states nothing
    ]
    return said[:count]


def asked(name: str, texts: Sequence[str]) -> tuple[Ask, ...]:
    """A stage's own request around each text."""
    prompts = _prompts()
    empty = dict.fromkeys(prompts.get(name).places() - {"transcript"}, "")
    filled = empty | ({"topics": "(nothing)"} if "topics" in empty else {})
    return tuple(prompts.ask(name, filled | {"transcript": text}) for text in texts)


# ------------------------------------------------------------------ the parts


def write(model: str, count: int) -> dict[str, Any]:
    """Replies beside the plain loop's."""
    cap = _prompts().get(_WRITE).max_tokens
    work = Work(model, asked(_WRITE, messages(count)), cap, _WRITE)
    return _beside(f"{count} replies", work)


def choose(model: str, count: int) -> dict[str, Any]:
    """Choices beside decoding the answer."""
    work = Work(model, asked(_CHOOSE, messages(count)), 0, _CHOOSE)
    return _beside(f"{count} choices", work)


def _beside(what: str, work: Work) -> dict[str, Any]:
    sides = {"plain loop": _in_child(plain, work), "ours": _in_child(ours, work)}
    for name, cost in sides.items():
        _say(f"{f'{what}, {name}':34}{cost}")
    one, other = sides.values()
    share = other.cpu / one.cpu
    verdict = "reached" if share <= GOAL else "NOT reached"
    _say(f"{'':34}{share:8.2f} of the plain loop's CPU (goal {GOAL:.2f}: {verdict})")
    figures = {"plain": one.row(), "ours": other.row(), "cpu_share": share}
    if not work.max_tokens:
        return figures  # a choice is corrected for what the model leans to: other answers
    differing = [pair for pair in zip(one.texts, other.texts, strict=True) if pair[0] != pair[1]]
    _say(f"{'':34}{len(one.texts) - len(differing)} of {len(one.texts)} texts the same")
    return {**figures, "of": len(one.texts), "differing": differing}


def same(model: str, _count: int) -> dict[str, Any]:
    """How many texts are the same alone and in another order as in a batch."""
    asks = asked(_WRITE, messages(_SAME))
    cap = _prompts().get(_WRITE).max_tokens
    found: dict[str, Any] = {"of": _SAME}
    for how, seeds in (("greedy", ()), ("seeded", tuple(range(1, _SAME + 1)))):
        work = Work(model, asks, cap, _WRITE, grammar=True, seeds=seeds)
        together = _in_child(ours, work).texts
        alone = _in_child(ours, Work(model, asks, cap, _WRITE, 1, 1, True, seeds)).texts
        turned = _in_child(
            ours, Work(model, asks[::-1], cap, _WRITE, 3, grammar=True, seeds=seeds[::-1])
        ).texts[::-1]
        found[how] = {
            "alone": sum(a == b for a, b in zip(together, alone, strict=True)),
            "reordered": sum(a == b for a, b in zip(together, turned, strict=True)),
        }
        _say(f"{how}: of {_SAME} texts in a batch {found[how]['alone']} are the same alone, "
             f"{found[how]['reordered']} in another order and batches of 3")  # fmt: skip
    return found


def sizes(model: str, count: int) -> dict[str, Any]:
    """The replies in batches of every size."""
    asks = asked(_WRITE, messages(count))
    cap = _prompts().get(_WRITE).max_tokens
    found = {}
    for size in _SIZES:
        cost = _in_child(ours, Work(model, asks, cap, _WRITE, size))
        _say(f"{f'{count} replies, {size} at a time':34}{cost}")
        found[str(size)] = cost.row()
    return found


def memory(model: str, _count: int) -> dict[str, Any]:
    """Peaks of long prompts."""
    found = {}
    for rows in (1, _BATCH):
        cost = _in_child(last_pass, Work(model, (), 1, _WRITE, seeds=(_LONG,) * rows))
        name = f"{rows} of {_LONG:,} tokens"
        _say(f"{name:34}{cost}")
        found[name] = cost.row()
    return found


PARTS: dict[str, Callable[[str, int], dict[str, Any]]] = {
    "write": write,
    "choose": choose,
    "same": same,
    "sizes": sizes,
    "memory": memory,
}


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Print the rows; 1 when the goal is missed or a text differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--models", nargs="+", default=MODELS, help="registry models, fetched")
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), default=tuple(PARTS))
    parser.add_argument("--asks", type=int, default=32)
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    figures: dict[str, dict[str, Any]] = {}
    for model in given.models:
        if not (_place(model) / "config.json").is_file():
            _say(f"{model}: skipped, not fetched; run `memory model fetch {model}`")
            continue
        _say(f"{model}\n{_HEAD}")
        figures[model] = {part: PARTS[part](model, given.asks) for part in given.only}
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", "utf-8")
    written = [found["write"] for found in figures.values() if "write" in found]
    return int(any(row["cpu_share"] > GOAL or row["differing"] for row in written))


if __name__ == "__main__":
    sys.exit(main())
