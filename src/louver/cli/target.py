"""The server that a command is given in one word: its URL, or the command that starts it."""

from __future__ import annotations

from louver.client.target import words_of
from louver.errors import InvalidInput
from louver.gateway.config import is_url


def target(text: str) -> str | list[str]:
    """The URL, or the words of the command.

    Raises:
        InvalidInput: It is neither.
    """
    if is_url(text):
        return text
    # A scheme is read whatever its case.
    if text.lower().startswith(("http://", "https://")):
        raise InvalidInput("expected a URL with a host, and a port of at most 65535, for example http://[::1]:8080/mcp")
    words = words_of(text)
    if not words:
        raise InvalidInput("expected a URL, or the command that starts a server")
    return words
