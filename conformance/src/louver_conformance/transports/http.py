"""A target that is a Streamable HTTP endpoint: one POST a message, answered by the body or an event of a stream.

Redirects are not followed, and proxies of the environment are not used.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import httpx2

from louver_conformance.errors import TargetError
from louver_conformance.limits import MAX_MESSAGE_BYTES, MAX_OTHER_MESSAGES
from louver_conformance.transports import messages

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from louver_conformance.transports.messages import TargetResponse

_STREAM: Final = "text/event-stream"
_SESSION: Final = "mcp-session-id"


class HttpTargetTransport:
    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._session: dict[str, str] = {}
        # The session sets the timeout.
        self._client = httpx2.AsyncClient(headers=headers, follow_redirects=False, trust_env=False, timeout=None)

    async def request(
        self, number: int, method: str, params: dict[str, Any], headers: Mapping[str, str]
    ) -> TargetResponse:
        body = messages.request(number, method, params)
        try:
            async with self._client.stream(
                "POST", self._url, content=body, headers=self._with_own(headers)
            ) as response:
                found = await _answer(response, number)
                if method == "initialize" and (session := response.headers.get(_SESSION)):
                    self._session = {_SESSION: session}
                return found
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise TargetError(f"the target cannot be reached: {type(error).__name__}") from None

    async def notify(self, method: str, headers: Mapping[str, str]) -> None:
        try:
            body = messages.notification(method)
            async with self._client.stream("POST", self._url, content=body, headers=self._with_own(headers)):
                pass
        except httpx2.HTTPError as error:
            raise TargetError(f"the target cannot be reached: {type(error).__name__}") from None

    async def close(self) -> None:
        """End the MCP session and the connection."""
        with suppress(httpx2.HTTPError):
            if self._session:
                await self._client.delete(self._url, headers=self._session, timeout=1)
        await self._client.aclose()

    def _with_own(self, headers: Mapping[str, str]) -> dict[str, str]:
        own = {"accept": f"application/json, {_STREAM}", "content-type": "application/json"}
        return {**own, **self._session, **headers}


async def _answer(response: httpx2.Response, number: int) -> TargetResponse:
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
    except TargetError:
        if response.status_code == 200:
            raise
    if response.status_code == 200:
        raise TargetError("the target answers another request than it was sent")
    raise TargetError(f"the target answers with HTTP {response.status_code}")


async def _streamed(response: httpx2.Response, number: int, headers: Mapping[str, str]) -> TargetResponse:
    count = 0
    async for data in _events(response):
        message = messages.read(data)
        if "method" not in message and message.get("id") == number:
            return messages.answer(message, headers)
        count += 1
        if count > MAX_OTHER_MESSAGES:
            break
    raise TargetError("the target's stream has ended without an answer")


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
        if size > MAX_MESSAGE_BYTES:
            raise TargetError(f"the target sends a message over {MAX_MESSAGE_BYTES} bytes")
        yield piece
