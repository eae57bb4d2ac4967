"""URIs of ours that have a query: what each must be before it is read.

::

    resource:///tool_descriptions?tools=get_issue,list_issues
    louver://results/2bW0...?fields=items.id&page=2

They are plain text: without a fragment, every escape well formed and of something printable. What is wrong is told with
the offset.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from louver.errors import InvalidUri
from louver.limits import MAX_URI_BYTES

_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class UriForm:
    """One kind of URI.

    Args:
        what: What it is called.
        example: One that is right.
    """

    what: str
    example: str

    def check_length(self, uri: str) -> None:
        """Refuse a URI that is too long.

        Raises:
            InvalidUri: With `limit`, in bytes.
        """
        if len(uri.encode("utf-8", "surrogatepass")) > MAX_URI_BYTES:
            raise InvalidUri(f"{self.what} has at most {MAX_URI_BYTES} bytes", limit=MAX_URI_BYTES)

    def check(self, uri: str) -> None:
        """Refuse a URI that has a fragment, or that cannot be decoded.

        Raises:
            InvalidUri: With `offset` in code points from 0 and `expected`.
        """
        if (fragment := uri.find("#")) >= 0:
            raise self.invalid(fragment, "no fragment")
        if bad := _BAD_ESCAPE.search(uri):
            raise self.invalid(bad.start() + 1, "two hexadecimal digits after '%'")
        if bad := _UNPRINTABLE.search(uri):
            raise self.invalid(bad.start(), "a printable character")
        for escapes in _ESCAPES.finditer(uri):
            try:
                text = bytes.fromhex(escapes.group().replace("%", "")).decode()
            except UnicodeDecodeError:
                raise self.invalid(escapes.start(), "escaped UTF-8") from None
            if _UNPRINTABLE.search(text):
                raise self.invalid(escapes.start(), "an escaped printable character")

    def invalid(self, offset: int, expected: str) -> InvalidUri:
        """The refusal of a URI that is not as it should be at `offset`."""
        message = f"{self.what}: expected {expected} at offset {offset}, for example {self.example}"
        return InvalidUri(message, offset=offset, expected=expected)
