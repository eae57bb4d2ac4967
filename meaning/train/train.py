"""Train the vectors of `louver-meaning`, from a folder for the packages that they are made from.

    uv run --group train python meaning/train/train.py /tmp/meaning

1. Words: those of the teacher, and others that several descriptions have.
2. A word begins as the teacher's vector of it alone, in fewer dimensions; frequent words weigh less.
3. Steps of Adam bring the mean of a text's words closer to the teacher's vector of the text, and a summary closer to
   name and description of its own operation than to those of others.
4. Each vector is rounded to whole numbers; its length becomes the weight of the word.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from safetensors.numpy import save_file
from scipy.sparse import csr_matrix
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from corpus import Operation, descriptions, operations
from louver.catalogue.search.words import plain_words
from sources import fetch
from teacher import Teacher

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

DIMENSIONS: Final = 192
UNKNOWN: Final = "[UNK]"
PER_INTERFACE: Final = 40
"""Operations that the teacher reads: some interfaces have thousands, of one subject."""
DESCRIPTIONS: Final = 38_000
"""That the teacher reads: an hour for all."""
MAX_TOKENS: Final = 64
"""Of a text: as many as the teacher reads."""
LEAST_TEXTS: Final = 4
"""Descriptions that have a word which the teacher does not have."""
COMMON: Final = 1e-4
"""Share of all words from which on a word weighs less: Arora, Liang and Ma, 2017."""
ROUNDS, BATCH, DISTILLED = 8, 512, 1024
LEARNING_RATE: Final = 3e-3
TEMPERATURE: Final = 0.05
DROPPED: Final = 0.1
"""Share of the words of a text that a step leaves out."""
DISTILLATION: Final = 10.0
"""Weight of the teacher's vectors beside the operations."""
FOLDER: Final = Path(__file__).parents[1] / "src" / "louver_meaning" / "model"


def main(folder: Path) -> None:
    """Write the model into the package."""
    fetch(folder)
    teacher = Teacher(folder)
    found, described = operations(folder), descriptions(folder)
    print(f"{len(found)} operations, {len(described)} descriptions", file=sys.stderr)
    of_interface: Counter[str] = Counter()
    balanced: list[Operation] = []
    for each in found:
        of_interface[each.interface] += 1
        if of_interface[each.interface] <= PER_INTERFACE:
            balanced.append(each)
    read = [*(each.summary for each in balanced), *(each.text for each in balanced[::2]), *described[:DESCRIPTIONS]]
    tokens = _tokens(teacher.tokenizer, [each.text for each in found] + described)
    tokenizer = _tokenizer(tokens)
    alone = teacher.encode([token.removeprefix("##") for token in tokens])
    taught = teacher.encode(read)
    vectors = _trained(tokenizer, alone, read, taught, found)
    _save(tokenizer, vectors)


def _tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> list[str]:
    """The tokens of the model: the unknown one, the teacher's in ASCII, and frequent words."""
    known = [token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]
    counts = Counter(word for text in texts for word in set(re.findall(r"[a-z]{3,24}", text.casefold())))
    frequent = [word for word, count in counts.most_common() if count >= LEAST_TEXTS]
    ascii_tokens = [token for token in known if token.isascii() and not token.startswith("[")]
    return list(dict.fromkeys([UNKNOWN, *ascii_tokens, *frequent]))


