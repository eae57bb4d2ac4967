"""With projection not asked for, what a client gets of the gateway is what it would get of the server behind it.

Whole answers are compared, as JSON, by clients that read no model. Differences are those of GATEWAY.md alone.
"""

from __future__ import annotations

import asyncio

import pytest

from fixtures.everything import PROMPTS, RESOURCES, TOOLS
from fixtures.failsafe import FAILSAFE_S
from gateway.gateways import EVERYTHING, LOUVER
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import at_a_url, config, fixture, serving

pytestmark = pytest.mark.anyio

ASKS = [name for name in TOOLS if "elicitation" in name or "sampling" in name or "input_required" in name]
CALLS = [name for name in TOOLS if name not in ASKS and "trigger" not in name and name != "test_reconnection"]
REFERENCE = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}

REQUESTS = [
    *((f"{kind}/list", {}) for kind in ("tools", "prompts", "resources", "resources/templates")),
    *(("tools/call", {"name": name, "arguments": {}}) for name in (*CALLS, *ASKS)),
    ("tools/call", {"name": "test_x_mcp_header", "arguments": {"region": "here"}}),
    ("tools/call", {"name": "test_simple_text"}),
    ("tools/call", {"name": "test_simple_text", "arguments": {"unknown": None}, "unknown": [1], "_meta": {"x.y/z": 1}}),
    ("tools/call", {"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "p"}}),
    *(
        ("prompts/get", {"name": name, "arguments": {"arg1": "1", "arg2": "2", "resourceUri": "a:b"}})
        for name in PROMPTS
    ),
    *(("resources/read", {"uri": uri}) for uri in RESOURCES),
    ("resources/read", {"uri": "test://template/7/data"}),
    ("completion/complete", {"ref": REFERENCE, "argument": {"name": "arg1", "value": "par"}}),
    ("logging/setLevel", {"level": "info"}),
    ("resources/subscribe", {"uri": "test://watched-resource"}),
    ("resources/unsubscribe", {"uri": "test://watched-resource"}),
    ("ping", {}),
    # What is refused
    ("tools/call", {"name": "unknown", "arguments": {}}),
    ("tools/call", {"arguments": {}}),
    ("tools/call", {"name": 7}),
    ("tools/call", {"name": "test_simple_text", "arguments": []}),
    ("prompts/get", {"name": "unknown"}),
    ("resources/read", {"uri": "test://unknown"}),
    ("resources/read", {}),
    ("completion/complete", {}),
    ("logging/setLevel", {"level": "loud"}),
    ("tools/list", {"cursor": 7}),
    ("x.y/unknown", {}),
    ("tasks/list", {}),
]


@pytest.fixture(scope="module")
def everything():
    with at_a_url("everything", "--http", "0") as url:
        yield url


@pytest.fixture(scope="module")
def gateway(everything):
    with serving("--url", everything) as served:
        yield served.url


async def answers(client, requests=REQUESTS):
    """What the requests are answered with."""
    found = []
    async with asyncio.timeout(FAILSAFE_S):
        for method, params in requests:
            answer = await client.request(method, **params)
            del answer["id"]
            found.append(answer)
    return found


async def same(direct, through):
    for request, expected, found in zip(REQUESTS, await answers(direct), await answers(through), strict=True):
        assert without_state(found) == without_state(expected), request
    assert through.notes == direct.notes
    assert through.questions == direct.questions


def without_state(answer):
    """The same, without what is another one each time: the state that an upstream seals."""
    result = answer.get("result", {})
    return {**answer, "result": {key: value for key, value in result.items() if key != "requestState"}}


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_over_http_every_answer_is_the_same(everything, gateway, era):
    """GATEWAY.md, "Transparency first"."""
    async with raw(everything, era) as direct, raw(gateway, era) as through:
        await same(direct, through)


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_over_stdio_every_answer_is_the_same(era):
    """Likewise."""
    async with raw(EVERYTHING, era) as direct, raw([*LOUVER, "--", *EVERYTHING], era) as through:
        await same(direct, through)


OF_AN_ERA = {*ASKS, "test_missing_capability", "test_input_required_result_prompt"}
"""What a server answers otherwise in each era to a client that can be asked nothing."""


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_before_a_server_of_the_other_revision_alone_every_answer_is_that_of_one_that_has_both(everything, era):
    """GATEWAY.md, "Transparency first": both eras on both sides in every combination."""
    other = STATELESS if era == HANDSHAKE else HANDSHAKE
    requests = [(method, params) for method, params in REQUESTS if params.get("name") not in OF_AN_ERA]
    with at_a_url("everything", "--http", "0", "--only", other) as url, serving("--url", url) as served:
        async with raw(everything, era) as direct, raw(served.url, era) as through:
            for request, expected, found in zip(
                requests, await answers(direct, requests), await answers(through, requests), strict=True
            ):
                assert found == expected, request
            # What is logged for whom nobody has said a level is the server's to say.
            assert [note for note in through.notes if note["method"] != "notifications/message"] == [
                note for note in direct.notes if note["method"] != "notifications/message"
            ]


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_the_opening_differs_in_what_is_added(everything, gateway, era):
    """GATEWAY.md: the advertised capability."""
    async with raw(everything, era) as direct, raw(gateway, era) as through:
        own, of_gateway = direct.opening, through.opening
    tools = of_gateway["capabilities"]["tools"]
    assert {key: value for key, value in tools.items() if key != "projection"} == own["capabilities"]["tools"]
    rest = {"capabilities"}
    assert {key: value for key, value in of_gateway.items() if key not in rest} == {
        key: value for key, value in own.items() if key not in rest
    }
    added = of_gateway["capabilities"].keys() ^ own["capabilities"].keys()
    assert added <= {"extensions"}


async def test_what_nobody_knows_is_passed_on(tmp_path):
    """GATEWAY.md: unknown `_meta`, methods, notifications and members, in both directions."""
    command = fixture("unruly")
    direct_command = [command["command"], *command["args"]]
    arguments = config(tmp_path, {"one": command})
    async with raw(direct_command) as direct, raw([*LOUVER, *arguments]) as through:
        found = []
        for client in (direct, through):
            meta = {"x.y/z": {"deep": [None, 2**70, 1.0]}}
            echoed = await client.result("tools/call", name="echo", arguments={"a": None}, _meta=meta, unknown="é")
            unknown = await client.result("x.y/unknown", some={"thing": 1})
            await client.notify("notifications/x.y/unknown", a=1)
            seen = await client.call("wait_for", seen="notifications/x.y/unknown")
            await client.call("say_unknown")
            heard = await client.hears("notifications/x.y/unknown")
            digits = await client.call("digits")
            error = await client.error("tools/call", name="fail", arguments={"code": -5, "message": "m", "data": [1]})
            found.append((echoed["params"], unknown, seen["seen"], heard, digits, error))
    assert found[0] == found[1]
