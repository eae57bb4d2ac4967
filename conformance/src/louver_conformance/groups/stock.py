"""Answers must be accepted by the client of the installed `mcp` SDK, which validates them against listed schemas."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from louver.core import json
from louver.core.json import members
from louver.wire.names import PROJECTION_LITERAL
from louver_conformance.assertions import exclude, include
from louver_conformance.checks import check
from louver_conformance.errors import CheckFailed, NotOffered, TargetError, TargetTimeout
from louver_conformance.limits import STOCK_CLIENT_TIMEOUT_S

if TYPE_CHECKING:
    from louver_conformance.context import Context
    from louver_conformance.sample import Sample

_MAX_SAMPLES = 3


@check("stock-client-accepts-full")
async def stock_client_accepts_full(context: Context) -> None:
    _must_accept([thrown for is_whole, thrown in await _results(context) if is_whole], "whole")


@check("stock-client-accepts-projected")
async def stock_client_accepts_projected(context: Context) -> None:
    thrown = [thrown for is_whole, thrown in await _results(context) if not is_whole]
    if not thrown:
        raise NotOffered("no tool that was called can be projected")
    _must_accept(thrown, "projected")


def _must_accept(exceptions: list[str], kind: str) -> None:
    if wrong := [each for each in exceptions if each]:
        raise CheckFailed(f"the client of the 'mcp' SDK throws {wrong[0]} at a {kind} answer")


async def _results(context: Context) -> list[tuple[bool, str]]:
    """For each call, whether it is unprojected, and the exception of the client; an empty text without one."""
    if context.stock_results is None:
        calls = [
            _call(sample, request)
            for sample in context.samples[:_MAX_SAMPLES]
            for request in _requests(context, sample)
        ]
        job = {
            "url": context.target.url,
            "headers": dict(context.target.headers),
            "command": list(context.target.command),
            "revision": context.revision,
            "descriptions": _uri(context, [str(call["tool"]) for call in calls]),
            "calls": calls,
        }
        thrown = await _run_client(json.compact(job).encode())
        context.stock_results = [(not call["meta"], each) for call, each in zip(calls, thrown, strict=True)]
    return context.stock_results


def _requests(context: Context, sample: Sample) -> list[dict[str, Any] | None]:
    if not context.can_project or not sample.tool.is_projectable:
        return [None]
    views = [{"mode": "view", "view": name} for name in sample.tool.views]
    return [None, include(sample), exclude(sample), *views]


def _call(sample: Sample, request: dict[str, Any] | None) -> dict[str, Any]:
    meta = {} if request is None else {PROJECTION_LITERAL: request}
    return {"tool": sample.tool.name, "arguments": sample.arguments, "meta": meta}


def _uri(context: Context, names: list[str]) -> str | None:
    if not context.descriptions_resource:
        return None
    base = str(context.descriptions_resource.get("uri")).partition("?")[0]
    return f"{base}?tools={','.join(quote(name, safe='') for name in dict.fromkeys(names))}"


async def _run_client(job: bytes) -> list[str]:
    # In a process that can be killed: this client has no bounds, and runs the patterns of schemas.
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "louver_conformance.stock_client"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(STOCK_CLIENT_TIMEOUT_S):
            stdout, _ = await process.communicate(job)
    except TimeoutError:
        raise TargetTimeout(
            f"the client of the 'mcp' SDK has not come to an end in {STOCK_CLIENT_TIMEOUT_S:g} s"
        ) from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode != 0:
        raise TargetError("the client of the 'mcp' SDK cannot be opened")
    return members(json.parse(stdout.decode())).get("thrown", [])
