"""JSON texts: parsed, measured and written as the standard library does it, and refused where it would guess."""

from __future__ import annotations

import json
import re

from louver.core.json import NotJson, canonical, compact, holds_more, is_deeper, parse, unspaced
from louver.limits import MAX_JSON_DEPTH

from . import second_reader
from .second_reader import Refused

_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
"""Two halves of which bytes that are no UTF-8 made one: as escapes they are one character."""

_SPACE = re.compile(r"[ \t\r\n]+")


def check(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    try:
        expected = second_reader.read(text)
    except Refused:
        expected = Refused
    deepest = second_reader.depth(expected) if expected is not Refused else 0
    _check_parsed(text, expected, deepest)
    shrunk = unspaced(text)
    assert _SPACE.sub("", shrunk) == _SPACE.sub("", text), "white space is all that goes"
    if expected is Refused:
        return
    raw = text.encode("utf-8", "surrogateescape")
    marks = _STRINGS.sub(b"", raw)
    for most in range(max(deepest - 1, 0), deepest + 1):
        assert is_deeper(raw, most) is (most < deepest)
    for some in (b"[{", b"[{,"):
        count = sum(marks.count(mark) for mark in some)
        assert not holds_more(raw, some, count)
        assert not count or holds_more(raw, some, count - 1)
    if deepest <= MAX_JSON_DEPTH:
        spelled = second_reader.read(text, numbers=str)
        texts = [shrunk, canonical(expected).decode("utf-8", "surrogatepass")]
        if not _HALVES.search(json.dumps(expected, ensure_ascii=False)):
            texts.append(compact(expected))
        for written in texts:
            again = second_reader.read(written)
            assert again == expected
        assert second_reader.same(second_reader.read(shrunk, numbers=str), spelled), "numbers stay as they are spelled"


def _check_parsed(text: str, expected, deepest: int) -> None:
    try:
        value = parse(text)
    except NotJson as error:
        line, offset = error.line, error.offset
    else:
        assert second_reader.same(value, expected)
        assert deepest <= MAX_JSON_DEPTH
        return
    assert expected is Refused or deepest > MAX_JSON_DEPTH
    assert 1 <= line <= text.count("\n") + 1
    assert offset is None or 0 <= offset <= len(text)
