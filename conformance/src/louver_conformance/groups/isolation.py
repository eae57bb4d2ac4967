"""A request is of one call and of one client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import members
from louver.wire.names import DISCLOSURE, PROJECTION_LITERAL
from louver_conformance.assertions import first, include, kept_of, refusal_of, result_of, same
from louver_conformance.checks import check
from louver_conformance.errors import CheckFailed, NotOffered

if TYPE_CHECKING:
    from louver_conformance.context import Context


@check("request-is-of-one-call")
async def request_is_of_one_call(context: Context) -> None:
    sample = first(context)
    before = result_of(await context.call(sample), "a call without a projection")
    await context.call(sample, include(sample), again=True)
    after = result_of(await context.call_with(sample, {}), "a call without a projection")
    if not same(kept_of(after), kept_of(before)):
        raise CheckFailed("after a projected call another one that asks for nothing is not answered as before")


@check("request-is-of-one-client")
async def request_is_of_one_client(context: Context) -> None:
    sample = first(context)
    session = await context.open_session()
    grant = {}
    if context.descriptions_resource:
        grant = next(tool.grant for tool in await context.describe_tools(session) if tool.name == sample.tool.name)
    await context.call(sample, include(sample), again=True)
    answer = await session.call(sample.tool.name, sample.arguments, {**grant}, sample.tool.input_schema)
    plain = result_of(await context.call(sample), "a call without a projection")
    if not same(kept_of(result_of(answer, "a call of a second client")), kept_of(plain)):
        raise CheckFailed("while one client asks for a projection, another one that does not is not answered as ever")
    meta = {**grant, PROJECTION_LITERAL: include(sample)}
    projected = await session.call(sample.tool.name, sample.arguments, meta, sample.tool.input_schema)
    kept = kept_of(result_of(projected, "include of a second client"))
    if not same(kept, sample.included(str(sample.fields[0]))):
        raise CheckFailed("a second client is not answered as the first one")


@check("list-stays")
async def list_stays(context: Context) -> None:
    before = [tool.listed for tool in context.tools]
    sample = first(context)
    await context.call(sample, include(sample), again=True)
    if not same(before, await context.session.pages("tools/list", "tools")):
        raise CheckFailed("after calls of tools 'tools/list' is another one")


@check("reading-authorises-oneself")
async def reading_authorises_oneself(context: Context) -> None:
    if not context.descriptions_resource or members(context.extensions.get(DISCLOSURE)).get("enforced") is False:
        raise NotOffered("descriptions are not read on demand, or nothing depends on it")
    sample = first(context)
    await context.read_descriptions(context.session, sample.tool.name)
    session = await context.open_session()
    answer = await session.call(sample.tool.name, sample.arguments, {}, sample.tool.input_schema)
    if refusal_of(answer).get("code") != "TOOL_DESCRIPTION_REQUIRED":
        raise CheckFailed(f"what one client has read authorises another one to call {sample.tool.name!r}")
