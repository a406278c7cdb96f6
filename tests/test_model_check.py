"""`memory model check`: what would spoil a night is found by day, and said with figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline import assemble
from pipeline.config import load_config
from pipeline.models import Ask, Choice
from pipeline.models.check import Finding, check, check_length
from pipeline.models.mlx import MlxModel
from tests.support_check import Hasty


@pytest.mark.parametrize(
    ("settings", "sound", "said"),
    [
        ({"max_position_embeddings": 8192}, True, "8192 tokens"),
        ({"max_position_embeddings": 4416}, True, "4416 tokens"),
        ({"max_position_embeddings": 4415}, False, "`max_prompt_tokens` to 4095 or less"),
        ({"text_config": {"max_position_embeddings": 2048}}, False, "2048 tokens"),
        ({"n_positions": 1024, "model_type": "gpt2"}, False, "1024 tokens"),
        ({"max_position_embeddings": "many"}, True, "does not say"),
        ({"text_config": None}, True, "does not say"),
        ([], True, "does not say"),
    ],
)
def test_a_model_that_reads_too_little_is_told(
    tmp_path: Path, settings: object, sound: bool, said: str
) -> None:
    """A prompt of 4096 tokens and a reply of 320 must have room in its length, if it tells it."""
    (tmp_path / "config.json").write_text(json.dumps(settings))
    found = check_length(tmp_path, 4096, 320)
    assert (found.what, found.ok) == ("length", sound)
    assert said in found.result


def found(findings: Sequence[Finding]) -> dict[str, Finding]:
    return {finding.what: finding for finding in findings}


@pytest.mark.model
def test_a_sound_model_is_told_with_its_figures(smollm: MlxModel, models_dir: Path) -> None:
    """Files, length, what computes, calibration, batches, speeds, memory; the verdict last."""
    config = load_config(model="smollm2-135m")
    findings = assemble.check_model(config)
    told = found(findings)
    assert [finding for finding in findings if not finding.ok] == []
    assert findings[-1] == ("verdict", "usable", True)
    assert {"load", "choose", "grammar", "batch", "speed"} <= told.keys()
    assert told["length"].result.startswith("8192 tokens")
    assert "calibration" in told and "scores" in told
    assert "tokens a second" in told["reading"].result
    assert "tokens a second" in told["writing"].result
    assert told["peak memory"].result.endswith("GB")
    assert told["computes on"].result.startswith(("CPU with", "Metal"))
    (kept, *_) = (config.cache_dir / "calibration").iterdir()
    assert kept.is_file()


class Biased(Hasty):
    """A model that is right alone and weighs wrongly where it is told to."""

    def __init__(self, model: MlxModel, *, beside: bool = False, always: bool = False) -> None:
        super().__init__(model)
        self._beside = beside
        self._always = always

    def choose(self, asks: Sequence[Ask], *, stage: str, purpose: str) -> list[Choice]:
        choices = self._model.choose(asks, stage=stage, purpose=purpose)
        if self._always or (self._beside and len(asks) > 1 and asks[0].prompt != "N/A"):
            shares = (0.9, *[0.1 / (len(asks[0].options) - 1)] * (len(asks[0].options) - 1))
            choices[0] = Choice(choices[0].options, shares)
        return choices


@pytest.mark.model
@pytest.mark.parametrize(("kind", "what"), [("beside", "scores"), ("always", "calibration")])
def test_a_model_that_weighs_wrongly_is_not_usable(smollm: MlxModel, kind: str, what: str) -> None:
    """In a batch other than alone, or with a lean left in."""
    findings = check(Biased(smollm, **{kind: True}))  # type: ignore[arg-type]
    told = found(findings)
    assert not told[what].ok
    assert not findings[-1].ok and what in findings[-1].result
