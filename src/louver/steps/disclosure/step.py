"""Progressive disclosure: tools are listed by summary, and described in full on demand. Source: 000.

    client ── disclosure ── projection ── server

It runs outside projection: descriptions hold what projection adds, and admitted calls are projected as usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.hosts import host_of
from louver.concurrency.offload import run_in_thread
from louver.core.json import members
from louver.steps.calls.response import for_model
from louver.steps.disclosure import texts
from louver.steps.disclosure.definitions import ToolDefinitions
from louver.steps.disclosure.describe import DescriptionReader
from louver.steps.disclosure.gate import Gate
from louver.steps.pages import envelope, list_or_empty
from louver.steps.recipient import client_name, recipient_of
from louver.steps.tools.origin import ATTACHED_SERVER
from louver.wire.descriptions import DisclosureCapability, is_about_descriptions
from louver.wire.jsonrpc.errors import METHOD_NOT_FOUND, JsonRpcError
from louver.wire.names import (
    DESCRIPTIONS_PROMPT,
    DESCRIPTIONS_TOOL,
    DESCRIPTIONS_URI,
    DISCLOSURE,
    SERVER,
)
from louver.wire.requests import check_request
from louver.wire.results import READ_RESULT

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.catalogue.files.descriptions import DescriptionFiles
    from louver.catalogue.grants import Grants
    from louver.steps.disclosure.read_limits import ReadLimits
    from louver.steps.request import Next, Request
    from louver.steps.tools.origin import ToolOrigins

_NOT_FOUND: Final = (-32602, -32002, METHOD_NOT_FOUND)  # error codes of servers for an unknown resource


class Disclosure:
    """The middleware: routes each method to its handler; without `grants` a description is read by an error."""

    def __init__(
        self,
        server_info: dict[str, Any],
        subscribe: Callable[[Callable[[], None]], Callable[[], None]],
        files: DescriptionFiles,
        grants: Grants | None,
        read_limits: ReadLimits,
        *,
        origins: ToolOrigins = ATTACHED_SERVER,
    ) -> None:
        self._server_info = server_info
        self._texts = texts.ON_ERROR if grants is None else texts.ENFORCED
        self._enforced = grants is not None
        self._definitions = ToolDefinitions(files, origins)
        self._description_reader = DescriptionReader(self._definitions, grants, read_limits, self._envelope)
        self._gate = Gate(grants, self._envelope)
        self.methods = {
            "initialize": self._handshake,
            "server/discover": self._handshake,
            "tools/list": self._list,
            "tools/call": self._call,
            "resources/list": self._resources,
            "resources/templates/list": self._templates,
            "resources/read": self._read,
            "prompts/list": self._prompts,
            "prompts/get": self._prompt,
        }
        self._unsubscribe = subscribe(self._definitions.invalidate)

    def close(self) -> None:
        """Unsubscribe from the server's events, before another middleware replaces this one."""
        self._unsubscribe()

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        if request.method == "initialize" or request.lasts:
            request.connection.on_tools_changed(self._definitions.invalidate)
        # Before the handshake the SDK refuses requests itself.
        if not (request.method == "initialize" or request.connection.is_open):
            return await call_next(request)
        return await self.methods[request.method](request, call_next)

    async def _handshake(self, request: Request, call_next: Next) -> dict[str, Any]:
        """The handshake result with the capability and instructions; a server without tools has nothing to disclose."""
        handshake = await call_next(request)
        capabilities = members(handshake.get("capabilities"))
        if capabilities.get("tools") is None:
            return handshake
        capability = DisclosureCapability(enforced=self._enforced).to_wire()
        instructions = [text] if (text := handshake.get("instructions")) else []
        return {
            **handshake,
            "capabilities": {
                **capabilities,
                "prompts": capabilities.get("prompts") or {},
                "resources": capabilities.get("resources") or {},
                "extensions": {**members(capabilities.get("extensions")), DISCLOSURE: capability},
            },
            "instructions": "\n\n".join([*instructions, self._texts.instructions]),
        }

    async def _list(self, request: Request, call_next: Next) -> dict[str, Any]:
        """Stage 1: summaries. The describing tool comes last, and is not among search results."""
        result = await call_next(request)
        params = request.params
        query: object = params.get("query")
        is_search = isinstance(query, str) and query.strip() != ""
        is_partial = is_search or SERVER in members(params.get("_meta"))
        is_end = not (is_search or result.get("nextCursor"))
        first, last = not (is_partial or params.get("cursor")), is_end and not is_partial
        tools: list[dict[str, Any]] = result.get("tools") or []
        built_in = [tool for tool in tools if tool == READ_RESULT]
        described_tools = await self._definitions.learn(
            request, [tool for tool in tools if tool != READ_RESULT], first=first, last=last
        )
        # Hosts that load descriptions on demand themselves get the full list.
        if not self._enforced and host_of(client_name(request)).defers:
            return {**result, "tools": tools}
        listed = await run_in_thread(tools, lambda: [*(described.listed for described in described_tools), *built_in])
        if is_end and not self._definitions.has(request, DESCRIPTIONS_TOOL):
            listed.append(self._texts.tool)
        return {**result, "tools": listed}

    async def _call(self, request: Request, call_next: Next) -> dict[str, Any]:
        name: object = request.params.get("name")
        if not isinstance(name, str):
            return await call_next(request)
        recipient = recipient_of(request)
        is_for_model = recipient.known_host is not None
        if name == DESCRIPTIONS_TOOL and not self._definitions.has(request, name):
            answer = await self._description_reader.call(request, call_next, is_for_model=is_for_model)
            if answer is not None:
                return answer if recipient.is_program else await for_model(answer)
        described = await self._definitions.find(name, request, call_next)
        answer = await self._gate.call(described, request, call_next, is_for_model=is_for_model)
        return answer if recipient.is_program else await for_model(answer)

    async def _templates(self, request: Request, call_next: Next) -> dict[str, Any]:
        return await list_or_empty(request, call_next, self._envelope(request))

    async def _resources(self, request: Request, call_next: Next) -> dict[str, Any]:
        return await self._with_added("resources", self._texts.resource, request, call_next)

    async def _prompts(self, request: Request, call_next: Next) -> dict[str, Any]:
        return await self._with_added("prompts", texts.PROMPT, request, call_next)

    async def _with_added(self, kind: str, added: dict[str, Any], request: Request, call_next: Next) -> dict[str, Any]:
        """The server's own list, with our entry first on the first page."""
        result = await list_or_empty(request, call_next, self._envelope(request))
        if request.params.get("cursor"):
            return result
        return {**result, kind: [added, *(result.get(kind) or [])]}

    async def _read(self, request: Request, call_next: Next) -> dict[str, Any]:
        uri: object = request.params.get("uri")
        if not isinstance(uri, str) or not is_about_descriptions(uri):
            return await call_next(request)
        if uri.startswith(DESCRIPTIONS_URI):
            return await self._description_reader.read(request, call_next)
        try:
            # The server may have a resource with a URI that ends like ours.
            return await call_next(request)
        except JsonRpcError as error:
            if error.code not in _NOT_FOUND:
                raise
        return await self._description_reader.read(request, call_next)

    async def _prompt(self, request: Request, call_next: Next) -> dict[str, Any]:
        if request.params.get("name") != DESCRIPTIONS_PROMPT:
            return await call_next(request)
        check_request(request.method, request.revision, request.params)
        return {**self._envelope(request), **self._texts.prompt_result()}

    def _envelope(self, request: Request) -> dict[str, Any]:
        return envelope(self._server_info, request)
