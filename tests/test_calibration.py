"""What the model leans to is measured once for each model, adapter and prompt, and never mixed."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from mlx.utils import tree_flatten
from mlx_lm import load
from mlx_lm.tuner.utils import linear_to_lora_layers

from pipeline.models import Ask
from pipeline.models import calibration as calibrating
from pipeline.models.calibration import Held, Kept, key_of, stamp
from pipeline.models.mlx import MlxModel
from pipeline.records import Call

ASK = Ask("Answer.", "Is water wet?", (("Is ice hot?", "no"),), ("yes", "no"))


# ------------------------------------------------------------------ where it is kept


def test_what_is_kept_is_there_for_the_next_run(tmp_path: Path) -> None:
    """To the last bit, from another object on the same folder."""
    lean = (-0.1, -1 / 3, -23.456789012345678)
    Kept(tmp_path / "deep" / "c").put("a", lean)
    again = Kept(tmp_path / "deep" / "c")
    assert again.get("a") == lean and again.get("b") is None


@pytest.mark.parametrize(
    "content", ["", "{", "null", "[]", '["a"]', "[NaN]", "[1e999]", "[true]", '{"a": 1}', "\0\xff"]
)
def test_a_file_that_holds_no_lean_is_as_good_as_none(tmp_path: Path, content: str) -> None:
    """It is measured again, and the file is good again afterwards."""
    kept = Kept(tmp_path)
    kept.put("a", (1.0, 2.0))
    (file,) = tmp_path.iterdir()
    file.write_bytes(content.encode("latin-1"))
    assert Kept(tmp_path).get("a") is None
    Kept(tmp_path).put("a", (1.0, 2.0))
    assert Kept(tmp_path).get("a") == (1.0, 2.0)


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_next_measure(tmp_path: Path) -> None:
    """Within the process it is known all the same."""
    (tmp_path / "file").touch()
    kept = Kept(tmp_path / "file")
    kept.put("a", (1.0,))
    assert kept.get("a") == (1.0,)
    assert Kept(tmp_path / "file").get("a") is None


def test_several_processes_may_write_at_once(tmp_path: Path) -> None:
    """Nothing is lost, nothing is torn, nothing is left over."""
    program = (
        "import sys; from pathlib import Path; from pipeline.models.calibration import Kept\n"
        "kept, own = Kept(Path(sys.argv[1])), sys.argv[2]\n"
        "for n in range(60):\n"
        "    kept.put(f'{own}{n}', (float(n),)); kept.put('shared', (float(n),) * 50)\n"
        "    assert len(Kept(Path(sys.argv[1])).get('shared')) == 50\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), own]) for own in "ab"
    ]
    assert [process.wait() for process in running] == [0, 0]
    kept = Kept(tmp_path)
    assert [kept.get(f"{own}{n}") for own in "ab" for n in range(60)] == [
        (float(n),) for _ in "ab" for n in range(60)
    ]
    assert sum(1 for _ in tmp_path.iterdir()) == 121


def test_what_was_not_used_for_longest_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder does not grow for ever; what is in use stays."""
    monkeypatch.setattr(calibrating, "_KEPT", 10)
    kept = Kept(tmp_path)
    for number in range(10):
        kept.put(f"k{number}", (0.0,))
        os.utime(tmp_path / f"k{number}.json", (number, number))
    assert Kept(tmp_path).get("k0") == (0.0,)  # used now
    kept.put("new", (0.0,))
    left = {file.stem for file in tmp_path.iterdir()}
    assert left == {"new", "k0", *(f"k{number}" for number in range(3, 10))}


def test_in_memory_the_last_ones_stay() -> None:
    """Those asked for lately among them."""
    held = Held()
    for number in range(256):
        held.put(f"k{number}", (float(number),))
    assert held.get("k0") == (0.0,)
    held.put("new", (1.0,))
    assert held.get("k1") is None
    assert held.get("k0") == (0.0,) and held.get("new") == (1.0,)


# ------------------------------------------------------------------ what it depends on


