"""Messages of a target, as they are.

::

    -> {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {...}}
    <- {"jsonrpc": "2.0", "id": 7, "result": {...}}
    <- {"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "...", "data": {...}}}

Reading is strict, as everywhere: what two readers could take for different things is no message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from louver.core.json import NotJson, compact, is_object, members, parse
from louver.errors import UpstreamInvalidOutput

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Answer:
    """What a target answered to one request: a result, or an error.

    Args:
        result: The result; `None` where it is an error.
        error: The error object; empty where it is none.
        http_headers: Those of the HTTP response, in lower case.
    """

    result: dict[str, Any] | None
    error: dict[str, Any]
    http_headers: Mapping[str, str]

    @property
    def meta(self) -> dict[str, Any]:
        """The `_meta` of the result."""
        return members(members(self.result).get("_meta"))

    @property
    def is_error_result(self) -> bool:
        """Whether it is a result that says of itself that it is an error."""
        return members(self.result).get("isError") is True


class Link(Protocol):
    """A way to a target, and back."""

    async def ask(self, number: int, method: str, params: dict[str, Any], headers: Mapping[str, str]) -> Answer:
        """The answer to a request.

        Raises:
            UpstreamError: There is none, or none that can be read.
        """
        ...

    async def tell(self, method: str, headers: Mapping[str, str]) -> None:
        """Send a notification without params."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


def request(number: int, method: str, params: dict[str, Any]) -> bytes:
    """The bytes of a request."""
    return _written({"id": number, "method": method, "params": params})


def notification(method: str) -> bytes:
    """The bytes of a notification."""
    return _written({"method": method})


def reply(number: object, method: str) -> bytes:
    """What is answered to a question of the target: a ping is returned, anything else is not known here."""
    if method == "ping":
        return _written({"id": number, "result": {}})
    return _written({"id": number, "error": {"code": -32601, "message": "Method not found"}})


def read(raw: bytes) -> dict[str, Any]:
    """The message of a text.

    Raises:
        UpstreamInvalidOutput: It is not strictly JSON, or no message.
    """
    try:
        message = parse(raw.decode())
    except UnicodeDecodeError:
        raise UpstreamInvalidOutput("the target sends what is not UTF-8") from None
    except NotJson as error:
        raise UpstreamInvalidOutput(f"the target sends what is not strictly JSON: {error.reason}") from None
    if not is_object(message) or message.get("jsonrpc") != "2.0":
        raise UpstreamInvalidOutput("the target sends what is no JSON-RPC message")
    return message


def answer(message: dict[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
    """The answer that a message is.

    Raises:
        UpstreamInvalidOutput: It has neither a result nor an error.
    """
    result, error = message.get("result"), message.get("error")
    if is_object(error):
        return Answer(None, error, headers or {})
    if not is_object(result):
        raise UpstreamInvalidOutput("the target answers with neither a result nor an error")
    return Answer(result, {}, headers or {})


def _written(message: dict[str, Any]) -> bytes:
    return compact({"jsonrpc": "2.0", **message}).encode()
