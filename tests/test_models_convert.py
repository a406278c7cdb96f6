"""GGUF files become MLX folders: same weights, same tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import mlx.core as mx
import numpy as np
import pytest
from tokenizers import Tokenizer

from pipeline.models import convert

BYTES = [chr(code) for code in range(33, 127)] + ["Ġ", "Ċ"]  # printable ASCII, space, line feed
MERGES = ["a b", "ab c", "Ġ ab"]
WORDS = [*BYTES, "ab", "abc", "Ġab"]
QUANTS = {
    "Q4_0": gguf.GGMLQuantizationType.Q4_0,
    "Q4_1": gguf.GGMLQuantizationType.Q4_1,
    "Q5_0": gguf.GGMLQuantizationType.Q5_0,
    "Q8_0": gguf.GGMLQuantizationType.Q8_0,
}
HIDDEN, HEADS = 64, 2


def _write(path: Path, family: str, quant: str, *, split: str) -> dict[str, np.ndarray[Any, Any]]:
    """A one-layer GGUF file; returns its matrices as 32-bit floats, by GGUF name."""
    control = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    first = split == "smollm"  # its control tokens stand first, Qwen2's last
    tokens = [*control, *WORDS] if first else [*WORDS, *control]
    types = [3] * 3 + [1] * len(WORDS) if first else [1] * len(WORDS) + [3] * 3
    writer = gguf.GGUFWriter(path, family)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(1)
    writer.add_feed_forward_length(96)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_context_length(512)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(split)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(MERGES)
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_bos_token_id(tokens.index("<|im_start|>"))
    writer.add_chat_template("{{ messages[0].content }}")
    random = np.random.default_rng(5)
    shapes = {
        "token_embd.weight": (len(tokens), HIDDEN),
        "output_norm.weight": (HIDDEN,),
        "blk.0.attn_norm.weight": (HIDDEN,),
        "blk.0.attn_q.weight": (HIDDEN, HIDDEN),
        "blk.0.attn_output.weight": (HIDDEN, HIDDEN),
        "blk.0.ffn_down.weight": (HIDDEN, 96),
    }
    expected = {}
    for name, shape in shapes.items():
        values = random.normal(size=shape).astype(np.float32)
        if len(shape) == 2:
            packed = gguf.quants.quantize(values, QUANTS[quant])
            values = gguf.quants.dequantize(packed, QUANTS[quant])
            writer.add_tensor(name, packed, raw_dtype=QUANTS[quant])
        else:
            writer.add_tensor(name, values)
        expected[name] = values
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return expected


def _load(folder: Path) -> dict[str, mx.array]:
    loaded = mx.load(str(folder / "model.safetensors"))
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the converted model goes."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.mark.parametrize("quant", QUANTS)
def test_weights_as_floats_are_exact(tmp_path: Path, folder: Path, quant: str) -> None:
    """Every number of every block, under mlx_lm's names."""
    expected = _write(tmp_path / "m.gguf", "qwen2", quant, split="qwen2")
    convert.convert(tmp_path / "m.gguf", folder, quantised=False)
    weights = _load(folder)
    names = {
        "token_embd.weight": "model.embed_tokens.weight",
        "output_norm.weight": "model.norm.weight",
        "blk.0.attn_norm.weight": "model.layers.0.input_layernorm.weight",
        "blk.0.attn_q.weight": "model.layers.0.self_attn.q_proj.weight",
        "blk.0.attn_output.weight": "model.layers.0.self_attn.o_proj.weight",
        "blk.0.ffn_down.weight": "model.layers.0.mlp.down_proj.weight",
    }
    assert set(weights) == set(names.values())
    for old, new in names.items():
        assert weights[new].dtype == mx.float32
        assert np.array_equal(np.array(weights[new]), expected[old])


@pytest.mark.parametrize("quant", QUANTS)
def test_quantised_weights_keep_their_bits(tmp_path: Path, folder: Path, quant: str) -> None:
    """What MLX makes of its groups is what the blocks say, but for the rounding of the scales."""
    expected = _write(tmp_path / "m.gguf", "qwen2", quant, split="qwen2")
    convert.convert(tmp_path / "m.gguf", folder, quantised=True)
    weights = _load(folder)
    config = json.loads((folder / "config.json").read_text())
    layer = "model.layers.0.mlp.down_proj"
    shape = config["quantization"][layer]
    assert shape == {"group_size": 32, "bits": int(quant[1])}
    restored = mx.dequantize(
        weights[f"{layer}.weight"],
        weights[f"{layer}.scales"].astype(mx.float32),
        weights[f"{layer}.biases"].astype(mx.float32),
        **shape,
    )
    # bfloat16 keeps 8 bits of a scale and of an offset.
    largest = np.abs(expected["blk.0.ffn_down.weight"]).max()
    error = np.abs(np.array(restored) - expected["blk.0.ffn_down.weight"]).max()
    assert error <= largest * 2 * 2**-8


def test_rows_of_llama_attention_go_back_to_their_order(tmp_path: Path, folder: Path) -> None:
    """GGUF interleaves the halves of each rotary head: its row 1 begins the second half."""
    expected = _write(tmp_path / "m.gguf", "llama", "Q8_0", split="smollm")
    convert.convert(tmp_path / "m.gguf", folder, quantised=False)
    rows = np.array(_load(folder)["model.layers.0.self_attn.q_proj.weight"])
    stored = expected["blk.0.attn_q.weight"]
    half = HIDDEN // HEADS // 2
    assert np.array_equal(rows[0], stored[0])
    assert np.array_equal(rows[half], stored[1])
    assert np.array_equal(rows[1], stored[2])
    assert np.array_equal(rows[2 * half], stored[2 * half])


@pytest.mark.parametrize(("family", "split"), [("qwen2", "qwen2"), ("llama", "smollm")])
def test_the_tokenizer_keeps_ids_and_merges(
    tmp_path: Path, folder: Path, family: str, split: str
) -> None:
    """Words merge as the file says, control tokens keep their place, any text comes back."""
    _write(tmp_path / "m.gguf", family, "Q8_0", split=split)
    convert.convert(tmp_path / "m.gguf", folder, quantised=False)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.encode("abc ab").tokens == ["abc", "Ġab"]
    text = "<|im_start|>abc def\n<|im_end|>"
    encoded = tokenizer.encode(text)
    assert encoded.tokens[0] == "<|im_start|>"
    assert encoded.tokens[-1] == "<|im_end|>"
    assert tokenizer.decode(encoded.ids, skip_special_tokens=False) == text
    first = 0 if split == "smollm" else len(WORDS)
    assert tokenizer.token_to_id("<|endoftext|>") == first
    config = json.loads((folder / "config.json").read_text())
    assert config["eos_token_id"] == [first, first + 2]
    assert config["vocab_size"] == len(WORDS) + 3


def test_an_unknown_family_is_refused(tmp_path: Path, folder: Path) -> None:
    """Rather than converted wrongly."""
    _write(tmp_path / "m.gguf", "mamba", "Q8_0", split="qwen2")
    with pytest.raises(ValueError, match="mamba"):
        convert.convert(tmp_path / "m.gguf", folder, quantised=False)
    _write(tmp_path / "n.gguf", "qwen2", "Q8_0", split="strange")
    with pytest.raises(ValueError, match="strange"):
        convert.convert(tmp_path / "n.gguf", folder, quantised=False)
