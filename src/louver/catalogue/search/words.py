"""Words: how the texts of tools, and queries, are taken apart.

::

    createIssue   create_issue   create-issue     create issue createissue
    HTTPServer    IDs    sha256    v2.0           http server httpserver    ids    sha256    v2 0 v20
    Café   Straße                                 cafe   strasse
    发送邮件                                      发送 送邮 邮件

What is written in one gives its parts and itself, so that `e-mail` is found by `email` and `GitHub` by
`github`. Digits stay. Writing without spaces gives every two signs that stand beside each other.
"""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import normalize

from louver.limits import MAX_WORD_CHARACTERS

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Kana and Han: the writing that has no spaces."""

_CHUNK = re.compile(r"\w+(?:[-.]\w+)*")
_PART = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+")
_PAIRS = re.compile(f"[{_UNSPACED}]")
_ACCENT = re.compile("[\u0300-\u036f]")
# `IDs` is no `i ds`.
_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))")

_GRAMMAR = frozenset(
    """
    a an the this that these those some any each every all both such
    i me my mine myself we us our ours you your yours he him his she her it its they them their
    am is are was were be been being do does did done have has had having
    can could will would shall should may might must
    and or but nor so if then else than as because while though although
    of in on at by for from to into onto with without about between through during within over under per via
    who whom whose which what when where why how there here
    please just also too very really only not no yes
    s t d m ll re ve
    tool tools
    """.split()
)
"""Words that hold a sentence together, politeness, and the one word that is said of every tool."""

_REQUEST = re.compile(
    r"""
    \b(?: (?:find|get|give|help|let|make|show|tell)[ ](?:me|us)
        | (?:i|we)(?:[ ]need|[ ]want|[ ]would[ ]like|['\u2019]d[ ]like)
        | (?:look|looking|search|searching)[ ]for[ ](?:(?:a|an|any|some|the)[ ])?tools?
    )\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""What says that something is wanted, not what. Alone the verbs are words like others: `find`, `get`, `search`."""


def words(text: str) -> list[str]:
    """The words of a text in order, small and without accents."""
    return [word for chunk in _CHUNK.findall(_plain(text)) for word in _words(chunk[:MAX_WORD_CHARACTERS])]


def asked(query: str) -> list[str]:
    """The words of a query that say what is wanted, each once; all of them if none does."""
    said = [word for word in words(_REQUEST.sub(" ", query)) if word not in _GRAMMAR]
    return list(dict.fromkeys(said or words(query)))


def in_one(text: str) -> str:
    """A text as one word, as names are written: `create an issue` is `createanissue`."""
    return "".join(part for chunk in _CHUNK.findall(_plain(text)) for part in _parts(chunk))


def _plain(text: str) -> str:
    """The text in one form of those that Unicode has for the same letters."""
    return text if text.isascii() else normalize("NFC", _ACCENT.sub("", normalize("NFKD", text)))


@lru_cache(maxsize=16384)
def _words(chunk: str) -> tuple[str, ...]:
    parts = _parts(chunk)
    return (*parts, "".join(parts)) if len(parts) > 1 and chunk.isascii() else parts


def _parts(chunk: str) -> tuple[str, ...]:
    parts: list[str] = []
    for part in _PART.findall(_HUMP.sub(" ", chunk)):
        if _PAIRS.match(part):
            parts += [part[at : at + 2] for at in range(max(1, len(part) - 1))]
        else:
            parts.append(part.casefold())
    return tuple(parts)
