"""What is refused, how that is told, and that nothing has run by then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import members
from louver.errors import Broken, NotOffered
from louver.protocol.names import PROJECTION, PROJECTION_LITERAL
from louver_conformance.assertions import (
    INVALID_PARAMS,
    first,
    include,
    must_have_extension,
    must_refuse,
    receipt_of,
    refusal_of,
)
from louver_conformance.checks import check
from louver_conformance.sample import output_of

if TYPE_CHECKING:
    from louver_conformance.context import Talk

_UNKNOWN = "no_such_member"


@check("unknown-mode-is-refused")
async def unknown_mode_is_refused(talk: Talk) -> None:
    must_refuse(await talk.call(first(talk), {"mode": "only", "fields": ["id"]}), "mode 'only', which there is not,")


@check("unknown-view-is-refused")
async def unknown_view_is_refused(talk: Talk) -> None:
    if "view" not in (talk.capability.get("modes") or ()):
        raise NotOffered("'modes' has no 'view'")
    must_refuse(await talk.call(first(talk), {"mode": "view", "view": "no such view"}), "a view that there is not")


@check("no-fields-are-refused")
async def no_fields_are_refused(talk: Talk) -> None:
    for mode in ("include", "exclude"):
        must_refuse(await talk.call(first(talk), {"mode": mode, "fields": []}), f"mode {mode!r} without a field")


@check("bad-path-is-refused")
async def bad_path_is_refused(talk: Talk) -> None:
    for path in ("", "a..b", "a.", "[", "a[0]", "a[?(@.b==1)]"):
        request = {"mode": "include", "fields": [path]}
        must_refuse(await talk.call(first(talk), request), f"the path {path!r}")


@check("unknown-member-is-refused")
async def unknown_member_is_refused(talk: Talk) -> None:
    must_have_extension(talk)
    request = {**include(first(talk)), "limit": 3}
    must_refuse(await talk.call(first(talk), request), "the member 'limit' of a request, which there is not,")


@check("view-beside-fields-is-refused")
async def view_beside_fields_is_refused(talk: Talk) -> None:
    must_have_extension(talk)
    must_refuse(await talk.call(first(talk), {**include(first(talk)), "view": "minimal"}), "'view' beside 'fields'")


@check("two-requests-are-refused")
async def two_requests_are_refused(talk: Talk) -> None:
    must_have_extension(talk)
    sample = first(talk)
    meta = {PROJECTION_LITERAL: include(sample), PROJECTION: {"mode": "include", "fields": ["*"]}}
    must_refuse(await talk.call_with(sample, meta), "a call with two different requests")


@check("strict-refuses-unknown-fields")
async def strict_refuses_unknown_fields(talk: Talk) -> None:
    must_have_extension(talk)
    sample = first(talk, lambda sample: sample.tool.output_schema or sample.tool.described, lacks="has a schema")
    lenient = await talk.call(sample, {"mode": "include", "fields": [_UNKNOWN]})
    if receipt_of(lenient).get("unmatched") != [_UNKNOWN]:
        raise NotOffered("no field is unknown: the schema of the tool leaves room for any")
    answer = await talk.call(sample, {"mode": "include", "fields": [_UNKNOWN], "strict": True})
    must_refuse(answer, "a strict request for a field that the schema does not know")


@check("required-or-refused")
async def required_or_refused(talk: Talk) -> None:
    must_have_extension(talk)
    for tool in (tool for tool in talk.tools if not tool.is_projectable):
        sets = talk.fixture.arguments_of(tool.name, tool.input_schema, only_reads=tool.only_reads)
        if not sets:
            continue
        asked: dict[str, Any] = {"mode": "include", "fields": ["*"]}
        meta = {**tool.grant, PROJECTION_LITERAL: asked}
        if receipt_of(await talk.peer.call(tool.name, sets[0], meta, tool.input_schema)).get("applied") is not False:
            continue
        meta = {**tool.grant, PROJECTION_LITERAL: {**asked, "required": True}}
        answer = await talk.peer.call(tool.name, sets[0], meta, tool.input_schema)
        must_refuse(answer, f"a required projection of {tool.name!r}, which is not possible,")
        return
    raise NotOffered("every tool that can be called can be projected")


@check("refusal-has-a-code")
async def refusal_has_a_code(talk: Talk) -> None:
    must_have_extension(talk)
    answer = await talk.call(first(talk), {"mode": "include", "fields": ["a..b"]})
    if answer.error.get("code") != INVALID_PARAMS:
        raise Broken(f"a request in '_meta' that is refused is no error {INVALID_PARAMS}")
    said = refusal_of(answer)
    if said.get("code") != "INVALID_PROJECTION" or not isinstance(said.get("message"), str):
        raise Broken("'data.error' of a refusal lacks 'code', which is INVALID_PROJECTION, or 'message'")
    if said.get("path") != "a..b" or said.get("offset") != 2:
        raise Broken("'data.error' of a path that cannot be read does not say 'path' and 'offset'")


@check("nothing-has-run")
async def nothing_has_run(talk: Talk) -> None:
    witness = talk.fixture.witness
    if witness is None:
        raise NotOffered("the fixture names no '$witness' that tells what has run")
    tool = next((tool for tool in talk.tools if tool.name == witness.tool), None)
    if tool is None:
        raise Broken(f"the witness {witness.tool!r} is not listed")
    sample = first(talk, lambda sample: sample.tool.name != tool.name)

    async def told() -> object:
        answer = await talk.peer.call(tool.name, witness.arguments, {**tool.grant}, tool.input_schema)
        return output_of(members(answer.result))

    before = await told()
    for request in (
        {"mode": "include", "fields": ["a..b"]},
        {"mode": "only"},
        {"mode": "view", "view": "no such view"},
    ):
        await talk.call(sample, request, again=True)
    if before != await told():
        raise Broken(f"{sample.tool.name!r} has run, and its call was refused")
    await talk.call(sample, again=True)
    if before == await told():
        raise Broken(f"the witness {tool.name!r} does not tell that {sample.tool.name!r} has run")
