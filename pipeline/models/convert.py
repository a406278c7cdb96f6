"""Turn a GGUF file into a folder that mlx_lm loads: config, tokenizer, weights.

Covers the two families the registry models belong to, llama and qwen2, with tied embeddings.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import gguf
import mlx.core as mx
import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

_ARCHITECTURES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}

# Qwen2 splits text by this expression before byte-level BPE; another split gives other tokens.
_QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# Token types of GGUF vocabularies.
_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4

_TENSOR_NAMES = (
    (r"^token_embd\.", "model.embed_tokens."),
    (r"^output_norm\.", "model.norm."),
    (r"^output\.", "lm_head."),
    (r"^blk\.(\d+)\.", r"model.layers.\1."),
    (r"\.attn_norm\.", ".input_layernorm."),
    (r"\.ffn_norm\.", ".post_attention_layernorm."),
    (r"\.attn_(q|k|v)\.", r".self_attn.\1_proj."),
    (r"\.attn_output\.", ".self_attn.o_proj."),
    (r"\.ffn_(gate|up|down)\.", r".mlp.\1_proj."),
)

_GROUP = 32  # weights that share a scale in a GGUF block, and so in the MLX groups made of it


def convert(source: Path, folder: Path, *, quantised: bool) -> None:
    """Write config.json, tokenizer files and model.safetensors for `source` into `folder`.

    quantised False: all weights as 32-bit floats, fastest on a CPU. True: blocks kept at their
    bits as MLX groups of 32 with bfloat16 scales, for Metal.
    Raise ValueError for a family or a pre-tokenizer it does not know.
    """
    reader = gguf.GGUFReader(str(source))
    values = {key: field.contents() for key, field in reader.fields.items() if key[:5] != "GGUF."}
    family = values["general.architecture"]
    if family not in _ARCHITECTURES:
        raise ValueError(f"the model family {family!r} cannot be converted")
    stop_ids = _write_tokenizer(values, folder)
    config = _config(values, family, stop_ids)
    # The embedding also is the output layer in these families; where the file holds both, the
    # output layer is kept at more bits.
    tensors = {_rename(tensor.name): tensor for tensor in reader.tensors}
    if "lm_head.weight" in tensors:
        tensors["model.embed_tokens.weight"] = tensors.pop("lm_head.weight")
    # The output stream belongs to the CPU: conversion must not need a GPU.
    with mx.stream(mx.cpu):
        weights, groups = _weights(tensors, config, family, quantised)
        if quantised:
            config["quantization"] = {"group_size": _GROUP, "bits": 4, **groups}
        mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")


def _config(values: dict[str, Any], family: str, stop_ids: list[int]) -> dict[str, Any]:
    return {
        "model_type": family,
        "architectures": [_ARCHITECTURES[family]],
        "hidden_size": values[f"{family}.embedding_length"],
        "num_hidden_layers": values[f"{family}.block_count"],
        "intermediate_size": values[f"{family}.feed_forward_length"],
        "num_attention_heads": values[f"{family}.attention.head_count"],
        "num_key_value_heads": values[f"{family}.attention.head_count_kv"],
        "rms_norm_eps": values[f"{family}.attention.layer_norm_rms_epsilon"],
        "rope_theta": values[f"{family}.rope.freq_base"],
        "max_position_embeddings": values[f"{family}.context_length"],
        "vocab_size": len(values["tokenizer.ggml.tokens"]),
        "hidden_act": "silu",
        "bos_token_id": values.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": stop_ids,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
    }


# ------------------------------------------------------------------ tokenizer


def _write_tokenizer(values: dict[str, Any], folder: Path) -> list[int]:
    """Write tokenizer.json and tokenizer_config.json; return the ids that end a reply."""
    tokens: list[str] = values["tokenizer.ggml.tokens"]
    types: list[int] = values["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ", 1)) for merge in values["tokenizer.ggml.merges"]]
    added = [
        (index, token, kind)
        for index, (token, kind) in enumerate(zip(tokens, types, strict=True))
        if kind in (_CONTROL, _USER_DEFINED)
    ]
    vocabulary = {
        t: i for i, (t, kind) in enumerate(zip(tokens, types, strict=True)) if kind == _NORMAL
    }
    if added and added[0][0] < len(vocabulary):
        # Control tokens stand among the first ids: part of the base vocabulary, since added
        # tokens can only take the ids after it.
        vocabulary |= {token: index for index, token, _ in added}
    tokenizer = Tokenizer(
        models.BPE(vocab=vocabulary, merges=merges, fuse_unk=False, byte_fallback=False)
    )
    split = values["tokenizer.ggml.pre"]
    byte_level = pre_tokenizers.ByteLevel
    if split == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(_QWEN2_SPLIT), "isolated"),
                byte_level(add_prefix_space=False, use_regex=False),
            ]
        )
    elif split == "smollm":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                byte_level(add_prefix_space=False, use_regex=True),
            ]
        )
    else:
        raise ValueError(f"the pre-tokenizer {split!r} cannot be converted")
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens(
        [AddedToken(t, special=kind == _CONTROL, normalized=False) for _, t, kind in added]
    )
    for index, token, _ in added:
        if tokenizer.token_to_id(token) != index:
            raise ValueError(f"the added token {token!r} does not keep its id {index}")
    tokenizer.save(str(folder / "tokenizer.json"))

    end: int = values["tokenizer.ggml.eos_token_id"]
    pad: int = values.get("tokenizer.ggml.padding_token_id", end)
    family = values["general.architecture"]
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": tokens[end],
        "pad_token": tokens[pad],
        # Qwen2 starts a text with no token, though its file names one.
        "bos_token": None if split == "qwen2" else tokens[values["tokenizer.ggml.bos_token_id"]],
        "model_max_length": values[f"{family}.context_length"],
        "clean_up_tokenization_spaces": False,
        "chat_template": values["tokenizer.chat_template"],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    ends = {tokenizer.token_to_id(token) for token in ("<|endoftext|>", "<|im_end|>")}
    return sorted({end} | {index for index in ends if index is not None})


# ------------------------------------------------------------------ weights


def _rename(name: str) -> str:
    for pattern, replacement in _TENSOR_NAMES:
        name = re.sub(pattern, replacement, name)
    return name


def _weights(
    tensors: dict[str, Any], config: dict[str, Any], family: str, quantised: bool
) -> tuple[dict[str, mx.array], dict[str, dict[str, int]]]:
    """Arrays by MLX name, and the group size and bits of each quantised layer."""
    weights: dict[str, mx.array] = {}
    groups: dict[str, dict[str, int]] = {}
    for name, tensor in tensors.items():
        shape = tuple(int(size) for size in reversed(tensor.shape))
        rows = _row_order(name, shape, config) if family == "llama" else None
        if not quantised or len(shape) != 2:
            array = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(shape)
            array = array if rows is None else array[rows]
            weights[name] = mx.array(np.ascontiguousarray(array)).astype(
                mx.bfloat16 if quantised else mx.float32
            )
            mx.eval(weights[name])
            continue
        layer = name.removesuffix(".weight")
        blocks = _unpack(tensor.data, tensor.tensor_type.name, shape)
        if blocks is None:
            array = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(shape)
            array = array if rows is None else array[rows]
            bits = 8
            packed, scales, biases = mx.quantize(mx.array(array), group_size=_GROUP, bits=bits)
        else:
            quants, scale, bias, bits = blocks
            if rows is not None:
                quants, scale, bias = quants[rows], scale[rows], bias[rows]
            packed, scales, biases = mx.array(_pack(quants, bits)), mx.array(scale), mx.array(bias)
        weights[name] = packed
        weights[f"{layer}.scales"] = scales.astype(mx.bfloat16)
        weights[f"{layer}.biases"] = biases.astype(mx.bfloat16)
        groups[layer] = {"group_size": _GROUP, "bits": bits}
        mx.eval(packed, weights[f"{layer}.scales"], weights[f"{layer}.biases"])
    return weights, groups


def _row_order(
    name: str, shape: tuple[int, ...], config: dict[str, Any]
) -> NDArray[np.intp] | None:
    """The row order that undoes GGUF's interleaving of llama's rotary query and key rows."""
    match = re.search(r"self_attn\.(q|k)_proj", name)
    if match is None:
        return None
    heads = config["num_attention_heads" if match[1] == "q" else "num_key_value_heads"]
    return np.arange(shape[0]).reshape(heads, shape[0] // heads // 2, 2).swapaxes(1, 2).reshape(-1)


def _unpack(
    data: NDArray[Any], kind: str, shape: tuple[int, ...]
) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32], int] | None:
    """Blocks as (quants [N, K], scales [N, K/32], biases [N, K/32], bits); None: not this kind.

    Exact: each weight is scale * quant + bias, as the block's format defines it.
    """
    rows, columns = shape
    sizes = {"Q4_0": 18, "Q4_1": 20, "Q5_0": 22, "Q8_0": 34, "Q4_K": 144}
    if kind not in sizes:
        return None
    blocks = data.reshape(-1, sizes[kind])
    scale = _half(blocks[:, 0:2])
    bits = 4
    quants: NDArray[np.uint8]
    if kind == "Q8_0":
        quants = (blocks[:, 2:].view(np.int8).astype(np.int16) + 128).astype(np.uint8)
        bias, bits = -128 * scale, 8
    elif kind == "Q4_K":
        minimum, packed = _half(blocks[:, 2:4]), blocks[:, 4:16]
        low, mid, high = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
        factor = np.concatenate([low & 63, (high & 15) | ((low >> 6) << 4)], axis=1)
        offset = np.concatenate([mid & 63, (high >> 4) | ((mid >> 6) << 4)], axis=1)
        nibbles = blocks[:, 16:].reshape(-1, 4, 1, _GROUP)
        quants = np.concatenate([nibbles & 15, nibbles >> 4], axis=2)
        scale, bias = scale * factor, -(minimum * offset)
    else:
        nibbles = blocks[:, -16:]
        quants = np.concatenate([nibbles & 15, nibbles >> 4], axis=1)
        if kind == "Q4_0":
            bias = -8 * scale
        elif kind == "Q4_1":
            bias = _half(blocks[:, 2:4])
        else:
            fifth = np.ascontiguousarray(blocks[:, 2:6])
            quants |= np.unpackbits(fifth, axis=1, bitorder="little") << 4
            bias, bits = -16 * scale, 5
    groups = (rows, columns // _GROUP)
    return quants.reshape(rows, columns), scale.reshape(groups), bias.reshape(groups), bits


def _half(pairs: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.ascontiguousarray(pairs).view(np.float16).astype(np.float32)


def _pack(quants: NDArray[np.uint8], bits: int) -> NDArray[np.uint32]:
    """Quants [N, K] as MLX packs them: little-endian bit strings in 32-bit words."""
    bit_planes = np.unpackbits(quants[..., None], axis=-1, count=bits, bitorder="little")
    packed = np.packbits(bit_planes.reshape(len(quants), -1), axis=1, bitorder="little")
    return packed.view(np.uint32)
