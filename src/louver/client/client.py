"""A client that requests projections, and checks results against its requests.

    async with louver.Client("http://127.0.0.1:8000/mcp") as client:
        result = await client.call_tool("get_user_profile", {"user_id": 7}, include=["name", "address.city"])
        result.data       {"name": "Ann", "address": {"city": "Rome"}}

A server without projection sends the full output: `required` refuses it, `minimize` prunes it. Source: issue #1704.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from anyio import to_thread
from mcp import Client as McpClient
from mcp import MCPError
from mcp.client import advertise
from mcp_types import ToolListChangedNotification

from louver.catalogue.plan_cache import Plans
from louver.client.answer import judge
from louver.client.call import ProjectedResult, refusal, requested_projection, wire_form
from louver.client.target import only, opened
from louver.client.tools import Tools
from louver.client.typed import Typed
from louver.client.wire import Wire
from louver.errors import InvalidAnswer, InvalidInput, InvalidProjection, OutputInvalid, ProjectionRequired, UnknownView
from louver.wire.names import PROJECTION, PROJECTION_LITERAL

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self, Unpack

    from mcp.client import IncomingMessage

    from louver.client.answer import Answer
    from louver.client.target import ClientOptions, Target
    from louver.client.tools import KnownTool
    from louver.core.json import Json
    from louver.core.projection.request import Paths, Projection

T = TypeVar("T")


class Client:
    """A connection to one server, open within `async with`.

    Args:
        target: A URL, a command (one text or a list of words), a `louver.Gateway`, or whatever else `mcp.Client`
            takes: a server in this process, `StdioServerParameters`, a transport.
        options: The options of `mcp.Client`, such as `mode`, `read_timeout_seconds` and callbacks.

    Raises:
        InvalidInput: The target is neither a URL nor a command.
    """

    def __init__(self, target: Target, **options: Unpack[ClientOptions]) -> None:
        self._message_handler = options.get("message_handler")
        options["message_handler"] = self._on_message
        # Some servers project only for clients that declare the extension.
        options["extensions"] = [advertise(PROJECTION, {}), *(options.get("extensions") or ())]
        self._client = McpClient(opened(target), **options)
        self._wire = Wire(self._client)
        self._plans = Plans()
        self._tools = Tools(self._wire, self._plans, declared=False)
        self._types: dict[Any, Typed[Any]] = {}

    async def __aenter__(self) -> Self:
        try:
            await self._client.__aenter__()
        except BaseExceptionGroup as group:
            # The SDK's task groups wrap a lone error.
            raise only(group) from None
        extensions = self._client.server_capabilities.extensions or {}
        self._tools = Tools(self._wire, self._plans, declared=PROJECTION in extensions)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._client.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            # An error raised within the block leaves it unwrapped.
            if only(group) is not error:
                raise

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        into: type[T],
        include: Paths | None = None,
        strict: bool = False,
        required: bool = False,
    ) -> ProjectedResult[T]: ...

    # To a type checker, a union or an annotated type is not a `type`.
    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        into: Any,
        include: Paths | None = None,
        strict: bool = False,
        required: bool = False,
    ) -> ProjectedResult[Any]: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        include: Paths | None = None,
        exclude: Paths | None = None,
        view: str | None = None,
        strict: bool = False,
        required: bool = False,
        minimize: bool = False,
    ) -> ProjectedResult[Any]: ...

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        include: Paths | None = None,
        exclude: Paths | None = None,
        view: str | None = None,
        into: Any = None,
        strict: bool = False,
        required: bool = False,
        minimize: bool = False,
    ) -> ProjectedResult[Any]:
        """Call a tool; `data` of the result is its output, or the part that was requested.

        Args:
            name: The tool's name.
            arguments: The tool's arguments.
            include: Paths of the fields to keep.
            exclude: Paths of the fields to leave out.
            view: The name of a view of the tool.
            into: A type: request its fields, or what `include` names, and return the output as a value of it.
            strict: Refuse the call if the tool lacks a requested field.
            required: Refuse the call, or its result, if the server does not project.
            minimize: Prune the output in the client if the server does not project; `into` always does.

        Raises:
            InvalidInput: `arguments` is not an object.
            InvalidProjection: The request is malformed, or impossible for the tool. The tool has not run.
            UnfitType: The tool's output can never be a value of `into`. The tool has not run.
            ProjectionRequired: The server does not project. If that is known before the call, the tool has not run.
            InvalidAnswer: The result or its receipt is malformed, or does not match the request.
            OutputInvalid: The output does not satisfy its schema, or is not a value of the type.
            ToolFailed: The tool returned an error; the exception has its content.
            MCPError: The server refused the call for another reason.
        """
        # The caller's types may be unchecked.
        if not isinstance(arguments, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput("expected an object of arguments, for example {'id': 7}")
        tool = await self._tools.find(name)
        named = {"include": include, "exclude": exclude, "view": view}
        typed, projection = await self._request(tool, named, into, strict=strict, required=required, minimize=minimize)
        prunes = minimize or typed is not None
        result = await self._called(tool, arguments, projection)
        answer = await self._judged(tool, projection, result, prunes=prunes)
        return await to_thread.run_sync(_finished, answer, typed, result)

    async def list_tools(self) -> list[dict[str, Any]]:
        """The tools of all pages, as the server lists them: JSON objects with `name`, `inputSchema` and so on."""
        return [*(await self._wire.tools()).values()]

    async def views(self, tool: str) -> dict[str, Json]:
        """The views of a tool: name -> paths in `include` and `exclude`, and shaping options."""
        known = await self._tools.find(tool)
        found: dict[str, Json] = {}
        for name, view in known.views.named.items():
            paths = {"include": [*map(str, view.include)], "exclude": [*map(str, view.exclude)]}
            found[name] = {**{kind: listed for kind, listed in paths.items() if listed}, **view.shaping.to_json()}
        return found

    async def _request(
        self, tool: KnownTool, named: dict[str, Any], into: Any, *, strict: bool, required: bool, minimize: bool
    ) -> tuple[Typed[Any] | None, Projection | None]:
        if into is None:
            typed, projection = None, requested_projection(named, strict=strict, required=required)
        elif named["exclude"] is None and named["view"] is None:
            typed = await to_thread.run_sync(self._typed, into)
            if named["include"] is None:
                projection = typed.projection(strict=strict, required=required)
            else:
                projection = requested_projection(named, strict=strict, required=required)
        else:
            raise InvalidProjection("one of 'exclude', 'view', 'into' at a time")
        if projection is not None:
            await to_thread.run_sync(partial(tool.check, projection, prunes=minimize))
            if required and not tool.projects:
                message = f"a projection is required, and the server of tool {tool.name!r} says nothing of any"
                raise ProjectionRequired(message, reason="not_supported")
        if typed is not None:
            await to_thread.run_sync(typed.check, tool)
        return typed, projection

    def _typed(self, into: Any) -> Typed[Any]:
        try:
            if into not in self._types:
                self._types[into] = Typed(into)
            return self._types[into]
        except TypeError:
            # The type is not hashable, such as one annotated with a list.
            return Typed(into)

    async def _called(
        self, tool: KnownTool, arguments: Mapping[str, Any] | None, projection: Projection | None
    ) -> dict[str, Any]:
        meta: dict[str, Any] = {}
        if projection is not None:
            form = wire_form(projection, knows_options=tool.knows_options, derives=tool.is_exact)
            meta = {PROJECTION_LITERAL: form}
        refused = None
        try:
            return await self._wire.call(tool.name, dict(arguments or {}), meta)
        except MCPError as error:
            refused = refusal(error)
            if refused is None:
                raise
        if isinstance(refused, UnknownView):
            self._tools.forget()
        raise refused

    async def _judged(
        self, tool: KnownTool, projection: Projection | None, result: dict[str, Any], *, prunes: bool
    ) -> Answer:
        """Check a result; if that fails, list the tools again and check it against a changed tool."""
        try:
            answer = await to_thread.run_sync(partial(judge, tool, projection, result, prune=prunes))
        except (InvalidAnswer, OutputInvalid):
            newer = await self._tools.refreshed(tool)
            if newer is None:
                raise
            answer = await to_thread.run_sync(partial(judge, newer, projection, result, prune=prunes))
        reported = answer.reported_schema
        return answer if reported is None else await to_thread.run_sync(answer.checked_against, reported)

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._tools.forget()
        if self._message_handler is not None:
            await self._message_handler(message)


def _finished(answer: Answer, typed: Typed[Any] | None, raw: dict[str, Any]) -> ProjectedResult[Any]:
    value, schema = answer.unwrapped()
    data = value if typed is None else _typed(answer, typed, raw, value)
    return ProjectedResult(data, schema, answer.applied, answer.pruned, answer.receipt, raw)


def _typed(answer: Answer, typed: Typed[T], raw: dict[str, Any], value: Json) -> T:
    # A text may happen to be JSON: a type that accepts only texts is read from the raw text.
    text = answer.text(raw) if typed.is_text else None
    is_prose = answer.output is None and value is None
    return typed.read(value if text is None else text, answer.tool.name, is_prose=is_prose)