def test_the_key_follows_all_but_the_question() -> None:
    """Model, adapter, system turn, examples and options in their order; not the prompt."""
    base = key_of("m", "", ASK)
    assert key_of("m", "", Ask(ASK.system, "Is fire cold?", ASK.examples, ASK.options)) == base
    others = [
        key_of("n", "", ASK),
        key_of("m", "a", ASK),
        key_of("m", "", Ask("Answer!", ASK.prompt, ASK.examples, ASK.options)),
        key_of("m", "", Ask(ASK.system, ASK.prompt, (), ASK.options)),
        key_of("m", "", Ask(ASK.system, ASK.prompt, ASK.examples, ("no", "yes"))),
        key_of("m", "", Ask(ASK.system, ASK.prompt, ASK.examples, ("yes", "no", "so"))),
        key_of("m", "", Ask("\ud800", ASK.prompt, ASK.examples, ASK.options)),  # broken text
        key_of("ma", "", ASK),
        key_of("", "m", ASK),
    ]
    assert len({base, *others}) == len(others) + 1


def test_a_folder_that_was_changed_has_another_stamp(tmp_path: Path) -> None:
    """A file more, one of the same size in another's place, and with its time put back too."""
    folder = tmp_path / "m"
    folder.mkdir()
    weights = folder / "model.safetensors"
    weights.write_bytes(b"1234")
    seen = [stamp(folder)]
    assert stamp(folder) == seen[0]
    (folder / ".lock").touch()
    assert stamp(folder) == seen[0]
    (folder / "config.json").write_text("{}")
    seen.append(stamp(folder))
    was = weights.stat()
    other = tmp_path / "other"
    other.write_bytes(b"5678")
    os.utime(other, ns=(was.st_atime_ns, was.st_mtime_ns))
    other.replace(weights)
    seen.append(stamp(folder))
    assert len(set(seen)) == 3


def test_a_folder_that_cannot_be_read_is_never_the_same(tmp_path: Path) -> None:
    """So that nothing is kept for it under a name that another one would have."""
    assert stamp(tmp_path / "none") != stamp(tmp_path / "none")


# ------------------------------------------------------------------ the real model


@pytest.fixture
def copied(models_dir: Path, smollm: MlxModel, tmp_path: Path) -> Path:
    """The smallest model in a folder of its own, by links."""
    folder = tmp_path / "model"
    folder.mkdir()
    for file in (models_dir / "smollm2-135m").iterdir():
        if file.is_file():
            (folder / file.name).symlink_to(file)
    return folder


@pytest.fixture
def calls() -> Iterator[list[Call]]:
    yield []


def choose(folder: Path, kept: Path, calls: list[Call], *asks: Ask) -> list[tuple[float, ...]]:
    """Of a fresh model, as a new night has it; its calls are put in the place of the former."""
    calls.clear()
    model = MlxModel("m", folder, account=calls.append, calibration=Kept(kept))
    try:
        found = model.choose(asks or [ASK], stage="s", purpose="p")
    finally:
        model.close()
    return [choice.probabilities for choice in found]


@pytest.mark.model
def test_a_new_night_asks_nothing_for_what_is_known(
    copied: Path, tmp_path: Path, calls: list[Call]
) -> None:
    """The same answer, one call the less; another prompt or other weights are measured anew."""
    kept = tmp_path / "kept"
    first = choose(copied, kept, calls)
    assert len(calls) == 2  # the question, and the one without content
    again = choose(copied, kept, calls)
    assert len(calls) == 1
    assert again[0] == pytest.approx(first[0], abs=1e-4)
    other = Ask("Answer truly.", ASK.prompt, ASK.examples, ASK.options)
    choose(copied, kept, calls, ASK, other, other)
    assert len(calls) == 4
    settings = copied / "config.json"
    text = settings.read_text()
    settings.unlink()
    settings.write_text(text)
    choose(copied, kept, calls)
    assert len(calls) == 2


@pytest.mark.model
def test_a_lean_of_another_length_is_measured_again(
    copied: Path, tmp_path: Path, calls: list[Call]
) -> None:
    """A kept file may have been written by anybody."""
    kept = tmp_path / "kept"
    first = choose(copied, kept, calls)
    (file,) = kept.iterdir()
    file.write_text(json.dumps([0.0, 0.0, 0.0]))
    assert choose(copied, kept, calls)[0] == pytest.approx(first[0], abs=1e-4)
    assert len(calls) == 2
    shutil.rmtree(kept)
    assert choose(copied, kept, calls)[0] == pytest.approx(first[0], abs=1e-4)


