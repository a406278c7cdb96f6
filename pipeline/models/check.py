"""`memory model check`: load a model, ask it little questions, say what was found."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import ModelFault
from pipeline.models import Ask, Embedder, Grammar, Model, Reply
from pipeline.models.calibration import CONTENT_FREE
from pipeline.models.mlx import MlxModel
from pipeline.models.openai_api import ServedModel

_STAGE, _PURPOSE = "check", "check"
_SYSTEM = "You answer in one short sentence."
_PROMPTS = (
    "What do people use an umbrella for?",
    "Name something that is green, and say in a few words where one finds it.",
    "Is ice warmer than steam?",
)
_QUESTIONS = (
    Ask("Answer with yes or no.", "Is water wet?", options=("yes", "no")),
    Ask(
        "Choose the heading under which a sentence belongs.",
        "The train to the mountains leaves in the evening, and the one to the sea at noon.",
        options=("Trains in the evening", "Trains at noon", "Other trains"),  # begin alike
    ),
    Ask(
        "Answer with yes or no.", "Is it dark at noon, when the sun is high?", options=("yes", "no")
    ),
)
_LONG = "The road goes on over the hill and down to the river. " * 30
_WRITTEN = 33  # tokens by which the speed of writing is measured
# What scores alone and beside others may differ by: a GPU computes with half the precision.
_ROUNDING = {"CPU": 1e-3, "Metal": 2e-2}
_LENGTHS = ("max_position_embeddings", "max_sequence_length", "n_positions", "seq_length")
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


def check_length(folder: Path, prompt: int, reply: int) -> Finding:
    """Whether a model can read a prompt and write a reply of so many tokens, by what it says of
    itself. Most write nonsense beyond their length instead of failing.
    """
    length = _length(folder)
    if length is None:
        return Finding("length", "the model does not say how much it can read", True)
    said = f"{length} tokens; a prompt may have {prompt} and a reply {reply}"
    if length < prompt + reply:
        said += f": set `max_prompt_tokens` to {length - reply} or less"
    return Finding("length", said, length >= prompt + reply)


def _length(folder: Path) -> int | None:
    """Tokens that a model in MLX format can attend to."""
    try:
        settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # told when it is loaded
    if not isinstance(settings, dict):
        return None
    inner = settings.get("text_config")
    for found in (settings, inner if isinstance(inner, dict) else {}):
        for name in _LENGTHS:
            if type(found.get(name)) is int and found[name] > 0:
                return int(found[name])
    return None


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
    _calibration(model, findings)
    _grammar(model, findings)
    _batch(model, findings)
    _scores(model, findings)
    _speeds(model, findings)
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


def _calibration(model: MlxModel, findings: list[Finding]) -> None:
    """Asked about nothing, no option is likelier: what the model leans to is taken out."""
    asks = [replace(ask, prompt=CONTENT_FREE) for ask in _QUESTIONS]
    choices = model.choose(asks, stage=_STAGE, purpose=_PURPOSE)
    off = max(abs(p * len(c.options) - 1) for c in choices for p in c.probabilities)
    said = f"asked about nothing, options are likely alike (within {off:.1%})"
    findings.append(Finding("calibration", said, off <= 10 * _ROUNDING[model.engine.device]))


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


def _scores(model: MlxModel, findings: list[Finding]) -> None:
    """Nor must the weight of an option."""
    together = model.choose(_QUESTIONS, stage=_STAGE, purpose=_PURPOSE)
    alone = [model.choose([ask], stage=_STAGE, purpose=_PURPOSE)[0] for ask in _QUESTIONS]
    off = max(
        abs(p - q)
        for one, other in zip(together, alone, strict=True)
        for p, q in zip(one.probabilities, other.probabilities, strict=True)
    )
    result = f"options alone and together differ by {off:.0e} at most"
    findings.append(Finding("scores", result, off <= _ROUNDING[model.engine.device]))


def _speeds(model: Model, findings: list[Finding]) -> None:
    """Of reading and of writing: one prompt is read twice, and written to at different length."""
    ask = Ask(_SYSTEM, f"{_LONG}Tell in many words what one sees on the way.")
    (brief,) = model.write([ask], stage=_STAGE, purpose=_PURPOSE, max_tokens=1)
    (longer,) = model.write([ask], stage=_STAGE, purpose=_PURPOSE, max_tokens=_WRITTEN)
    read = (brief.prompt_tokens - brief.cached_tokens) / brief.seconds
    findings.append(Finding("reading", f"{read:,.0f} tokens a second", True))
    more, seconds = longer.output_tokens - brief.output_tokens, longer.seconds - brief.seconds
    said = "not measured: the reply was too short"
    if more >= _WRITTEN // 2 and seconds > 0:
        said = f"{more / seconds:,.1f} tokens a second alone"
    findings.append(Finding("writing", said, True))


def _speed(replies: list[Reply]) -> Finding:
    tokens, seconds = sum(r.output_tokens for r in replies), sum(r.seconds for r in replies)
    return Finding("speed", f"{tokens / seconds:.1f} tokens a second in a batch", True)


def _write(model: Model, asks: list[Ask]) -> list[Reply]:
    return model.write(asks, stage=_STAGE, purpose=_PURPOSE, max_tokens=24)
