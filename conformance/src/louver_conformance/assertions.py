"""What checks share: requests for a projection, and assertions on the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.core.json import canonical, is_object, members
from louver.wire.names import ERROR, PROJECTION, PROJECTION_LITERAL
from louver_conformance.errors import CheckFailed, NotOffered
from louver_conformance.field_picks import at_each_depth
from louver_conformance.sample import json_in, output_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json
    from louver_conformance.context import Context
    from louver_conformance.sample import Sample
    from louver_conformance.transports.messages import TargetResponse

INVALID_PARAMS: Final = -32602


def first(context: Context, fits: Callable[[Sample], object] = lambda _: True, *, lacks: str = "") -> Sample:
    """The first fitting sample of a projectable tool; `lacks` tells in the error which property no sample has."""
    for sample in context.samples:
        if (sample.tool.is_projectable or not context.samples[0].tool.is_projectable) and fits(sample):
            return sample
    raise NotOffered(f"no answer to try it on {lacks}".rstrip())


def include(sample: Sample) -> dict[str, Any]:
    """A request for the first field of a sample."""
    return {"mode": "include", "fields": [str(sample.fields[0])]}


def exclude(sample: Sample) -> dict[str, Any]:
    """A request for all but the first field of a sample."""
    return {**include(sample), "mode": "exclude"}


def requests(sample: Sample) -> list[dict[str, Any]]:
    """Requests in each mode: with fields at each depth, and with each view of the tool."""
    by_fields = [{"mode": mode, "fields": [path]} for mode in ("include", "exclude") for path in at_each_depth(sample)]
    return [*by_fields, *({"mode": "view", "view": name} for name in sample.tool.views)]


def result_of(answer: TargetResponse, request: str) -> dict[str, Any]:
    """The result of an answer that must not be an error; `request` describes the request, as `include of 'id'`."""
    if answer.result is None or answer.is_error_result:
        raise CheckFailed(f"{request} is refused{_code(answer)}")
    return answer.result


def receipt_of(answer: TargetResponse, key: str = PROJECTION_LITERAL) -> dict[str, Any]:
    """The receipt of an answer; empty without one."""
    return members(answer.meta.get(key))


def kept_of(result: dict[str, Any]) -> Json:
    return output_of(result) if "structuredContent" not in result else result["structuredContent"]


def same(one: Json, other: Json) -> bool:
    """Whether two JSON values are equal in any order of members; `1` and `true` are not."""
    return canonical(one) == canonical(other)


def difference(found: Json, expected: Json, where: str = "the answer") -> str:
    """Where two values differ, by the names of members."""
    if is_object(found) and is_object(expected):
        if more := [name for name in found if name not in expected]:
            return f"{where} has {_named(more[0])}, which should not be there"
        if fewer := [name for name in expected if name not in found]:
            return f"{where} lacks {_named(fewer[0])}"
        for name, member in expected.items():
            if not same(found[name], member):
                return difference(found[name], member, f"{_named(name)} in {where}")
    if isinstance(found, list) and isinstance(expected, list):
        pairs: list[tuple[Any, Any]] = list(zip(found, expected, strict=False))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        for one, other in pairs:
            if not same(one, other):
                return difference(one, other, f"an element of {where}")
    return f"{where} is not what was asked for"


def _named(name: str) -> str:
    # A name that looks like data, as keys of a map do, is not shown.
    return repr(name) if name.isidentifier() and len(name) <= 64 else "a member"


def refusal_of(answer: TargetResponse) -> dict[str, Any]:
    """The error object of a refusal, in any of its places; empty if there is none."""
    found = members(members(answer.error.get("data")).get("error"))
    if not found and answer.is_error_result:
        found = members(answer.meta.get(ERROR)) or members(members(json_in(members(answer.result))).get("error"))
    return found


def must_refuse(answer: TargetResponse, request: str) -> None:
    """Fail unless the answer is an error of either kind."""
    if answer.result is not None and not answer.is_error_result:
        raise CheckFailed(f"{request} is answered, and should be refused")
    if "structuredContent" in members(answer.result):
        raise CheckFailed(f"{request} is refused with structured content")


def must_have_extension(context: Context) -> None:
    if PROJECTION not in context.extensions:
        raise NotOffered(f"'{PROJECTION}' is not declared in 'capabilities.extensions'")


def _code(answer: TargetResponse) -> str:
    code = refusal_of(answer).get("code", answer.error.get("code"))
    return (
        f" ({code})" if isinstance(code, int) or (isinstance(code, str) and len(code) < 50 and code.isupper()) else ""
    )
