"""Words: how the texts of tools, and queries, are split; the needs of a query; and words near a misspelt one.

    createIssue   create_issue   create-issue     create issue createissue
    HTTPServer    IDs    v2.0                     http server httpserver    ids    v2 0 v20
    Straße    发送邮件                            strasse    发送 送邮 邮件

A compound gives its parts and itself, so `email` finds `e-mail`. Text without spaces gives pairs of characters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from string import ascii_lowercase, digits
from typing import TYPE_CHECKING
from unicodedata import normalize

from louver.limits import MAX_NEEDS, MAX_WORD_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator


# Kana and Han: scripts without spaces.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"

_CHUNK = re.compile(r"\w+(?:[-.]\w+)*")
_PART = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+")
_PAIRS = re.compile(f"[{_UNSPACED}]")
_ACCENT = re.compile("[\u0300-\u036f]")
# `IDs` is not `i ds`.
_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))")

# Function words, polite words, and `tool`, which fits every tool.
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

# Phrases that say that something is wanted, not what. Alone, `find`, `get` and `search` are ordinary words.
_REQUEST = re.compile(
    r"""
    \b(?: (?:find|get|give|help|let|make|show|tell)[ ](?:me|us)
        | (?:i|we)(?:[ ]need|[ ]want|[ ]would[ ]like|['\u2019]d[ ]like)
        | (?:look|looking|search|searching)[ ]for[ ](?:(?:a|an|any|some|the)[ ])?tools?
    )\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def words(text: str) -> list[str]:
    return [word for chunk in _CHUNK.findall(_plain(text)) for word in _words(chunk[:MAX_WORD_CHARACTERS])]


def query_terms(query: str) -> list[str]:
    """The words of a query without filler, each once; all words if only filler is there."""
    terms = [word for word in words(_REQUEST.sub(" ", query)) if word not in _GRAMMAR]
    return list(dict.fromkeys(terms or words(query)))


def plain_words(text: str) -> list[str]:
    """The words in their order as written, without compounds: what the tokenizer of a model reads."""
    return _PART.findall(_HUMP.sub(" ", text))


def in_one(text: str) -> str:
    """A text as one word: `create an issue` is `createanissue`."""
    return "".join(part for chunk in _CHUNK.findall(_plain(text)) for part in _parts(chunk))


def _plain(text: str) -> str:
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


_SIGNS = ascii_lowercase + digits


# All edits are looked up, some 75 a letter: comparing with every word would grow with the catalogue.
def near(word: str, known: Container[str]) -> list[str]:
    return sorted({slip for slip in _slips(word) if slip in known})


def _slips(word: str) -> Iterator[str]:
    # A longer one is no word of the index.
    for at in range(len(word) + 1 if len(word) <= MAX_WORD_CHARACTERS else 0):
        before, after = word[:at], word[at:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        for sign in _SIGNS:
            yield before + sign + after
            yield before + sign + after[1:]


_CLAUSE_END = re.compile(r";|(?<=[.!?])\s++|(?:,|(?<!\s))\s++(?:and\s++)?+then,?+\s++", re.IGNORECASE)

# Words of a clause, without filler: fewer say too little for a ranking of their own.
_MIN_WORDS = 2

# Clauses of a line that are needs: of two, the whole line finds more.
_MIN_CLAUSES = 3


def needs_of(query: str) -> list[str]:
    lines = _with_words(query.splitlines(), 1)
    if len(lines) > 1:
        return lines[:MAX_NEEDS]
    # Lines that are equal, or have no word, are no further needs.
    whole = lines[0] if lines else query
    clauses = clauses_of(whole)
    # The whole query finds more than its clauses, where they are about one thing.
    return [whole, *clauses][:MAX_NEEDS] if len(clauses) >= _MIN_CLAUSES else [whole]


def clauses_of(line: str) -> list[str]:
    return _with_words(_CLAUSE_END.split(line), _MIN_WORDS)


def _with_words(parts: Iterable[str], least: int) -> list[str]:
    stripped = dict.fromkeys(part.strip() for part in parts)
    return [part for part in stripped if len(query_terms(part)) >= least]
