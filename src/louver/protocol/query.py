"""The query of `tools/list`: `params.query`, plain words without a syntax, in one line or several.

Source: SEP-1821; the bounds are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unicodedata import category

from louver.errors import InvalidQuery
from louver.limits import MAX_QUERY_CHARACTERS
from louver.protocol.names import QUERY

if TYPE_CHECKING:
    from collections.abc import Mapping

# Unicode categories: control characters, and halves of a surrogate pair.
_NO_TEXT = ("Cc", "Cs")
_WHITE = "\n\r\t"


def queried(params: Mapping[str, Any]) -> str | None:
    """The query in the params of `tools/list`; `None` if there is none, or it is empty or white space."""
    query = params.get(QUERY, "")
    if not isinstance(query, str):
        raise InvalidQuery("a query is a string of plain words, for example 'create issue'")
    if not query.strip():
        return None
    if len(query) > MAX_QUERY_CHARACTERS:
        message = f"a query has at most {MAX_QUERY_CHARACTERS} characters, not {len(query)}: say it in a few words"
        raise InvalidQuery(message, limit=MAX_QUERY_CHARACTERS)
    offset = next((at for at, sign in enumerate(query) if sign not in _WHITE and category(sign) in _NO_TEXT), None)
    if offset is not None:
        raise InvalidQuery(f"a query is plain words: there is a control character at offset {offset}", offset=offset)
    return query
