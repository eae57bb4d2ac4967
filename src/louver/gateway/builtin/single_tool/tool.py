"""The tool `gateway` and its actions. Source: 001 pattern 1.

    {"action": "call", "id": "tracker__list_issues", "arguments": {"state": "open"}, "fields": ["items.number"]}
    -> {"data": {"items": [{"number": 7}]}}, or the text of a tool that answers no JSON, to models of known hosts

Guidance and warnings are members next to `data`, because some hosts show a model only structured content. The receipt
of the inner call is in `_meta["dev.louver/data"]`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.signature import described
from louver.catalogue.summary import summary
from louver.concurrency.offload import in_thread, run_in_thread
from louver.core.json import compact, is_array, is_object, members, strings
from louver.core.nearest import instead, nearest
from louver.core.wrapper import text_wrapper_in
from louver.errors import InvalidArguments, ToolFailed, UnknownName
from louver.gateway.builtin.behind import VisibleServers
from louver.gateway.builtin.described import describe_tool
from louver.gateway.builtin.scripts import execute_tools
from louver.gateway.builtin.search import FoundTools, as_text, query_of, search_tools
from louver.gateway.builtin.single_tool.exports import export_summary
from louver.gateway.builtin.single_tool.manifest import manifest
from louver.steps.calls.output import find_output_in_thread
from louver.steps.calls.unmatched import unmatched_in
from louver.steps.calls.warnings import CODES
from louver.steps.recipient import recipient_of
from louver.steps.results.preview import can_be_kept
from louver.steps.results.results import ResultInfo
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.names import DATA, GUIDANCE, PROJECTION_LITERAL, RESULT, WARNINGS
from louver.wire.output import blocks, find_output, texts_of
from louver.wire.results import kept_at

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from louver.gateway.back.upstream import Upstream
    from louver.gateway.builtin.scripts import ScriptRunner
    from louver.gateway.builtin.single_tool.exports import Exports
    from louver.gateway.builtin.step import BuiltInCall, BuiltInTool
    from louver.wire.output import Output

TOOLS_LISTED = 50
"""Tools that the single tool lists at a time, by default."""


# The actions and their parameters.
ACTION_PARAMETERS: Final = {
    "discover": (),
    "list": ("server", "limit", "offset"),
    "search": ("query", "needs", "limit"),
    "get": ("id",),
    "call": ("id", "arguments", "fields", "view", "compact"),
    "export": ("id", "arguments"),
}

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}

# The description tells which action takes what, in few words: every model pays for each in every task.
_DEFINITION: Final[dict[str, Any]] = {
    "name": "gateway",
    "description": (
        "All tools in one: discover (manual), search (query, or needs: a line each), get, "
        "call (id, arguments, output fields)."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "action": {**_TEXT, "enum": list(ACTION_PARAMETERS)},
            "id": _TEXT,
            "query": _TEXT,
            "needs": _TEXTS,
            "server": _TEXT,
            "arguments": {"type": "object"},
            "fields": _TEXTS,
            "view": _TEXT,
            "compact": {"type": "boolean"},
            "limit": {"type": "integer"},
            "offset": {"type": "integer"},
        },
        "required": ["action"],
    },
}


_INSTRUCTIONS: Final = (
    "All tools of this server are reached by one: gateway. Search by needs, a short line for each thing to do, or "
    "list; get what is not described yet, then call it, with the fields that you need. gateway(action='discover') "
    "tells more, once."
)


class SingleToolProvider:
    """Built-in tools of the exposure `gateway`: the single tool, and `execute` if scripts can run."""

    hides_upstream_tools = True
    can_collide = False

    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        scripts: ScriptRunner | None,
        exports: Exports,
    ) -> None:
        self._upstreams = upstreams
        self._scripts = scripts
        self._tool = _GatewayTool(upstreams, exports)

    async def instructions(self) -> str:
        return _INSTRUCTIONS

    async def tools(self) -> Sequence[BuiltInTool]:
        return [self._tool, *await execute_tools(self._upstreams, self._scripts)]

    def can_call_upstreams(self, tools: Sequence[BuiltInTool]) -> bool:
        return False


class _GatewayTool:
    definition = _DEFINITION

    def __init__(self, upstreams: Mapping[str, Upstream], exports: Exports) -> None:
        self._upstreams = upstreams
        self._exports = exports
        self._actions: dict[str, Callable[[_ActionCall], Awaitable[dict[str, Any]]]] = {
            "discover": _discover,
            "list": _list,
            "search": _search,
            "get": _get,
            "export": partial(_export, exports),
        }

    async def answer(self, built_in_call: BuiltInCall) -> dict[str, Any]:
        action = _action(built_in_call.arguments)
        # Only `call` passes on guidance and warnings.
        ask = partial(built_in_call.ask, plain=action != "call", is_counted=True)
        action_call = _ActionCall(VisibleServers(self._upstreams, built_in_call.caller.client, ask), built_in_call)
        is_known_model = recipient_of(built_in_call.caller.request).known_host is not None
        if action == "call":
            return await _call(action_call, is_known_model=is_known_model)
        if is_known_model and action in _MODEL_ANSWERS:
            return {"content": [{"type": "text", "text": await _MODEL_ANSWERS[action](action_call)}]}
        result = await self._actions[action](action_call)
        return {"content": [{"type": "text", "text": compact(result)}], "structuredContent": result}


def _action(arguments: dict[str, Any]) -> str:
    """Return the action, after checking that it exists and takes all the arguments."""
    action: str = arguments["action"]
    if action not in ACTION_PARAMETERS:
        raise InvalidArguments(f"'action' is one of {', '.join(map(repr, ACTION_PARAMETERS))}", argument="action")
    unknown = next((name for name in arguments if name not in ("action", *ACTION_PARAMETERS[action])), None)
    if unknown is not None:
        accepted = ", ".join(map(repr, ACTION_PARAMETERS[action])) or "none"
        raise InvalidArguments(f"the action {action!r} takes {accepted}, but not {unknown!r}", argument=unknown)
    return action


class _ActionCall:
    """One call of the tool `gateway`, with accessors for its arguments."""

    def __init__(self, visible_servers: VisibleServers, built_in_call: BuiltInCall) -> None:
        self.visible_servers = visible_servers
        self.built_in_call = built_in_call
        self.arguments = built_in_call.arguments

    def text(self, name: str) -> str:
        """Return a required argument, or raise `InvalidArguments`."""
        if not self.arguments.get(name):
            action = self.arguments["action"]
            raise InvalidArguments(f"{name!r} is missing: the action {action!r} needs it", argument=name)
        return self.arguments[name]

    def number(self, name: str, default: int, *, minimum: int) -> int:
        """Return an integer argument, or raise `InvalidArguments` if it is below `least`."""
        number: int = self.arguments.get(name, default)
        if number < minimum:
            raise InvalidArguments(f"{name!r}: expected a number of {minimum} or more", argument=name)
        return number

    async def tool(self) -> dict[str, Any]:
        """Return the listed tool of the argument `id`, or raise `UnknownName`."""
        name = self.text("id")
        server = self.visible_servers.server_of(name)
        listing = await self.visible_servers.tools(server if server in self.visible_servers.names else None)
        tools = {tool["name"]: tool for some in listing.values() for tool in some.values()}
        if name not in tools:
            raise UnknownName(f"{name[:80]!r} is no tool: {instead(name, tools)}", nearest=nearest(name, tools))
        return tools[name]


async def _discover(call: _ActionCall) -> dict[str, Any]:
    return manifest(await call.visible_servers.statuses(), await call.visible_servers.tools())


async def _list(call: _ActionCall) -> dict[str, Any]:
    server: str | None = call.arguments.get("server")
    if server is not None and server not in call.visible_servers.names:
        names = call.visible_servers.names
        raise UnknownName(f"{server[:80]!r} is no server: {instead(server, names)}", nearest=nearest(server, names))
    tools = await call.visible_servers.tools(server)
    chosen = [tool for name, some in tools.items() if server in (None, name) for tool in some.values()]
    offset, limit = call.number("offset", 0, minimum=0), call.number("limit", TOOLS_LISTED, minimum=1)
    result: dict[str, Any] = {"tools": [_line(tool) for tool in chosen[offset : offset + limit]], "total": len(chosen)}
    if offset + limit < len(chosen):
        result["NOTE"] = f"There are more: offset={offset + limit}, or search."
    return result


async def _search(call: _ActionCall) -> dict[str, Any]:
    found = await _found(call)
    result: dict[str, Any] = {"tools": [_line(tool) | found.need(tool) for tool in found.tools]}
    if found.has_more:
        result["NOTE"] = "There are more that fit: say it in other words, or with a higher limit."
    return result


async def _search_for_model(call: _ActionCall) -> str:
    found = await _found(call)
    return await run_in_thread(found.tools, partial(as_text, found, _example, output=True))


def _example(name: str) -> str:
    return f"gateway {compact({'action': 'call', 'id': name, 'arguments': {}, 'fields': []})}"


async def _found(call: _ActionCall) -> FoundTools:
    needs, limit = call.arguments.get("needs"), call.number("limit", TOOLS_LISTED, minimum=1)
    if needs is not None and "query" in call.arguments:
        raise InvalidArguments("either 'query' or 'needs', not both", argument="needs")
    query = call.text("query") if needs is None else query_of(needs)
    ask = partial(call.built_in_call.ask, "tools/list", matches_a_page=limit)
    return await search_tools(query, ask)


async def _get(call: _ActionCall) -> dict[str, Any]:
    tool = await call.tool()
    return {"id": tool["name"], **describe_tool(tool)}


async def _get_for_model(call: _ActionCall) -> str:
    return described(await call.tool(), output=True)


# Action -> its answer to a model of a known host.
_MODEL_ANSWERS: Final = {"search": _search_for_model, "get": _get_for_model}


async def _call(call: _ActionCall, *, is_known_model: bool) -> dict[str, Any]:
    name: str = (await call.tool())["name"]
    is_compact: bool = call.arguments.get("compact", True)
    arguments: dict[str, Any] = call.arguments.get("arguments", {})
    result = await call.visible_servers.call_checked(name, arguments, _projection(call), name, compact=is_compact)
    return await run_in_thread(result, partial(_gateway_result, result, is_known_model=is_known_model))


def _gateway_result(result: dict[str, Any], *, is_known_model: bool) -> dict[str, Any]:
    """Convert a tool's result to that of the tool `gateway`, with the output under `data`, or as its text."""
    meta = members(result.get("_meta"))
    notes, warnings = _objects(meta.get(GUIDANCE)), _objects(meta.get(WARNINGS))
    all_blocks = blocks(result)
    # The last blocks are the guidance and the warnings, one block each.
    tool_blocks = all_blocks[: max(0, len(all_blocks) - len(notes) - len(warnings))]
    texts = texts_of({"content": tool_blocks})
    if is_object(meta.get(RESULT)):
        structured: dict[str, Any] = {"data": result.get("structuredContent"), "NOTE": "\n".join(texts)}
    else:
        output = find_output({**result, "content": tool_blocks}, text_wrapper_in(result.get("structuredContent")))
        if output is None and is_known_model:
            return {"content": all_blocks}
        structured = {"data": "\n".join(texts) if output is None else output.value}
    if notes:
        structured["GUIDANCE"] = notes
    structured |= {each["code"]: each.get("message") for each in warnings if each.get("code") in CODES}
    others = [block for block in tool_blocks if block.get("type") != "text"]
    receipt = meta.get(PROJECTION_LITERAL)
    if unmatched := unmatched_in(members(receipt)):
        structured["NOTE"] = "; ".join(unmatched)
    return {
        "content": [{"type": "text", "text": compact(structured)}, *others],
        "structuredContent": structured,
        **({} if receipt is None else {"_meta": {DATA: receipt}}),
    }


