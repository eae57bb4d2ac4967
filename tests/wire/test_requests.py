"""What a client asks is judged as the models of the SDK judge it."""

from __future__ import annotations

import pytest
from mcp_types.methods import validate_client_request
from pydantic import ValidationError

from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.requests import check_request

MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"

INFO, CAPABILITIES = "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities"
WHO = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    INFO: {"name": "tests", "version": "1"},
    CAPABILITIES: {},
}
SAID = [
    WHO,
    {**WHO, "progressToken": 1},
    {**WHO, "progressToken": [1]},
    {**WHO, "x": "y" * 5000},
    {**WHO, INFO: {"name": 1, "version": "1"}},
    {**WHO, CAPABILITIES: {"roots": {"listChanged": "perhaps"}}},
    {**WHO, CAPABILITIES: float("nan")},
    {**WHO, CAPABILITIES: None},
    {},
    None,
    [],
]
PLAIN = [{"name": "a", "_meta": said} for said in SAID]
MEMBERS = [
    {"name": "é"},
    {"name": ""},
    {"name": 1},
    {"name": None},
    {"arguments": {}},
    {"arguments": {"a": 1}},
    {"arguments": []},
    {"arguments": ["a"]},
    {"arguments": None},
    {"arguments": "a"},
    {"inputResponses": {"a": 1}},
    {"requestState": 1},
    {"task": {"ttl": "a"}},
    {"task": 1},
    {"x": 1},
]
OTHERS = [{**plain, **member} for plain in PLAIN for member in MEMBERS]
NAMELESS = [{"_meta": said} for said in SAID]
CALLS = [*PLAIN, *OTHERS, *NAMELESS, {"name": "a"}, {}, None]


def is_refused(check, *request):
    try:
        check(*request)
    except (JsonRpcError, ValidationError):
        return True
    return False


@pytest.mark.parametrize("version", [MODERN, HANDSHAKE])
def test_a_call_is_judged_as_by_the_models(version):
    """Ours: the SDK's models are the reference."""
    refused, refused_by_models = (
        [params for params in CALLS if is_refused(check, "tools/call", version, params)]
        for check in (check_request, validate_client_request)
    )
    assert 0 < len(refused_by_models) < len(CALLS)
    assert [params for params in refused if params not in refused_by_models] == []
    assert [params for params in refused_by_models if params not in refused] == []


@pytest.mark.parametrize("version", [MODERN, HANDSHAKE])
def test_other_methods_are_judged_too(version):
    """Ours: methods of no specification are left to who knows them."""
    plain = {"name": "a", "arguments": {"a": 1}, "_meta": WHO}
    assert not is_refused(check_request, "tools/call", version, plain)
    # Arguments of a prompt are texts.
    assert is_refused(check_request, "prompts/get", version, plain)
    assert is_refused(check_request, "resources/read", version, {"_meta": WHO})
    assert not is_refused(check_request, "dev.example/method", version, {"_meta": WHO})
    with pytest.raises(JsonRpcError, match="Method not found"):
        check_request("logging/setLevel" if version == MODERN else "server/discover", version, {"_meta": WHO})
