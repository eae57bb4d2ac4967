"""The stream of a 2025 session: what the upstream says and asks that no call is about.

    -> GET, Accept: text/event-stream        405 or 404: it has none, which is fine
    <- data: {"method": "notifications/tools/list_changed"}

It is opened anew when it ends, after the last event that came, later each time that nothing came; but not while a
call waits to take up its own stream, since an upstream may give the answer to whoever comes first.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from louver.errors import UpstreamError
from louver.limits import MAX_UPSTREAM_RETRY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.gateway.endpoint import Endpoint
    from louver.gateway.stream import Stream


async def hear_session(endpoint: Endpoint, stream: Stream, is_open: Callable[[bool], None]) -> None:
    """Hear it, until there is none; it is told when it begins, and when it breaks off."""
    loop = asyncio.get_running_loop()
    failures = 0
    while True:
        await endpoint.nobody_resumes()
        before, began = stream.events, loop.time()
        try:
            if not await _hear_once(endpoint, stream, is_open):
                return
        except UpstreamError:
            # What was too large would be sent again.
            stream.last = None
        delay = min(stream.retry_s * 2**failures, MAX_UPSTREAM_RETRY_SECONDS)
        # A quiet stream that a proxy ends after a while is no failure.
        is_good = stream.events > before or loop.time() - began > MAX_UPSTREAM_RETRY_SECONDS
        failures = 0 if is_good else min(failures + 1, 10)
        await asyncio.sleep(delay)


async def _hear_once(endpoint: Endpoint, stream: Stream, is_open: Callable[[bool], None]) -> bool:
    """Hear it until it ends; `False` if the upstream has no such stream."""
    response = await endpoint.get(stream.last)
    try:
        if response.status == 200 and response.is_stream:
            is_open(True)
            try:
                await stream.answer(response)
            finally:
                is_open(False)
            return True
        return response.status >= 500
    finally:
        response.close()
