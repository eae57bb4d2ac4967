"""Messages of upstreams: strict JSON, with the values and refusals of the standard library, forwarded verbatim."""

from __future__ import annotations

import json

from louver.errors import UpstreamInvalidOutput
from louver.limits import MAX_UPSTREAM_DEPTH
from louver.wire.jsonrpc import codec
from louver.wire.jsonrpc.errors import JsonRpcError

from . import second_reader
from .second_reader import Refused


def check(data: bytes) -> None:
    _check_peeked(data)
    expected = _read(data)
    try:
        value = codec.read_strictly(data)
    except UpstreamInvalidOutput:
        assert expected is Refused
    else:
        assert second_reader.same(value, expected)
    try:
        message = codec.read(data)
    except UpstreamInvalidOutput:
        return
    assert second_reader.same(message.body, expected)
    if message.method is None:
        _check_response(message)


def _check_peeked(data: bytes) -> None:
    peeked = codec.peek_response_id(data)
    if peeked is not None:
        found = second_reader.ids(data)
        assert found is None or peeked in map(codec.normalized_id, found), "the id of what is refused is an id of it"


def _check_response(message: codec.Message) -> None:
    try:
        result = message.result()
    except (JsonRpcError, UpstreamInvalidOutput):
        return
    text = result.text()
    if text is not None:
        assert second_reader.same(second_reader.read(bytes(text)), dict(result)), "the text is that of the result"
    written = codec.response(1, result)
    assert second_reader.same(json.loads(written)["result"], dict(result)), "what is written is what was read"


def _read(data: bytes):
    try:
        value = second_reader.read(data)
    except Refused:
        return Refused
    is_shallow = second_reader.depth(value) <= MAX_UPSTREAM_DEPTH
    return value if is_shallow and second_reader.is_text(value) else Refused
