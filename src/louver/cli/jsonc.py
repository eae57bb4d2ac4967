"""JSON with comments and trailing commas, as editors write it, made plain.

Both become spaces, so that every line stays where it is::

    {"a": [1, 2,],   // why      ->      {"a": [1, 2 ],
"""

import re

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|(?P<extra>//[^\n]*|/\*.*?\*/)", re.DOTALL)
_COMMA = re.compile(rf"{_STRING}|(?P<extra>,)(?=\s*[\]}}])", re.DOTALL)


def plain(text: str) -> str:
    """`text` without comments and trailing commas; what is no JSON otherwise stays none."""
    return _COMMA.sub(_blank, _COMMENT.sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    return found.group() if found["extra"] is None else re.sub(r"[^\n]", " ", found["extra"])
