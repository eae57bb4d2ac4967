"""What a client is opened with: targets, and the options of `mcp.Client`.

"http://127.0.0.1:8000/mcp"          a URL
"npx -y some-server --all"           a command, split as by a shell; or a list of its words
gateway                              a `louver.Gateway`
StdioServerParameters(...), server   as `mcp.Client` takes them
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, cast

from mcp import StdioServerParameters
from mcp.server import Server

from louver.errors import InvalidInput
from louver.wire.uris import is_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.client import ClientExtension, Transport
    from mcp.client.caching import CacheConfig
    from mcp.client.client import ConnectMode
    from mcp.client.session import ElicitationFnT, ListRootsFnT, LoggingFnT, MessageHandlerFnT, SamplingFnT
    from mcp.server import MCPServer
    from mcp_types import DiscoverResult, Implementation, LoggingLevel, SamplingCapability

    class InProcessServer(Protocol):
        """Something with a server of the SDK, such as `louver.Gateway`."""

        @property
        def server(self) -> Server[Any]: ...

    Target = str | Sequence[str] | StdioServerParameters | Transport | MCPServer[Any] | Server[Any] | InProcessServer

MAX_COMMAND_CHARACTERS = 4096
"""Length of a command that is given as one text, in code points: splitting it takes quadratic time."""


_EXPECTED = "expected a URL, or the command that starts a server"

# No command begins like this.
_BEGINS_A_URL = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")


def opened(target: Target) -> Any:
    """The argument of `mcp.Client` for a target. A command gets the SDK's default environment."""
    found = url_or_words(target) if isinstance(target, str) else target
    if isinstance(server := getattr(found, "server", None), Server):
        return cast("Server[Any]", server)
    if not isinstance(found, list | tuple):
        return found
    words = [*cast("Sequence[str]", found)]
    if not words:
        raise InvalidInput(_EXPECTED)
    return StdioServerParameters(command=words[0], args=words[1:])


def url_or_words(text: str) -> str | list[str]:
    if is_url(text):
        return text
    if _BEGINS_A_URL.match(text):
        # The error does not quote the URL, which may hold a secret.
        expected = "a URL with a host, and a port of at most 65535, for example http://[::1]:8080/mcp"
        raise InvalidInput(f"expected {expected}; its scheme is http or https")
    if len(text) > MAX_COMMAND_CHARACTERS:
        raise InvalidInput(
            f"a command has at most {MAX_COMMAND_CHARACTERS} characters: pass a longer one as a list of words"
        )
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InvalidInput(f"the target's command cannot be read: {error}") from None
    if not words:
        raise InvalidInput(_EXPECTED)
    return words


def only(error: BaseException) -> BaseException:
    inner = error
    while isinstance(inner, BaseExceptionGroup):
        first, *others = cast("BaseExceptionGroup[BaseException]", inner).exceptions
        if others:
            return error
        inner = first
    return inner


class ClientOptions(TypedDict, total=False):
    """The options of `mcp.Client`, which describes each."""

    mode: ConnectMode
    read_timeout_seconds: float | None
    client_info: Implementation | None
    cache: CacheConfig | None
    extensions: Sequence[ClientExtension] | None
    message_handler: MessageHandlerFnT | None
    elicitation_callback: ElicitationFnT | None
    sampling_callback: SamplingFnT | None
    sampling_capabilities: SamplingCapability | None
    list_roots_callback: ListRootsFnT | None
    logging_callback: LoggingFnT | None
    log_level: LoggingLevel | None
    input_required_max_rounds: int
    prior_discover: DiscoverResult | None
    raise_exceptions: bool
