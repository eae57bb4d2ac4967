"""Descriptions on demand: a short list, the resource, and the gate before calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from louver.core.json import compact, is_array, is_object, members
from louver.wire.names import DISCLOSURE, GRANT_ARGUMENT
from louver_conformance.assertions import refusal_of
from louver_conformance.checks import check
from louver_conformance.context import resource_json
from louver_conformance.errors import CheckFailed, NotOffered

if TYPE_CHECKING:
    from louver_conformance.context import Context
    from louver_conformance.tools import Tool
    from louver_conformance.transports.messages import TargetResponse

_REQUIRED = "TOOL_DESCRIPTION_REQUIRED"
_UNKNOWN = "no_such_tool"


@check("descriptions-listed")
async def descriptions_listed(context: Context) -> None:
    if not context.descriptions_resource:
        raise CheckFailed("'resources/list' has no resource 'tool_descriptions'")
    if "description" not in str(context.descriptions_resource.get("name")).lower():
        raise CheckFailed("the name of the resource does not say that it holds tool descriptions")


@check("descriptions-explained")
async def descriptions_explained(context: Context) -> None:
    text = str(context.descriptions_resource.get("description", ""))
    for part in ("tools/list", "?tools="):
        if part not in text:
            raise CheckFailed(f"the description of the resource does not tell of {part!r}")


@check("descriptions-are-json")
async def descriptions_are_json(context: Context) -> None:
    if context.descriptions_resource.get("mimeType") != "application/json":
        raise CheckFailed("the resource's 'mimeType' is not application/json")


@check("list-is-short")
async def list_is_short(context: Context) -> None:
    for tool in _gated(context):
        listed = members(members(tool.listed.get("inputSchema")).get("properties"))
        if any("x-mcp-header" not in members(part) for part in listed.values()):
            raise CheckFailed(f"{tool.name!r} is listed with its parameters")
        summary = str(tool.listed.get("description", ""))
        parameters = members(tool.described["inputSchema"].get("properties"))
        if '"properties"' in summary or any(compact(part) in summary for part in parameters.values() if part):
            raise CheckFailed(f"the summary of {tool.name!r} holds its schema")


@check("descriptions-are-full")
async def descriptions_are_full(context: Context) -> None:
    for tool in context.tools:
        entry = members(context.descriptions.get(tool.name))
        if "error" in entry:
            continue
        if entry.get("name") != tool.name or not isinstance(entry.get("description"), str):
            raise CheckFailed(f"the description of {tool.name!r} lacks 'name' or 'description'")
        if members(entry.get("inputSchema")).get("type") != "object":
            raise CheckFailed(f"the description of {tool.name!r} has no complete 'inputSchema'")


@check("only-named-descriptions")
async def only_named_descriptions(context: Context) -> None:
    gated = [tool.name for tool in _gated(context)][:2]
    for names in (gated[:1], gated):
        descriptions = resource_json(await context.read_descriptions(context.session, *names))
        if not is_object(descriptions) or sorted(descriptions) != sorted(names):
            raise CheckFailed(
                "a read of descriptions holds something beside the tools that were named, or not all of them"
            )


@check("no-tool-named")
async def no_tool_named(context: Context) -> None:
    answer = await context.read_descriptions(context.session)
    refusal = members(members(resource_json(answer)).get("error")) if answer.result is not None else refusal_of(answer)
    if refusal.get("code") != "MISSING_TOOL_SELECTION":
        raise CheckFailed("a read that names no tool is not answered with MISSING_TOOL_SELECTION")
    if not isinstance(refusal.get("message"), str) or not is_array(refusal.get("examples")):
        raise CheckFailed("MISSING_TOOL_SELECTION has no 'message', or no 'examples'")


@check("unknown-tool-reported")
async def unknown_tool_reported(context: Context) -> None:
    answer = await context.read_descriptions(context.session, _UNKNOWN)
    entry = members(members(resource_json(answer)).get(_UNKNOWN))
    if not isinstance(entry.get("error"), str) or not is_array(entry.get("available_tools")):
        raise CheckFailed("a tool that there is not has no entry with 'error' and 'available_tools'")


@check("gate-is-closed")
async def gate_is_closed(context: Context) -> None:
    _must_enforce(context)
    if context.undescribed_call is None:
        raise NotOffered("no tool could be called before its description was read")
    name, answer = context.undescribed_call
    _must_be_closed(answer, name)


@check("gate-opens")
async def gate_opens(context: Context) -> None:
    _must_enforce(context)
    for sample in context.samples:
        if refusal_of(await context.call(sample)).get("code") == _REQUIRED:
            raise CheckFailed(f"{sample.tool.name!r} does not run, and its description was read")
    if not context.samples:
        raise CheckFailed("no tool runs, and all descriptions were read")


@check("gate-opens-for-what-was-read")
async def gate_opens_for_what_was_read(context: Context) -> None:
    _must_enforce(context)
    if context.undescribed_call is None or not (
        others := [tool for tool in _gated(context) if tool.name != context.undescribed_call[0]]
    ):
        raise NotOffered("there are no two tools to try it on")
    session = await context.open_session()
    answer = await context.read_descriptions(session, others[0].name)
    grant = {key: value for key, value in answer.meta.items() if key in others[0].grant}
    name = context.undescribed_call[0]
    _must_be_closed(await session.call(name, context.fixture.arguments.get(name, [{}])[0], grant), name)


@check("descriptions-stay-private")
async def descriptions_stay_private(context: Context) -> None:
    answer = await context.read_descriptions(context.session, *[tool.name for tool in _gated(context)][:1])
    result = members(answer.result)
    if result.get("cacheScope") != "private" or result.get("ttlMs") != 0:
        raise CheckFailed("a read of descriptions may be kept: 'cacheScope' is not private, or 'ttlMs' is not 0")


@check("disclosure-declared")
async def disclosure_declared(context: Context) -> None:
    extension = members(context.extensions.get(DISCLOSURE))
    if not extension:
        raise NotOffered(f"'{DISCLOSURE}' is not declared in 'capabilities.extensions'")
    if extension.get("uri") != context.descriptions_resource.get("uri") or not isinstance(
        extension.get("enforced"), bool
    ):
        raise CheckFailed(f"'{DISCLOSURE}' does not say the resource's 'uri', or not whether it is 'enforced'")


@check("grant-in-the-schema")
async def grant_in_the_schema(context: Context) -> None:
    granted = [tool for tool in _gated(context) if tool.grant]
    if not granted:
        raise NotOffered("calls need no grant here")
    for tool in granted:
        schema: dict[str, Any] = tool.described["inputSchema"]
        const = members(members(schema.get("properties")).get(GRANT_ARGUMENT)).get("const")
        if not isinstance(const, str) or GRANT_ARGUMENT not in (schema.get("required") or ()):
            raise CheckFailed(
                f"the description of {tool.name!r} does not have the grant as a required '{GRANT_ARGUMENT}'"
            )


def _gated(context: Context) -> list[Tool]:
    """The tools that the resource describes: all but the one that reads descriptions."""
    gated = [tool for tool in context.tools if "inputSchema" in tool.described]
    if not gated:
        raise CheckFailed("the resource describes no tool that is listed")
    return gated


def _must_enforce(context: Context) -> None:
    if members(context.extensions.get(DISCLOSURE)).get("enforced") is False:
        raise NotOffered("the target does not enforce")


def _must_be_closed(answer: TargetResponse, name: str) -> None:
    refusal = refusal_of(answer)
    if refusal.get("code") != _REQUIRED:
        raise CheckFailed(f"{name!r} is not answered with {_REQUIRED}, and its description was not read")
    if not isinstance(refusal.get("message"), str) or f"tools={quote(name, safe='')}" not in str(
        refusal.get("resource_uri")
    ):
        raise CheckFailed(f"{_REQUIRED} does not say 'message', or in 'resource_uri' where to read")
