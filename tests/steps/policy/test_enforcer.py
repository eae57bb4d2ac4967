"""Raw in, visible out, for one server and one policy."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import louver
from louver.core.paths.path import FieldPath
from louver.policy.policy import Policy
from louver.policy.principal import NOBODY, Principal
from louver.steps.call_record import CallRecord
from louver.steps.policy.enforcer import PolicyEnforcer
from louver.steps.policy.raw import Raw
from louver.steps.policy.visible_tools import with_distinct_names
from louver.wire.jsonrpc.errors import JsonRpcError

SECRET = "canary-7f3a"
INFO = "io.modelcontextprotocol/serverInfo"
ADMIN = Principal(roles=frozenset({"admin"}))
RULES = [{"name": "admins", "who": {"roles": ["admin"]}, "allow": ["*"]}, {"name": "all", "deny": ["**.ssn"]}]
PERSON = {"type": "object", "properties": {"id": {"type": "integer"}, "ssn": {"type": "string"}}, "required": ["id"]}
WRAPPED = {"type": "object", "properties": {"result": {"type": "array", "items": PERSON}}, "required": ["result"]}
TEXT = {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]}
ANN = {"id": 1, "ssn": SECRET}


def as_long_as_it_takes():
    pass


def tool(schema=PERSON, **more):
    declared = {} if schema is None else {"outputSchema": schema}
    return {"name": "get_person", "inputSchema": {"type": "object"}, **declared, **more}


@pytest.fixture
def policed(tmp_path):
    def make(**more):
        path = tmp_path / "it.json"
        path.write_text(json.dumps({"version": "1", "tools": {"*": {"rules": RULES}}, **more}))
        return PolicyEnforcer("it", Policy.read(path))

    return make


def text(said):
    return [{"type": "text", "text": said if isinstance(said, str) else json.dumps(said)}]


def answered(policed, said, tool=None, principal=NOBODY, record=None):
    tool = tool or globals()["tool"]()
    assert policed.serves(tool, principal)
    return policed.visible_call_result(Raw(said), tool, principal, record or CallRecord()).value


LINK = {"type": "resource_link", "uri": "file:///private/1", "name": SECRET}
EMBEDDED = {"type": "resource", "resource": {"uri": "file:///private/1", "text": SECRET}}


@pytest.mark.parametrize(
    ("said", "schema", "shown"),
    [
        ({"structuredContent": ANN}, PERSON, {"structuredContent": {"id": 1}, "content": text({"id": 1})}),
        (
            {"structuredContent": {"result": [ANN]}, "content": [*text([ANN]), LINK, EMBEDDED]},
            WRAPPED,
            {"structuredContent": {"result": [{"id": 1}]}, "content": text({"result": [{"id": 1}]})},
        ),
        ({"structuredContent": ANN, "x": SECRET}, None, {"structuredContent": {"id": 1}, "content": text({"id": 1})}),
        ({"content": text(ANN)}, None, {"content": text({"id": 1})}),
        ({"content": [*text(ANN), LINK]}, None, {"content": text({"id": 1})}),
        ({"content": text([ANN])}, WRAPPED, {"content": text([{"id": 1}])}),
        ({"content": text({"result": [ANN], **ANN})}, WRAPPED, {"content": text({"result": [{"id": 1}], "id": 1})}),
        (
            {"structuredContent": {"content": json.dumps(ANN)}},
            TEXT,
            {"structuredContent": {"content": '{"id":1}'}, "content": text({"id": 1})},
        ),
        (
            {"structuredContent": {"result": json.dumps(ANN)}},
            None,
            {"structuredContent": {"result": '{"id":1}'}, "content": text({"id": 1})},
        ),
        ({"content": []}, None, {"content": []}),
    ],
)
def test_an_output_is_pruned_wherever_it_stands(policed, said, schema, shown):
    """PRIVACY.md, P1 and P2: text is written anew, links and resources are dropped."""
    visible = answered(policed(), said, tool(schema))
    assert SECRET not in json.dumps(visible)
    for block in shown["content"] + visible["content"]:
        block["text"] = json.loads(block["text"])
    assert visible == shown


@pytest.mark.parametrize(
    "content",
    [
        text(SECRET),
        [*text(ANN), *text(ANN)],
        text(f'{{"id": 1, "id": "{SECRET}"}}'),
        text(f'["{SECRET}", NaN]'),
        [{"type": "image", "data": SECRET, "mimeType": "image/png"}],
        [LINK],
        [EMBEDDED],
    ],
)
@pytest.mark.parametrize("schema", [PERSON, None])
def test_what_is_not_structured_is_withheld_with_a_note(policed, content, schema):
    """PRIVACY.md, P1."""
    visible = answered(policed(), {"content": content}, tool(schema))
    assert SECRET not in json.dumps(visible)
    assert "withheld" in visible["content"][0]["text"]
    assert visible.get("isError", False) is (schema is not None)


def test_who_sees_everything_gets_it_as_it_is_but_for_meta_and_resources(policed):
    """PRIVACY.md, P2 and P4: of blocks too."""
    block = {**text("prose")[0], "_meta": {"x.y/z": SECRET, "a.b/c": 1}}
    said = {"structuredContent": ANN, "content": [block, LINK], "_meta": {"x.y/z": SECRET, "a.b/c": 2}}
    assert answered(policed(meta=["a.b/c"]), said, principal=ADMIN) == {
        "structuredContent": ANN,
        "content": [{**text("prose")[0], "_meta": {"a.b/c": 1}}],
        "_meta": {"a.b/c": 2},
    }


def test_resources_that_are_covered_may_be_linked(policed):
    """PRIVACY.md, P2."""
    visible = answered(policed(resources=["file:///private/*"]), {"content": [LINK, EMBEDDED]}, tool(None), ADMIN)
    assert visible == {"content": [LINK, EMBEDDED]}


def test_an_output_that_its_schema_does_not_admit_is_not_sent(policed):
    """PRIVACY.md, "One pipeline": validated against the visible schema, and told without values."""
    visible = answered(policed(), {"structuredContent": {"id": SECRET}})
    assert visible["isError"] is True
    assert visible["_meta"]["dev.louver/error"]["code"] == "OUTPUT_INVALID"
    assert SECRET not in json.dumps(visible)


@pytest.mark.parametrize("flag", [True, 1, SECRET])
def test_an_error_is_constant_words_and_an_id_that_the_log_has(policed, caplog, flag):
    """PRIVACY.md, P3."""
    visible = answered(policed(), {"isError": flag, "content": text(SECRET), "structuredContent": ANN})
    error = visible["_meta"]["dev.louver/error"]
    assert error["code"] == "WITHHELD"
    assert error["correlation_id"] in caplog.text
    assert "structuredContent" not in visible
    assert SECRET not in json.dumps(visible) + caplog.text


def test_errors_may_be_passed_on(policed):
    """PRIVACY.md, P3: `errors: passthrough`."""
    made = policed(errors="passthrough")
    said = {"isError": True, "content": text("no such user"), "structuredContent": ANN, "_meta": {"x.y/z": SECRET}}
    assert answered(made, said) == {"isError": True, "content": text("no such user")}
    error = JsonRpcError(-32001, "no such user")
    assert made.refusal(error, CallRecord()) is error


def test_an_error_that_is_passed_on_brings_no_resources_that_are_not_covered(policed):
    """PRIVACY.md, P2 and P3."""
    said = {"isError": True, "content": [LINK, EMBEDDED, *text("no such user")]}
    assert answered(policed(errors="passthrough"), said)["content"] == text("no such user")
    covering = policed(errors="passthrough", resources=["file:///private/*"])
    assert answered(covering, said)["content"] == said["content"]


def test_a_protocol_error_keeps_its_code_alone(policed):
    """PRIVACY.md, P3."""
    record = CallRecord()
    error = policed().refusal(JsonRpcError(-32001, SECRET, {"a": SECRET}), record)
    assert error.code == -32001
    assert record.correlation
    assert error.data["error"]["correlation_id"] == record.correlation
    assert SECRET not in str(error)


@pytest.mark.parametrize("word", ["x.y/other", {"a": SECRET}, SECRET, None, 7])
def test_a_result_of_a_kind_that_is_not_known_is_an_error(policed, word):
    """Ours: what it holds, or how it is called, could hold anything."""
    with pytest.raises(JsonRpcError) as refused:
        answered(policed(let=["elicitation"]), {"resultType": word, "inputRequests": {}, "structuredContent": ANN})
    assert SECRET not in str(refused.value.to_json())


def test_questions_within_an_answer_are_asked_if_they_may_be(policed):
    """PRIVACY.md, P5."""
    ask = {"method": "elicitation/create", "params": {"message": "Who?", "_meta": {"x.y/z": SECRET}}}
    roots = {"method": "roots/list", "params": {"_meta": {"x.y/z": SECRET}, "why": SECRET}}
    said = {"resultType": "input_required", "inputRequests": {"a": ask, "b": roots}, "requestState": "s", "x": SECRET}
    with pytest.raises(JsonRpcError):
        answered(policed(), said)
    assert answered(policed(let=["elicitation"]), said) == {
        "resultType": "input_required",
        "inputRequests": {
            "a": {"method": "elicitation/create", "params": {"message": "Who?"}},
            "b": {"method": "roots/list"},
        },
        "requestState": "s",
    }
    for questions in ({"a": SECRET}, {"a": {"method": [SECRET]}}):
        with pytest.raises(JsonRpcError):
            answered(policed(let=["elicitation"]), {**said, "inputRequests": questions})


def test_what_is_read_asks_only_what_may_be_asked(policed):
    """PRIVACY.md, P5: resources and prompts of 2026-07-28 can ask as tools can."""
    ask = {"method": "elicitation/create", "params": {"message": SECRET}}
    said = {"resultType": "input_required", "inputRequests": {"a": ask}, "requestState": "s", "x": SECRET}
    with pytest.raises(JsonRpcError) as refused:
        policed(resources=["*"], let=["prompts"]).visible_result(Raw(said), CallRecord())
    assert SECRET not in str(refused.value.to_json())
    let = policed(let=["elicitation"]).visible_result(Raw(said), CallRecord()).value
    assert let == {"resultType": "input_required", "inputRequests": {"a": ask}, "requestState": "s"}


def test_a_definition_tells_nothing_that_is_denied(policed):
    """PRIVACY.md, P6, P7 and P18."""
    shown = policed().visible_list(
        "tools/list",
        Raw(
            {
                "tools": [
                    tool(
                        title="A person by ssn",
                        description="Gets\u202e one. With the SSN.",
                        annotations={"readOnlyHint": True, "title": SECRET, "idempotentHint": SECRET},
                        _meta={"x.y/z": SECRET},
                        icons=[{"src": SECRET}],
                    )
                ],
                "nextCursor": "c",
                "ttlMs": SECRET,
                "cacheScope": "public",
                "x": SECRET,
                "_meta": {"x.y/z": SECRET, INFO: {"name": "n", "version": "1", "description": SECRET}},
            }
        ),
        NOBODY,
        as_long_as_it_takes,
    )
    assert "ssn" not in json.dumps(shown.value["tools"][0].pop("outputSchema"))
    assert shown.value == {
        "tools": [
            {
                "name": "get_person",
                "description": "Gets one.",
                "inputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": True},
            }
        ],
        "nextCursor": "c",
        "cacheScope": "private",
        "_meta": {INFO: {"name": "n", "version": "1"}},
    }


def test_tools_that_could_be_taken_for_one_another_are_not_there(policed):
    """PRIVACY.md, P18."""
    named = ["get", "GET", "\uff47et", "g\u200bet", "put"]
    tools = [tool(None, name=name) | {"name": name} for name in named]
    made = policed()
    shown = made.visible_list("tools/list", Raw({"tools": tools}), NOBODY, as_long_as_it_takes).value["tools"]
    assert [each["name"] for each in shown] == ["put"]
    assert tools[-1] in with_distinct_names(tools)
    assert tools[0] not in with_distinct_names(tools)


def test_a_tool_that_the_policy_does_not_know_is_not_there(policed, caplog):
    """PRIVACY.md, "Policy file": fail closed; its author is told."""
    one = policed(tools={"get_person": {"rules": [{"name": "r", "deny": ["fax"]}]}})
    other = tool(None) | {"name": "other"}
    assert (
        one.visible_list("tools/list", Raw({"tools": [tool(), other, 7]}), ADMIN, as_long_as_it_takes).value["tools"]
        == []
    )
    assert "tool 'get_person' is not served: rule 'r' names 'fax', which the output cannot have" in caplog.text
    assert "'other'" not in caplog.text


def test_nothing_of_a_tool_is_told_to_a_caller_who_meets_no_rule(policed):
    """TRUST.md, "Deny by default": nor the names of its fields, to views, descriptions and the audit."""
    made = policed(tools={"get_person": {"rules": RULES[:1]}})
    assert made.listed_definition(tool(), NOBODY) is None
    assert made.listed_definition(tool(), ADMIN)["outputSchema"] == PERSON
    assert made.is_served("get_person")
    assert made.hides("get_person", NOBODY, FieldPath.parse("id"))
    assert made.visible_description("get_person", NOBODY, {}) is None
    assert made.names_of("get_person", NOBODY) == frozenset()
    assert not made.serves(tool(), NOBODY)


def test_tools_that_come_and_go_are_not_all_remembered(policed, monkeypatch):
    """PRIVACY.md: bounded, whatever a server lists; of a tool that is forgotten nothing is told."""
    monkeypatch.setattr("louver.steps.policy.visible_tools.MAX_VISIBLE_TOOLS", 3)
    named = policed(tools={"get_person": {"rules": RULES}})
    every = policed()
    for number in range(5):
        other = tool() | {"name": f"t{number}"}
        assert named.listed_definition(other, NOBODY) is None
        assert every.listed_definition(other, NOBODY) is not None
        assert every.is_served(f"t{number}")
    assert (len(named._checked_tools), len(every._checked_tools)) == (0, 3)
    assert not every.is_served("t1")
    assert every.hides("t1", ADMIN, FieldPath.parse("id"))
    assert every.visible_description("t1", ADMIN, {}) is None
    assert every.names_of("t1", ADMIN) == frozenset()
    # Who is asked for again is not forgotten next.
    every.listed_definition(tool() | {"name": "t2"}, NOBODY)
    every.listed_definition(tool() | {"name": "t5"}, NOBODY)
    assert [number for number in range(6) if every.is_served(f"t{number}")] == [2, 4, 5]


def test_a_definition_of_a_newer_list_is_compared_once(policed):
    """Ours: schemas may be large, and each call would compare them."""
    compared = []

    class Schema(dict):
        def __ne__(self, other):
            compared.append(other)
            return dict.__ne__(self, other)

        __eq__ = dict.__eq__

    made = policed()
    assert made.listed_definition(tool(Schema(PERSON)), NOBODY) is not None
    newer = tool(Schema(PERSON))
    for _ in range(3):
        answered(made, {"structuredContent": ANN}, newer)
    assert len(compared) == 1


def test_a_schema_with_too_many_twins_is_not_served(policed, caplog):
    """Ours: fail closed."""
    letters = [a + b + c + d for a in "aA" for b in "bB" for c in "cC" for d in "dD"]
    schema = {"type": "object", "properties": {name: {"type": "object"} for name in letters}}
    deny = [".".join(["abcd"] * depth) for depth in (1, 2, 3, 4, 5)]
    made = policed(tools={"*": {"rules": [{"name": "r", "deny": [deny[-1]]}]}})
    assert (
        made.visible_list("tools/list", Raw({"tools": [tool(schema)]}), NOBODY, as_long_as_it_takes).value["tools"]
        == []
    )
    assert "has too many twins" in caplog.text or "have too many twins" in caplog.text


def test_of_other_lists_there_is_what_may_be_read(policed):
    """PRIVACY.md, P2 and P5."""
    one = {
        "uri": "file:///open/1",
        "name": "a\u202e",
        "_meta": {"x.y/z": SECRET},
        "arguments": [{"description": "\x00b"}],
    }
    other = {"uri": "file:///private", "name": SECRET}
    template = {"uriTemplate": "file:///open/{id}", "name": "t"}
    made = policed(resources=["file:///open/*"], let=["prompts"])

    def listed(method, member, *entries):
        return made.visible_list(method, Raw({member: [*entries]}), NOBODY, as_long_as_it_takes).value[member]

    cleaned = {"uri": "file:///open/1", "name": "a", "arguments": [{"description": "b"}]}
    assert listed("resources/list", "resources", one, other) == [cleaned]
    assert listed("resources/templates/list", "resourceTemplates", template, {"name": SECRET}) == [template]
    assert listed("prompts/list", "prompts", {"name": "p\x1b"}) == [{"name": "p"}]


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("resources/read", {"uri": "file:///private"}, -32602),
        ("resources/read", {}, -32602),
        ("resources/subscribe", {"uri": "file:///private"}, -32602),
        ("prompts/get", {"name": "p"}, -32601),
        ("completion/complete", {}, -32601),
        ("x.y/unknown", {}, -32601),
        ("tasks/get", {}, -32601),
    ],
)
def test_what_is_not_let_through_does_not_reach_the_server(policed, method, params, code):
    """PRIVACY.md, P2 and P5."""
    with pytest.raises(JsonRpcError) as refused:
        policed().check_client_request(method, params)
    assert refused.value.code == code


def test_addresses_of_resources_are_completed_where_these_are_covered(policed):
    """PRIVACY.md, P2: what is completed is part of an address."""
    check = policed(let=["completion"], resources=["file:///open/*"]).check_client_request
    for reference in ({"type": "ref/prompt", "name": "p"}, {"type": "ref/resource", "uri": "file:///open/{name}"}):
        assert check("completion/complete", {"ref": reference}) is None
    with pytest.raises(JsonRpcError, match="Unknown resource"):
        check("completion/complete", {"ref": {"type": "ref/resource", "uri": "file:///private/{name}"}})


def test_what_needs_no_answer_of_the_server_has_one(policed):
    """Ours: a client that asks for it goes on."""
    assert policed().check_client_request("logging/setLevel", {"level": "info"}) == {}
    assert policed().check_client_request("prompts/list", {}) == {"prompts": []}
    assert policed(let=["prompts", "logging"]).check_client_request("prompts/list", {}) is None
    assert policed(resources=["*"]).check_client_request("resources/read", {"uri": "x"}) is None
    assert policed().check_client_request("tools/call", {}) is None


def test_an_opening_says_what_there_is(policed):
    """PRIVACY.md, P5: instructions are off unless allowed."""
    said = {
        "protocolVersion": "2025-11-25",
        "serverInfo": {"name": "n\u202e", "version": "1", "description": SECRET, "icons": [SECRET]},
        "instructions": f"Do.\x1b {SECRET}",
        "capabilities": {"tools": {"listChanged": True, "x": SECRET}, "prompts": {}, "logging": {}, "experimental": {}},
        "cacheScope": "public",
        "x": SECRET,
        "_meta": {"x.y/z": SECRET},
    }
    shown = policed().visible_handshake(Raw(said)).value
    assert shown == {
        "protocolVersion": "2025-11-25",
        "serverInfo": {"name": "n", "version": "1"},
        "capabilities": {"tools": {"listChanged": True}},
        "cacheScope": "private",
    }
    let = policed(let=["instructions", "prompts", "logging"], resources=["*"]).visible_handshake(
        Raw({**said, "capabilities": {**said["capabilities"], "resources": {"subscribe": True}}})
    )
    assert let.value["instructions"] == f"Do. {SECRET}"
    assert let.value["capabilities"].keys() == {"tools", "prompts", "logging", "resources"}


def test_what_is_let_through_has_no_meta_of_the_servers_own(policed):
    """PRIVACY.md, P4."""
    meta = {"_meta": {"x.y/z": SECRET, "a.b/c": 1}}
    message = {"role": "user", "content": {"type": "text", "text": "t", **meta}}
    said = {"messages": [message], "cacheScope": "public", **meta}
    assert policed(meta=["a.b/c"]).visible_result(Raw(said), CallRecord()).value == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "t", "_meta": {"a.b/c": 1}}}],
        "cacheScope": "private",
        "_meta": {"a.b/c": 1},
    }


def test_of_a_resource_only_what_is_covered_is_sent(policed):
    """PRIVACY.md, P2: what a server adds to a read can be of another address."""
    contents = [{"uri": "file:///open", "text": "open"}, {"uri": "file:///private", "text": SECRET}]
    said = {"related": contents[1:], "text": SECRET, "ttlMs": 5, "resultType": "complete"}
    read = policed(resources=["file:///open"]).visible_result
    kept = {"ttlMs": 5, "resultType": "complete"}
    assert read(Raw({**said, "contents": contents}), CallRecord()).value == {**kept, "contents": contents[:1]}
    assert read(Raw(said), CallRecord()).value == kept


@pytest.mark.parametrize(
    ("method", "params", "shown"),
    [
        ("notifications/tools/list_changed", {"_meta": {"x.y/z": SECRET}, "x": SECRET}, None),
        ("roots/list", {"_meta": {"x.y/z": SECRET}}, None),
        ("notifications/resources/updated", {"uri": "file:///open", "title": SECRET}, {"uri": "file:///open"}),
        ("notifications/progress", {"progress": 1, "_meta": {"x.y/z": SECRET}}, {"progress": 1}),
        ("notifications/progress", None, None),
    ],
)
def test_what_a_server_may_say_is_said_without_more(policed, method, params, shown):
    """PRIVACY.md, P4 and P5."""
    assert policed().visible_params(method, params) == shown


@pytest.mark.parametrize(
    ("method", "uri", "may"),
    [
        ("notifications/tools/list_changed", None, True),
        ("notifications/progress", None, False),
        ("notifications/message", None, False),
        ("elicitation/create", None, False),
        ("sampling/createMessage", None, False),
        ("notifications/x.y/unknown", None, False),
        ("notifications/cancelled", None, False),
        ("notifications/resources/updated", "file:///open", True),
        ("notifications/resources/updated", "file:///private", False),
        ("notifications/resources/updated", None, False),
        ("notifications/resources/updated", ["file:///open"], False),
    ],
)
def test_what_a_server_may_say_unasked(policed, method, uri, may):
    """PRIVACY.md, P5."""
    assert policed(resources=["file:///open"]).reaches_clients(method, uri) is may


def test_how_many_fields_there_were_is_counted_where_it_is_written_down(policed):
    """PRIVACY.md, "Audit"."""
    for is_wanted, fields in ((True, 2), (False, 0)):
        record = CallRecord(is_wanted=is_wanted)
        answered(policed(), {"structuredContent": ANN}, record=record)
        assert (record.fields, record.is_withheld) == (fields, False)
    record = CallRecord(is_wanted=True)
    answered(policed(), {"content": text("prose")}, record=record)
    assert record.is_withheld


def test_what_is_raw_is_looked_into_here_alone():
    """PRIVACY.md, "One pipeline": `Raw` is unwrapped by one module beside its own, and shows nothing by itself."""
    assert SECRET not in repr(Raw({"a": SECRET}))
    source = Path(louver.__file__).parent
    looking = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if any(
            isinstance(node, ast.Attribute) and node.attr == "unpruned"
            for node in ast.walk(ast.parse(path.read_text()))
        )
    ]
    assert sorted(looking) == ["steps/policy/enforcer.py", "steps/policy/raw.py"]


TEXT_RESULT = {"type": "object", "required": ["result"], "properties": {"result": {"type": "string"}}}


@pytest.mark.parametrize("schema", [None, TEXT_RESULT])
@pytest.mark.parametrize(
    ("rule", "is_seen"), [({"deny": ["**.ssn"]}, False), ({"allow": ["name"]}, False), ({"allow": ["result"]}, True)]
)
def test_a_text_in_the_member_that_sdks_send_it_in_is_prose(policed, schema, rule, is_seen):
    """PRIVACY.md, P1: it is withheld, unless it is allowed by name; the answer satisfies what is listed."""
    only = policed(tools={"*": {"rules": [{"name": "all", **rule}]}})
    shown = answered(only, {"structuredContent": {"result": SECRET}, "content": text(SECRET)}, tool(schema))
    assert (SECRET in json.dumps(shown)) is is_seen
    assert isinstance(shown["structuredContent"]["result"], str)
    assert "isError" not in shown
