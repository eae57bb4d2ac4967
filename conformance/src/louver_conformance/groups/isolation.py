"""What one asks for is nothing to others, nor to the next call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import members
from louver.errors import Broken, NotOffered
from louver.protocol.names import DISCLOSURE, PROJECTION_LITERAL
from louver_conformance.assertions import first, include, kept_of, refusal_of, result_of, same
from louver_conformance.checks import check

if TYPE_CHECKING:
    from louver_conformance.context import Talk


@check("request-is-of-one-call")
async def request_is_of_one_call(talk: Talk) -> None:
    sample = first(talk)
    before = result_of(await talk.call(sample), "a call without a projection")
    await talk.call(sample, include(sample), again=True)
    after = result_of(await talk.call_with(sample, {}), "a call without a projection")
    if not same(kept_of(after), kept_of(before)):
        raise Broken("after a projected call another one that asks for nothing is not answered as before")


@check("request-is-of-one-client")
async def request_is_of_one_client(talk: Talk) -> None:
    sample = first(talk)
    peer = await talk.another()
    grant = {}
    if talk.descriptions:
        grant = next(tool.grant for tool in await talk.described(peer) if tool.name == sample.tool.name)
    await talk.call(sample, include(sample), again=True)
    answer = await peer.call(sample.tool.name, sample.arguments, {**grant}, sample.tool.input_schema)
    plain = result_of(await talk.call(sample), "a call without a projection")
    if not same(kept_of(result_of(answer, "a call of a second client")), kept_of(plain)):
        raise Broken("while one client asks for a projection, another one that does not is not answered as ever")
    meta = {**grant, PROJECTION_LITERAL: include(sample)}
    projected = await peer.call(sample.tool.name, sample.arguments, meta, sample.tool.input_schema)
    kept = kept_of(result_of(projected, "include of a second client"))
    if not same(kept, sample.included(str(sample.fields[0]))):
        raise Broken("a second client is not answered as the first one")


@check("list-stays")
async def list_stays(talk: Talk) -> None:
    before = [tool.listed for tool in talk.tools]
    sample = first(talk)
    await talk.call(sample, include(sample), again=True)
    if not same(before, await talk.peer.pages("tools/list", "tools")):
        raise Broken("after calls of tools 'tools/list' is another one")


@check("reading-authorises-oneself")
async def reading_authorises_oneself(talk: Talk) -> None:
    if not talk.descriptions or members(talk.extensions.get(DISCLOSURE)).get("enforced") is False:
        raise NotOffered("descriptions are not read on demand, or nothing depends on it")
    sample = first(talk)
    await talk.read_descriptions(talk.peer, sample.tool.name)
    peer = await talk.another()
    answer = await peer.call(sample.tool.name, sample.arguments, {}, sample.tool.input_schema)
    if refusal_of(answer).get("code") != "TOOL_DESCRIPTION_REQUIRED":
        raise Broken(f"what one client has read authorises another one to call {sample.tool.name!r}")
