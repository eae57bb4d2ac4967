"""Static word vectors: texts of like meaning have like directions, without a word in common.

    vectors = WordVectors.read(folder)              a model of Model2Vec: tokenizer.json, model.safetensors
    vectors.encode("take a picture").numbers        the mean of its words, as whole numbers

Products of whole numbers are exact in any order of summation, so that equal texts have equal scores in every list.
Needs the extra `meaning`. Source of the format: https://github.com/MinishLab/model2vec.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load
from tokenizers import Tokenizer

from louver.catalogue.search.words import plain_words
from louver.errors import InvalidInput
from louver.limits import MAX_VECTOR_DIMENSIONS, MAX_WORD_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

_TOKENIZER: Final = "tokenizer.json"
_TENSORS: Final = "model.safetensors"

# The sum of MAX_VECTOR_DIMENSIONS products is below 2**24: up to that every whole number is a float32.
_GREATEST: Final = 127


class Direction(NamedTuple):
    """What a text means; all 0 for a text without a known word."""

    numbers: NDArray[np.int8]
    scale: float  # by which it has the length 1


class WordVectors:
    def __init__(self, tokenizer: Tokenizer, tensors: Mapping[str, NDArray[Any]], digest: bytes) -> None:
        self._tokenizer = tokenizer
        self._rows = tensors["embeddings"]
        self._weights = tensors.get("weights")  # of each token
        self._row_of = tensors.get("mapping")  # of each token; without it they have a row each
        self._unknown = _unknown_token(tokenizer)
        self._tokens_of = lru_cache(maxsize=16384)(self._read_word)
        self.digest = digest

    @classmethod
    def read(cls, folder: Path) -> WordVectors:
        """The model in a folder; InvalidInput if it holds none."""
        contents = [_content(folder / name) for name in (_TOKENIZER, _TENSORS)]
        tokenizer, tensors = _tokenizer(contents[0]), _tensors(contents[1])
        _check(tensors, tokenizer.get_vocab_size())
        return cls(tokenizer, tensors, hashlib.blake2b(b"".join(contents), digest_size=16).digest())

    @property
    def dimensions(self) -> int:
        return self._rows.shape[1]

    def encode(self, text: str) -> Direction:
        tokens = [token for word in plain_words(text) for token in self._tokens_of(word[:MAX_WORD_CHARACTERS])]
        rows = self._rows[tokens if self._row_of is None else self._row_of[tokens]].astype(np.float32)
        total = rows.sum(axis=0) if self._weights is None else self._weights[tokens].astype(np.float32) @ rows
        greatest = np.abs(total).max()
        if not greatest:
            return Direction(np.zeros(self.dimensions, np.int8), 0.0)
        numbers = np.rint(total * (_GREATEST / greatest))
        return Direction(numbers.astype(np.int8), float(1 / np.linalg.norm(numbers)))

    def _read_word(self, word: str) -> list[int]:
        return [token for token in self._tokenizer.encode(word, add_special_tokens=False).ids if token != self._unknown]


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file.name} cannot be read: {error.strerror}") from None


def _tokenizer(content: bytes) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_buffer(content)
    except Exception:  # noqa: BLE001 - the library has no error of its own
        raise InvalidInput(f"{_TOKENIZER} is not a tokenizer of the library 'tokenizers'") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _tensors(content: bytes) -> dict[str, NDArray[Any]]:
    try:
        return load(content)
    except (SafetensorError, KeyError):
        raise InvalidInput(f"{_TENSORS} is not a file of safetensors with numbers that numpy has") from None


def _check(tensors: Mapping[str, NDArray[Any]], tokens: int) -> None:
    """Raise InvalidInput unless there is a row for each token."""
    embeddings, weights, row_of = (tensors.get(name) for name in ("embeddings", "weights", "mapping"))
    if embeddings is None or embeddings.ndim != 2:
        raise InvalidInput(f"{_TENSORS}: expected a table 'embeddings', as Model2Vec writes it")
    rows, dimensions = embeddings.shape
    if not 0 < dimensions <= MAX_VECTOR_DIMENSIONS:
        raise InvalidInput(f"{_TENSORS}: expected 1 to {MAX_VECTOR_DIMENSIONS} dimensions, not {dimensions}")
    if row_of is None and rows != tokens:
        raise InvalidInput(f"{_TENSORS} has {rows} rows: expected one for each of the {tokens} tokens of {_TOKENIZER}")
    for name, tensor in (("weights", weights), ("mapping", row_of)):
        if tensor is not None and tensor.shape != (tokens,):
            raise InvalidInput(f"{_TENSORS}: expected {tokens} numbers in {name!r}, one for each token of {_TOKENIZER}")
    if row_of is not None and not (row_of.dtype.kind in "iu" and 0 <= row_of.min() <= row_of.max() < rows):
        raise InvalidInput(f"{_TENSORS}: expected numbers of rows, below {rows}, in 'mapping'")


def _unknown_token(tokenizer: Tokenizer) -> int | None:
    """The token of all unknown words, which means nothing."""
    model = json.loads(tokenizer.to_str())["model"]
    return model["unk_id"] if "unk_id" in model else tokenizer.token_to_id(model["unk_token"] or "")