def _tokenizer(tokens: Sequence[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece({token: number for number, token in enumerate(tokens)}, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def _trained(
    tokenizer: Tokenizer, alone: Floats, read: Sequence[str], taught: Floats, found: Sequence[Operation]
) -> Floats:
    basis = np.linalg.svd(taught[::10], full_matrices=False)[2][:DIMENSIONS].T
    goals = _unit(taught @ basis)[0]
    texts = _counts(tokenizer, read)
    # A summary, beside what else there is of its operation; and where there is more, that beside name and summary.
    pairs = [
        (
            _counts(tokenizer, [each.summary for each in found]),
            _counts(tokenizer, [f"{each.interface} {each.name} {each.description}" for each in found]),
        )
    ] * 2
    described = [each for each in found if len(each.description.split()) > 5]
    pairs.append(
        (
            _counts(tokenizer, [f"{each.name} {each.summary}" for each in described]),
            _counts(tokenizer, [each.description for each in described]),
        )
    )
    frequency = np.asarray(texts.sum(0)).ravel() / texts.sum()
    vectors = ((alone - alone[1:].mean(0)) @ basis) * (COMMON / (COMMON + frequency))[:, None]
    vectors /= np.median(np.linalg.norm(vectors, axis=1))
    vectors = vectors.astype(np.float32)
    chance = np.random.default_rng(0)
    first, second = np.zeros_like(vectors), np.zeros_like(vectors)
    steps = ROUNDS * len(found) // BATCH
    for step in range(steps):
        left, right = pairs[step % len(pairs)]
        chosen = chance.choice(left.shape[0], BATCH, replace=False)
        gradient, loss = _contrast(vectors, _some(left[chosen], chance), _some(right[chosen], chance))
        chosen = chance.choice(texts.shape[0], DISTILLED, replace=False)
        toward, distance = _toward(vectors, _some(texts[chosen], chance), goals[chosen])
        gradient += DISTILLATION * toward
        gradient[0] = 0
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        move = first / (1 - 0.9 ** (step + 1)) / (np.sqrt(second / (1 - 0.999 ** (step + 1))) + 1e-8)
        vectors -= LEARNING_RATE * (1 - step / steps) * move
        if step % 100 == 99:
            print(f"step {step + 1} of {steps}: contrast {loss:.3f}, distance {distance:.3f}", file=sys.stderr)
    vectors[0] = 0
    return vectors


def _counts(tokenizer: Tokenizer, texts: Sequence[str]) -> csr_matrix:
    """A row for each text: how often it has each token."""
    tokens = [[i for i in tokenizer.encode(" ".join(plain_words(text))).ids if i][:MAX_TOKENS] for text in texts]
    places = np.repeat(np.arange(len(texts)), [len(each) for each in tokens])
    columns = np.concatenate([np.array(each, np.int64) for each in tokens])
    shape = (len(texts), tokenizer.get_vocab_size())
    return csr_matrix((np.ones(len(columns), np.float32), (places, columns)), shape=shape)


def _some(counts: csr_matrix, chance: np.random.Generator) -> csr_matrix:
    """The shares of the words in each text, without some of them."""
    kept = counts.copy()
    kept.data = kept.data * (chance.random(len(kept.data)) > DROPPED)
    kept.data /= np.repeat(np.maximum(np.asarray(kept.sum(1)).ravel(), 1), np.diff(kept.indptr))
    return kept


def _unit(rows: Floats) -> tuple[Floats, Floats]:
    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    return rows / lengths, lengths


def _through_unit(gradient: Floats, unit: Floats, lengths: Floats) -> Floats:
    return (gradient - (gradient * unit).sum(1, keepdims=True) * unit) / lengths


def _toward(vectors: Floats, texts: csr_matrix, goals: Floats) -> tuple[Any, float]:
    """The gradient of the mean distance to the teacher's vectors, and the distance."""
    unit, lengths = _unit(texts @ vectors)
    distance = 1 - float((unit * goals).sum(1).mean())
    return texts.T @ _through_unit(-goals / len(goals), unit, lengths), distance


def _contrast(vectors: Floats, left: csr_matrix, right: csr_matrix) -> tuple[Any, float]:
    """The gradient of the symmetric cross entropy of each row among all of the other side (InfoNCE), and its value."""
    (a, a_lengths), (b, b_lengths) = _unit(left @ vectors), _unit(right @ vectors)
    size = len(a)
    forth, back = _softmax(a @ b.T / TEMPERATURE), _softmax(b @ a.T / TEMPERATURE)
    loss = -float(np.log(forth.diagonal() + 1e-9).mean() + np.log(back.diagonal() + 1e-9).mean()) / 2
    wrong = (forth + back.T - 2 * np.eye(size, dtype=np.float32)) / (2 * size * TEMPERATURE)
    gradient = left.T @ _through_unit(wrong @ b, a, a_lengths) + right.T @ _through_unit(wrong.T @ a, b, b_lengths)
    return gradient, loss


def _softmax(rows: Floats) -> Floats:
    powers = np.exp(rows - rows.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def _save(tokenizer: Tokenizer, vectors: Floats) -> None:
    scales = np.maximum(np.abs(vectors).max(1, keepdims=True), 1e-6) / 127
    tensors = {"embeddings": np.rint(vectors / scales).astype(np.int8), "weights": scales.ravel().astype(np.float32)}
    FOLDER.mkdir(parents=True, exist_ok=True)
    save_file(tensors, FOLDER / "model.safetensors")
    tokenizer.save(str(FOLDER / "tokenizer.json"), pretty=False)
    config = {"model_type": "model2vec", "normalize": True, "embedding_dtype": "int8", "hidden_dim": DIMENSIONS}
    (FOLDER / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
