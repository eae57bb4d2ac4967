"""A target that is a Streamable HTTP endpoint, one message a POST.

The answer is the body, or an event of a stream. A redirect is not followed, a cookie not kept, no proxy taken from
the environment.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import httpx2

from louver.errors import UpstreamError, UpstreamInvalidOutput, UpstreamTooLarge, UpstreamUnavailable
from louver.limits import CONFORMANCE_BYTES, CONFORMANCE_STRAYS
from louver_conformance.transports import messages

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from louver_conformance.transports.messages import Answer

_STREAM: Final = "text/event-stream"
_SESSION: Final = "mcp-session-id"


class Post:
    """One endpoint.

    Args:
        url: Where it is; `http` or `https`.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: dict[str, str] = {}
        # Whoever asks sees to the time.
        self._client = httpx2.AsyncClient(follow_redirects=False, trust_env=False, timeout=None)

    async def ask(self, number: int, method: str, params: dict[str, Any], headers: Mapping[str, str]) -> Answer:
        """The answer to a request."""
        body = messages.request(number, method, params)
        try:
            async with self._client.stream("POST", self._url, content=body, headers=self._all(headers)) as response:
                found = await _answer(response, number)
                if method == "initialize" and (session := response.headers.get(_SESSION)):
                    self._session = {_SESSION: session}
                return found
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise UpstreamUnavailable(f"the target cannot be reached: {type(error).__name__}") from None

    async def tell(self, method: str, headers: Mapping[str, str]) -> None:
        """Send a notification."""
        try:
            body = messages.notification(method)
            async with self._client.stream("POST", self._url, content=body, headers=self._all(headers)):
                pass
        except httpx2.HTTPError as error:
            raise UpstreamUnavailable(f"the target cannot be reached: {type(error).__name__}") from None

    async def close(self) -> None:
        """End the session of the protocol, and the connection."""
        with suppress(httpx2.HTTPError):
            if self._session:
                await self._client.delete(self._url, headers=self._session, timeout=1)
        await self._client.aclose()

    def _all(self, headers: Mapping[str, str]) -> dict[str, str]:
        own = {"accept": f"application/json, {_STREAM}", "content-type": "application/json"}
        return {**own, **self._session, **headers}


async def _answer(response: httpx2.Response, number: int) -> Answer:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    headers = {name.lower(): value for name, value in response.headers.items()}
    if kind == _STREAM and response.status_code == 200:
        return await _streamed(response, number, headers)
    body = b"".join([piece async for piece in _bounded(response)])
    try:
        message = messages.read(body)
        # An error before the request was read can have no id.
        if message.get("id") == number or "error" in message:
            return messages.answer(message, headers)
    except UpstreamError:
        if response.status_code == 200:
            raise
    if response.status_code == 200:
        raise UpstreamInvalidOutput("the target answers another request than it was sent")
    raise UpstreamUnavailable(f"the target answers with HTTP {response.status_code}")


async def _streamed(response: httpx2.Response, number: int, headers: Mapping[str, str]) -> Answer:
    count = 0
    async for data in _events(response):
        message = messages.read(data)
        if "method" not in message and message.get("id") == number:
            return messages.answer(message, headers)
        count += 1
        if count > CONFORMANCE_STRAYS:
            break
    raise UpstreamUnavailable("the target's stream has ended without an answer")


async def _events(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """The data of each event that has any."""
    rest, data = b"", list[bytes]()
    async for piece in _bounded(response):
        *lines, rest = (rest + piece).replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line.removeprefix(b"data:").removeprefix(b" "))
            elif not line and data:
                event = b"\n".join(data)
                data = []
                if event:
                    yield event


async def _bounded(response: httpx2.Response) -> AsyncGenerator[bytes]:
    size = 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > CONFORMANCE_BYTES:
            raise UpstreamTooLarge(f"the target sends a message over {CONFORMANCE_BYTES} bytes")
        yield piece
