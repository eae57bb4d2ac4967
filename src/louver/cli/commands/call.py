"""`louver call`: call one tool, optionally with a projection.

    louver call get_user user_id=7 --include name --url http://127.0.0.1:8080/mcp
    louver call read_graph --include entities.name --config mcp.json --server memory

A command and a URL are called directly. The servers of a file are called through the gateway, listed in full, so that
its views and policies apply.
"""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from math import inf
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

import httpx2
from anyio import fail_after
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import PARSE_ERROR

from louver.cli import logs, servers, signals, terminal, tool_arguments
from louver.cli.request import write
from louver.client.wire import Wire
from louver.core import json
from louver.core.nearest import did_you_mean
from louver.core.projection.request import Projection
from louver.errors import InvalidInput, InvalidProjection, LouverError
from louver.limits import OPENING_TIMEOUT_S
from louver.protocol.names import PROJECTION_LITERAL
from louver.protocol.output import is_structured
from louver.server.calls.unmatched import unmatched_in

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncGenerator

    from louver.gateway.config.model import UpstreamConfig


_HTTP_TIMEOUT: Final = httpx2.Timeout(30, read=300)
"""That of the SDK's own clients, in seconds."""

_NO_RECEIPT = (
    "this is not projected, since the server does not project: put the gateway before it, by `-- louver serve -- "
    "COMMAND` or `-- louver serve --url URL`"
)

_NO_TOKEN = ": it wants a token; give the file that holds it by --token"


def run(arguments: Namespace) -> int:
    """Print the tool's answer; return 1 if it is an error, or is not projected although a projection was requested."""
    logs.silence_libraries()
    request = _request(arguments)
    texts, given = tool_arguments.split(arguments.pairs), tool_arguments.from_json(arguments.json_args)
    _check_encodable([arguments.tool, texts, given, request])
    meta: dict[str, Any] = {}
    if request is not None:
        # Refuse a malformed projection before it is sent.
        Projection.from_wire(request)
        meta = {PROJECTION_LITERAL: request}
    server = servers.read_for_client(arguments, "--exposure", "full")
    call = _Call(arguments.tool, texts, given, meta)
    if arguments.config is None:
        return signals.run(_run(server, call, as_json=arguments.json))
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        status = signals.run(_run(server, call, as_json=arguments.json, log=log))
        if status != 0:
            log.seek(0)
            print(log.read(), end="", file=sys.stderr)
    return status


@dataclass(frozen=True, slots=True)
class _Call:
    tool: str
    texts: dict[str, str]  # arguments to be read by the tool's input schema
    given: dict[str, Any]  # arguments from JSON
    meta: dict[str, Any]


async def _run(server: UpstreamConfig, call: _Call, *, as_json: bool, log: TextIO | None = None) -> int:
    """Make the call; `log` gets what the process of the server writes to standard error."""
    error_statuses: list[int] = []
    try:
        with fail_after(OPENING_TIMEOUT_S) as timeout:
            async with Client(_client_target(server, error_statuses, log), mode="auto") as client:
                timeout.deadline = inf
                result = await _result(client, call)
    except TimeoutError:
        terminal.print_stderr(f"the server has not opened within {OPENING_TIMEOUT_S:g} s")
        return 1
    except (OSError, MCPError, ExceptionGroup) as error:
        terminal.print_stderr(f"the server cannot be opened: {_reason(error)}{_status_text(error_statuses)}")
        return 1
    if isinstance(result, InvalidInput):
        raise result
    if isinstance(result, MCPError | LouverError):
        terminal.print_stderr(str(result))
        return 1
    if as_json:
        write(result)
    else:
        _show(result)
    is_error = bool(result.get("isError"))
    if call.meta and not is_error and PROJECTION_LITERAL not in json.members(result.get("_meta")):
        terminal.print_stderr(_NO_RECEIPT)
        return 1
    return 1 if is_error else 0


async def _result(client: Client, call: _Call) -> dict[str, Any] | MCPError | LouverError:
    """The answer as received. Errors are returned: raised here, they would leave the client in an exception group."""
    wire, tools = Wire(client), dict[str, dict[str, Any]]()
    try:
        tools = await wire.tools()
        schema = tools[call.tool].get("inputSchema") if call.tool in tools else None
        result = await wire.call(call.tool, tool_arguments.typed(call.texts, call.given, schema), call.meta)
    except (MCPError, LouverError) as error:
        result = error
    is_refused = not isinstance(result, dict) or bool(result.get("isError"))
    if is_refused and tools and call.tool not in tools:
        terminal.print_stderr(f"the server lists no tool {call.tool!r}{did_you_mean(call.tool, tools)}")
    return result


def _reason(error: BaseException) -> str:
    """The text of the first error in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    # After one protocol revision fails the client tries the other, and its second error explains nothing.
    first = error.__context__ if isinstance(error, MCPError) and isinstance(error.__context__, MCPError) else error
    if isinstance(first, MCPError) and first.code == PARSE_ERROR:
        # The client's own message quotes the bytes received.
        return "it answers with what is no message of JSON-RPC"
    return str(first) or type(first).__name__


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
        for clause in unmatched_in(receipt):
            terminal.print_stderr(clause)
        if any("," in path for path in json.strings(receipt.get("unmatched"))):
            terminal.print_stderr("an option takes one field, and stands once for each")


def _client_target(server: UpstreamConfig, error_statuses: list[int], log: TextIO | None) -> Any:
    """The server as the SDK client takes it; the client itself does not report HTTP error statuses."""
    if server.transport == "http":
        return _http_transport(server, error_statuses)
    command, *words = server.command
    parameters = StdioServerParameters(command=command, args=words, env=dict(server.env))
    return parameters if log is None else stdio_client(parameters, errlog=log)


@asynccontextmanager
async def _http_transport(server: UpstreamConfig, error_statuses: list[int]) -> AsyncGenerator[Any]:
    async def record_status(response: httpx2.Response) -> None:
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            error_statuses.append(response.status_code)

    hooks = {"response": [record_status]}
    async with (
        httpx2.AsyncClient(headers=dict(server.headers), timeout=_HTTP_TIMEOUT, event_hooks=hooks) as http,
        streamable_http_client(server.url, http_client=http) as streams,
    ):
        yield streams


def _status_text(error_statuses: list[int]) -> str:
    if not error_statuses:
        return ""
    return f" (HTTP {error_statuses[-1]}){_NO_TOKEN if error_statuses[-1] == HTTPStatus.UNAUTHORIZED else ''}"


def _check_encodable(call: Any) -> None:
    """Refuse text that is not encodable as UTF-8, for which the client would raise an unrelated error."""
    try:
        json.compact(call).encode()
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
