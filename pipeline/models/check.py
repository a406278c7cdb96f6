"""`memory model check`: load a model, ask it little questions, say what was found."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from pipeline.errors import ModelFault
from pipeline.models import Ask, Embedder, Grammar, Model, Reply
from pipeline.models.mlx import MlxModel
from pipeline.models.openai_api import ServedModel

_STAGE, _PURPOSE = "check", "check"
_SYSTEM = "You answer in one short sentence."
_PROMPTS = (
    "What do people use an umbrella for?",
    "Name something that is green, and say in a few words where one finds it.",
    "Is ice warmer than steam?",
)
_SENTENCES = (
    "An umbrella keeps the rain off.",
    "People stay dry under an umbrella when it rains.",
    "The train to the mountains leaves in the evening.",
)
_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"word": {"type": "string", "maxLength": 20}},
        "required": ["word"],
        "additionalProperties": False,
    }
)


class Finding(NamedTuple):
    """One line of the report."""

    what: str
    result: str
    ok: bool


def check(model: MlxModel) -> list[Finding]:
    """Findings in the order they were made; the last is the verdict. Raises nothing for a model
    that fails: the finding says how.
    """
    return _judged(lambda findings: _language(model, findings))


def check_served(model: ServedModel) -> list[Finding]:
    """The same for a model that a server runs; what the server cannot do is said, and is no fault
    where it is done here.
    """
    return _judged(lambda findings: _served(model, findings))


def check_embedder(embedder: Embedder) -> list[Finding]:
    """The same for an embedder: two sentences on one thing must be nearer than two on others."""
    return _judged(lambda findings: _embed(embedder, findings))


def _judged(look: Callable[[list[Finding]], None]) -> list[Finding]:
    findings: list[Finding] = []
    try:
        look(findings)
    except ModelFault as fault:
        findings.append(Finding("fault", f"{fault} {fault.mend}".strip(), False))
    wrong = [finding.what for finding in findings if not finding.ok]
    verdict = f"not usable: {', '.join(wrong)}" if wrong else "usable"
    findings.append(Finding("verdict", verdict, not wrong))
    return findings


def _language(model: MlxModel, findings: list[Finding]) -> None:
    _load(model, findings)
    _choose(model, findings)
    _grammar(model, findings)
    _batch(model, findings)
    for stage, folder in model.adapters.items():
        model.write([Ask(_SYSTEM, _PROMPTS[0])], stage=stage, purpose=_PURPOSE, max_tokens=1)
        findings.append(Finding(f"adapter of {stage}", f"{folder} fits", True))
    peak = model.engine.peak_bytes() / 1e9
    findings.append(Finding("peak memory", f"{peak:.1f} GB", True))


def _served(model: ServedModel, findings: list[Finding]) -> None:
    _choose(model, findings)
    weighs = "logprobs" not in model.without
    how = "by likely tokens" if weighs else "by what it says: the server lists no likely tokens"
    findings.append(Finding("chooses", how, True))
    replies = _write(model, [Ask(_SYSTEM, prompt) for prompt in _PROMPTS])
    findings.append(_speed(replies))
    _grammar(model, findings)
    bound = "response_format" not in model.without
    how = "a JSON schema is sent along" if bound else "checked afterwards: it takes no JSON schema"
    findings.append(Finding("form", how, True))


def _embed(embedder: Embedder, findings: list[Finding]) -> None:
    started = time.perf_counter()
    one, same, other = embedder.embed(_SENTENCES)
    findings.append(Finding("load and embed", f"{time.perf_counter() - started:.1f} s", True))
    near, far = float(one @ same), float(one @ other)
    sound = near > far and abs(float(one @ one) - 1) < 1e-3
    findings.append(Finding("likeness", f"{near:.2f} for alike, {far:.2f} for unlike", sound))


def _load(model: MlxModel, findings: list[Finding]) -> None:
    started = time.perf_counter()
    device = model.engine.device
    findings.append(Finding("load", f"{time.perf_counter() - started:.1f} s", True))
    if device == "CPU" and sys.platform == "linux":
        # Slow, but right: a warning in words, not a failure.
        slow = (
            "reference BLAS, many times slower; install BLIS (Debian: apt install libblis4-openmp)"
        )
        device = f"CPU with {'BLIS' if model.blas else slow}"
    findings.append(Finding("computes on", device, True))


def _choose(model: Model, findings: list[Finding]) -> None:
    ask = Ask("Answer with yes or no.", "Is water wet?", options=("yes", "no"))
    (choice,) = model.choose([ask], stage=_STAGE, purpose=_PURPOSE)
    sound = abs(sum(choice.probabilities) - 1) < 1e-6  # false for NaN, which broken weights give
    findings.append(Finding("choose", f"{choice.best} ({max(choice.probabilities):.2f})", sound))


def _grammar(model: Model, findings: list[Finding]) -> None:
    ask = Ask("You answer in JSON.", "Name a colour.")
    (reply,) = model.write(
        [ask], stage=_STAGE, purpose=_PURPOSE, max_tokens=60, grammar=Grammar("json", _SCHEMA)
    )
    try:
        sound = isinstance(json.loads(reply.text)["word"], str)
    except (ValueError, KeyError, TypeError):
        sound = False
    findings.append(Finding("grammar", reply.text, sound))


def _batch(model: Model, findings: list[Finding]) -> None:
    """Greedy text must not depend on what else is in the batch: some caches have had that fault."""
    asks = [Ask(_SYSTEM, prompt) for prompt in _PROMPTS]
    together = _write(model, asks)
    alone = [_write(model, [ask])[0] for ask in asks]
    same = sum(a.text == b.text for a, b in zip(together, alone, strict=True))
    result = f"{same} of {len(asks)} replies the same alone and together"
    findings.append(Finding("batch", result, same == len(asks)))
    findings.append(_speed(together))


def _speed(replies: list[Reply]) -> Finding:
    tokens, seconds = sum(r.output_tokens for r in replies), sum(r.seconds for r in replies)
    return Finding("speed", f"{tokens / seconds:.1f} tokens a second in a batch", True)


def _write(model: Model, asks: list[Ask]) -> list[Reply]:
    return model.write(asks, stage=_STAGE, purpose=_PURPOSE, max_tokens=24)
