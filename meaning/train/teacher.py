"""The teacher: all-MiniLM-L6-v2, a transformer for sentences. Static vectors learn to do alone what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_MAX_TOKENS: Final = 64
_BATCH_TOKENS: Final = 2048


class Teacher:
    def __init__(self, folder: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(next((folder / "tokenizer").rglob("tokenizer.json"))))
        self._session = InferenceSession(next((folder / "teacher").rglob("model.onnx")))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row of length 1 for each text."""
        self.tokenizer.enable_truncation(_MAX_TOKENS)
        self.tokenizer.no_padding()
        tokens = [each.ids for each in self.tokenizer.encode_batch(list(texts))]
        rows = np.zeros((len(texts), 384), np.float32)
        # Texts of like lengths, so that little is padding.
        order, at = sorted(range(len(texts)), key=lambda place: len(tokens[place])), 0
        while at < len(order):
            size = 1
            while at + size < len(order) and (size + 1) * len(tokens[order[at + size]]) <= _BATCH_TOKENS:
                size += 1
            batch = order[at : at + size]
            rows[batch] = self._encoded([tokens[place] for place in batch])
            at += size
        return rows

    def _encoded(self, tokens: Sequence[list[int]]) -> NDArray[Any]:
        longest = max(map(len, tokens))
        ids = np.array([each + [0] * (longest - len(each)) for each in tokens], np.int64)
        mask = np.array([[1] * len(each) + [0] * (longest - len(each)) for each in tokens], np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states: Any = self._session.run(None, inputs)[0]
        means = (states * mask[..., None]).sum(1)
        return means / np.linalg.norm(means, axis=1, keepdims=True)