def adapter(models_dir: Path, folder: Path, seed: int) -> Path:
    """An adapter of random values: it need not be good at anything, only be another one."""
    model: Any = load(str(models_dir / "smollm2-135m"))[0]
    model.freeze()
    settings = {"rank": 2, "scale": 20.0, "dropout": 0.0}
    linear_to_lora_layers(model, 1, settings)
    mx.random.seed(seed)
    trained: Any = tree_flatten(model.trainable_parameters())
    values = {name: 0.1 * mx.random.normal(value.shape) for name, value in trained}
    folder.mkdir(exist_ok=True)
    mx.save_safetensors(str(folder / "adapters.safetensors"), values)
    config = {"fine_tune_type": "lora", "num_layers": 1, "lora_parameters": settings}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.model
def test_a_retrained_adapter_is_measured_anew(
    models_dir: Path, copied: Path, tmp_path: Path, calls: list[Call]
) -> None:
    """Whatever stands at its path the next night; a stage without it is not concerned."""
    worn = adapter(models_dir, tmp_path / "adapter", 1)
    kept = Kept(tmp_path / "kept")

    def night(stage: str) -> tuple[int, tuple[float, ...]]:
        calls.clear()
        model = MlxModel(
            "m", copied, account=calls.append, adapters={"chunk": worn}, calibration=kept
        )
        (choice,) = model.choose([ASK], stage=stage, purpose="p")
        # asked without content nothing is likelier, so it is this adapter's own lean
        neutral = Ask(ASK.system, "N/A", ASK.examples, ASK.options)
        (even,) = model.choose([neutral], stage=stage, purpose="p")
        model.close()
        assert even.probabilities == pytest.approx([0.5, 0.5], abs=1e-3)
        return len(calls), choice.probabilities

    bare, first = night("wikify"), night("chunk")
    assert (bare[0], first[0]) == (3, 3)
    assert first[1] != pytest.approx(bare[1], abs=1e-3)
    assert night("chunk")[0] == 2
    adapter(models_dir, worn, 2)
    second = night("chunk")
    assert second[0] == 3
    assert second[1] != pytest.approx(first[1], abs=1e-3)
    assert night("wikify")[0] == 2


@pytest.mark.model
@pytest.mark.parametrize(
    "options", [("yes", "no", "maybe"), ("none of these", "none of those", "all of these")]
)
def test_options_are_weighed_by_the_log_likelihoods_of_plain_mlx_lm(
    smollm: MlxModel, models_dir: Path, options: tuple[str, ...]
) -> None:
    """By the first token where these differ, by the whole reply with its end where they do not.

    Less those after "N/A"; in one batch of several lengths, with examples before the question.
    """
    examples = (("Is ice cold?", options[0]), ("Is fire cold?", options[1]))
    prompts = ("Is water wet?", "Somebody says that the moon is a cheese. Is it so, or is it not?")
    asks = [Ask("Answer the question.", prompt, examples, options) for prompt in prompts]
    choices = smollm.choose(asks, stage="s", purpose="p")
    model: Any
    tokenizer: Any
    model, tokenizer = load(str(models_dir / "smollm2-135m"))[:2]
    replies = [
        tokenizer.encode(f"{option}<|im_end|>", add_special_tokens=False) for option in options
    ]
    if len({reply[0] for reply in replies}) == len(options):
        replies = [reply[:1] for reply in replies]

    def likelihood(prompt: str, reply: list[int]) -> float:
        turns = [{"role": "system", "content": "Answer the question."}]
        for user, said in examples:
            turns.append({"role": "user", "content": user})
            turns.append({"role": "assistant", "content": said})
        turns.append({"role": "user", "content": prompt})
        before = tokenizer.apply_chat_template(turns, add_generation_prompt=True)
        logits = model(mx.array([before + reply]))[0].astype(mx.float32)
        steps = logits[len(before) - 1 : -1]
        steps = steps - mx.logsumexp(steps, axis=-1, keepdims=True)
        return sum(float(steps[place, token].item()) for place, token in enumerate(reply))

    for prompt, choice in zip(prompts, choices, strict=True):
        ratios = [math.exp(likelihood(prompt, r) - likelihood("N/A", r)) for r in replies]
        assert choice.probabilities == pytest.approx(
            [ratio / sum(ratios) for ratio in ratios], rel=1e-2
        )
