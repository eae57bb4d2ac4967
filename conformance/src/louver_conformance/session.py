"""One conversation with a target, in one protocol revision.

In 2025-11-25 a connection is opened once, in 2026-07-28 each request says itself who asks::

    2025   initialize {...}, notifications/initialized    then   tools/list {}
    2026   server/discover {"_meta": {who asks}}          then   tools/list {"_meta": {who asks}}
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY

from louver import __version__
from louver.core.json import is_array, is_object, members, strings
from louver.errors import NotSpoken, UpstreamError, UpstreamInvalidOutput, UpstreamTimeout, UpstreamTooLarge
from louver.limits import (
    CONFORMANCE_ANSWER_S,
    CONFORMANCE_LISTED,
    CONFORMANCE_OPENING_S,
    CONFORMANCE_RUN_S,
    MAX_TOOL_PAGES,
)
from louver.protocol.names import PROJECTION
from louver_conformance.transports.http import Post
from louver_conformance.transports.stdio import Pipe

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from louver_conformance.transports.messages import Answer, Link

HANDSHAKE: Final = "2025-11-25"
STATELESS: Final = "2026-07-28"
ERAS: Final = (HANDSHAKE, STATELESS)
"""The revisions in which a target can be spoken to."""

_T = TypeVar("_T")
_CLIENT: Final = {"name": "louver-conformance", "version": __version__}


@dataclass(frozen=True, slots=True)
class Target:
    """What is checked: a URL, or the command that starts it.

    Args:
        url: Where it is; empty where it is a command.
        command: The program and its arguments.
    """

    url: str = ""
    command: tuple[str, ...] = ()


class Clock:
    """The time that is left for one revision.

    Args:
        seconds: How much there is.
    """

    def __init__(self, seconds: float = CONFORMANCE_RUN_S) -> None:
        self._until = asyncio.get_running_loop().time() + seconds

    async def wait(self, asked: Awaitable[_T], most: float) -> _T:
        """What is waited for, for at most so many seconds.

        Raises:
            UpstreamTimeout: It takes longer, or there is no time left.
        """
        left = self._until - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(0.0, min(most, left))):
                return await asked
        except TimeoutError:
            if left < most:
                raise UpstreamTimeout("there is no time left for the target") from None
            raise UpstreamTimeout(f"the target has not answered for {most:g} seconds") from None


class Peer:
    """A conversation. Made by `open`.

    Attributes:
        capabilities: What the target says that it can do.
        instructions: What it tells models.
    """

    def __init__(self, link: Link, era: str, clock: Clock, *, declares: bool) -> None:
        self._link = link
        self._era = era
        self._clock = clock
        self._number = 0
        self._client_capabilities: dict[str, Any] = {"extensions": {PROJECTION: {}}} if declares else {}
        self._headers: dict[str, str] = {}
        self.capabilities: dict[str, Any] = {}
        self.instructions = ""

    @classmethod
    async def open(cls, target: Target, era: str, clock: Clock, *, declares: bool = True) -> Peer:
        """A new conversation.

        Args:
            target: With whom.
            era: The protocol revision.
            clock: The time that is left.
            declares: Whether it tells that it knows of projections, as clients that ask for them should.

        Raises:
            NotSpoken: The target does not speak the revision.
            UpstreamError: It cannot be reached, or answers nothing that can be read.
        """
        link = Post(target.url) if target.url else await Pipe.open(target.command)
        peer = cls(link, era, clock, declares=declares)
        try:
            await (peer._initialize() if era == HANDSHAKE else peer._discover())
        except BaseException:  # whoever is cancelled leaves no link open either
            await link.close()
            raise
        return peer

    async def close(self) -> None:
        """End it."""
        await self._link.close()

    async def ask(
        self, method: str, params: dict[str, Any] | None = None, *, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """The answer to a request.

        Raises:
            UpstreamError: There is none that can be read.
        """
        return await self._ask(method, params or {}, CONFORMANCE_ANSWER_S, headers or {})

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        meta: dict[str, Any] | None = None,
        schema: dict[str, Any] | None = None,
    ) -> Answer:
        """The answer of a tool.

        Args:
            name: The tool's.
            arguments: Those of the call.
            meta: The `_meta` of the call.
            schema: The tool's input schema, which may say that arguments are to be sent as headers too.

        Raises:
            UpstreamError: There is none that can be read.
        """
        params: dict[str, Any] = {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})}
        wanted = schema or {}
        marked = x_mcp_header_map(wanted) if find_invalid_x_mcp_header(wanted) is None else {}
        headers = mcp_param_headers(marked, arguments) if self._era == STATELESS else {}
        try:
            return await self.ask("tools/call", params, headers=headers)
        except UpstreamError as error:
            raise type(error)(f"{error.message}, when {name!r} was called") from None

    async def pages(self, method: str, key: str, params: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """The objects of all pages of a list, in their order.

        Raises:
            UpstreamError: It is refused, or is no list.
        """
        found: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        for _ in range(MAX_TOOL_PAGES):
            answer = await self.ask(method, {**(params or {}), **cursor})
            listed: Any = members(answer.result).get(key)
            if not is_array(listed):
                raise UpstreamInvalidOutput(f"the target answers {method} without a list of {key}")
            found += [each for each in listed if is_object(each)]
            if len(found) > CONFORMANCE_LISTED:
                raise UpstreamTooLarge(f"the target's list of {key} has over {CONFORMANCE_LISTED}")
            following: Any = members(answer.result).get("nextCursor")
            if not isinstance(following, str):
                return found
            cursor = {"cursor": following}
        raise UpstreamInvalidOutput(f"the target's list of {key} has over {MAX_TOOL_PAGES} pages")

    # Opening

    async def _initialize(self) -> None:
        params = {
            "protocolVersion": HANDSHAKE,
            "capabilities": self._client_capabilities,
            "clientInfo": _CLIENT,
        }
        result = _opened(await self._ask("initialize", params, CONFORMANCE_OPENING_S, {}))
        if result.get("protocolVersion") != HANDSHAKE:
            raise NotSpoken(f"the target agrees on another revision than {HANDSHAKE}")
        self._learn(result)
        self._headers = {MCP_PROTOCOL_VERSION_HEADER: HANDSHAKE}
        told = self._link.tell("notifications/initialized", self._headers)
        await self._clock.wait(told, CONFORMANCE_ANSWER_S)

    async def _discover(self) -> None:
        result = _opened(await self._ask("server/discover", {}, CONFORMANCE_OPENING_S, {}))
        if STATELESS not in strings(result.get("supportedVersions")):
            raise NotSpoken(f"the target does not list {STATELESS} among the revisions that it speaks")
        self._learn(result)

    def _learn(self, result: dict[str, Any]) -> None:
        self.capabilities = members(result.get("capabilities"))
        told = result.get("instructions")
        self.instructions = told if isinstance(told, str) else ""

    # Asking

    async def _ask(self, method: str, params: dict[str, Any], most: float, more: Mapping[str, str]) -> Answer:
        self._number += 1
        headers = {**self._headers, **more}
        if self._era == STATELESS:
            params = {**params, "_meta": {**members(params.get("_meta")), **self._envelope()}}
            headers |= _routing(method, params)
        return await self._clock.wait(self._link.ask(self._number, method, params, headers), most)

    def _envelope(self) -> dict[str, Any]:
        return {
            PROTOCOL_VERSION_META_KEY: STATELESS,
            CLIENT_INFO_META_KEY: _CLIENT,
            CLIENT_CAPABILITIES_META_KEY: self._client_capabilities,
        }


def _opened(answer: Answer) -> dict[str, Any]:
    if answer.result is None:
        raise NotSpoken("the target refuses to open in this revision")
    return answer.result


def _routing(method: str, params: dict[str, Any]) -> dict[str, str]:
    """The headers by which 2026-07-28 lets a request be routed without reading it."""
    name = params.get(NAME_BEARING_METHODS.get(method, ""))
    named = {MCP_NAME_HEADER: encode_header_value(name)} if isinstance(name, str) else {}
    return {MCP_PROTOCOL_VERSION_HEADER: STATELESS, MCP_METHOD_HEADER: method, **named}
