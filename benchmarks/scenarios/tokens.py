"""Tokens: what a model reads of 38 issues, whole and kept to 7 fields, as compact JSON.

Counted with o200k, the encoding of OpenAI's models since GPT-4o, as `bpe-openai` has it; other
models count otherwise, by some percent. The receipt's schema is counted beside it: a model does
not always read it. How much is saved depends on how long the texts are that are left out: the
issues are of 4 kB, half of it text; beside them one of GitHub's, long with addresses, without a text.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from benchmarks import corpus
from benchmarks.github import REQUESTS
from benchmarks.payloads import ISSUES
from benchmarks.results import Group, Row
from benchmarks.shapes import ISSUE_BYTES
from louver import Projection, compile_projection
from louver.core.json import compact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.scenarios import Setting
    from louver.core.json import Json, Schema

COUNT = 38
GITHUB = "issues/list/200/default"


def run(_setting: Setting) -> Iterator[Group]:
    """Whole and kept; nothing without the tokenizer."""
    if find_spec("bpe_openai") is None:
        return
    import bpe_openai

    encode = bpe_openai.get_encoding("o200k_base").encode_ordinary
    page = ISSUES.make(COUNT * ISSUE_BYTES)
    yield _group(f"{COUNT} issues", page, ISSUES.include, ISSUES.schema, encode)
    pair, (fields, _) = corpus.pair(GITHUB), REQUESTS[GITHUB]
    yield _group("an issue of GitHub", pair["value"], fields, pair["schema"], encode)


def _group(
    payload: str, value: Json, fields: Sequence[str], schema: Schema, encode: Callable[[str], list[int]]
) -> Group:
    plan = compile_projection(Projection(include=[*fields]), schema)
    whole, kept = compact(value), compact(plan(value))
    texts = {"whole": whole, "kept": kept, "kept, and its schema": kept + compact(plan.schema)}
    rows = tuple(Row.exact(name, len(encode(text))) for name, text in texts.items())
    return Group("tokens", payload, len(whole), "tokens", "whole", rows)
