"""Search by meaning: word vectors, read from a folder of Model2Vec, beside the words of tools and queries."""

import json
import os
import struct
import subprocess
import sys
import zipfile
from math import isclose
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.model2vec import ROWS, WORDS, written
from louver.catalogue.search import meaning_extra
from louver.catalogue.search.meaning_extra import word_vectors
from louver.catalogue.search.ranking import Ranking, Rankings, alone
from louver.catalogue.search.word_vectors import MAX_VECTOR_DIMENSIONS, Meanings, WordVectors
from louver.errors import InvalidInput
from louver_meaning import MODEL

ROOT = Path(__file__).parents[3]
VECTORS = word_vectors()
TOOLS = [
    {"name": "resize_image", "description": "Change the width and height of an image."},
    {"name": "create_invoice", "description": "Bill a customer for an order."},
    {"name": "list_flights", "description": "Flights between two airports on a day."},
    {"name": "delete_file", "description": "Remove a file from disk."},
]
SENTENCES = st.lists(st.sampled_from("picture send remove directory plane bill money weather and then ; . 7".split()))


def names(ranking, query):
    return [match.tool["name"] for match in ranking.search(query)]


def cosine(vectors, one, other):
    a, b = vectors.encode(one), vectors.encode(other)
    return float(a.numbers.astype(int) @ b.numbers.astype(int)) * a.scale * b.scale


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("shrink a photo", "resize_image"),
        ("payment", "create_invoice"),
        ("airplane schedule", "list_flights"),
        ("erase a document", "delete_file"),
    ],
)
def test_tools_are_found_without_a_word_in_common(query, first):
    """Issue 45; by words alone nothing is."""
    assert names(Ranking(TOOLS), query) == []
    assert names(Ranking(TOOLS, vectors=VECTORS), query)[:1] == [first]


@pytest.mark.parametrize("query", ["quantum entanglement", "holiday", "qzxv wkjq", "", "!?"])
def test_a_query_about_something_else_finds_nothing(query):
    """Issue 45: an empty answer stays possible."""
    assert names(Ranking(TOOLS, vectors=VECTORS), query) == []


def test_a_tool_of_that_name_stays_first():
    """Ours."""
    tools = [{"name": "photo", "description": "x"}, *TOOLS]
    assert names(Ranking(tools, vectors=VECTORS), "delete file")[0] == "delete_file"


@given(SENTENCES, st.permutations(TOOLS))
def test_the_order_depends_on_list_and_query_alone(words, tools):
    """Issue 45: not on rankings before, nor on the order of the list; scores are those of any other ranking."""
    query = " ".join(words)
    whole = Ranking(TOOLS, vectors=VECTORS)
    based = Ranking(tools, alone, Ranking(tools[:2], vectors=VECTORS), vectors=VECTORS)
    again = Ranking(tools, vectors=VECTORS)
    assert based.search_needs(based.needs_of(query)) == again.search_needs(again.needs_of(query))
    scores = {match.tool["name"]: match.score for match in whole.search(query)}
    assert scores == pytest.approx({match.tool["name"]: match.score for match in again.search(query)})


@given(SENTENCES, st.integers(1, 40))
def test_equal_tools_keep_the_order_of_the_list(words, copies):
    """Ours: wherever they stand in the list their products are the same, to the last bit."""
    tools = [{"name": f"{letter}", "description": TOOLS[0]["description"]} for letter in "a" * copies]
    ranking = Ranking([*TOOLS, *tools], vectors=VECTORS)
    scores = [match.score for match in ranking.search(" ".join(words)) if match.tool["name"] == "a"]
    assert len(set(scores)) <= 1


@given(SENTENCES)
def test_tools_of_others_leave_no_trace(words):
    """Issue 45: the mix is of the caller's own list."""
    query = " ".join(words)
    rankings = Rankings()
    rankings.keep("ann", rankings.maker("ann", TOOLS, {})())
    seen = rankings.maker("ben", TOOLS[1:], {})()
    assert seen.search(query) == Ranking(TOOLS[1:], vectors=VECTORS).search(query)
    assert seen.version == Ranking(TOOLS[1:], vectors=VECTORS).version


def test_only_changed_tools_are_read_again(monkeypatch):
    """Issue 45: a test that counts."""
    read = []
    encode = WordVectors.encode
    monkeypatch.setattr(WordVectors, "encode", lambda self, text: read.append(text) or encode(self, text))
    before = Ranking(TOOLS, vectors=VECTORS)
    assert len(read) == len(TOOLS)
    Ranking([*TOOLS[1:], {"name": "new", "description": "Another."}], alone, before, vectors=VECTORS)
    assert read[len(TOOLS) :] == ["\nnew\n\nAnother."]


