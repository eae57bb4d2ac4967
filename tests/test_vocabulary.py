"""Names and prose use the field's words, and each class name stands for one thing."""

import ast
import io
import re
import tokenize
from collections import Counter
from pathlib import Path

from docs.pages import DOCS, PAGES, ROOT, name_of, placed

PACKAGES = [ROOT / "src" / "louver", ROOT / "conformance" / "src" / "louver_conformance"]

WORDS = frozenset(
    "said told asked heard anew whose aside misfits lets likewise rereads sights nursery zygote era eras "
    "onlookers itself hello turns unsaid".split()
)
"""Words of no name: each has a term of the field."""

PHRASES = re.compile(
    r"\b(likewise|for who|of which|by then|anew|is told|are told|stands in|beside it|as it is|in words|whoever)\b",
    re.IGNORECASE,
)
"""Openings and fillers of no docstring, no comment and no page."""


def modules():
    """Each file's name, its text and its syntax."""
    for file in sorted(file for package in PACKAGES for file in package.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        yield name_of(file), text, ast.parse(text)


def words(name):
    """The words of a name: `_told_of`, `ToldOf` -> told, of."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def names(tree):
    """Every name that a module defines."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.arg():
                yield node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr


def prose(text, tree):
    """Docstrings and comments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def test_no_name_has_a_word_of_a_private_dialect():
    """VOCABULARY.md."""
    faults = [
        f"{file}: {name}"
        for file, _, tree in modules()
        for name in sorted({Path(file).stem, *names(tree)})
        if words(name) & WORDS
    ]
    assert not faults, "\n".join(faults)


def test_no_sentence_has_a_filler():
    """VOCABULARY.md, "Prose"."""
    faults = [f"{file}: {each}" for file, text, tree in modules() for each in prose(text, tree) if PHRASES.search(each)]
    assert not faults, "\n".join(faults)


def test_no_sentence_of_a_page_has_a_filler():
    """VOCABULARY.md, "Prose"."""
    pages = [page for page in PAGES if page.parent.parent == DOCS and page.parent.name != "reference"]
    faults = [place for place, line in placed(pages) if PHRASES.search(line)]
    assert not faults, "\n".join(faults)


def test_a_class_name_stands_for_one_thing():
    """VOCABULARY.md: in the whole of the package; a protocol has the name of what it is of."""
    found = Counter(
        node.name
        for _, _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        if "Protocol" not in map(ast.unparse, node.bases)
    )
    assert sorted(name for name, count in found.items() if count > 1) == []
