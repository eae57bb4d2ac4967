"""Descriptions on demand: a short list, a resource, and a gate that keeps the order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from louver.core.json import compact, is_array, is_object, members
from louver.errors import Broken, NotOffered
from louver.protocol.names import DISCLOSURE, GRANT_ARGUMENT
from louver_conformance.assertions import refusal_of
from louver_conformance.checks import check
from louver_conformance.context import text_of_read

if TYPE_CHECKING:
    from louver_conformance.context import Talk
    from louver_conformance.tools import Tool
    from louver_conformance.transports.messages import Answer

_REQUIRED = "TOOL_DESCRIPTION_REQUIRED"
_UNKNOWN = "no_such_tool"


@check("descriptions-listed")
async def descriptions_listed(talk: Talk) -> None:
    if not talk.descriptions:
        raise Broken("'resources/list' has no resource 'tool_descriptions'")
    if "description" not in str(talk.descriptions.get("name")).lower():
        raise Broken("the name of the resource does not say that it holds tool descriptions")


@check("descriptions-explained")
async def descriptions_explained(talk: Talk) -> None:
    told = str(talk.descriptions.get("description", ""))
    for part in ("tools/list", "?tools="):
        if part not in told:
            raise Broken(f"the description of the resource does not tell of {part!r}")


@check("descriptions-are-json")
async def descriptions_are_json(talk: Talk) -> None:
    if talk.descriptions.get("mimeType") != "application/json":
        raise Broken("the resource's 'mimeType' is not application/json")


@check("list-is-short")
async def list_is_short(talk: Talk) -> None:
    for tool in _gated(talk):
        listed = members(members(tool.listed.get("inputSchema")).get("properties"))
        if any("x-mcp-header" not in members(part) for part in listed.values()):
            raise Broken(f"{tool.name!r} is listed with its parameters")
        told = str(tool.listed.get("description", ""))
        parameters = members(tool.described["inputSchema"].get("properties"))
        if '"properties"' in told or any(compact(part) in told for part in parameters.values() if part):
            raise Broken(f"the summary of {tool.name!r} holds its schema")


@check("descriptions-are-full")
async def descriptions_are_full(talk: Talk) -> None:
    for tool in talk.tools:
        entry = members(talk.read.get(tool.name))
        if "error" in entry:
            continue
        if entry.get("name") != tool.name or not isinstance(entry.get("description"), str):
            raise Broken(f"the description of {tool.name!r} lacks 'name' or 'description'")
        if members(entry.get("inputSchema")).get("type") != "object":
            raise Broken(f"the description of {tool.name!r} has no complete 'inputSchema'")


@check("descriptions-as-asked")
async def descriptions_as_asked(talk: Talk) -> None:
    names = [tool.name for tool in _gated(talk)][:2]
    for asked in (names[:1], names):
        said = text_of_read(await talk.read_descriptions(talk.peer, *asked))
        if not is_object(said) or sorted(said) != sorted(asked):
            raise Broken("a read of descriptions holds something beside the tools that were named, or not all of them")


@check("no-tool-named")
async def no_tool_named(talk: Talk) -> None:
    answer = await talk.read_descriptions(talk.peer)
    said = members(members(text_of_read(answer)).get("error")) if answer.result is not None else refusal_of(answer)
    if said.get("code") != "MISSING_TOOL_SELECTION":
        raise Broken("a read that names no tool is not answered with MISSING_TOOL_SELECTION")
    if not isinstance(said.get("message"), str) or not is_array(said.get("examples")):
        raise Broken("MISSING_TOOL_SELECTION has no 'message', or no 'examples'")


@check("unknown-tool-said")
async def unknown_tool_said(talk: Talk) -> None:
    answer = await talk.read_descriptions(talk.peer, _UNKNOWN)
    entry = members(members(text_of_read(answer)).get(_UNKNOWN))
    if not isinstance(entry.get("error"), str) or not is_array(entry.get("available_tools")):
        raise Broken("a tool that there is not has no entry with 'error' and 'available_tools'")


@check("gate-is-closed")
async def gate_is_closed(talk: Talk) -> None:
    _must_enforce(talk)
    if talk.unread is None:
        raise NotOffered("no tool could be called before its description was read")
    name, answer = talk.unread
    _must_be_closed(answer, name)


@check("gate-opens")
async def gate_opens(talk: Talk) -> None:
    _must_enforce(talk)
    for sample in talk.samples:
        if refusal_of(await talk.call(sample)).get("code") == _REQUIRED:
            raise Broken(f"{sample.tool.name!r} does not run, and its description was read")
    if not talk.samples:
        raise Broken("no tool runs, and all descriptions were read")


@check("gate-opens-for-what-was-read")
async def gate_opens_for_what_was_read(talk: Talk) -> None:
    _must_enforce(talk)
    if talk.unread is None or not (others := [tool for tool in _gated(talk) if tool.name != talk.unread[0]]):
        raise NotOffered("there are no two tools to try it on")
    peer = await talk.another()
    answer = await talk.read_descriptions(peer, others[0].name)
    grant = {key: value for key, value in answer.meta.items() if key in others[0].grant}
    name = talk.unread[0]
    _must_be_closed(await peer.call(name, talk.fixture.arguments.get(name, [{}])[0], grant), name)


@check("descriptions-stay-private")
async def descriptions_stay_private(talk: Talk) -> None:
    answer = await talk.read_descriptions(talk.peer, *[tool.name for tool in _gated(talk)][:1])
    said = members(answer.result)
    if said.get("cacheScope") != "private" or said.get("ttlMs") != 0:
        raise Broken("a read of descriptions may be kept: 'cacheScope' is not private, or 'ttlMs' is not 0")


@check("disclosure-declared")
async def disclosure_declared(talk: Talk) -> None:
    said = members(talk.extensions.get(DISCLOSURE))
    if not said:
        raise NotOffered(f"'{DISCLOSURE}' is not declared in 'capabilities.extensions'")
    if said.get("uri") != talk.descriptions.get("uri") or not isinstance(said.get("enforced"), bool):
        raise Broken(f"'{DISCLOSURE}' does not say the resource's 'uri', or not whether it is 'enforced'")


@check("grant-in-the-schema")
async def grant_in_the_schema(talk: Talk) -> None:
    granted = [tool for tool in _gated(talk) if tool.grant]
    if not granted:
        raise NotOffered("calls need no grant here")
    for tool in granted:
        schema: dict[str, Any] = tool.described["inputSchema"]
        const = members(members(schema.get("properties")).get(GRANT_ARGUMENT)).get("const")
        if not isinstance(const, str) or GRANT_ARGUMENT not in (schema.get("required") or ()):
            raise Broken(f"the description of {tool.name!r} does not have the grant as a required '{GRANT_ARGUMENT}'")


def _gated(talk: Talk) -> list[Tool]:
    """The tools that the resource describes, but for the one by which descriptions are read."""
    gated = [tool for tool in talk.tools if "inputSchema" in tool.described]
    if not gated:
        raise Broken("the resource describes no tool that is listed")
    return gated


def _must_enforce(talk: Talk) -> None:
    if members(talk.extensions.get(DISCLOSURE)).get("enforced") is False:
        raise NotOffered("the target advises, and does not enforce")


def _must_be_closed(answer: Answer, name: str) -> None:
    said = refusal_of(answer)
    if said.get("code") != _REQUIRED:
        raise Broken(f"{name!r} is not answered with {_REQUIRED}, and its description was not read")
    if not isinstance(said.get("message"), str) or f"tools={quote(name, safe='')}" not in str(said.get("resource_uri")):
        raise Broken(f"{_REQUIRED} does not say 'message', or in 'resource_uri' where to read")
