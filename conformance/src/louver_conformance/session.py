"""One session with a target, in one protocol revision.

A session of 2025-11-25 opens with a handshake; in 2026-07-28 each request carries the client's identity::

    2025-11-25   initialize {...}, notifications/initialized    then   tools/list {}
    2026-07-28   server/discover {"_meta": {client}}            then   tools/list {"_meta": {client}}
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
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

from louver.core.json import is_array, is_object, members, strings
from louver.wire.names import PROJECTION
from louver_conformance import __version__
from louver_conformance.errors import TargetError, TargetTimeout
from louver_conformance.limits import (
    ANSWER_TIMEOUT_S,
    MAX_LIST_PAGES,
    MAX_LISTED,
    OPENING_TIMEOUT_S,
    REVISION_ANSWERS,
)
from louver_conformance.transports.http import HttpTargetTransport
from louver_conformance.transports.stdio import StdioTargetTransport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from louver_conformance.transports.messages import TargetResponse, TargetTransport

HANDSHAKE: Final = "2025-11-25"
STATELESS: Final = "2026-07-28"
REVISIONS: Final = (HANDSHAKE, STATELESS)

_T = TypeVar("_T")
_CLIENT: Final = {"name": "louver-conformance", "version": __version__}


@dataclass(frozen=True, slots=True)
class Target:
    """The server to check: its URL with headers for each request, or the command that starts it."""

    # Empty for a command.
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    command: tuple[str, ...] = ()


class Deadline:
    """The time for an answer, and that left for one protocol revision."""

    def __init__(self, answer_s: float | None = None) -> None:
        self.answer_s = ANSWER_TIMEOUT_S if answer_s is None else answer_s
        self._until = asyncio.get_running_loop().time() + REVISION_ANSWERS * self.answer_s

    async def wait(self, awaited: Awaitable[_T], timeout_s: float | None = None) -> _T:
        """The awaited value, within the timeout, by default that of an answer, and the time left."""
        timeout_s = self.answer_s if timeout_s is None else timeout_s
        left = self._until - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(0.0, min(timeout_s, left))):
                return await awaited
        except TimeoutError:
            if left < timeout_s:
                raise TargetTimeout("there is no time left for the target") from None
            raise TargetTimeout(f"the target has not answered for {timeout_s:g} seconds") from None


class TargetSession:
    """Requests to a target, and what it declared when the session was opened. Made by `open`."""

    def __init__(self, transport: TargetTransport, revision: str, deadline: Deadline, *, declares: bool) -> None:
        self._transport = transport
        self._revision = revision
        self._deadline = deadline
        self._number = 0
        self._client_capabilities: dict[str, Any] = {"extensions": {PROJECTION: {}}} if declares else {}
        self._headers: dict[str, str] = {}
        self.capabilities: dict[str, Any] = {}
        self.instructions = ""

    @classmethod
    async def open(cls, target: Target, revision: str, deadline: Deadline, *, declares: bool = True) -> TargetSession:
        """A new session; `declares` is whether the client declares the projection extension."""
        transport = (
            HttpTargetTransport(target.url, target.headers)
            if target.url
            else await StdioTargetTransport.open(target.command)
        )
        session = cls(transport, revision, deadline, declares=declares)
        try:
            await (session._initialize() if revision == HANDSHAKE else session._discover())
        except BaseException:  # a cancelled session closes its transport too
            await transport.close()
            raise
        return session

    async def close(self) -> None:
        await self._transport.close()

    async def request(
        self, method: str, params: dict[str, Any] | None = None, *, headers: Mapping[str, str] | None = None
    ) -> TargetResponse:
        return await self._send(method, params or {}, self._deadline.answer_s, headers or {})

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        meta: dict[str, Any] | None = None,
        schema: dict[str, Any] | None = None,
    ) -> TargetResponse:
        """The answer of a tool; its input schema may name arguments to send as headers too."""
        params: dict[str, Any] = {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})}
        input_schema = schema or {}
        header_names = x_mcp_header_map(input_schema) if find_invalid_x_mcp_header(input_schema) is None else {}
        headers = mcp_param_headers(header_names, arguments) if self._revision == STATELESS else {}
        try:
            return await self.request("tools/call", params, headers=headers)
        except TargetError as error:
            raise type(error)(f"{error.message}, when {name!r} was called") from None

    async def pages(self, method: str, key: str, params: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """The objects of all pages of a list."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        for _ in range(MAX_LIST_PAGES):
            answer = await self.request(method, {**(params or {}), **cursor})
            listed: Any = members(answer.result).get(key)
            if not is_array(listed):
                raise TargetError(f"the target answers {method} without a list of {key}")
            found += [each for each in listed if is_object(each)]
            if len(found) > MAX_LISTED:
                raise TargetError(f"the target's list of {key} has over {MAX_LISTED}")
            following: Any = members(answer.result).get("nextCursor")
            if not isinstance(following, str):
                return found
            cursor = {"cursor": following}
        raise TargetError(f"the target's list of {key} has over {MAX_LIST_PAGES} pages")

    # Opening

    @property
    def _opening_s(self) -> float:
        return max(OPENING_TIMEOUT_S, self._deadline.answer_s)

    async def _initialize(self) -> None:
        params = {
            "protocolVersion": HANDSHAKE,
            "capabilities": self._client_capabilities,
            "clientInfo": _CLIENT,
        }
        result = _opened(await self._send("initialize", params, self._opening_s, {}))
        if result.get("protocolVersion") != HANDSHAKE:
            raise TargetError(f"the target agrees on another revision than {HANDSHAKE}")
        self._set_declared(result)
        self._headers = {MCP_PROTOCOL_VERSION_HEADER: HANDSHAKE}
        notified = self._transport.notify("notifications/initialized", self._headers)
        await self._deadline.wait(notified)

    async def _discover(self) -> None:
        result = _opened(await self._send("server/discover", {}, self._opening_s, {}))
        if STATELESS not in strings(result.get("supportedVersions")):
            raise TargetError(f"the target does not list {STATELESS} among the revisions that it speaks")
        self._set_declared(result)

    def _set_declared(self, result: dict[str, Any]) -> None:
        self.capabilities = members(result.get("capabilities"))
        instructions = result.get("instructions")
        self.instructions = instructions if isinstance(instructions, str) else ""

    # Sending

    async def _send(
        self, method: str, params: dict[str, Any], timeout_s: float, more: Mapping[str, str]
    ) -> TargetResponse:
        self._number += 1
        headers = {**self._headers, **more}
        if self._revision == STATELESS:
            params = {**params, "_meta": {**members(params.get("_meta")), **self._client_meta()}}
            headers |= _routing(method, params)
        return await self._deadline.wait(self._transport.request(self._number, method, params, headers), timeout_s)

    def _client_meta(self) -> dict[str, Any]:
        return {
            PROTOCOL_VERSION_META_KEY: STATELESS,
            CLIENT_INFO_META_KEY: _CLIENT,
            CLIENT_CAPABILITIES_META_KEY: self._client_capabilities,
        }


def _opened(answer: TargetResponse) -> dict[str, Any]:
    if answer.result is None:
        raise TargetError("the target refuses to open in this revision")
    return answer.result


def _routing(method: str, params: dict[str, Any]) -> dict[str, str]:
    """The headers by which intermediaries route a request of 2026-07-28 without reading it."""
    name = params.get(NAME_BEARING_METHODS.get(method, ""))
    named = {MCP_NAME_HEADER: encode_header_value(name)} if isinstance(name, str) else {}
    return {MCP_PROTOCOL_VERSION_HEADER: STATELESS, MCP_METHOD_HEADER: method, **named}
