"""The families that run on Macs only by default, as tiny models with random weights.

No such download fits a test machine, but their caches and shapes are the same at any size: the
sliding windows and shared layers of gemma-4, the grouped heads of qwen3.
"""

from __future__ import annotations

import importlib
import json
import shutil
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from mlx.utils import tree_flatten
from mlx_lm.generate import generate_step

from pipeline.models import Ask
from pipeline.models.mlx import MlxModel

pytestmark = pytest.mark.model

# A window far shorter than the prompts: they must slide.
GEMMA4 = {
    "model_type": "gemma4_text",
    "hidden_size": 64,
    "num_hidden_layers": 10,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "head_dim": 16,
    "global_head_dim": 32,
    "vocab_size": 49152,
    "vocab_size_per_layer_input": 49152,
    "num_key_value_heads": 1,
    "num_kv_shared_layers": 5,
    "hidden_size_per_layer_input": 8,
    "sliding_window": 24,
}
QWEN3 = {
    "model_type": "qwen3",
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "rms_norm_eps": 1e-6,
    "vocab_size": 49152,
    "max_position_embeddings": 4096,
    "rope_theta": 1e6,
    "tie_word_embeddings": True,
}
SYSTEM = "You speak of the garden, the house, the street and the town in plain words. " * 3
PROMPTS = (
    "What grows here?",
    "Say in some detail how the path came to be laid, who laid it, and how long it took them.",
    "Name a tree.",
)


def _folder(config: dict[str, Any], tokenizer: Path, folder: Path) -> Path:
    """A model folder of this shape with seeded random weights and a real tokenizer."""
    family = importlib.import_module(f"mlx_lm.models.{config['model_type']}")
    mx.random.seed(3)
    shapes: Any = tree_flatten(family.Model(family.ModelArgs.from_dict(config)).parameters())
    weights = {
        name: mx.random.normal(array.shape) * 0.3 if array.ndim > 1 else array
        for name, array in shapes
    }
    mx.save_safetensors(str(folder / "model.safetensors"), weights)
    (folder / "config.json").write_text(json.dumps({**config, "eos_token_id": [0, 2]}))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tokenizer / name, folder / name)
    return folder


@pytest.mark.parametrize("config", [GEMMA4, QWEN3], ids=["gemma4", "qwen3"])
def test_batches_and_shared_prefixes_give_what_plain_mlx_lm_gives(
    config: dict[str, Any], smollm: MlxModel, models_dir: Path, tmp_path: Path
) -> None:
    """Greedy replies equal one plain decode per prompt, and choose the same alone and batched."""
    smollm.count("x")  # fetched
    folder = _folder(config, models_dir / "smollm2-135m", tmp_path)
    model = MlxModel("tiny", folder, account=lambda call: None)
    asks = [Ask(SYSTEM, prompt) for prompt in PROMPTS]
    replies = model.write(asks, stage="s", purpose="p", max_tokens=20)
    assert any(reply.cached_tokens > 24 for reply in replies)
    engine = model.engine
    for ask, reply in zip(asks, replies, strict=True):
        tokens: list[int] = []
        prompt = mx.array(engine.chat.encode(ask).tokens)
        for token, _ in generate_step(prompt, engine._model, max_tokens=20):
            if token in (0, 2):
                break
            tokens.append(int(token))
        assert reply.text == engine._tokenizer.decode(tokens, skip_special_tokens=True)
    asked = [Ask(SYSTEM, prompt, options=("red", "the dog", "the cat")) for prompt in PROMPTS]
    together = model.choose(asked, stage="s", purpose="p")
    for ask, choice in zip(asked, together, strict=True):
        (alone,) = model.choose([ask], stage="s", purpose="p")
        assert alone.probabilities == pytest.approx(choice.probabilities, abs=1e-3)
    model.close()
