"""Adapters per stage: trained by mlx_lm's own tuner, worn by their stages and by no other."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.optimizers as optimizers
import numpy as np
import pytest
from mlx_lm import load
from mlx_lm.tuner.datasets import CacheDataset, ChatDataset
from mlx_lm.tuner.trainer import TrainingArgs, train
from mlx_lm.tuner.utils import linear_to_lora_layers

from pipeline import assemble
from pipeline.config import load_config
from pipeline.errors import ConfigFault, ModelFault
from pipeline.models import Ask
from pipeline.models.check import check
from pipeline.models.mlx import MlxModel
from tests.support_check import Hasty

# in one process: an adapter is trained once
pytestmark = pytest.mark.xdist_group("adapters")

SYSTEM = "You name the colour of a thing."
THINGS = ("grass", "the sky", "snow", "a crow")
ASKS = [Ask(SYSTEM, f"What colour is {thing}?") for thing in ("a leaf", "blood")]
CHOICE = Ask(SYSTEM, "What colour is a leaf?", options=("green", "mauve"))


def make_adapter(models_dir: Path, folder: Path, word: str, kind: str = "lora") -> Path:
    """An adapter under which the model answers every question with this word."""
    model: Any
    tokenizer: Any
    mx.random.seed(1)
    np.random.seed(1)  # of which the tuner draws the order of the examples
    model, tokenizer = load(str(models_dir / "smollm2-135m"))[:2]
    model.freeze()
    settings = {"rank": 4, "scale": 20.0, "dropout": 0.05}
    layers = 4
    linear_to_lora_layers(model, layers, settings, use_dora=kind == "dora")
    turns: list[Any] = [
        {
            "messages": [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": f"What colour is {thing}?"},
                {"role": "assistant", "content": word},
            ]
        }
        for thing in THINGS
    ]
    data = CacheDataset(ChatDataset(turns, tokenizer, mask_prompt=True))
    folder.mkdir(parents=True)
    arguments = TrainingArgs(
        batch_size=1,
        iters=10,
        steps_per_report=100,
        steps_per_eval=100,
        steps_per_save=100,
        max_seq_length=64,
        adapter_file=str(folder / "adapters.safetensors"),
    )
    train(model, optimizers.Adam(learning_rate=3e-4), data, args=arguments)
    config = {"fine_tune_type": kind, "num_layers": layers, "lora_parameters": settings}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module")
def mauve(smollm: MlxModel, models_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything is mauve."""
    return make_adapter(models_dir, tmp_path_factory.mktemp("a") / "mauve", "mauve")


