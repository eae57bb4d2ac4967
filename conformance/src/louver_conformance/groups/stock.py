"""The client of the installed `mcp` SDK, which holds every answer against the listed schemas."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from louver.core import json
from louver.core.json import members
from louver.errors import Broken, NotOffered, UpstreamInvalidOutput, UpstreamTimeout
from louver.limits import CONFORMANCE_STOCK_S
from louver.protocol.names import PROJECTION_LITERAL
from louver_conformance.assertions import exclude, include
from louver_conformance.checks import check

if TYPE_CHECKING:
    from louver_conformance.context import Talk
    from louver_conformance.sample import Sample

_SAMPLES = 3
"""Samples that the client is tried on."""


@check("stock-client-accepts-full")
async def stock_client_accepts_full(talk: Talk) -> None:
    _see([thrown for is_whole, thrown in await _called(talk) if is_whole], "whole")


@check("stock-client-accepts-projected")
async def stock_client_accepts_projected(talk: Talk) -> None:
    thrown = [thrown for is_whole, thrown in await _called(talk) if not is_whole]
    if not thrown:
        raise NotOffered("no tool that was called can be projected")
    _see(thrown, "projected")


def _see(said: list[str], what: str) -> None:
    if wrong := [each for each in said if each]:
        raise Broken(f"the client of the 'mcp' SDK throws {wrong[0]} at a {what} answer")


async def _called(talk: Talk) -> list[tuple[bool, str]]:
    """Of each call, whether it asks for nothing, and what the client throws; an empty text where it does not."""
    if talk.stock is None:
        calls = [_call(sample, request) for sample in talk.samples[:_SAMPLES] for request in _requests(talk, sample)]
        job = {
            "url": talk.target.url,
            "command": list(talk.target.command),
            "era": talk.era,
            "descriptions": _uri(talk, [str(call["tool"]) for call in calls]),
            "calls": calls,
        }
        thrown = await _aside(json.compact(job).encode())
        talk.stock = [(not call["meta"], each) for call, each in zip(calls, thrown, strict=True)]
    return talk.stock


def _requests(talk: Talk, sample: Sample) -> list[dict[str, Any] | None]:
    if not talk.can_project or not sample.tool.is_projectable:
        return [None]
    views = [{"mode": "view", "view": name} for name in sample.tool.views]
    return [None, include(sample), exclude(sample), *views]


def _call(sample: Sample, request: dict[str, Any] | None) -> dict[str, Any]:
    meta = {} if request is None else {PROJECTION_LITERAL: request}
    return {"tool": sample.tool.name, "arguments": sample.arguments, "meta": meta}


def _uri(talk: Talk, names: list[str]) -> str | None:
    if not talk.descriptions:
        return None
    base = str(talk.descriptions.get("uri")).partition("?")[0]
    return f"{base}?tools={','.join(quote(name, safe='') for name in dict.fromkeys(names))}"


async def _aside(job: bytes) -> list[str]:
    """In a process of its own: this client reads whatever a target sends, and runs its patterns."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "louver_conformance.stock_client"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(CONFORMANCE_STOCK_S):
            said, _ = await process.communicate(job)
    except TimeoutError:
        raise UpstreamTimeout(
            f"the client of the 'mcp' SDK has not come to an end in {CONFORMANCE_STOCK_S:g} s"
        ) from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode != 0:
        raise UpstreamInvalidOutput("the client of the 'mcp' SDK cannot be opened")
    return members(json.parse(said.decode())).get("thrown", [])