def test_the_nearest_of_query_and_clauses_counts():
    """Issue 45."""
    meanings = Meanings(VECTORS, [VECTORS.encode("resize an image")])
    nearest = meanings.mixed([0.0], ["shrink a photo"])
    assert nearest[0] > 0
    assert meanings.mixed([0.0], ["stock prices of banks", "shrink a photo"]) == nearest


def test_lines_are_needs_and_clauses_are_not():
    """Ours: the nearest clause is in the score already; a line is what its writer wants ranked apart."""
    ranking = Ranking(TOOLS, vectors=VECTORS)
    assert ranking.needs_of("Shrink the photo, then erase it.") == ["Shrink the photo, then erase it."]
    assert ranking.needs_of("shrink the photo\nerase it") == ["shrink the photo", "erase it"]
    assert len(Ranking(TOOLS).needs_of("Shrink the photo, then erase the file. Tell Ann.")) == 4


def test_the_version_names_the_vectors(tmp_path):
    """Ours: a cursor of a replica with others would miss tools."""
    versions = {Ranking(TOOLS, vectors=each).version for each in (None, VECTORS, WordVectors.read(written(tmp_path)))}
    assert len(versions) == 3


def test_a_folder_of_model2vec_is_read(tmp_path):
    """Issue 45: the mean of known words, whatever else there is."""
    vectors = WordVectors.read(written(tmp_path))
    assert vectors.dimensions == 2
    assert cosine(vectors, "cat", "kitten dragon") > 0.99
    assert isclose(cosine(vectors, "cat cat", "cat"), 1, abs_tol=1e-6)
    assert abs(cosine(vectors, "cat", "bill")) < 0.01
    assert vectors.encode("dragon").scale == 0
    assert vectors.encode("").numbers.tolist() == [0, 0]


def test_weights_and_shared_rows_are_read(tmp_path):
    """Model2Vec: quantised vocabularies have a row for several tokens, and a weight for each."""
    rows = np.array([[127, 0], [0, 127]], np.int8)
    row_of, weights = np.array([0, 0, 0, 0, 1, 1, 1]), np.array([1, 1, 1, 1, 1, 1, 0.01], np.float32)
    vectors = WordVectors.read(written(tmp_path, rows, mapping=row_of, weights=weights))
    assert isclose(cosine(vectors, "cat", "kitten"), 1, abs_tol=1e-6)
    assert cosine(vectors, "cat file", "kitten") > 0.99


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json cannot be read: No such file"),
        (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors cannot be read: No such file"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "tokenizer.json is not a tokenizer"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x" * 90), "is not a file of safetensors"),
        (lambda folder: written(folder, ROWS[:3]), "has 3 rows: expected one for each of the 7 tokens"),
        (lambda folder: written(folder, ROWS[0]), "expected a table 'embeddings'"),
        (lambda folder: written(folder, np.zeros((7, 1025), np.int8)), "expected 1 to 1024 dimensions, not 1025"),
        (lambda folder: written(folder, weights=np.ones(3)), "expected 7 numbers in 'weights'"),
        (lambda folder: written(folder, mapping=np.full(7, 9)), "expected numbers of rows, below 7, in 'mapping'"),
        (lambda folder: written(folder, mapping=np.zeros(7)), "expected numbers of rows, below 7, in 'mapping'"),
    ],
)
def test_a_folder_without_a_model_is_refused(tmp_path, damage, message):
    """Issue 45: missing, malformed, of another size."""
    damage(written(tmp_path))
    with pytest.raises(InvalidInput, match=message):
        word_vectors(tmp_path)


def header(size, text=b"{}"):
    return lambda folder: (folder / "model.safetensors").write_bytes(struct.pack("<Q", size) + text)


def linked(folder):
    """The tensors of a device that never ends."""
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("/dev/zero")


def pipe(folder):
    (folder / "tokenizer.json").unlink()
    os.mkfifo(folder / "tokenizer.json")


def tokenizer(**members):
    """Damage: members of a tokenizer's model, or of the tokenizer itself."""

    def changed(folder):
        file = folder / "tokenizer.json"
        content = json.loads(file.read_text())
        for name, value in members.items():
            (content["model"] if name in content["model"] else content)[name] = value
        file.write_text(json.dumps(content))

    return changed


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


