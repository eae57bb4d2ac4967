"""The guarantees of field policy, one by one, before real servers that tell all that they know.

Everything that a client gets is looked at as JSON. Of what is denied every value holds `SECRET`, and the name is `ssn`.
"""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest
from mcp import MCPError

from fixtures.tables import in_turn
from fixtures.tattled import META, NAMES, SECRET, SEEN
from gateway.raw import HANDSHAKE, STATELESS
from louver.policy.principal import NOBODY
from louver.wire.names import GRANT, GRANT_ARGUMENT
from policy.behind import ADMIN, DESCRIPTION, KINDS, RULES, Somebody, client_of, gateway, got, inside, leaks, policy
from steps.wire import NEW, OLD

pytestmark = pytest.mark.anyio

REVISIONS = [HANDSHAKE, STATELESS]
ERAS = pytest.mark.parametrize("era", REVISIONS)
SERVERS = pytest.mark.parametrize("server", KINDS)
ALIKE = pytest.mark.parametrize(("server", "era"), [("old", HANDSHAKE), ("new", STATELESS)])
"""The client speaks what the server speaks."""
CROSSED = pytest.mark.parametrize(("server", "era"), [("old", STATELESS), ("new", HANDSHAKE)])
"""It speaks the other revision."""
INFO = "io.modelcontextprotocol/serverInfo"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Gateways, by their exposure; nothing that they tell on standard error holds a secret."""
    with ExitStack() as stack:
        made = {}

        def get(exposure="full"):
            if exposure not in made:
                folder = tmp_path_factory.mktemp(exposure)
                exports = {} if exposure != "gateway" else {"keepResults": 2_000}
                made[exposure] = stack.enter_context(gateway(folder, "--exposure", exposure, **exports))
            return made[exposure]

        yield get
        for each in made.values():
            assert not leaks(each.said)


@pytest.fixture
async def client(served, era):
    async with client_of(served().url, era) as client:
        yield client
        assert not leaks(client.opening, client.notes, client.questions)


async def call(client, name, **meta):
    """The result of a tool, or its error."""
    answer = await client.request("tools/call", name=name, arguments={}, **({"_meta": meta} if meta else {}))
    return answer.get("result") or answer["error"]


def error_of(result):
    return json.loads(result["content"][0]["text"])["error"]


def told_by(result):
    """The values that stand in the text blocks of a result."""
    return [json.loads(block["text"]) for block in result["content"]]


REQUESTS = {
    "nothing": {},
    "include": {"projection": {"mode": "include", "fields": ["id", "ssn", "either"]}},
    "exclude": {"projection": {"mode": "exclude", "fields": ["id"]}},
    "view": {"projection": {"mode": "view", "view": "open"}},
    "progress": {"progressToken": 7},
}


@pytest.mark.whole
@pytest.mark.parametrize(("asked", "server", "era"), in_turn(REQUESTS, KINDS, REVISIONS))
async def test_p01_content_never_holds_what_structured_content_lost(client, server, asked):
    """PRIVACY.md, P1: text JSON is pruned and written anew, prose is withheld with a note."""
    for name in NAMES:
        result = await call(client, f"{server}__{name}", **asked)
        assert not leaks(result), name
    whole = await call(client, f"{server}__get_person")
    assert (whole["structuredContent"], told_by(whole)) == (SEEN, [SEEN])
    assert told_by(await call(client, f"{server}__tell_person")) == [SEEN]
    assert told_by(await call(client, f"{server}__list_people")) == [{"result": [SEEN]}]
    wrapped = await call(client, f"{server}__tell_wrapped")
    assert json.loads(wrapped["structuredContent"]["content"]) == [SEEN]
    nullable = await call(client, f"{server}__tell_or_nothing")
    assert json.loads(nullable["structuredContent"]["result"]) == SEEN
    root = await call(client, f"{server}__tell_at_the_root")
    assert told_by(root) == [SEEN]
    (note,) = (await call(client, f"{server}__describe_person"))["content"]
    assert note["text"].endswith("it is withheld")


@pytest.mark.whole
@ALIKE
async def test_p01_json_that_no_encoder_takes_arrives_and_json_in_prose_does_not(client, server):
    """TRUST.md, second review, rows 20 and 24: without what is denied."""
    half = {**SEEN, "name": "\ud83d"}
    for request, kept in (("nothing", half), ("exclude", {name: half[name] for name in half if name != "id"})):
        told = await call(client, f"{server}__tell_half_pair", **REQUESTS[request])
        assert told_by(told)[0] == kept
    for name in ("tell_half_name", "tell_in_prose"):
        (note,) = (await call(client, f"{server}__{name}"))["content"]
        assert note["text"].endswith("it is withheld")


@ERAS
async def test_p02_resources_are_values(client):
    """PRIVACY.md, P2: links and embedded resources are dropped, what is not covered is not read, nor with others."""
    listed = await client.result("resources/list")
    assert [each["uri"] for each in listed["resources"]] == ["file:///open"]
    assert (await client.result("resources/templates/list"))["resourceTemplates"] == []
    open_ = {"uri": "file:///open", "text": "open", "_meta": {"a.b/cost": 1}}
    assert (await client.result("resources/read", uri="file:///open"))["contents"] == [open_]
    for uri in (f"file:///private/{SECRET}", "file:///open/../private/1", "file:///openly"):
        said = await client.error("resources/read", uri=uri)
        assert (said["code"], said["message"]) == (-32602, f"Unknown resource: {uri}")


@CROSSED
async def test_p03_an_error_is_constant_words_and_an_id(client, server, served):
    """PRIVACY.md, P3: the operator finds the id in the log."""
    result = await call(client, f"{server}__fails")
    refused = await call(client, f"{server}__refuse")
    assert refused["code"] == -32007
    assert refused["data"]["error"].keys() == {"code", "message", "correlation_id"}
    for said in (error_of(result), refused["data"]["error"]):
        assert (said["code"], SECRET in said["message"]) == ("WITHHELD", False)
        served().says(said["correlation_id"])
    # What the upstream sends that is no JSON, and what its schema does not admit, is told in words of ours.
    assert error_of(await call(client, f"{server}__duplicate"))["code"] == "UPSTREAM_INVALID_OUTPUT"
    assert error_of(await call(client, f"{server}__break_schema"))["code"] == "OUTPUT_INVALID"


async def test_p03_errors_may_be_passed_on(tmp_path):
    """PRIVACY.md, P3: `errors: passthrough`, and then their text alone."""
    async with inside(tmp_path, OLD, policy=policy(errors="passthrough"), servers=["old"]) as wire:
        result = await wire.call("fails")
        assert "structuredContent" not in result
        assert result["content"][0]["text"] == f"Ann's ssn is {SECRET}."
        with pytest.raises(MCPError, match=SECRET):
            await wire.call("refuse")


@ALIKE
async def test_p04_meta_is_passed_on_by_a_list_alone(client, server):
    """PRIVACY.md, P4."""
    kept = (await call(client, f"{server}__get_person"))["_meta"]
    assert META.keys() - kept.keys() == {"x.y/told"}
    assert kept.get(INFO, {}).keys() <= {"name", "version"}
    resource = (await client.result("resources/list"))["resources"][0]
    assert resource["_meta"] == {"a.b/cost": 1}
    assert not leaks(await client.request("tools/list"), await client.request("resources/list"))


@ERAS
@SERVERS
async def test_p05_a_server_says_nothing_beside_its_answers(client, server):
    """PRIVACY.md, P5: progress, logs, elicitation, sampling, completion, prompts, instructions."""
    if client.era == HANDSHAKE:
        await client.result("logging/setLevel", level="debug")
    for name in ("report", "ask", "sample", "root", "touch"):
        assert not leaks(await call(client, f"{server}__{name}", progressToken=7))
    assert {note["method"] for note in client.notes} <= {"notifications/tools/list_changed"}
    assert {asked["method"] for asked in client.questions} <= {"roots/list"}
    assert (await client.result("prompts/list"))["prompts"] == []
    argument = {"name": "a", "value": "b"}
    for method, params in (
        ("prompts/get", {"name": "ssn"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "ssn"}, "argument": argument}),
        (
            "completion/complete",
            {"ref": {"type": "ref/resource", "uri": "file:///private/{ssn}"}, "argument": argument},
        ),
    ):
        assert "error" in await client.request(method, **params)
    assert SECRET not in got(client)


async def test_p05_what_is_let_is_heard(tmp_path):
    """PRIVACY.md, P5: unless allowed; so that it was the policy that kept it back."""
    let = ["progress", "logging", "elicitation", "sampling", "prompts", "completion", "instructions"]
    with gateway(tmp_path, policy=policy(let=let), servers=["old"]) as process:
        async with client_of(process.url, HANDSHAKE) as client:
            await client.result("logging/setLevel", level="debug")
            for name in ("report", "ask", "sample"):
                await call(client, name, progressToken=7)
            (progress,) = await client.hears("notifications/progress")
            assert progress == {"progressToken": 7, "progress": 1, "message": SECRET, "_meta": {"a.b/cost": 1}}
            assert await client.hears("notifications/message")
            assert [asked["method"] for asked in client.questions] == ["elicitation/create", "sampling/createMessage"]
            assert SECRET in client.opening["instructions"]
            assert (await client.result("prompts/list"))["prompts"]


@ERAS
async def test_p06_the_visible_schema_names_nothing_denied(client):
    """PRIVACY.md, P6: properties, required, dependent*, `$defs`, examples, default, enum, const, patterns."""
    tools = (await client.result("tools/list"))["tools"]
    schemas = [tool["outputSchema"] for tool in tools if "outputSchema" in tool]
    assert len(schemas) >= 2 * len(KINDS)
    assert "ssn" not in json.dumps(schemas).lower()
    assert not leaks(schemas)
    # Nor do the schemas that answers bring along.
    answer = await call(client, "old__get_person", projection={"mode": "exclude", "fields": ["id"]})
    assert "ssn" not in json.dumps(answer)


@ERAS
async def test_p07_nor_do_descriptions_views_or_the_search(served, era):
    """PRIVACY.md, P7: nor `available_tools`; what the name of a tool tells it tells."""
    async with client_of(served("minimal").url, era) as client:
        tools = (await client.result("tools/list"))["tools"]
        assert "ssn" not in json.dumps(tools)
        (views,) = [
            tool["_meta"]["dev.louver/projectionHint"]["recommendedViews"]
            for tool in tools
            if tool["name"] == "old__get_person"
        ]
        assert views == {"both": ["id"], "open": ["id"]}
        names = [tool["name"] for tool in tools if "__" in tool["name"]]
        described = await client.call("get_tool_descriptions", tools=names[:10])
        texts = json.loads(described["content"][0]["text"])
        # A grant is random letters: in one of some thousand there is any word of three.
        texts = json.loads(described["content"][0]["text"])
        for tool in texts.values():
            tool.get("inputSchema", {}).get("properties", {}).pop(GRANT_ARGUMENT, None)
        assert "ssn" not in json.dumps([texts, {**described["_meta"], GRANT: ""}])
        if era == STATELESS:
            for query in ("ssn", SECRET, "ssn person"):
                found = await client.result("tools/list", query=query)
                assert not leaks(found["tools"])
                assert "ssn" not in json.dumps(found["tools"])
        unknown = await client.request("tools/call", name="old__get_ssn", arguments={})
        assert not leaks(unknown)


async def test_p07_nor_do_the_files_of_descriptions(tmp_path):
    """PRIVACY.md, P7: what the operator writes is told as what the server says."""
    who = Somebody("admin")

    async def told(wire):
        described = await wire.call("get_tool_descriptions", {"tools": ["get_person"]})
        return (await wire.tools())["get_person"]["description"], json.loads(described["content"][0]["text"])[
            "get_person"
        ]

    async with inside(tmp_path, NEW, who, servers=["old"], exposure="minimal") as wire:
        summary, whole = await told(wire)
        assert {**whole, "summary": summary} == {**whole, **DESCRIPTION}
        who.roles = frozenset()
        summary, seen = await told(wire)
        assert "ssn" not in json.dumps([summary, seen])
        assert (summary, seen["description"], seen["usage_guidance"]) == (
            "Get one person.",
            "Get one person.",
            "Ask by id.",
        )
        assert seen["examples"] == DESCRIPTION["examples"][1:]
        assert seen["error_guidance"] == {"no person": "ask for another"}


@ALIKE
async def test_p08_a_denied_path_answers_as_one_that_does_not_exist(client, server):
    """PRIVACY.md, P8: byte for byte, in every mode; thousands of pairs in `test_denied_is_unknown.py`."""
    for path in ("ssn", "friends.*.ssn", "either.ssn"):
        other = path.replace("ssn", "zzz")
        for mode in ("include", "exclude"):
            for strict in (False, True):
                asked = {"mode": mode, "strict": strict, "schema": "inline" if mode == "include" else "none"}
                one, two = [
                    await call(client, f"{server}__get_person", projection={**asked, "fields": ["id", name]})
                    for name in (path, other)
                ]
                assert json.dumps(one).replace("ssn", "zzz") == json.dumps(two)
    one, two = [
        await call(client, f"{server}__get_person", projection={"mode": "view", "view": view})
        for view in ("secret", "sacred")
    ]
    assert json.dumps(one).replace("secret", "sacred") == json.dumps(two)
    hidden, unknown = ("collide", "collude")
    one, two = [json.dumps(await call(client, f"{server}__{name}")) for name in (hidden, unknown)]
    assert one.replace(hidden, unknown) == two


async def test_p09_sizes_counts_and_digests_are_taken_over_what_is_visible(tmp_path):
    """PRIVACY.md, P9: of a kept result, of warnings, and of the account of what a projection saved."""
    kept = {"keepResults": 4_000, "warnings": True}
    async with inside(tmp_path, NEW, servers=["old"], **kept) as wire:
        answer = await wire.call("long")
        # The denied value is as long again.
        assert answer["_meta"]["dev.louver/result"]["bytes"] == 5_031
        fields = [each["path"] for each in answer["_meta"]["dev.louver/result"]["fields"]]
        assert fields == ["id", "name", "friends"]
        assert "dev.louver/result" not in (await wire.call("get_person"))["_meta"]


@ERAS
async def test_p10_exclude_never_adds_and_an_unknown_mode_is_an_error(client):
    """PRIVACY.md, P10."""
    whole = (await call(client, "old__get_person"))["structuredContent"]
    for fields in (["id"], ["ssn"], ["**.ssn"], ["either", "ssn.x"]):
        asked = {"mode": "exclude", "fields": fields}
        left = (await call(client, "old__get_person", projection=asked))["structuredContent"]
        assert left.items() <= whole.items()
    for mode in ("INCLUDE", "all", "", None, ["include"], "full"):
        answer = await client.request(
            "tools/call", name="old__get_person", arguments={}, _meta={"projection": {"mode": mode, "fields": ["id"]}}
        )
        assert answer["error"]["code"] == -32602
        assert "structuredContent" not in json.dumps(answer)


@ERAS
async def test_p11_wildcards_run_over_what_is_visible(client):
    """PRIVACY.md, P11."""
    for asked in (
        {"mode": "include", "fields": ["*"]},
        {"mode": "include", "fields": ["*.*", "friends.*.*"]},
        {"mode": "include", "fields": ["either.*"]},
        {"mode": "exclude", "fields": ["**.id"]},
        {"mode": "exclude", "fields": ["**.ssn"]},
    ):
        answer = await call(client, "old__get_person", projection=asked)
        assert not leaks(answer)
        assert "ssn" not in json.dumps(answer["structuredContent"])


PATHS = [
    "friends[?(@.ssn)]",
    "friends[?ssn=='1']",
    "/ssn/",
    "friends[0]",
    "length(ssn)",
    "..ssn",
    "ssn=~/1/",
    "$.ssn",
    "friends[0:1]",
]


@pytest.mark.parametrize(("path", "era"), in_turn(PATHS, REVISIONS))
async def test_p12_a_path_of_a_client_reads_no_values(client, path):
    """PRIVACY.md, P12: no filters, regexes or functions; some of these are plain names that there are not."""
    asked = {"mode": "include", "fields": ["id", path]}
    answer = await client.request("tools/call", name="old__get_person", arguments={}, _meta={"projection": asked})
    if "error" in answer:
        assert answer["error"]["data"]["error"]["code"] == "INVALID_PROJECTION"
    else:
        assert answer["result"]["structuredContent"] == {"id": 1}


@CROSSED
async def test_p13_names_are_code_points_and_a_deny_is_of_every_twin(client, server):
    """PRIVACY.md, P13: duplicate keys are refused; `__proto__`, `constructor` and the empty name are plain."""
    assert (await call(client, f"{server}__twins"))["structuredContent"] == {"id": 1}
    assert error_of(await call(client, f"{server}__duplicate"))["code"] == "UPSTREAM_INVALID_OUTPUT"
    odd = await call(client, f"{server}__odd_names")
    assert odd["structuredContent"] == {"id": 1, "__proto__": {}, "constructor": {}, "": {}}
    for path in ("__proto__", "constructor", "``", "\uff49\uff44", "ID"):
        asked = {"mode": "include", "fields": [path]}
        left = (await call(client, f"{server}__odd_names", projection=asked))["structuredContent"]
        assert left.keys() <= {"__proto__", "constructor", ""}


@ALIKE
async def test_p14_a_name_denied_in_one_branch_of_a_union_is_denied(client, server):
    """PRIVACY.md, P14: in the value and in every branch of the schema."""
    assert (await call(client, f"{server}__get_person"))["structuredContent"]["either"] == {"key": "k"}
    tools = {tool["name"]: tool for tool in (await client.result("tools/list"))["tools"]}
    either = tools[f"{server}__get_person"]["outputSchema"]["properties"]["either"]
    assert len(either["anyOf"]) == 3
    assert "ssn" not in json.dumps(either)


@ERAS
async def test_p15_logs_hold_no_values_and_no_text_of_a_client(served, client):
    """PRIVACY.md, P15: of values see the fixture; audit records in `tests/steps/test_auditing.py`."""
    word = "unmatched-7f3b"
    await call(client, "old__get_person", projection={"mode": "include", "fields": [f"`{word}`"]})
    await call(client, "old__get_person", projection={"mode": "include", "fields": [f"{word}..x"]})
    await call(client, f"old__{word}")
    await client.request("resources/read", uri=f"file:///{word}")
    await client.request("prompts/get", name=word)
    assert word not in "".join(served().said)


async def test_p16_nothing_that_was_pruned_is_public_or_anothers(tmp_path):
    """PRIVACY.md, P16: lists, plans, schemas and searches are those of the audience."""
    who = Somebody("admin")
    asked = {"mode": "include", "fields": ["ssn"]}
    async with inside(tmp_path, NEW, who, servers=["new"], exposure="minimal") as wire:
        assert len((await wire.request("tools/list", {"query": "ssn"}))["tools"]) > 1
        who.roles = frozenset()
        assert (await wire.request("tools/list", {"query": "ssn"}))["tools"] == []
    who = Somebody("admin")
    async with inside(tmp_path, NEW, who, servers=["new"]) as wire:
        whole = await wire.request("tools/list")
        answer = await wire.call("get_person", projection=asked)
        assert answer["structuredContent"] == {"ssn": SECRET}
        assert {whole["cacheScope"], wire.opening["cacheScope"]} == {"private"}
        who.roles = frozenset()
        assert "ssn" not in json.dumps(await wire.request("tools/list"))
        pruned = await wire.call("get_person", projection=asked)
        assert not leaks(pruned)


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_p17_a_kept_result_is_that_of_who_saw_it(tmp_path, era):
    """PRIVACY.md, P17: bound to session or principal, and to what these may see."""
    who = Somebody("admin")
    async with inside(tmp_path, era, who, servers=["old"], keepResults=4_000) as wire:
        uri = (await wire.call("long"))["_meta"]["dev.louver/result"]["uri"]
        assert leaks(await wire.request("resources/read", {"uri": f"{uri}?fields=ssn"}))
        who.roles = frozenset()
        for address in (uri, f"{uri}?fields=ssn", f"{uri}?fields=id"):
            with pytest.raises(MCPError) as refused:
                await wire.request("resources/read", {"uri": address})
            assert refused.value.error.data["error"]["code"] == "UNKNOWN_RESULT"
        own = (await wire.call("long"))["_meta"]["dev.louver/result"]["uri"]
        assert not leaks(await wire.request("resources/read", {"uri": own}))


async def test_p18_tools_that_are_not_what_they_seem_are_refused(tmp_path, served):
    """PRIVACY.md, P18: colliding names, other definitions than were looked at, characters that steer a text."""
    async with client_of(served().url, HANDSHAKE) as client:
        tools = {tool["name"]: tool for tool in (await client.result("tools/list"))["tools"]}
        assert {"old__collide", "old__Collide"}.isdisjoint(tools)
        assert (await call(client, "old__collide"))["code"] == -32602
        assert tools["old__get_person"]["description"] == "Does get_person."
        assert "title" not in tools["old__get_person"]
    pinned = policy() | {"tools": {"get_person": {"rules": RULES, "digest": "0" * 16}, "twins": {"rules": RULES}}}
    async with inside(tmp_path, NEW, ADMIN, policy=pinned, servers=["old"]) as wire:
        assert list(await wire.tools()) == ["twins"]
        with pytest.raises(MCPError, match="Unknown tool"):
            await wire.call("get_person")


# All exposures


@ERAS
async def test_the_two_stages_tell_nothing(served, era):
    """PRIVACY.md, "One pipeline": every consumer gets what is visible."""
    async with client_of(served("minimal").url, era) as client:
        listed = await client.result("tools/list")
        names = [tool["name"] for tool in listed["tools"] if "__" in tool["name"]]
        said = []
        for start in range(0, len(names), 10):
            described = await client.call("get_tool_descriptions", tools=names[start : start + 10])
            said.append(described)
            for name, tool in json.loads(described["content"][0]["text"]).items():
                properties = tool["inputSchema"]["properties"]
                arguments = {key: part["const"] for key, part in properties.items() if "const" in part}
                params = {"name": name, "arguments": arguments}
                said.append(await client.request("tools/call", **params))
        assert any("Bob" in json.dumps(each) for each in said)
        assert SECRET not in got(client, listed, said)


SCRIPT = """
local said = {}
for _, tool in ipairs({%s}) do
  local ok, answer = pcall(function() return %s[tool]({}):await() end)
  said[#said + 1] = {tool = tool, ok = ok, answer = ok and answer or tostring(answer)}
end
result(said)
"""


@CROSSED
async def test_discovery_and_scripts_tell_nothing(served, era, server):
    """PRIVACY.md, "One pipeline": `inspect-tool-response`, `execute`; what Lua saw."""
    async with client_of(served("discovery").url, era) as client:
        there = {"luaServerName": server}
        said = [await client.call("list-servers"), await client.call("list-server-tools", **there)]
        names = [each["luaName"] for each in said[1]["structuredContent"]["tools"]]
        for name in names:
            of = {**there, "luaToolName": name}
            said.append(await client.call("tool-details", **of))
            said.append(await client.call("inspect-tool-response", **of, sampleArgs={}))
        listed = ", ".join(f'"{name}"' for name in names if name not in ("ask", "sample", "root", "touch", "report"))
        answer = await client.call("execute", script=SCRIPT % (listed, server))
        assert "Bob" in json.dumps(answer), answer
        assert SECRET not in got(client, said, answer)
        assert "ssn" not in json.dumps(said)


@ALIKE
async def test_the_one_tool_tells_nothing(served, era, server):
    """PRIVACY.md, "One pipeline": search, details, calls and exports."""
    async with client_of(served("gateway").url, era) as client:
        said = [await client.call("gateway", action="discover")]
        said += [await client.call("gateway", action="search", query=query) for query in ("person", "ssn", SECRET)]
        listed = (await client.call("gateway", action="list", server=server, limit=50))["structuredContent"]["tools"]
        assert len(listed) > 10
        for tool in listed:
            said.append(await client.call("gateway", action="get", id=tool["id"]))
            said.append(await client.call("gateway", action="call", id=tool["id"], arguments={}))
            exported = await client.call("gateway", action="export", id=tool["id"], arguments={})
            said.append(exported)
            for uri in _uris(exported):
                said.append(await client.result("resources/read", uri=uri))
        assert "Bob" in json.dumps(said)
        assert SECRET not in got(client, listed, said)


def _uris(said):
    if isinstance(said, dict):
        own = [said["uri"]] if str(said.get("uri")).startswith("louver://results/") else []
        return own + [uri for each in said.values() for uri in _uris(each)]
    return [uri for each in said for uri in _uris(each)] if isinstance(said, list) else []


async def test_files_hold_what_is_visible(tmp_path):
    """PRIVACY.md, "One pipeline": exports, byte for byte."""
    (tmp_path / "exports").mkdir()
    more = {"exposure": "gateway", "exports": "exports", "keepResults": 1_000}
    async with inside(tmp_path, NEW, NOBODY, servers=["old"], **more) as wire:
        for tool in ("long", "get_person", "list_people", "tell_person"):
            await wire.call("gateway", {"action": "export", "id": tool, "arguments": {}})
            await wire.call("gateway", {"action": "call", "id": tool, "arguments": {}})
    written = [path for path in (tmp_path / "exports").rglob("*") if path.is_file()]
    assert written
    for path in written:
        assert SECRET.encode() not in path.read_bytes()


async def test_a_caller_with_other_rights_is_answered_by_them_in_scripts_too(tmp_path):
    """Ours: a script acts for who runs it."""
    who = Somebody("admin")
    async with inside(tmp_path, NEW, who, servers=["old"], exposure="discovery") as wire:
        script = {"script": "result(old.get_person({}):await())"}
        assert leaks(await wire.call("execute", script))
        who.roles = frozenset()
        assert not leaks(await wire.call("execute", script))
        who.roles = frozenset({"admin"})
        assert leaks(await wire.call("execute", script))
