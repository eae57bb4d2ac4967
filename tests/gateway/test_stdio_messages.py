"""Which request it was that cannot be read."""

import json

import pytest

from louver.gateway.stdio_lines import TooLong
from louver.gateway.stdio_messages import asked


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
    assert asked(json.dumps(said).encode() + b"\n") == number


@pytest.mark.parametrize("line", [b"", b"\xff", b"[" * 100_000, b'{"a":' * 100_000])
def test_of_what_is_no_json_nobody_is_told(line):
    """Ours: unless its beginning or its end shows a request."""
    assert asked(line) is None


def test_what_was_cut_is_not_taken_whole():
    """Ours: what is left of a line that is too long may happen to be JSON."""
    assert asked(TooLong(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{}')) == 1