SHAPE = b'{"embeddings": {"dtype": "F32", "shape": [%s], "data_offsets": [0, 0]}}' % b",".join([b"0"] * 99)
VOCABULARY = {word: n for n, word in enumerate(("[UNK]", *WORDS))}
HOSTILE = {
    "a device": (linked, "model.safetensors cannot be read: it is no regular file"),
    "a pipe": (pipe, "tokenizer.json cannot be read: it is no regular file"),
    "20 GB": (lambda folder: os.truncate(folder / "model.safetensors", 20 << 30), "21,474,836,480 bytes: expected at"),
    "a header that ends nowhere": (header(2**64 - 1), "safetensors with a header of at most 100,000 bytes"),
    "millions of tables": (header(90_000_000), "safetensors with a header of at most 100,000 bytes"),
    "99 dimensions": (header(len(SHAPE), SHAPE), "is not a file of safetensors with numbers that numpy has"),
    "complex": (lambda folder: written(folder, ROWS.astype(np.complex64)), "expected finite real numbers"),
    "NaN": (lambda folder: written(folder, ROWS * np.float32(np.nan)), "below 1e.15, in 'embeddings'"),
    "sums beyond 32 bits": (lambda folder: written(folder, ROWS.astype(float) * 1e300), "below 1e.15, in 'embeddings'"),
    "weights": (lambda folder: written(folder, weights=np.full(7, np.inf)), "below 1e.15, in 'weights'"),
    "a token beyond": (tokenizer(vocab={**VOCABULARY, "cat": 9}), "expected tokens with the numbers from 0 on"),
    "no token at all": (tokenizer(vocab={}), "expected tokens with the numbers"),
    "unknown": (tokenizer(unk_token="absent"), "expected the 'unk_token' of its model among its tokens"),
    "a panic": (tokenizer(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}), "is not a tokenizer of"),
    "a long text": (tokenizer(normalizer=replace({"Regex": "."}, "a" * 1001)), "1,000 characters in a replacement"),
}


@pytest.mark.parametrize(("damage", "message"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_folder_is_refused_with_its_file(tmp_path, damage, message):
    """Ours: at once, and in little memory."""
    damage(written(tmp_path))
    with pytest.raises(InvalidInput, match=message):
        word_vectors(tmp_path)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: written(folder, ROWS * np.float32(1e-44)),
        tokenizer(normalizer={"type": "Sequence", "normalizers": [replace({"Regex": "."}, "a" * 1000)] * 9}),
        tokenizer(
            pre_tokenizer={"type": "Split", "pattern": {"Regex": "(d+d+)+y"}, "behavior": "Isolated", "invert": False}
        ),
    ],
    ids=["numbers near 0", "words that grow", "an expression without end"],
)
def test_a_word_that_cannot_be_read_means_nothing(tmp_path, damage):
    """Ours: search by words goes on, in little memory."""
    damage(written(tmp_path))
    vectors = word_vectors(tmp_path)
    assert vectors.encode("d" * 100).scale == 0
    assert names(Ranking(TOOLS, vectors=vectors), "delete file")[0] == "delete_file"


def test_where_the_extra_is_damaged_words_alone_count(tmp_path, monkeypatch, caplog):
    """Ours."""
    monkeypatch.setattr("louver_meaning.MODEL", tmp_path)
    assert word_vectors() is word_vectors() is None
    assert len(caplog.records) == 1
    assert "tokenizer.json cannot be read" in caplog.text


def test_without_the_extra_words_alone_count_and_a_folder_is_refused(tmp_path, monkeypatch):
    """Issue 45."""
    monkeypatch.setitem(sys.modules, "louver_meaning", None)
    assert meaning_extra.word_vectors() is None
    monkeypatch.setitem(sys.modules, "louver.catalogue.search.word_vectors", None)
    with pytest.raises(InvalidInput, match="uv sync --inexact --extra meaning"):
        meaning_extra.word_vectors(written(tmp_path))


def test_products_of_the_longest_vectors_are_exact():
    """Ours: whole numbers below 2**24 are the same in 32 bits."""
    assert 127 * 127 * MAX_VECTOR_DIMENSIONS < 2**24


def test_the_model_is_one_of_model2vec_and_small():
    """Issue 45: at most 8 MB."""
    assert sum(file.stat().st_size for file in MODEL.iterdir()) <= 8_000_000
    assert {file.name for file in MODEL.iterdir()} == {"config.json", "model.safetensors", "tokenizer.json"}
    assert json.loads((MODEL / "config.json").read_text())["hidden_dim"] == VECTORS.dimensions


@pytest.mark.deep
def test_the_wheel_holds_the_model_and_little_else(tmp_path):
    """Issue 45."""
    command = ("uv", "build", "--quiet", "--wheel", "--package", "louver-meaning", "--out-dir", str(tmp_path))
    subprocess.run(command, cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size <= 8_000_000
    with zipfile.ZipFile(wheel) as archive:
        files = {name for name in archive.namelist() if ".dist-info/" not in name}
    model = {f"louver_meaning/model/{name}" for name in ("config.json", "model.safetensors", "tokenizer.json")}
    assert files == {"louver_meaning/__init__.py", "louver_meaning/py.typed", *model}
