"""`louver call`: call one tool, optionally with a projection.

louver call http://127.0.0.1:8080/mcp get_user '{"id": 7}' --include name
louver call "louver serve -- npx -y @modelcontextprotocol/server-memory" read_graph --include entities.name
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import asynccontextmanager
from http import HTTPStatus
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import httpx2
from anyio import fail_after
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import PARSE_ERROR

from louver.cli import logs, signals, terminal
from louver.cli.request import tool_arguments, write
from louver.client.target import url_or_words
from louver.client.wire import Wire
from louver.core import json
from louver.core.projection.request import Projection
from louver.errors import InvalidInput, InvalidProjection, LouverError
from louver.limits import OPENING_TIMEOUT_S
from louver.protocol.names import PROJECTION_LITERAL
from louver.protocol.output import is_structured
from louver.server.calls.unmatched import unmatched_in

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncGenerator


_HTTP_TIMEOUT: Final = httpx2.Timeout(30, read=300)
"""That of the SDK's own clients, in seconds."""

_NO_RECEIPT = (
    "this is not projected: put the gateway before the server, `louver serve -- COMMAND` or `louver serve --url URL`"
)

_NO_TOKEN = (
    ": it wants a token. Name the server in a file, with its token among its `headers`, and call "
    "that: TARGET is the command `louver serve --config FILE`, in one word"
)


def run(arguments: Namespace) -> int:
    """Print the tool's answer; return 1 if it is an error, or is not projected although a projection was requested."""
    logs.silence_libraries()
    server = parse_target(arguments.target, arguments.tool)
    request, call_arguments = _request(arguments), tool_arguments(arguments.arguments)
    _check_encodable([arguments.tool, call_arguments, request])
    meta: Any = None
    if request is not None:
        # Refuse a malformed projection before it is sent.
        Projection.from_wire(request)
        meta = {PROJECTION_LITERAL: request}
    return signals.run(_run(server, call_arguments, meta, arguments))


async def _run(server: str | list[str], call_arguments: dict[str, Any], meta: Any, options: Namespace) -> int:
    error_statuses: list[int] = []
    try:
        with fail_after(OPENING_TIMEOUT_S) as timeout:
            async with Client(_client_target(server, error_statuses), mode="auto") as client:
                timeout.deadline = inf
                result = await _result(client, options.tool, call_arguments, meta)
    except TimeoutError:
        terminal.print_stderr(f"the server has not opened within {OPENING_TIMEOUT_S:g} s")
        return 1
    except (OSError, MCPError, ExceptionGroup) as error:
        terminal.print_stderr(f"the server cannot be opened: {_reason(error)}{_status_text(error_statuses)}")
        return 1
    if isinstance(result, MCPError | LouverError):
        terminal.print_stderr(str(result))
        return 1
    if options.json:
        write(result)
    else:
        _show(result)
    is_error = bool(result.get("isError"))
    if meta is not None and not is_error and PROJECTION_LITERAL not in json.members(result.get("_meta")):
        terminal.print_stderr(_NO_RECEIPT)
        return 1
    return 1 if is_error else 0


async def _result(
    client: Client, tool: str, call_arguments: dict[str, Any], meta: Any
) -> dict[str, Any] | MCPError | LouverError:
    """The answer as received. Errors are returned: raised here, they would leave the client in an exception group."""
    try:
        return await Wire(client).call(tool, call_arguments, meta or {})
    except (MCPError, LouverError) as error:
        return error


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


def _client_target(server: str | list[str], error_statuses: list[int]) -> Any:
    """The server as the SDK client takes it; `refusals` collects HTTP error statuses, which that does not report."""
    if isinstance(server, str):
        return _http_transport(server, error_statuses)
    return StdioServerParameters(command=server[0], args=server[1:], env=dict(os.environ))


@asynccontextmanager
async def _http_transport(url: str, error_statuses: list[int]) -> AsyncGenerator[Any]:
    async def record_status(response: httpx2.Response) -> None:
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            error_statuses.append(response.status_code)

    async with (
        httpx2.AsyncClient(timeout=_HTTP_TIMEOUT, event_hooks={"response": [record_status]}) as http,
        streamable_http_client(url, http_client=http) as streams,
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


_ADDRESS: Final = re.compile(r"[^/\s]+(?::\d+(?:/.*)?|/mcp/?)")  # probably a URL without its scheme


def parse_target(text: str, tool: str) -> str | list[str]:
    """The URL in `text`, or the words of the command; `tool` only improves the error message."""
    found = url_or_words(text)
    if isinstance(found, str) or shutil.which(found[0]) is not None:
        return found
    expected = "TARGET is a URL that begins with http:// or https://, or the command that starts a server"
    raise InvalidInput(f"there is no such command: {expected}; {_target_hint(found[0], tool)}")


def _target_hint(command: str, tool: str) -> str:
    # Text that may hold a secret is not repeated.
    if "=" in command and "/" not in command.partition("=")[0]:
        return "a variable is set before louver itself, and not in TARGET"
    if _ADDRESS.fullmatch(command):
        return "for a URL, put http:// before it"
    if tool.startswith(("{", "[")):
        return f"if {command!r} is the tool, TARGET is missing before it: louver call TARGET {command} ARGS"
    if Path(command).is_file():
        return f'{command!r} is a file: put before it what runs it, as in "python server.py"'
    return f"{command!r} is none"
