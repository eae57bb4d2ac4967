"""Messages of clients: what the standard library reads and JSON-RPC allows, nothing else, and with their own id."""

from __future__ import annotations

from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.jsonrpc.inbound import MAX_CLIENT_DEPTH, MAX_ID_BITS, MAX_ID_CHARACTERS, is_id, peek_request_id, read

from . import second_reader
from .second_reader import Refused


def check(data: bytes) -> None:
    try:
        message = read(data)
    except JsonRpcError:
        message = None
    expected = _read(data)
    assert second_reader.same(message, expected)
    peeked = peek_request_id(data)
    if peeked is not None:
        assert is_id(peeked)
        found = second_reader.ids(data)
        assert found is None or peeked in found, "the id of what is refused is an id of it"
    if expected is not None:
        assert peeked == (expected.get("id") if "method" in expected else None)


def _read(data: bytes) -> dict | None:
    """The message; `None` if it is none."""
    try:
        # Bytes that are not UTF-8 are replaced, as text of people may hold some.
        message = second_reader.read(data.decode(errors="replace"), repeats=True)
    except Refused:
        return None
    if not isinstance(message, dict) or b"\0" in data or not second_reader.is_text(message):
        return None
    is_shallow = second_reader.depth(message) <= MAX_CLIENT_DEPTH
    return message if is_shallow and message.get("jsonrpc") == "2.0" and _is_message(message) else None


def _is_message(message: dict) -> bool:
    """JSON-RPC 2.0, sections 4 and 5, and MCP: params are an object, and a response has an id."""
    identity = message.get("id")
    has_id = (type(identity) is int and identity.bit_length() <= MAX_ID_BITS) or (
        isinstance(identity, str) and len(identity) <= MAX_ID_CHARACTERS
    )
    if "method" in message:
        is_request = isinstance(message["method"], str) and (has_id or "id" not in message)
        return is_request and isinstance(message.get("params"), (dict, type(None)))
    error = message.get("error")
    if isinstance(error, dict):
        return has_id and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
    return has_id and isinstance(message.get("result"), dict)
