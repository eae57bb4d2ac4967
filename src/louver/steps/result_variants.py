"""Result variants for requests of the draft (`louver.wire.result_variants`): outputs by audience and format.

    tools/call, 3 outputs    call ─ call ─ call of 2026-07-28, each projected, policed and audited by itself
                               └──────┴──────┴── one run of the tool, once each of them may begin it

For policies the caller has the role `audience:assistant` in the call for that audience, and so on. Clients choose the
audience, so such rules say what an output is for, not who may see it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from louver.steps.call_record import CallRecord
from louver.steps.calls.output import find_output_in_thread
from louver.steps.tools.registry import all_tools
from louver.wire.jsonrpc.errors import INVALID_PARAMS, JsonRpcError
from louver.wire.output import is_structured
from louver.wire.result_variants import (
    DRAFT_VERSION,
    STRUCTURED_AUDIENCES,
    Selector,
    as_modern,
    combined,
    is_draft,
    params_for,
    requested_outputs,
    with_variants,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from louver.core.json import Schema
    from louver.steps.request import Next, Request

_T = TypeVar("_T")


class ResultVariants:
    """The middleware; `is_per_audience`: whether what a caller may see depends on the audience."""

    def __init__(self, *, is_per_audience: bool) -> None:
        self._is_per_audience = is_per_audience

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        if request.method == "server/discover":
            result = await call_next(request)
            return {**result, "supportedVersions": [*result["supportedVersions"], DRAFT_VERSION]}
        if not (request.is_modern and is_draft(request.params)):
            return await call_next(request)
        request = replace(request, params=as_modern(request.params))
        if request.method == "tools/list":
            return await self._list(request, call_next)
        if request.method == "tools/call":
            return await self._call(request, call_next)
        return await call_next(request)

    async def _list(self, request: Request, call_next: Next) -> dict[str, Any]:
        listed = await call_next(self._as_seen_by("assistant", request))
        schemas: dict[str, dict[str, Schema]] = {tool["name"]: {} for tool in listed["tools"]}
        seen: dict[str, Any] | None = None
        for audience in STRUCTURED_AUDIENCES:
            if seen is None or self._is_per_audience:
                seen = await call_next(self._for_program(audience, request))
            for tool in seen["tools"]:
                if tool["name"] in schemas and "outputSchema" in tool:
                    schemas[tool["name"]][audience] = tool["outputSchema"]
        return {**listed, "tools": [with_variants(tool, schemas[tool["name"]]) for tool in listed["tools"]]}

    async def _call(self, request: Request, call_next: Next) -> dict[str, Any]:
        selectors = requested_outputs(request.params)
        for selector in selectors:
            if selector.format == "structured":
                await self._check_declared(selector, request, call_next)
        first, *others = [self._call_for(selector, request) for selector in selectors]
        if others:
            calls = [first, *(replace(each, record=CallRecord(), is_extra=True) for each in others)]
            results = await _answers(calls, call_next, is_mixed=self._is_per_audience)
        else:
            results = [await call_next(first)]
        for result in results:
            if result.get("resultType", "complete") != "complete":
                # It asks for input, and has no output yet.
                return result
        results = [await _structured(*each) for each in zip(selectors, results, strict=True)]
        return combined(selectors, results)

    async def _check_declared(self, selector: Selector, request: Request, call_next: Next) -> None:
        name: object = request.params.get("name")
        seen = self._for_program(selector.audience, request)
        if not [each async for each in all_tools(seen, call_next) if each["name"] == name and "outputSchema" in each]:
            message = f"no tool of this name declares {selector.name}: see 'outputVariants' in 'tools/list'"
            raise JsonRpcError(INVALID_PARAMS, message)

    def _call_for(self, selector: Selector, request: Request) -> Request:
        seen = self._as_seen_by(selector.audience, request)
        is_for_program = not selector.is_fallback
        return replace(seen, params=params_for(selector, request.params), is_for_program=is_for_program)

    def _for_program(self, audience: str, request: Request) -> Request:
        """The request for tools with output schemas, which models of some hosts are not listed."""
        return replace(self._as_seen_by(audience, request), is_for_program=True, is_extra=True)

    def _as_seen_by(self, audience: str, request: Request) -> Request:
        if not self._is_per_audience:
            return request
        principal = request.identity.principal
        principal = replace(principal, roles=principal.roles | {f"audience:{audience}"})
        return replace(request, identity=replace(request.identity, principal=principal))


async def _structured(selector: Selector, result: dict[str, Any]) -> dict[str, Any]:
    """The result with structured content, where a selector wants it and the server has answered it as JSON text."""
    if selector.format == "content" or result.get("isError") or is_structured(result):
        return result
    output = await find_output_in_thread(result, None)
    return result if output is None else {**result, "structuredContent": output.value}


async def _answers(calls: Sequence[Request], call_next: Next, *, is_mixed: bool) -> list[dict[str, Any]]:
    """The answers to calls that share one run of the tool; all the same error, if one is refused before it."""
    shared = _SharedRun(len(calls))
    for number, call in enumerate(calls):
        call.record.run = _Run(shared, number, is_mixed=is_mixed)
    tasks = [asyncio.ensure_future(call_next(call)) for call in calls]
    try:
        unfinished = set(tasks)
        while unfinished:
            finished, unfinished = await asyncio.wait(unfinished, return_when=asyncio.FIRST_COMPLETED)
            for task in finished:
                result = task.result()
                if result.get("isError") and not shared.has_begun:
                    return [result] * len(calls)
                shared.end_call()
        return [task.result() for task in tasks]
    finally:
        shared.cancel()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _SharedRun:
    """The one run of a tool for several calls; it begins once each that has not ended waits for it."""

    def __init__(self, calls: int) -> None:
        self.has_begun = False
        self._calls = calls  # that have not ended
        self._runs: dict[int, Callable[[], Awaitable[Any]]] = {}
        self._begun: asyncio.Future[asyncio.Future[Any]] = asyncio.get_running_loop().create_future()
        self._answer: asyncio.Future[Any] | None = None

    async def answer(self, number: int, run: Callable[[], Awaitable[_T]]) -> _T:
        begun, self._runs[number] = self._begun, run
        self._begin()
        return await asyncio.shield(await asyncio.shield(begun))

    def end_call(self) -> None:
        self._calls -= 1
        self._begin()

    def cancel(self) -> None:
        if self._answer is not None:
            self._answer.cancel()

    def _begin(self) -> None:
        if self._runs and len(self._runs) == self._calls:
            self.has_begun = True
            self._answer = asyncio.ensure_future(self._runs[min(self._runs)]())
            self._begun.set_result(self._answer)
            # Calls that fail may be repeated, all of them.
            self._runs, self._begun = {}, asyncio.get_running_loop().create_future()


@dataclass(frozen=True, slots=True)
class _Run:
    """The run as one of the calls has it."""

    shared: _SharedRun
    number: int
    is_mixed: bool  # what the calls may see differs

    def answer(self, run: Callable[[], Awaitable[_T]]) -> Awaitable[_T]:
        return self.shared.answer(self.number, run)
