"""Static word vectors: texts of like meaning have like directions, without a word in common.

    vectors = WordVectors.read(folder)              a model of Model2Vec: tokenizer.json, model.safetensors
    vectors.encode("take a picture").numbers        the mean of its words, as whole numbers

Products of whole numbers are exact in any order of summation, so that equal texts have equal scores in every list.
Needs the extra `meaning`. Source of the format: https://github.com/MinishLab/model2vec.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load
from tokenizers import Tokenizer, normalizers

from louver.catalogue.files.open_regular import regular
from louver.catalogue.search.words import plain_words
from louver.errors import InvalidInput
from louver.limits import MAX_WORD_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


MAX_VECTOR_DIMENSIONS = 1024
"""Dimensions of word vectors. The products of longer ones would not be exact in 32 bits."""

MAX_MODEL_BYTES = 600_000_000
"""Of word vectors: somewhat more than those of the largest static model of Model2Vec, for 101 languages."""

MAX_TOKENIZER_BYTES = 50_000_000

MAX_TENSOR_HEADER_BYTES = 100_000
"""Of a file of word vectors, whose three tables need some hundred bytes: millions of tables would need gigabytes."""

MAX_NORMALIZED_CHARACTERS = 1000
"""Characters that a tokenizer makes of one word. A word that becomes longer means nothing."""


T = TypeVar("T")

_TOKENIZER: Final = "tokenizer.json"
_TENSORS: Final = "model.safetensors"

# The sum of MAX_VECTOR_DIMENSIONS products is below 2**24: up to that every whole number is a float32.
_GREATEST: Final = 127

# Weighted sums of smaller numbers are finite in 32 bits, and quotients by greater ones.
_MOST: Final = 1e15
_LEAST: Final = 1e-30


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
        # Applied one by one, since what one of them multiplies the next may multiply again.
        self._normalizers = [*_flat(tokenizer.normalizer)]
        tokenizer.normalizer = None
        self._tokens_of = lru_cache(maxsize=16384)(self._read_word)
        self.digest = digest

    @classmethod
    def read(cls, folder: Path) -> WordVectors:
        """The model in a folder; InvalidInput if it holds none."""
        contents = [_content(folder / _TOKENIZER, MAX_TOKENIZER_BYTES), _content(folder / _TENSORS, MAX_MODEL_BYTES)]
        tokenizer, tensors = _tokenizer(contents[0]), _tensors(contents[1])
        _check(tensors, _count_tokens(tokenizer))
        return cls(tokenizer, tensors, hashlib.blake2b(b"".join(contents), digest_size=16).digest())

    @property
    def dimensions(self) -> int:
        return self._rows.shape[1]

    def encode(self, text: str) -> Direction:
        tokens = [token for word in plain_words(text) for token in self._tokens_of(word[:MAX_WORD_CHARACTERS])]
        rows = self._rows[tokens if self._row_of is None else self._row_of[tokens]].astype(np.float32)
        total = rows.sum(axis=0) if self._weights is None else self._weights[tokens].astype(np.float32) @ rows
        greatest = np.abs(total).max()
        if greatest < _LEAST:
            return Direction(np.zeros(self.dimensions, np.int8), 0.0)
        numbers = np.rint(total * (_GREATEST / greatest))
        return Direction(numbers.astype(np.int8), float(1 / np.linalg.norm(numbers)))

    def _read_word(self, word: str) -> list[int]:
        """The known tokens of a word; none if it cannot be read."""
        found = _attempt(lambda: self._tokenizer.encode(self._normalized(word), add_special_tokens=False).ids)
        return [token for token in found or () if token != self._unknown]

    def _normalized(self, word: str) -> str:
        """Nothing for a word that becomes very long."""
        for each in self._normalizers:
            word = each.normalize_str(word)
            if len(word) > MAX_NORMALIZED_CHARACTERS:
                return ""
        return word


def _flat(normalizer: Any) -> Iterator[Any]:
    if isinstance(normalizer, normalizers.Sequence):
        for n in range(len(normalizer)):
            yield from _flat(normalizer[n])
    elif normalizer is not None:
        yield normalizer


def _inserted(normalizer: Any) -> str:
    """The text that a Replace or a Prepend puts into each word."""
    return getattr(normalizer, "content", "") or getattr(normalizer, "prepend", "")


def _attempt(act: Callable[[], T]) -> T | None:
    """What a call of the library gives; `None` if it fails."""
    try:
        return act()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - the library has no error of its own, and its panics are no Exception
        return None


def _content(file: Path, most: int) -> bytes:
    try:
        with open(file, "rb", opener=regular) as opened:
            size = os.fstat(opened.fileno()).st_size
            if size > most:
                raise InvalidInput(f"{file.name} has {size:,} bytes: expected at most {most:,}")
            return opened.read(most)
    except OSError as error:
        raise InvalidInput(f"{file.name} cannot be read: {error.strerror}") from None


def _tokenizer(content: bytes) -> Tokenizer:
    tokenizer = _attempt(lambda: Tokenizer.from_buffer(content))
    if tokenizer is None:
        raise InvalidInput(f"{_TOKENIZER} is not a tokenizer of the library 'tokenizers'")
    if any(len(_inserted(each)) > MAX_NORMALIZED_CHARACTERS for each in _flat(tokenizer.normalizer)):
        raise InvalidInput(f"{_TOKENIZER}: expected at most {MAX_NORMALIZED_CHARACTERS:,} characters in a replacement")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _tensors(content: bytes) -> dict[str, NDArray[Any]]:
    if int.from_bytes(content[:8], "little") > MAX_TENSOR_HEADER_BYTES:
        expected = f"with a header of at most {MAX_TENSOR_HEADER_BYTES:,} bytes"
        raise InvalidInput(f"{_TENSORS} is not a file of safetensors {expected}")
    try:
        return load(content)
    except (SafetensorError, KeyError, ValueError):
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
    for name, tensor in (("embeddings", embeddings), ("weights", weights)):
        if tensor is not None and not _is_finite(tensor):
            raise InvalidInput(f"{_TENSORS}: expected finite real numbers, below {_MOST:.0e}, in {name!r}")


def _is_finite(tensor: NDArray[Any]) -> bool:
    """Whether sums and products of the numbers are, too."""
    return tensor.dtype.kind in "iuf" and -_MOST < float(tensor.min()) <= float(tensor.max()) < _MOST


def _count_tokens(tokenizer: Tokenizer) -> int:
    """The number of tokens, numbered without a gap; InvalidInput otherwise."""
    numbers = {*tokenizer.get_vocab().values()}
    if not numbers or max(numbers) >= len(numbers):
        raise InvalidInput(f"{_TOKENIZER}: expected tokens with the numbers from 0 on, each once")
    return len(numbers)


def _unknown_token(tokenizer: Tokenizer) -> int | None:
    """The token of all unknown words, which means nothing."""
    model = json.loads(tokenizer.to_str())["model"]
    if "unk_id" in model:
        return model["unk_id"]
    name = model["unk_token"]
    number = tokenizer.token_to_id(name or "")
    if name and number is None:
        raise InvalidInput(f"{_TOKENIZER}: expected the 'unk_token' of its model among its tokens")
    return number


_SHARE: Final = 0.35

# Cosines of texts that have nothing in common are mostly below.
_FLOOR: Final = 0.2

# Of the nearest of 500 tools they are mostly below this: from here on a tool matches without a word of the query.
_SURE: Final = 0.4


class Meanings:
    def __init__(self, vectors: WordVectors, tools: Sequence[Direction]) -> None:
        self._vectors = vectors
        # As floats, whose products are many times faster, and exact.
        self._numbers = np.array([tool.numbers for tool in tools], np.float32).reshape(len(tools), vectors.dimensions)
        self._scales = np.array([tool.scale for tool in tools])

    def mixed(self, scores: Sequence[float], texts: Sequence[str]) -> list[float]:
        """Scores by words, with how near each tool is to the nearest of some texts."""
        cosines = np.max([self._cosines(text) for text in texts], axis=0)
        by_words = np.array(scores)
        mixed = (1 - _SHARE) * _as_shares(by_words) + _SHARE * _as_shares(cosines - _FLOOR)
        return np.where((by_words > 0) | (cosines >= _SURE), mixed, 0).tolist()

    def _cosines(self, text: str) -> NDArray[Any]:
        wanted = self._vectors.encode(text)
        return self._numbers @ wanted.numbers.astype(np.float32) * (self._scales * wanted.scale)


def _as_shares(values: NDArray[Any]) -> NDArray[Any]:
    """Of the greatest; 0 for values below 0."""
    greatest = values.max(initial=0)
    return np.maximum(values, 0) / (greatest or 1)
