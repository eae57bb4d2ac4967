"""The tool `gateway` and its actions. Source: 001 pattern 1.

    {"action": "call", "id": "tracker__list_issues", "arguments": {"state": "open"}, "fields": ["items.number"]}
    -> {"data": {"items": [{"number": 7}]}}

Guidance and warnings are members next to `data`, because some hosts show a model only structured content. The receipt
of the inner call is in `_meta["dev.louver/data"]`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp_types import METHOD_NOT_FOUND

from louver.catalogue.summary import summary
from louver.concurrency.offload import aside, in_thread
from louver.core.json import compact, is_array, is_object, members, strings
from louver.core.nearest import instead, nearest
from louver.core.wrapper import text_wrapper_in
from louver.errors import InvalidArguments, RateLimited, ToolFailed, UnknownName, UpstreamUnavailable
from louver.gateway.discovery.behind import Behind
from louver.gateway.discovery.described import described
from louver.gateway.discovery.tools import executing
from louver.gateway.single_tool.exports import told
from louver.gateway.single_tool.manifest import manifest
from louver.limits import TOOLS_LISTED
from louver.protocol.names import DATA, GUIDANCE, PROJECTION_LITERAL, QUERY, RESULT, WARNINGS
from louver.protocol.output import blocks, find_output, texts_of
from louver.protocol.query import queried
from louver.protocol.results import kept_at
from louver.server.calls.output import found_output
from louver.server.calls.unmatched import unmatched_in
from louver.server.calls.warnings import CODES
from louver.server.results.preview import can_be_kept
from louver.server.results.results import About

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from louver.errors import LouverError
    from louver.gateway.discovery.scripts import Scripts
    from louver.gateway.middleware.built_in_tools import Asked, OwnTool
    from louver.gateway.single_tool.exports import Exports
    from louver.gateway.upstream.upstream import Upstream
    from louver.protocol.output import Output

# The actions and their parameters.
TAKES: Final = {
    "discover": (),
    "list": ("server", "limit", "offset"),
    "search": ("query", "limit"),
    "get": ("id",),
    "call": ("id", "arguments", "fields", "view", "compact"),
    "export": ("id", "arguments"),
}

_TEXT: Final = {"type": "string"}

# Without descriptions of the parameters, which `discover` returns: every model pays for each word here in every task.
_DEFINITION: Final[dict[str, Any]] = {
    "name": "gateway",
    "description": "All tools behind one. Actions: discover (manual), list, search, get, call, export.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(TAKES)},
            "id": _TEXT,
            "query": _TEXT,
            "server": _TEXT,
            "arguments": {"type": "object"},
            "fields": {"type": "array", "items": _TEXT},
            "view": _TEXT,
            "compact": {"type": "boolean"},
            "limit": {"type": "integer"},
            "offset": {"type": "integer"},
        },
        "required": ["action"],
    },
}


_INSTRUCTIONS: Final = (
    "All tools of this server are reached by one: gateway. Search or list, get what you choose, then call it, with "
    "the fields that you need. gateway(action='discover') tells more, once."
)


class Actions:
    """Built-in tools of the exposure `gateway`: the single tool, and `execute` if scripts can run."""

    hides = True
    can_collide = False

    def __init__(self, upstreams: Mapping[str, Upstream], scripts: Scripts | None, exports: Exports) -> None:
        self._upstreams = upstreams
        self._scripts = scripts
        self._tool = _Gateway(upstreams, exports)

    async def instructions(self) -> str:
        return _INSTRUCTIONS

    async def tools(self) -> Sequence[OwnTool]:
        return [self._tool, *await executing(self._upstreams, self._scripts)]

    def passes(self, tools: Sequence[OwnTool]) -> bool:
        return False


class _Gateway:
    definition = _DEFINITION

    def __init__(self, upstreams: Mapping[str, Upstream], exports: Exports) -> None:
        self._upstreams = upstreams
        self._exports = exports
        self._actions: dict[str, Callable[[_Call], Awaitable[dict[str, Any]]]] = {
            "discover": _discover,
            "list": _list,
            "search": _search,
            "get": _get,
            "export": partial(_export, exports),
        }

    async def answer(self, asked: Asked) -> dict[str, Any]:
        action = _action(asked.arguments)
        # Only `call` passes on guidance and warnings.
        ask = partial(asked.ask, plain=action != "call")
        call = _Call(Behind(self._upstreams, asked.turn.client, ask), asked)
        if action == "call":
            return await _call(call)
        said = await self._actions[action](call)
        return {"content": [{"type": "text", "text": compact(said)}], "structuredContent": said}


def _action(arguments: dict[str, Any]) -> str:
    """Return the action, after checking that it exists and takes all the arguments."""
    action: str = arguments["action"]
    if action not in TAKES:
        raise InvalidArguments(f"'action' is one of {', '.join(map(repr, TAKES))}", argument="action")
    strange = next((name for name in arguments if name not in ("action", *TAKES[action])), None)
    if strange is not None:
        takes = ", ".join(map(repr, TAKES[action])) or "none"
        raise InvalidArguments(f"the action {action!r} takes {takes}, but not {strange!r}", argument=strange)
    return action


class _Call:
    """One call of the tool `gateway`, with accessors for its arguments."""

    def __init__(self, behind: Behind, asked: Asked) -> None:
        self.behind = behind
        self.asked = asked
        self.arguments = asked.arguments

    def text(self, name: str) -> str:
        """Return a required argument, or raise `InvalidArguments`."""
        if not self.arguments.get(name):
            action = self.arguments["action"]
            raise InvalidArguments(f"{name!r} is missing: the action {action!r} needs it", argument=name)
        return self.arguments[name]

    def number(self, name: str, default: int, *, least: int) -> int:
        """Return an integer argument, or raise `InvalidArguments` if it is below `least`."""
        number: int = self.arguments.get(name, default)
        if number < least:
            raise InvalidArguments(f"{name!r}: expected a number of {least} or more", argument=name)
        return number

    async def tool(self) -> dict[str, Any]:
        """Return the listed tool of the argument `id`, or raise `UnknownName`."""
        name = self.text("id")
        server = self.behind.owner(name)
        found = await self.behind.tools(server if server in self.behind.names else None)
        tools = {tool["name"]: tool for some in found.values() for tool in some.values()}
        if name not in tools:
            raise UnknownName(f"{name[:80]!r} is no tool: {instead(name, tools)}", nearest=nearest(name, tools))
        return tools[name]


async def _discover(call: _Call) -> dict[str, Any]:
    return manifest(await call.behind.servers(), await call.behind.tools())


async def _list(call: _Call) -> dict[str, Any]:
    server: str | None = call.arguments.get("server")
    if server is not None and server not in call.behind.names:
        names = call.behind.names
        raise UnknownName(f"{server[:80]!r} is no server: {instead(server, names)}", nearest=nearest(server, names))
    tools = await call.behind.tools(server)
    chosen = [tool for name, some in tools.items() if server in (None, name) for tool in some.values()]
    offset, limit = call.number("offset", 0, least=0), call.number("limit", TOOLS_LISTED, least=1)
    said: dict[str, Any] = {"tools": [_line(tool) for tool in chosen[offset : offset + limit]], "total": len(chosen)}
    if offset + limit < len(chosen):
        said["NOTE"] = f"There are more: offset={offset + limit}, or search."
    return said


async def _search(call: _Call) -> dict[str, Any]:
    query, limit = call.text("query"), call.number("limit", TOOLS_LISTED, least=1)
    if queried({QUERY: query}) is None:
        message = "'query' is white: expected plain words, for example 'create issue'; 'list' tells all tools"
        raise InvalidArguments(message, argument="query")
    try:
        found = await call.asked.ask("tools/list", {QUERY: query}, matches_a_page=limit)
    except MCPError as error:
        if error.code == METHOD_NOT_FOUND:
            return {"tools": []}
        raise _not_found(error) from None
    said: dict[str, Any] = {"tools": [_line(tool) for tool in found["tools"]]}
    if found.get("nextCursor"):
        said["NOTE"] = "There are more that fit: say it in other words, or with a higher limit."
    return said


def _not_found(error: MCPError) -> LouverError:
    """Convert a failed search into an error for the model: rate limit, or no available tool list."""
    said = members(members(error.error.data).get("error"))
    message = said.get("message", f"error {error.code}")
    if said.get("code") == RateLimited.code:
        return RateLimited(message, **{key: said[key] for key in ("limit", "retryAfterSeconds") if key in said})
    return UpstreamUnavailable(f"there is no list of tools to search: {message}")


async def _get(call: _Call) -> dict[str, Any]:
    tool = await call.tool()
    return {"id": tool["name"], **described(tool)}


async def _call(call: _Call) -> dict[str, Any]:
    name: str = (await call.tool())["name"]
    is_compact: bool = call.arguments.get("compact", True)
    arguments: dict[str, Any] = call.arguments.get("arguments", {})
    result = await call.behind.answer(name, arguments, _projection(call), name, compact=is_compact)
    return await aside(result, partial(_told, result))


def _told(result: dict[str, Any]) -> dict[str, Any]:
    """Convert a tool's result to that of the tool `gateway`, with the output under `data`."""
    meta = members(result.get("_meta"))
    notes, warnings = _objects(meta.get(GUIDANCE)), _objects(meta.get(WARNINGS))
    shown = blocks(result)
    # The last blocks are the guidance and the warnings, one block each.
    own = shown[: max(0, len(shown) - len(notes) - len(warnings))]
    texts = texts_of({"content": own})
    if is_object(meta.get(RESULT)):
        said: dict[str, Any] = {"data": result.get("structuredContent"), "NOTE": "\n".join(texts)}
    else:
        output = find_output({**result, "content": own}, text_wrapper_in(result.get("structuredContent")))
        said = {"data": "\n".join(texts) if output is None else output.value}
    if notes:
        said["GUIDANCE"] = notes
    said |= {each["code"]: each.get("message") for each in warnings if each.get("code") in CODES}
    others = [block for block in own if block.get("type") != "text"]
    receipt = meta.get(PROJECTION_LITERAL)
    if unmatched := unmatched_in(members(receipt)):
        said["NOTE"] = "; ".join(unmatched)
    return {
        "content": [{"type": "text", "text": compact(said)}, *others],
        "structuredContent": said,
        **({} if receipt is None else {"_meta": {DATA: receipt}}),
    }


