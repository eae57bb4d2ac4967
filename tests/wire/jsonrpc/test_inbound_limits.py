"""Which messages of clients are not read, and which request it was."""

import json

import pytest

from louver.gateway.front.stdio_streams import OversizedLine
from louver.limits import MAX_CLIENT_LINE
from louver.wire.jsonrpc.codec import peek_response_id
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.jsonrpc.inbound import (
    MAX_CLIENT_CONTAINERS,
    MAX_CLIENT_DEPTH,
    MAX_CLIENT_VALUES,
    check,
    peek_request_id,
)


def call(arguments):
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t", "arguments": arguments}}


def nested(levels):
    return json.loads("[" * levels + "]" * levels)


# Beside what stands in `x` there are 4 objects and arrays, and 4 members that come after others.
BOUNDS = {
    "elements": (lambda more: {"x": [0] * (MAX_CLIENT_VALUES - 7 + more)}, "200000 values"),
    "members": (lambda more: {"x": dict.fromkeys(range(MAX_CLIENT_VALUES - 7 + more))}, "200000 values"),
    "arrays": (lambda more: {"x": [[[]]] * (MAX_CLIENT_CONTAINERS // 2 - 2 + more)}, "100000 arrays and objects"),
    "objects": (lambda more: {"x": [[{}]] * (MAX_CLIENT_CONTAINERS // 2 - 2 + more)}, "100000 arrays and objects"),
    "depth": (lambda more: {"x": nested(MAX_CLIENT_DEPTH - 3 + more)}, "128 levels"),
}
"""Arguments that are as large as they may be, or larger, and what the refusal says."""


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_message_has_only_so_much_in_it(bound):
    """PRIVACY.md, "Hostile inputs": found out before it is read; what stands under the bound is read."""
    arguments, said = BOUNDS[bound]
    check(json.dumps(call(arguments(0))).encode())
    with pytest.raises(JsonRpcError, match=said) as refused:
        check(json.dumps(call(arguments(1))).encode())
    assert refused.value.code == -32600


def test_what_stands_in_a_text_is_none_of_the_message():
    """Ours: a client may write a table, or code, into a file."""
    check(json.dumps(call({"text": '{[,"\\' * 300_000})).encode())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32-be"])
def test_a_message_in_which_nothing_can_be_counted_is_refused(encoding):
    """MCP: messages are UTF-8. Python's reader, which the SDK has, takes others too."""
    with pytest.raises(JsonRpcError) as refused:
        check(json.dumps(call({})).encode(encoding))
    assert refused.value.code == -32700


def test_whose_message_it_was_is_seen_without_reading_it(monkeypatch):
    """Ours: at its beginning or its end, as of one that is too long."""
    params = {"x": [[[]]] * MAX_CLIENT_CONTAINERS}
    said = [
        {"jsonrpc": "2.0", "id": 1, "method": "m", "params": params},
        {"method": "m", "params": params, "jsonrpc": "2.0", "id": "a"},
        {"jsonrpc": "2.0", "params": params, "id": 1, "method": "m"},
    ]
    read = json.loads
    monkeypatch.setattr(json, "loads", lambda text: read(text) if len(text) < 100 else pytest.fail("it is read"))
    assert [peek_request_id(json.dumps(each).encode()) for each in said] == [1, "a", None]


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ({"jsonrpc": "2.0", "method": "m", "params": [1], "id": 7}, 7),
        ({"params": 5, "method": "m", "jsonrpc": "2.0", "id": -3}, -3),
        ({"jsonrpc": "2.0", "id": "\u00e4", "method": 5}, "\u00e4"),
        ({"jsonrpc": "1.0", "id": "", "method": "m"}, ""),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "m"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "m"}, None),
        ({"jsonrpc": "2.0", "id": None, "method": "m"}, None),
        ({"jsonrpc": "2.0", "id": 7, "result": {}}, None),
        ([{"jsonrpc": "2.0", "id": 7, "method": "m"}], None),
        (5, None),
    ],
)
def test_json_that_is_no_message_says_whose_it_is(said, number):
    """JSON-RPC 2.0, 5.1: -32600, with the id where it can be told; MCP has no answers to nobody."""
    assert peek_request_id(json.dumps(said).encode() + b"\n") == number


@pytest.mark.parametrize("line", [b"", b"\xff", b"[" * 100_000, b'{"a":' * 100_000])
def test_of_what_is_no_json_nobody_is_told(line):
    """Ours: unless its beginning or its end shows a request."""
    assert peek_request_id(line) is None


@pytest.mark.parametrize("start", [b"{", b'{"jsonrpc":"2.0",', b'{"jsonrpc":"2.0","id":1', b'{"method":"m"'])
def test_white_space_hides_whose_a_message_is(start):
    """Ours; that patterns do not go back over it is in `tests/test_linear_text.py`."""
    line = start + b" " * MAX_CLIENT_LINE
    assert peek_request_id(line) is None
    assert peek_response_id(line) is None


def test_what_was_cut_is_not_taken_whole():
    """Ours: what is left of a line that is too long may happen to be JSON."""
    assert peek_request_id(OversizedLine(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{}')) == 1
