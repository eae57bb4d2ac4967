"""Lines of bounded length, of upstreams and of a client over stdio: none lost, none joined, none longer."""

from __future__ import annotations

import asyncio
import os
import tempfile
from unittest.mock import patch

from louver.errors import UpstreamTooLarge
from louver.gateway.front import stdio_streams
from louver.http1.lines import LineDecoder

from . import pieces
from .transports import run

LIMIT = 32
TOLD = 8


def check(data: bytes) -> None:
    text, parts = pieces(data)
    _check_decoder(text, parts)
    with patch.multiple(stdio_streams, MAX_CLIENT_LINE=LIMIT, MAX_TELLING_BYTES=TOLD):
        expected = [_expected(line) for line in _lines(text)]
        found = run(_read_pipe(parts))
        assert found == expected, "a pipe"
        assert run(_read_file(text)) == expected, "a file"


def _check_decoder(text: bytes, parts: list[bytes]) -> None:
    decoder = LineDecoder(LIMIT)
    *whole, rest = text.split(b"\n")
    found = []
    try:
        for part in parts:
            found += decoder.feed(part)
    except UpstreamTooLarge:
        assert max(map(len, [*whole, rest])) > LIMIT
        assert found == whole[: len(found)]
    else:
        assert found == whole
        assert max(map(len, [*whole, rest])) <= LIMIT


def _lines(text: bytes) -> list[bytes]:
    *whole, rest = text.split(b"\n")
    return [line + b"\n" for line in whole] + [rest] * bool(rest)


def _expected(line: bytes) -> tuple[bytes, bool]:
    is_long = len(line.removesuffix(b"\n")) > LIMIT
    return (line[:TOLD] + line[-TOLD:] if is_long else line), is_long


async def _read_pipe(parts: list[bytes]) -> list[tuple[bytes, bool]]:
    source, sink = os.pipe()
    async with stdio_streams.lines_from(source) as next_line:
        reader = asyncio.create_task(_all(next_line))
        for part in parts:
            os.write(sink, part)
            await asyncio.sleep(0)
        os.close(sink)
        return await reader


async def _read_file(text: bytes) -> list[tuple[bytes, bool]]:
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        async with stdio_streams.lines_from(os.dup(file.fileno())) as next_line:
            return await _all(next_line)


async def _all(next_line) -> list[tuple[bytes, bool]]:
    found = []
    while line := await next_line():
        found.append((bytes(line), isinstance(line, stdio_streams.OversizedLine)))
    return found
