"""What a client is opened with, and what comes out of it when it cannot be.

"http://127.0.0.1:8000/mcp"          a URL
"npx -y some-server --all"           a command, its words as in a shell
["npx", "-y", "some-server"]         likewise
StdioServerParameters(...), server   as `mcp.Client` takes them
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, cast

from mcp import StdioServerParameters

from louver.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.client import Transport
    from mcp.server import MCPServer, Server

    Target = str | Sequence[str] | StdioServerParameters | Transport | MCPServer[Any] | Server[Any]


def opened(target: Target) -> Any:
    """What `mcp.Client` takes for a target. A command gets the environment that the SDK gives to one.

    Raises:
        InvalidInput: It is a command without a word, or with a quote that is not closed.
    """
    if isinstance(target, str):
        # A scheme is read whatever its case.
        if target.lower().startswith(("http://", "https://")):
            return target
        words = words_of(target)
    elif isinstance(target, list | tuple):
        words = [*cast("Sequence[str]", target)]
    else:
        return target
    if not words:
        raise InvalidInput("expected a URL, or the command that starts a server")
    return StdioServerParameters(command=words[0], args=words[1:])


def words_of(command: str) -> list[str]:
    """The words of a command, as a shell reads them.

    Raises:
        InvalidInput: A quote is not closed.
    """
    try:
        return shlex.split(command)
    except ValueError as error:
        raise InvalidInput(f"the target's command cannot be read: {error}") from None


def only(error: BaseException) -> BaseException:
    """The one exception in a group, if it is one; else the group."""
    inner = error
    while isinstance(inner, BaseExceptionGroup):
        first, *others = cast("BaseExceptionGroup[BaseException]", inner).exceptions
        if others:
            return error
        inner = first
    return inner
