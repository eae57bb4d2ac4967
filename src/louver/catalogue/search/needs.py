"""The needs of a query: what is to be done, one thing after another. Each is ranked apart.

fetch the page            two lines: two needs
save it as PDF
Fetch the page, then save it as PDF.       two clauses: the whole query, and each of them
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from louver.catalogue.search.words import query_terms
from louver.limits import MAX_NEEDS

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLAUSE_END = re.compile(r";|(?<=[.!?])\s++|(?:,|(?<!\s))\s++(?:and\s++)?+then,?+\s++", re.IGNORECASE)

# Words of a clause, without filler: fewer say too little for a ranking of their own.
_MIN_WORDS = 2


def needs_of(query: str) -> list[str]:
    lines = _with_words(query.splitlines(), 1)
    if len(lines) > 1:
        return lines[:MAX_NEEDS]
    # Lines that are equal, or have no word, are no further needs.
    whole = lines[0] if lines else query
    clauses = _with_words(_CLAUSE_END.split(whole), _MIN_WORDS)
    # The whole query finds more than its clauses, where they are about one thing.
    return [whole, *clauses][:MAX_NEEDS] if len(clauses) > 1 else [whole]


def _with_words(parts: Iterable[str], least: int) -> list[str]:
    stripped = dict.fromkeys(part.strip() for part in parts)
    return [part for part in stripped if len(query_terms(part)) >= least]
