"""all-MiniLM-L6-v2 in plain MLX: a BERT encoder, mean over the tokens, length 1.

Heavy to import (mlx): `minilm.py` imports it at the first call.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

_MAX_TOKENS = 256  # what the model was trained to read; the rest of a longer text is left out
_READ = 8192  # characters of a text that are looked at: the tokens read hardly ever take more
_BATCH_TOKENS = 2048  # padded tokens computed together: a run holds this in its own process


class Encoder:
    """Weights and tokenizer of one folder: config.json, tokenizer.json, model.safetensors."""

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self._heads: int = config["num_attention_heads"]
        self._layers: int = config["num_hidden_layers"]
        self._epsilon: float = config["layer_norm_eps"]
        self.dimensions: int = config["hidden_size"]
        loaded = mx.load(str(folder / "model.safetensors"))
        assert isinstance(loaded, dict)
        self._weights = {name.removeprefix("bert."): array for name, array in loaded.items()}
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors [len(texts), dimensions], in order."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        # A lone surrogate, as broken transcripts hold, is no text to a tokenizer.
        whole = [text[:_READ].encode("utf-8", "replace").decode("utf-8") for text in texts]
        encoded = [encoding.ids for encoding in self._tokenizer.encode_batch(whole)]
        for batch in _batches([len(ids) for ids in encoded]):
            width = max(len(encoded[index]) for index in batch)
            rows = [encoded[index] for index in batch]
            tokens = mx.array([[*row, *[0] * (width - len(row))] for row in rows])
            mask = mx.array([[1.0] * len(row) + [0.0] * (width - len(row)) for row in rows])
            vectors[batch] = np.array(self._forward(tokens, mask))
            mx.clear_cache()
        return vectors

    def _forward(self, tokens: mx.array, mask: mx.array) -> mx.array:
        """Tokens [B, L] and mask [B, L] (1 real, 0 padding) to unit vectors [B, D]."""
        rows, width = tokens.shape
        words = self._weights["embeddings.word_embeddings.weight"][tokens]
        places = self._weights["embeddings.position_embeddings.weight"][:width]
        segment = self._weights["embeddings.token_type_embeddings.weight"][0]
        x = self._normalise(words + places + segment, "embeddings.LayerNorm")
        bias = mx.where(mask[:, None, None, :] > 0, 0.0, -1e9)
        for layer in range(self._layers):
            name = f"encoder.layer.{layer}"
            query, key, value = (
                self._linear(x, f"{name}.attention.self.{part}")
                .reshape(rows, width, self._heads, -1)
                .transpose(0, 2, 1, 3)
                for part in ("query", "key", "value")
            )
            scale = float(query.shape[-1] ** -0.5)
            seen = mx.fast.scaled_dot_product_attention(query, key, value, scale=scale, mask=bias)
            seen = seen.transpose(0, 2, 1, 3).reshape(rows, width, -1)
            seen = self._linear(seen, f"{name}.attention.output.dense")
            x = self._normalise(x + seen, f"{name}.attention.output.LayerNorm")
            inner = self._linear(x, f"{name}.intermediate.dense")
            inner = inner * (1 + mx.erf(inner / 2**0.5)) / 2
            inner = self._linear(inner, f"{name}.output.dense")
            x = self._normalise(x + inner, f"{name}.output.LayerNorm")
        weight = mask[..., None]
        mean = (x * weight).sum(axis=1) / weight.sum(axis=1)
        return mean / mx.linalg.norm(mean, axis=-1, keepdims=True)

    def _linear(self, x: mx.array, name: str) -> mx.array:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normalise(self, x: mx.array, name: str) -> mx.array:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return mx.fast.layer_norm(x, weight, bias, self._epsilon)


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Indices in batches of like length, each at most _BATCH_TOKENS with its padding."""
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: lengths[index]):
        if batches and (len(batches[-1]) + 1) * lengths[index] <= _BATCH_TOKENS:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches
