"""The addresses of a host, from a resolver that may take long.

    Resolver("mcp.example.com", 443).addresses() -> ["2001:db8::1", "192.0.2.1"]

A resolver can take half a minute to say that there are none. asyncio asks it in a thread that a process waits for at
its end, which has less time than that; so it is asked here, in a thread that nothing waits for.
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import Future
from threading import Thread
from typing import Any


class Resolver:
    """Looks up one host; whoever asks meanwhile waits for the same answer.

    Args:
        host: Its name, or its address.
        port: Where it is connected to.
    """

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._found: Future[list[str]] | None = None

    async def addresses(self) -> list[str]:
        """Those to connect to, the one to be tried first before the others.

        Raises:
            OSError: There are none.
            UnicodeError: No host can be named so.
        """
        if self._found is None or self._found.done():
            self._found = Future()
            # Begun: whoever gives up waiting does not end it for others.
            self._found.set_running_or_notify_cancel()
            Thread(target=self._look_up, args=(self._found,), name="louver-resolver", daemon=True).start()
        return await asyncio.wrap_future(self._found)

    def _look_up(self, found: Future[list[str]]) -> None:
        try:
            said = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
            found.set_result([_text(address) for *_, address in said])
        except (OSError, UnicodeError) as error:
            found.set_exception(error)


def _text(address: tuple[Any, ...]) -> str:
    """An address, of a local one with its scope."""
    return f"{address[0]}%{address[3]}" if len(address) == 4 and address[3] else str(address[0])
