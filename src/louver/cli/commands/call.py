"""`louver call`: call one tool, optionally with a projection.

    louver call get_user user_id=7 --include name --url http://127.0.0.1:8080/mcp
    louver call read_graph --include entities.name --config mcp.json --server memory

A command and a URL are called directly. The servers of a file are called through the gateway, listed in full, so that
its views and policies apply.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from logging import CRITICAL
from typing import TYPE_CHECKING, Any

from louver.cli import process, servers, terminal, tool_arguments, upstreams
from louver.cli.json_streams import write
from louver.cli.logs import StderrTail
from louver.core import json
from louver.core.nearest import did_you_mean
from louver.core.projection.request import Projection
from louver.errors import InvalidInput, InvalidProjection, LouverError
from louver.gateway.clients.client import GatewayCaller
from louver.gateway.clients.revisions import GATEWAY_IDENTITY, with_envelope
from louver.limits import OPENING_TIMEOUT_S
from louver.steps.calls.unmatched import unmatched_in
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.names import PROJECTION_LITERAL
from louver.wire.output import is_structured

if TYPE_CHECKING:
    from argparse import Namespace

    from louver.gateway.config.model import Config
    from louver.gateway.gateway import Gateway, UpstreamState

_NO_RECEIPT = (
    "this is not projected, since the server does not project: put the gateway before it, by `-- louver serve -- "
    "COMMAND` or `-- louver serve --url URL`"
)

PATIENCE_S = 300.0
"""How long a tool may be silent, in seconds: nobody else waits for it."""

_UNAUTHORIZED = ("HTTP 401", "louver login --url URL")
_NO_TOKEN = " (with a token: --token FILE)"
_OWN = "louver: "
"""How lines of `louver serve` begin, behind which the servers of a file are."""


def run(arguments: Namespace) -> int:
    """Print the tool's answer; return 1 if it is an error, or is not projected although a projection was requested."""
    request = _request(arguments)
    texts, given = tool_arguments.split(arguments.pairs), tool_arguments.from_json(arguments.json_args)
    _check_encodable([arguments.tool, texts, given, request])
    meta: dict[str, Any] = {}
    if request is not None:
        # Refuse a malformed projection before it is sent.
        Projection.from_wire(request)
        meta = {PROJECTION_LITERAL: request}
    config = servers.read_for_client(arguments, "--exposure", "full")
    config = replace(config, upstreams=tuple(replace(each, timeout_seconds=PATIENCE_S) for each in config.upstreams))
    return process.run(_run(config, _Call(arguments.tool, texts, given, meta), as_json=arguments.json))


@dataclass(frozen=True, slots=True)
class _Call:
    tool: str
    texts: dict[str, str]  # arguments to be read by the tool's input schema
    given: dict[str, Any]  # arguments from JSON
    meta: dict[str, Any]


async def _run(config: Config, call: _Call, *, as_json: bool) -> int:
    tail = StderrTail()
    try:
        async with upstreams.open_gateway(config, _open, stderr_tail=tail, log_level=CRITICAL) as (gateway, [state]):
            if state.problem is not None:
                hint = _NO_TOKEN if state.problem.endswith(_UNAUTHORIZED) else ""
                terminal.print_stderr(f"the server cannot be opened: {state.problem}{hint}")
                return 1
            result = await _result(gateway, state, call)
    except TimeoutError:
        terminal.print_stderr(f"the server has not opened within {OPENING_TIMEOUT_S:g} s")
        return 1
    status = 1 if result is None else _report(result, call, as_json=as_json)
    for line in tail.lines_of(state.name) if status != 0 else ():
        terminal.print_stderr(line.removeprefix(_OWN))
    return status


async def _open(gateway: Gateway) -> list[UpstreamState]:
    async with asyncio.timeout(OPENING_TIMEOUT_S):
        return await gateway.open()


async def _result(gateway: Gateway, state: UpstreamState, call: _Call) -> dict[str, Any] | None:
    """The server's own answer; `None`, and a line on standard error, if it refuses the call."""
    tools = {tool["name"]: tool for tool in state.tools}
    schema = tools[call.tool].get("inputSchema") if call.tool in tools else None
    arguments = tool_arguments.typed(call.texts, call.given, schema)
    result: dict[str, Any] | None = None
    try:
        session = await gateway.upstreams[state.name].session()
        params = {"name": call.tool, "arguments": arguments, "_meta": call.meta}
        result = await session.call(GatewayCaller(), "tools/call", with_envelope(params, GATEWAY_IDENTITY.envelope))
    except (JsonRpcError, LouverError) as error:
        terminal.print_stderr(error.message)
    if (result is None or result.get("isError")) and tools and call.tool not in tools:
        terminal.print_stderr(f"the server lists no tool {call.tool!r}{did_you_mean(call.tool, tools)}")
    if result is not None and result.get("resultType") == "input_required":
        terminal.print_stderr(f"tool {call.tool!r} asks for input first, which only a client with a user can give")
        return None
    return result


def _report(result: dict[str, Any], call: _Call, *, as_json: bool) -> int:
    """Print an answer; the exit status."""
    if as_json:
        write(result)
    else:
        _show(result)
    is_error = bool(result.get("isError"))
    if call.meta and not is_error and PROJECTION_LITERAL not in json.members(result.get("_meta")):
        terminal.print_stderr(_NO_RECEIPT)
        return 1
    return 1 if is_error else 0


def _show(result: dict[str, Any]) -> None:
    """Print the output on standard output, and its receipt on standard error."""
    if is_structured(result):
        write(result["structuredContent"])
    else:
        for block in result.get("content", ()):
            print(block["text"] if block.get("type") == "text" else f"[{block.get('type')}]")
    receipt = json.members(result.get("_meta")).get(PROJECTION_LITERAL)
    if receipt is not None:
        summary = {key: value for key, value in receipt.items() if key != "projectedSchema"}
        terminal.print_stderr(json.compact(summary))
        clauses = unmatched_in(receipt)
        if not clauses and receipt.get("mode") == "include" and _is_bare(result.get("structuredContent")):
            # Of an open map no schema says what is missing.
            clauses = ["this answer has none of these fields"]
        for clause in clauses:
            terminal.print_stderr(clause)
        if any("," in path and not path.startswith("$") for path in json.strings(receipt.get("unmatched"))):
            terminal.print_stderr("an option takes one field, and stands once for each")


def _is_bare(value: json.Json) -> bool:
    """Whether a value is an object of nothing but such objects."""
    return json.is_object(value) and all(map(_is_bare, value.values()))


def _check_encodable(call: Any) -> None:
    """Refuse text that is not encodable as UTF-8, for which the client would raise an unrelated error."""
    try:
        json.check_encodable(call)
    except UnicodeEncodeError:
        raise InvalidInput(
            "half a surrogate pair, or a byte that the locale has no letter for, cannot be sent: expected whole "
            "characters in the tool's name, its arguments, and the fields or the view"
        ) from None


def _request(options: Namespace) -> dict[str, Any] | None:
    selections = [bool(options.include), bool(options.exclude), options.view is not None]
    if sum(selections) > 1:
        raise InvalidProjection("one of --include, --exclude and --view at a time")
    if options.view is not None:
        return {"mode": "view", "view": options.view}
    if options.include:
        return {"mode": "include", "fields": options.include}
    return {"mode": "exclude", "fields": options.exclude} if options.exclude else None
