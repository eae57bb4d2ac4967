"""JSON-RPC messages to and from a target, written and read without an SDK.

::

    -> {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {...}}
    <- {"jsonrpc": "2.0", "id": 7, "result": {...}}
    <- {"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "...", "data": {...}}}

Reading is strict: text that two readers could read differently is no message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from louver.core.json import NotJson, compact, is_object, members, parse
from louver_conformance.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class TargetResponse:
    """The answer to one request: a result or an error."""

    # `None` for an error.
    result: dict[str, Any] | None
    # Empty for a result.
    error: dict[str, Any]
    # In lower case.
    http_headers: Mapping[str, str]

    @property
    def meta(self) -> dict[str, Any]:
        return members(members(self.result).get("_meta"))

    @property
    def is_error_result(self) -> bool:
        return members(self.result).get("isError") is True


class TargetTransport(Protocol):
    """One connection to a target. Where no answer can be read, a method raises `TargetError`."""

    async def request(
        self, number: int, method: str, params: dict[str, Any], headers: Mapping[str, str]
    ) -> TargetResponse: ...

    async def notify(self, method: str, headers: Mapping[str, str]) -> None: ...

    async def close(self) -> None: ...


def request(number: int, method: str, params: dict[str, Any]) -> bytes:
    return _encoded({"id": number, "method": method, "params": params})


def notification(method: str) -> bytes:
    return _encoded({"method": method})


def reply(number: object, method: str) -> bytes:
    """The answer to a request of the target: only `ping` is supported."""
    if method == "ping":
        return _encoded({"id": number, "result": {}})
    return _encoded({"id": number, "error": {"code": -32601, "message": "Method not found"}})


def read(raw: bytes) -> dict[str, Any]:
    try:
        message = parse(raw.decode())
    except UnicodeDecodeError:
        raise TargetError("the target sends what is not UTF-8") from None
    except NotJson as error:
        raise TargetError(f"the target sends what is not strictly JSON: {error.reason}") from None
    if not is_object(message) or message.get("jsonrpc") != "2.0":
        raise TargetError("the target sends what is no JSON-RPC message")
    return message


def answer(message: dict[str, Any], headers: Mapping[str, str] | None = None) -> TargetResponse:
    result, error = message.get("result"), message.get("error")
    if is_object(error):
        return TargetResponse(None, error, headers or {})
    if not is_object(result):
        raise TargetError("the target answers with neither a result nor an error")
    return TargetResponse(result, {}, headers or {})


def _encoded(message: dict[str, Any]) -> bytes:
    return compact({"jsonrpc": "2.0", **message}).encode()
