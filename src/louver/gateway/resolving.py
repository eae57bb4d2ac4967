"""The addresses of a host, from a resolver that may take long.

    addresses("mcp.example.com", 443) -> ["2001:db8::1", "192.0.2.1"]

A resolver can take half a minute to say that there are none. asyncio asks it in a thread that a process waits for at
its end, which has less time than that; so it is asked here, in a thread that nothing waits for.
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import Future
from threading import Thread


async def addresses(host: str, port: int) -> list[str]:
    """Those to connect to, the one to be tried first before the others.

    Raises:
        OSError: There are none.
        UnicodeError: No host can be named so.
    """
    found: Future[list[str]] = Future()
    Thread(target=_look_up, args=(found, host, port), name="louver-resolver", daemon=True).start()
    return await asyncio.wrap_future(found)


def _look_up(found: Future[list[str]], host: str, port: int) -> None:
    if not found.set_running_or_notify_cancel():
        return
    try:
        said = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        found.set_result([str(address[0]) for *_, address in said])
    except (OSError, UnicodeError) as error:
        found.set_exception(error)
