"""`"experimental": ["result-variants"]`: outputs by audience and format for the draft, and all else as before."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest
from jsonschema import Draft202012Validator

from fixtures.recorded import RECORDINGS
from gateway.gateways import LOUVER
from gateway.raw import HANDSHAKE, STATELESS, Stdio, raw
from gateway.served import config, fixture, serving

pytestmark = pytest.mark.anyio

DRAFT = "2026-12-01"
ON = {"experimental": ["result-variants"]}
MODEL, SHOWN = ("assistant", "content"), ("user", "content")
STRUCTURED = [(audience, "structured") for audience in ("assistant", "user", "programmatic")]
OUTPUTS = "dev.louver/outputs"
TEXT = {"tools/call": {"content": [{"type": "text", "text": '{"a": 1}'}]}}


def selector(output, **projection):
    audience, form = output
    return {"audience": audience, "format": form, **({"_meta": {"projection": projection}} if projection else {})}


def include(*fields, **more):
    return {"mode": "include", "fields": [*fields], **more}


@asynccontextmanager
async def served(folder, servers, era=DRAFT, **louver):
    """A client of a gateway before these servers."""
    with serving(*config(folder, servers, **{**ON, **louver})) as process:
        async with raw(process.url, era) as client:
            yield client


def counting(folder, **louver):
    return {"it": fixture("counting", folder / "runs", **louver)}


def runs(folder):
    return len((folder / "runs").read_bytes()) if (folder / "runs").exists() else 0


async def outputs(client, tool, *selectors, **params):
    """The result of a call, and its outputs by their names."""
    requested = {"requestedOutputs": list(selectors)} if selectors else {}
    result = await client.result("tools/call", name=tool, arguments={}, **requested, **params)
    assert not {"content", "structuredContent"} & result.keys()
    return result, {f"{each['audience']}/{each['format']}": each for each in result["outputs"]}


def text(output):
    return json.loads(output["content"][0]["text"])


async def test_one_run_gives_each_output_its_own_fields(tmp_path):
    async with served(tmp_path, counting(tmp_path)) as client:
        assert client.opening["supportedVersions"] == [STATELESS, DRAFT]
        (act, _) = (await client.result("tools/list"))["tools"]
        assert "outputSchema" not in act
        declared = [(each["audience"], each["format"]) for each in act["outputVariants"]]
        assert declared == [MODEL, SHOWN, *STRUCTURED]
        result, found = await outputs(
            client, "act", selector(MODEL, **include("id")), selector(STRUCTURED[2]), selector(SHOWN)
        )
    assert (text(found["assistant/content"]), text(found["user/content"])) == ({"id": 1}, {"id": 1, "secret": "s"})
    assert found["programmatic/structured"] == {
        "audience": "programmatic",
        "format": "structured",
        "structuredContent": {"id": 1, "secret": "s"},
    }
    receipts = result["_meta"][OUTPUTS]
    assert receipts["assistant/content"]["projection"]["applied"]
    assert list(receipts["assistant/content"]["projection"]["projectedSchema"]["properties"]) == ["id"]
    assert "user/content" not in receipts
    assert runs(tmp_path) == 1


async def test_a_call_without_a_request_gets_what_models_read(tmp_path):
    async with served(tmp_path, counting(tmp_path)) as client:
        result, found = await outputs(client, "act", _meta={"projection": include("secret")})
        assert list(found) == ["assistant/content"]
        assert text(found["assistant/content"]) == {"secret": "s"}
        assert result["resultType"] == "complete"


@pytest.mark.parametrize(
    ("requested", "told"),
    [
        ([], "one selector or more"),
        ({"audience": "assistant"}, "one selector or more"),
        ([selector(MODEL), 5], r"requestedOutputs[1]: expected an audience and a format"),
        ([selector(("programmatic", "content"))], "requestedOutputs[0]: expected"),
        ([selector(("io.modelcontextprotocol/ui", "structured"))], "requestedOutputs[0]: expected"),
        ([{"audience": ["assistant"], "format": {}}], "requestedOutputs[0]: expected"),
        ([selector(MODEL), selector(MODEL)], "assistant/content is requested twice"),
        ([selector(MODEL), selector(STRUCTURED[2], **include("nope", strict=True))], "'nope'"),
        ([selector(MODEL), selector(SHOWN, mode="no")], "'mode' is one of"),
    ],
)
async def test_what_is_wrong_is_refused_before_the_tool_runs(tmp_path, requested, told):
    async with served(tmp_path, counting(tmp_path)) as client:
        error = await client.error("tools/call", name="act", arguments={}, requestedOutputs=requested)
    assert (error["code"], runs(tmp_path)) == (-32602, 0)
    assert told in error["message"]


async def test_an_undeclared_output_is_refused_and_text_is_content(tmp_path):
    blocks = [
        {"type": "text", "text": "for all"},
        {"type": "text", "text": "for people", "annotations": {"audience": ["user"]}},
    ]
    said = json.dumps({"tools/call": {"content": blocks}})
    async with served(tmp_path, {"it": fixture("saying", said)}) as client:
        ((tool),) = (await client.result("tools/list"))["tools"]
        assert [(each["audience"], each["format"]) for each in tool["outputVariants"]] == [MODEL, SHOWN]
        refused = await client.error(
            "tools/call", name="t", arguments={}, requestedOutputs=[selector(MODEL), selector(STRUCTURED[0])]
        )
        assert "declares assistant/structured" in refused["message"]
        _, found = await outputs(client, "t", selector(MODEL), selector(SHOWN))
    assert (found["assistant/content"]["content"], found["user/content"]["content"]) == (blocks[:1], blocks)


BROKEN = {
    "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}]}
}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"isError": True, "content": [{"type": "text", "text": "no such row"}]}, "no such row"),
        ({"content": [{"type": "text", "text": "prose"}]}, "nothing structured for programmatic/structured"),
    ],
    ids=["a tool's error", "nothing structured"],
)
async def test_no_output_stands_for_another(tmp_path, answer, told):
    said = json.dumps({**BROKEN, "tools/call": answer})
    async with served(tmp_path, {"it": fixture("saying", said)}) as client:
        result, found = await outputs(client, "t", selector(MODEL), selector(STRUCTURED[2]))
    assert result["isError"]
    assert found["assistant/content"]["content"] == answer["content"]
    assert told in found["programmatic/structured"]["structuredContent"]["error"]


async def test_text_that_has_a_schema_is_structured(tmp_path):
    async with served(tmp_path, {"it": fixture("saying", json.dumps({**BROKEN, **TEXT}))}) as client:
        _, found = await outputs(client, "t", selector(STRUCTURED[0]))
    assert found["assistant/structured"]["structuredContent"] == {"a": 1}


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_other_revisions_are_as_without_the_setting(tmp_path, era):
    async def seen(**louver):
        (tmp_path / "runs").unlink(missing_ok=True)
        async with served(tmp_path, counting(tmp_path), era, **louver) as client:
            listed = await client.result("tools/list")
            return listed, await client.call("act"), {**client.opening, "supportedVersions": None}

    assert await seen() == await seen(experimental=[])


async def test_without_the_setting_the_draft_is_refused(tmp_path):
    with serving(*config(tmp_path, counting(tmp_path))) as process:
        async with raw(process.url, STATELESS) as client:
            client.era = DRAFT
            error = await client.error("tools/list")
    assert (error["code"], error["data"]) == (-32022, {"supported": [STATELESS], "requested": DRAFT})


async def test_over_stdio(tmp_path):
    client = Stdio([*LOUVER, *config(tmp_path, counting(tmp_path), **ON)], DRAFT)
    try:
        await client.open()
        _, found = await outputs(client, "act", selector(STRUCTURED[1], **include("secret")))
    finally:
        await client.close()
    assert found["user/structured"]["structuredContent"] == {"secret": "s"}


RULES = [
    {"name": "for models", "who": {"roles": ["audience:assistant"]}, "allow": ["id"]},
    {"name": "for code", "who": {"roles": ["audience:programmatic"]}, "allow": ["*"]},
]


async def test_a_policy_by_audience(tmp_path):
    """Each output is pruned by its own rules, and recorded; what one audience may not see reaches none of its lists."""
    (tmp_path / "it.policy.json").write_text(json.dumps({"version": "1", "tools": {"*": {"rules": RULES}}}))
    servers = counting(tmp_path, policy="it.policy.json")
    async with served(tmp_path, servers, execute="strict") as client:
        _, found = await outputs(client, "act", selector(MODEL), selector(STRUCTURED[2]))
        assert text(found["assistant/content"]) == {"id": 1}
        assert found["programmatic/structured"]["structuredContent"] == {"id": 1, "secret": "s"}
        hidden = await client.error("tools/call", name="act", arguments={}, requestedOutputs=[selector(SHOWN)])
        assert hidden["message"] == "Unknown tool"
        script = {"script": "result(it.act():await())"}
        mixed = {"name": "execute", "arguments": script, "requestedOutputs": [selector(MODEL), selector(SHOWN)]}
        result = await client.result("tools/call", **mixed)
        assert "one audience a call" in result["outputs"][0]["content"][0]["text"]
    assert runs(tmp_path) == 1


async def test_a_tool_of_the_gateway_and_a_limit_count_one_call(tmp_path):
    async with served(tmp_path, counting(tmp_path), execute="strict", callsPerMinute=3) as client:
        script = {"name": "execute", "arguments": {"script": "result(it.act():await())"}}
        both = [selector(MODEL), selector(SHOWN)]
        result = await client.result("tools/call", **script, requestedOutputs=both)
        assert result["outputs"][0]["content"] == result["outputs"][1]["content"]
        assert runs(tmp_path) == 1
        results = [(await outputs(client, "act", *both))[0] for _ in range(3)]
    assert [bool(each.get("isError")) for each in results] == [False, False, True]
    assert runs(tmp_path) == 3


@pytest.mark.parametrize("only", [HANDSHAKE, STATELESS])
async def test_input_is_asked_for_once(tmp_path, only):
    servers = {"it": fixture("everything", "--only", only)}
    async with served(tmp_path, servers) as client:
        client.capabilities = {"elicitation": {"form": {}}}
        call = {"name": "test_elicitation", "arguments": {"message": "Hi"}}
        call["requestedOutputs"] = [selector(MODEL), selector(SHOWN)]
        asking = await client.result("tools/call", **call)
        assert asking["resultType"] == "input_required"
        answers = {name: {"action": "decline"} for name in asking["inputRequests"]}
        state = {"requestState": asking["requestState"]} if "requestState" in asking else {}
        result = await client.result("tools/call", **call, inputResponses=answers, **state)
    assert [each["audience"] for each in result["outputs"]] == ["assistant", "user"]


SERVERS = {
    "server-memory": 3,
    "mcp-server-git": 0,
    "mcp-server-time": 3,
    "server-everything": 3,
    "server-filesystem": 3,
    "server-sequential-thinking": 3,
}
"""Public servers, and how many structured outputs their tools have at least."""


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="needs ../shared")
@pytest.mark.parametrize(
    "name", [name if name == "server-memory" else pytest.param(name, marks=pytest.mark.deep) for name in SERVERS]
)
async def test_each_output_fits_its_own_schema_and_nothing_is_mirrored(tmp_path, name):
    called = [call["tool"] for call in json.loads((RECORDINGS / f"{name}.json").read_text("utf-8"))["calls"]]
    async with served(tmp_path, {"it": fixture("recorded", name)}) as client:
        tools = {tool["name"]: tool["outputVariants"] for tool in (await client.result("tools/list"))["tools"]}
        checked = 0
        for tool, variant in ((name, each) for name in called for each in tools[name]):
            output = variant["audience"], variant["format"]
            result, found = await outputs(client, tool, selector(output))
            (payload,) = found.values()
            held = "content" if output[1] == "content" else "structuredContent"
            assert payload.keys() == {"audience", "format", held}
            if held == "structuredContent" and not result.get("isError"):
                (receipts,) = result["_meta"][OUTPUTS].values()
                for schema in (receipts["projection"]["projectedSchema"], variant["schema"]):
                    Draft202012Validator(schema).validate(payload[held])
                checked += 1
    assert checked >= SERVERS[name]