async def _export(exports: Exports, call: _Call) -> dict[str, Any]:
    """Call a tool, store its whole result, and return the place and a preview."""
    name: str = (await call.tool())["name"]
    result = await call.behind.answer(name, call.arguments.get("arguments", {}), None, name, compact=False)
    uri = kept_at(result)
    output = await _found(result) if uri is None else await _kept_elsewhere(name, result, uri, call)
    if output is None or not can_be_kept(output):
        message = f"{name} has run, and its answer is no object and no array: nothing is exported, here it is"
        raise ToolFailed(message, tool=name, content=blocks(result))
    text = await in_thread(partial(compact, output.value))
    size = len(text.encode("utf-8", "surrogatepass"))
    put = await exports.put(text, About(name, wrapper=output.wrapper), call.asked.turn.request)
    return {**put, **await in_thread(partial(told, output.value, size))}


async def _found(result: dict[str, Any]) -> Output | None:
    """Return the output in a result."""
    return await found_output(result, text_wrapper_in(result.get("structuredContent")))


async def _kept_elsewhere(name: str, result: dict[str, Any], uri: str, call: _Call) -> Output | None:
    """Return the output that the upstream keeps after sending a preview; raise `ToolFailed` if it is not readable."""
    try:
        read = await call.asked.ask("resources/read", {"uri": uri})
    except MCPError:
        message = (
            f"{name} has run, and its server keeps the answer, but does not give it whole: nothing is exported, "
            "here is where parts of it are read"
        )
        raise ToolFailed(message, tool=name, content=blocks(result)) from None
    contents = blocks({"content": read.get("contents")})
    return await _found({"content": [{**content, "type": "text"} for content in contents]})


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; `_meta` may come from an upstream, so its content is not trusted."""
    return [each for each in value if is_object(each)] if is_array(value) else []


def _projection(call: _Call) -> dict[str, Any] | None:
    fields, view = call.arguments.get("fields"), call.arguments.get("view")
    if fields is not None and view is not None:
        raise InvalidArguments("either 'fields' or 'view', not both", argument="view")
    if (fields is not None or view is not None) and not call.arguments.get("compact", True):
        message = "'compact': false goes with neither 'fields' nor 'view', which say themselves what is kept"
        raise InvalidArguments(message, argument="compact")
    if view is not None:
        return {"mode": "view", "view": view, "required": True}
    if fields is not None:
        if len(strings(fields)) < len(fields):
            raise InvalidArguments("'fields': expected a list of texts", argument="fields")
        return {"mode": "include", "fields": fields, "required": True}
    return None


def _line(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": tool["name"], "description": summary(tool.get("description"), tool["name"])}