async def _export(exports: Exports, call: _ActionCall) -> dict[str, Any]:
    """Call a tool, store its whole result, and return the place and a preview."""
    name: str = (await call.tool())["name"]
    result = await call.visible_servers.call_checked(
        name, call.arguments.get("arguments", {}), None, name, compact=False
    )
    uri = kept_at(result)
    output = await _find_output(result) if uri is None else await _read_kept_output(name, result, uri, call)
    if output is None or not can_be_kept(output):
        message = f"{name} has run, and its answer is no object and no array: nothing is exported, here it is"
        raise ToolFailed(message, tool=name, content=blocks(result))
    text = await in_thread(partial(compact, output.value))
    size = len(text.encode("utf-8", "surrogatepass"))
    request = call.built_in_call.caller.request
    location = await exports.put(text, ResultInfo(name, wrapper=output.wrapper), request)
    request.record.reduced_by("kept")
    return {**location, **await in_thread(partial(export_summary, output.value, size))}


async def _find_output(result: dict[str, Any]) -> Output | None:
    """Return the output in a result."""
    return await find_output_in_thread(result, text_wrapper_in(result.get("structuredContent")))


async def _read_kept_output(name: str, result: dict[str, Any], uri: str, call: _ActionCall) -> Output | None:
    """Return the output that the upstream keeps after sending a preview; raise `ToolFailed` if it is not readable."""
    try:
        read = await call.built_in_call.ask("resources/read", {"uri": uri})
    except JsonRpcError:
        message = (
            f"{name} has run, and its server keeps the answer, but does not give it whole: nothing is exported, "
            "here is where parts of it are read"
        )
        raise ToolFailed(message, tool=name, content=blocks(result)) from None
    contents = blocks({"content": read.get("contents")})
    return await _find_output({"content": [{**content, "type": "text"} for content in contents]})


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; `_meta` may come from an upstream, so its content is not trusted."""
    return [each for each in value if is_object(each)] if is_array(value) else []


def _projection(call: _ActionCall) -> dict[str, Any] | None:
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
