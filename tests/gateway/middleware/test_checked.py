"""What a client asks is judged as the models of the SDK judge it, whatever has been remembered."""

from __future__ import annotations

import marshal

import pytest
from mcp import MCPError
from mcp_types.methods import validate_client_request
from pydantic import ValidationError

from louver.gateway.middleware.forward import RequestValidator
from louver.limits import MAX_REMEMBERED_META, MAX_REMEMBERED_METAS

MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"
HALF = "\ud83d"

INFO, CAPABILITIES = "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities"
WHO = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    INFO: {"name": "tests", "version": "1"},
    CAPABILITIES: {},
}
DEEP: object = []
for _ in range(2000):
    DEEP = [DEEP]

SAID = [
    WHO,
    {**WHO, "progressToken": 1},
    {**WHO, "progressToken": 1.0},
    {**WHO, "progressToken": True},
    {**WHO, "progressToken": [1]},
    {**WHO, "x": DEEP},
    {**WHO, "x": "y" * 5000},
    {**WHO, INFO: {"name": 1, "version": "1"}},
    {**WHO, INFO: {"name": HALF, "version": "1"}},
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
    {"name": HALF},
    {"name": ""},
    {"name": 1},
    {"name": None},
    {"arguments": {}},
    {"arguments": {"a": 1}},
    {"arguments": {"é": HALF}},
    {"arguments": {HALF: 1}},
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


def refused(check, *request):
    try:
        check(*request)
    except ValidationError as error:
        return str(error)
    return None


@pytest.mark.parametrize("version", [MODERN, HANDSHAKE])
def test_a_call_is_judged_as_by_the_models(version):
    """Ours: what was valid is remembered, of either revision, and nothing else is taken for it."""
    checked = RequestValidator()
    for params in PLAIN:
        refused(checked.check, "tools/call", HANDSHAKE if version == MODERN else MODERN, params)
    for _ in range(2):
        for params in CALLS:
            request = ("tools/call", version, params)
            assert refused(checked.check, *request) == refused(validate_client_request, *request)


def test_so_many_are_remembered():
    """Ours: `MAX_REMEMBERED_METAS`; the oldest goes, and what is long, or new in each call, is not kept."""
    checked = RequestValidator()
    for number in range(MAX_REMEMBERED_METAS + 5):
        said = {**WHO, INFO: {"name": str(number), "version": "1"}}
        for _ in range(2):
            checked.check("tools/call", MODERN, {"name": "a", "_meta": said})
    for other in ({"x": "y" * MAX_REMEMBERED_META}, {"progressToken": 1}, {"traceparent": "00-1-2-00"}):
        checked.check("tools/call", MODERN, {"name": "a", "_meta": {**WHO, **other}})
    kept = [marshal.loads(key)[1][INFO]["name"] for key in checked._valid]
    assert kept == [str(number) for number in range(5, MAX_REMEMBERED_METAS + 5)]


@pytest.mark.parametrize("version", [MODERN, HANDSHAKE])
def test_other_methods_are_judged_too(version):
    """Ours: methods of no specification are left to who knows them."""
    check = RequestValidator().check
    plain = {"name": "a", "arguments": {"a": 1}, "_meta": WHO}
    assert refused(check, "tools/call", version, plain) is None
    # Arguments of a prompt are texts.
    assert refused(check, "prompts/get", version, plain) is not None
    assert refused(check, "resources/read", version, {"_meta": WHO}) is not None
    assert refused(check, "dev.example/method", version, {"_meta": WHO}) is None
    with pytest.raises(MCPError, match="Method not found"):
        check("logging/setLevel" if version == MODERN else "server/discover", version, {"_meta": WHO})