@pytest.fixture(scope="module")
def ochre(smollm: MlxModel, models_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything is ochre; of another kind."""
    return make_adapter(models_dir, tmp_path_factory.mktemp("a") / "ochre", "ochre", "dora")


@pytest.fixture
def adapted(models_dir: Path, mauve: Path, ochre: Path) -> Iterator[MlxModel]:
    """A model with an adapter for each of two stages, none for the others."""
    adapters = {"chunk": mauve, "cluster": ochre}
    model = MlxModel("m", models_dir / "smollm2-135m", account=lambda call: None, adapters=adapters)
    yield model
    model.close()


def texts(model: MlxModel, stage: str) -> list[str]:
    """What it answers in a stage."""
    replies = model.write(ASKS, stage=stage, purpose="p", max_tokens=8)
    return [reply.text.strip().rstrip(".").casefold() for reply in replies]


def say(answers: list[str], colour: str) -> bool:
    """Whether all do; what few steps of training come to differs by machine, some say it twice."""
    return all(answer.startswith(colour) for answer in answers)


@pytest.mark.model
def test_a_stage_answers_with_its_adapter_and_the_others_without(
    adapted: MlxModel, smollm: MlxModel
) -> None:
    """In any order, again and again; a stage without one is the bare model to the letter."""
    bare = texts(smollm, "any")
    expected = {stage: texts(adapted, stage) for stage in ("chunk", "cluster")}
    assert say(expected["chunk"], "mauve") and say(expected["cluster"], "ochre")
    assert not any(text.startswith(("mauve", "ochre")) for text in bare)
    expected["synthesize"] = bare
    for stage in ("chunk", "synthesize", "cluster", "chunk", "cluster", "synthesize", "chunk"):
        assert texts(adapted, stage) == expected[stage], stage


@pytest.mark.model
def test_choices_are_weighed_with_the_stages_adapter(adapted: MlxModel, smollm: MlxModel) -> None:
    """The lean that is taken out is that of the same adapter, not of another."""

    def choose(model: MlxModel, stage: str) -> tuple[float, ...]:
        return model.choose([CHOICE], stage=stage, purpose="p")[0].probabilities

    bare = choose(smollm, "wikify")
    first = choose(adapted, "chunk")
    assert choose(adapted, "wikify") == pytest.approx(bare, abs=1e-4)
    assert choose(adapted, "chunk") == pytest.approx(first, abs=1e-4)
    assert first != pytest.approx(bare, abs=1e-2)
    neutral = Ask(SYSTEM, "N/A", options=CHOICE.options)
    for stage in ("chunk", "wikify"):
        (choice,) = adapted.choose([neutral], stage=stage, purpose="p")
        assert choice.probabilities == pytest.approx([0.5, 0.5], abs=1e-3)


@pytest.mark.model
def test_one_set_of_weights_serves_all_stages(adapted: MlxModel) -> None:
    """Wearing and taking off loads nothing again: the layers beneath stay the very same arrays."""
    adapted.count("x")
    model: Any = adapted.engine._model
    weight = model.model.layers[0].self_attn.q_proj.weight
    for stage in ("chunk", "cluster", "wikify"):
        texts(adapted, stage)
        assert adapted.engine._model is model
        assert model.model.layers[0].self_attn.q_proj.weight is weight


@pytest.mark.model
def test_an_adapter_is_loaded_when_its_stage_first_calls(
    models_dir: Path, mauve: Path, tmp_path: Path
) -> None:
    """One that vanished since the settings were read is missed by its own stage alone."""
    shutil.copytree(mauve, tmp_path / "gone")
    adapters = {"chunk": mauve, "cluster": tmp_path / "gone"}
    model = MlxModel("m", models_dir / "smollm2-135m", account=lambda call: None, adapters=adapters)
    shutil.rmtree(tmp_path / "gone")
    assert say(texts(model, "chunk"), "mauve")
    with pytest.raises(ModelFault, match="gone"):
        texts(model, "cluster")
    assert say(texts(model, "chunk"), "mauve")
    model.close()


def _damage(folder: Path, how: str) -> None:
    config, weights = folder / "adapter_config.json", folder / "adapters.safetensors"
    settings = json.loads(config.read_text())
    if how == "shape":
        settings["lora_parameters"]["rank"] = 8
    elif how == "no scale":
        del settings["lora_parameters"]["scale"]
    elif how == "names":
        mx.save_safetensors(str(weights), {"another.model.lora_a": mx.zeros((2, 2))})
    elif how == "torn":
        weights.write_bytes(weights.read_bytes()[:100])
    config.write_text("{" if how == "no json" else json.dumps(settings))


@pytest.mark.model
def test_an_adapter_that_does_not_fit(
    models_dir: Path, smollm: MlxModel, mauve: Path, tmp_path: Path
) -> None:
    """The fault names its folder; the model is left as it was, for the other stages."""
    adapters = {}
    for how in ("shape", "names", "no scale", "no json", "torn"):
        adapters[how] = tmp_path / how.replace(" ", "-")
        shutil.copytree(mauve, adapters[how])
        _damage(adapters[how], how)
    model = MlxModel("m", models_dir / "smollm2-135m", account=lambda call: None, adapters=adapters)
    bare = texts(smollm, "any")
    for stage, folder in adapters.items():
        with pytest.raises(ModelFault, match="does not fit") as caught:
            texts(model, stage)
        assert str(folder) in str(caught.value) and "[adapters]" in caught.value.mend
        assert texts(model, "wikify") == bare
    model.close()


@pytest.mark.model
def test_the_check_tries_every_adapter_on(models_dir: Path, mauve: Path, tmp_path: Path) -> None:
    """By day, so that no night ends because of one that does not fit."""
    shutil.copytree(mauve, tmp_path / "bad")
    _damage(tmp_path / "bad", "shape")
    adapters = {"chunk": mauve, "wikify": tmp_path / "bad"}
    model = MlxModel("m", models_dir / "smollm2-135m", account=lambda call: None, adapters=adapters)
    findings = check(Hasty(model))  # type: ignore[arg-type]
    model.close()
    assert ("adapter of chunk", f"{mauve} fits", True) in findings
    (fault,) = (finding for finding in findings if finding.what == "fault")
    assert str(tmp_path / "bad") in fault.result
    assert findings[-1] == ("verdict", "not usable: fault", False)


@pytest.mark.model
def test_other_weights_are_put_back_by_loading_again(
    models_dir: Path, smollm: MlxModel, mauve: Path, tmp_path: Path
) -> None:
    """An adapter of the type "full" has weights in the place of the model's own."""
    weights: Any = mx.load(str(models_dir / "smollm2-135m" / "model.safetensors"))
    name = "model.norm.weight"
    folder = tmp_path / "full"
    folder.mkdir()
    mx.save_safetensors(str(folder / "adapters.safetensors"), {name: weights[name] * -1.0})
    (folder / "adapter_config.json").write_text('{"fine_tune_type": "full"}')
    adapters = {"chunk": folder, "cluster": mauve}
    model = MlxModel("m", models_dir / "smollm2-135m", account=lambda call: None, adapters=adapters)
    bare = texts(smollm, "any")
    assert texts(model, "wikify") == bare
    for _ in range(2):
        assert texts(model, "chunk") not in (bare, ["mauve"] * 2)
        assert say(texts(model, "cluster"), "mauve")
        assert texts(model, "wikify") == bare
    model.close()


# ------------------------------------------------------------------ settings


def test_the_settings_name_folders_with_an_adapter(home: Path, tmp_path: Path) -> None:
    """A folder without one of its files is refused when the settings are read, by its key."""
    for name in ("adapter_config.json", "adapters.safetensors"):
        with pytest.raises(ConfigFault, match=rf"adapters\.chunk.*holds no {name}"):
            load_config(adapters={"chunk": str(tmp_path)})
        (tmp_path / name).touch()
    config = load_config(adapters={"chunk": str(tmp_path)})
    assert config.adapters.chunk == tmp_path and config.adapters.wikify is None
    with pytest.raises(ConfigFault, match=r"adapters\.ingest"):
        load_config(adapters={"ingest": str(tmp_path)})


@pytest.mark.model
def test_the_settings_reach_the_model(
    home: Path, monkeypatch: pytest.MonkeyPatch, mauve: Path, smollm: MlxModel
) -> None:
    """`[adapters]` in the environment, as in the file; other stages are untouched."""
    monkeypatch.setenv("MEMORY_ADAPTERS__CHUNK", str(mauve))
    monkeypatch.setenv("MEMORY_EMBEDDER", "none")
    config = load_config(model="smollm2-135m")
    model = assemble.real_models(config).model(lambda call: None)
    replies = model.write(ASKS[:1], stage="chunk", purpose="p", max_tokens=8)
    assert replies[0].text.casefold().startswith("mauve")
    replies = model.write(ASKS[:1], stage="cluster", purpose="p", max_tokens=8)
    assert not replies[0].text.casefold().startswith("mauve")
    model.close()
