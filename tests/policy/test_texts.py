"""PRIVACY.md, P1: a text is a text wherever it stands, whatever the schema says of that place."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from louver.core.paths.path import FieldPath
from louver.core.policy.visibility import Fields
from louver.policy.policy import Policy, Rule, ToolPolicy, Who
from louver.policy.principal import NOBODY
from louver.steps.call_record import CallRecord
from louver.steps.policy.enforcer import PolicyEnforcer
from louver.steps.policy.raw import Raw

SECRET = "canary-7f3a"
ANN = {"id": 1, "ssn": SECRET}
TOLD = json.dumps(ANN)
PROSE = f"Ann's ssn is {SECRET}."
NOTE = "the answer is not structured, so what of it may be seen is not known: it is withheld"
TEXT = {"type": "string"}


def wrapper(held, name="result", **more):
    """The schema that SDKs list for what is not an object."""
    return {"type": "object", "properties": {name: held}, "required": [name], **more}


SHAPES = {
    "plain": (wrapper(TEXT), "result"),
    "not required": ({"type": "object", "properties": {"result": TEXT}}, "result"),
    "or null": (wrapper({"anyOf": [TEXT, {"type": "null"}], "title": "Result"}), "result"),
    "marked": (
        {"type": "object", "properties": {"result": {"type": ["string", "null"]}}, "x-fastmcp-wrap-result": True},
        "result",
    ),
    "list of types": (wrapper({"type": ["string", "null"]}), "result"),
    "or an object": (wrapper({"anyOf": [{"type": "object", "additionalProperties": True}, TEXT]}), "result"),
    "anything": (wrapper({}), "result"),
    "everything": (wrapper(True, "content"), "content"),
    "any object": ({"type": "object"}, "result"),
    "closed": ({"type": "object", "properties": {"content": TEXT}, "additionalProperties": False}, "content"),
    "reference": (wrapper({"$ref": "#/$defs/T"}, **{"$defs": {"T": TEXT}}), "result"),
    "one of several": ({"type": "object", "properties": {"content": TEXT, "error": TEXT}}, "content"),
    "words": (wrapper({"anyOf": [{"enum": [TOLD, PROSE]}, {"type": "null"}]}), "result"),
    "undeclared": (None, "content"),
    "root": (TEXT, None),
    "root or null": ({"type": ["string", "null"]}, None),
    "root of words": ({"enum": [TOLD, PROSE]}, None),
    "root that is anything": ({}, None),
    "undeclared root": (None, None),
}
"""What a schema says -> it, and the member that holds the text; none if the text is the root."""


def every(test):
    """A test of each shape."""
    return pytest.mark.whole(pytest.mark.parametrize(("schema", "name"), SHAPES.values(), ids=SHAPES)(test))


def paths(*texts, deep=True):
    return tuple(FieldPath.parse(text, deep=deep) for text in texts)


DENY = Fields(deny=paths("**.ssn"))
MASK = Fields(mask=paths("**.ssn"))
ALLOW = Fields(allow=paths("id", deep=False))


class Behind:
    """A tool with a schema, behind a policy of one rule."""

    def __init__(self, schema, fields, text="withhold"):
        self.tool = {"name": "t", "inputSchema": {"type": "object"}}
        if schema is not None:
            self.tool["outputSchema"] = schema
        rules = (Rule("r", Who(), fields, text),)
        self.policed = PolicyEnforcer("it", Policy("1", {"t": ToolPolicy(rules, is_for_others=True)}, key=b"k" * 32))

    def answers(self, structured, *beside):
        """What a caller gets, which satisfies what the caller is listed; `beside` are further blocks of the answer."""
        text = structured if isinstance(structured, str) else json.dumps(structured)
        content = [{"type": "text", "text": text}, *beside]
        listed = self.policed.listed_definition(self.tool, NOBODY).get("outputSchema", True)
        raw = Raw({"structuredContent": structured, "content": content})
        answer = self.policed.visible_call_result(raw, self.tool, NOBODY, CallRecord())
        if not answer.value.get("isError"):
            Draft202012Validator(listed).validate(answer.value["structuredContent"])
        return answer.value

    def says(self, *texts):
        """What a caller gets of an answer with texts alone, and an image."""
        content = [{"type": "text", "text": text} for text in texts]
        raw = Raw({"content": [*content, {"type": "image", "data": SECRET, "mimeType": "image/png"}]})
        return self.policed.visible_call_result(raw, self.tool, NOBODY, CallRecord()).value


def texts(answer):
    """The texts of an answer, which has nothing beside them."""
    assert {block["type"] for block in answer["content"]} == {"text"}
    return [block["text"] for block in answer["content"]]


def held(answer, name):
    """The text that an answer holds."""
    structured = answer["structuredContent"]
    return structured if name is None else structured[name]


def put(text, name):
    return text if name is None else {name: text}


@every
def test_text_that_is_json_is_pruned_whatever_the_schema_says_of_it(schema, name):
    """PRIVACY.md, P1: pruned and written anew."""
    for fields, seen in (
        (DENY, {"id": 1}),
        (MASK, {"id": 1, "ssn": "[masked]"}),
        (Fields(deny=paths("ssn")), {"id": 1}),
    ):
        answer = Behind(schema, fields).answers(put(TOLD, name))
        assert SECRET not in json.dumps(answer)
        assert json.loads(held(answer, name)) == json.loads(answer["content"][0]["text"]) == seen


@every
def test_prose_is_withheld_whatever_the_schema_says_of_it(schema, name):
    """PRIVACY.md, P1: as a block of text is."""
    for fields in (DENY, MASK):
        answer = Behind(schema, fields).answers(put(PROSE, name))
        assert SECRET not in json.dumps(answer)
        assert held(answer, name) == answer["content"][0]["text"]
        assert "withheld" in held(answer, name)


AROUND = {
    "words": f"It is {TOLD}",
    "a fence": f"Here it is:\n```json\n{TOLD}\n```",
    "events": f"data: {TOLD}\n\ndata: {TOLD}\n\n",
    "a status line": f"200 OK\n{TOLD}",
}
"""JSON in other text, that begins like none."""
NEARLY = {"lines": f"{TOLD}\n{TOLD}", "a fence alone": f"```json\n{TOLD}\n```", "cut off": TOLD[:-1]}


@pytest.mark.parametrize("text", [*AROUND.values(), *NEARLY.values()], ids=[*AROUND, *NEARLY])
def test_json_in_other_text_is_withheld(text):
    """HOUSE.md, "Text under a policy": whatever of it may be seen."""
    for schema, name in SHAPES.values():
        for fields in (DENY, MASK, ALLOW):
            answer = Behind(schema, fields).answers(put(text, name))
            assert SECRET not in json.dumps(answer)
        assert texts(Behind(None, DENY, "withhold").says(text)) == [NOTE]


@pytest.mark.parametrize("fields", [DENY, MASK, ALLOW])
def test_other_text_is_passed_on_where_the_rule_says_so(fields):
    """HOUSE.md, "Text under a policy": the text alone, and none that begins like JSON."""
    for text in (PROSE, *AROUND.values()):
        for schema, name in SHAPES.values():
            if fields is not ALLOW or schema is None or (name is None and schema):
                assert held(Behind(schema, fields, "pass").answers(put(text, name)), name) == text
        answer = Behind(None, fields, "pass").says(text, "and more")
        assert texts(answer) == [text, "and more"]
        assert "structuredContent" not in answer
    for text in NEARLY.values():
        assert texts(Behind(None, fields, "pass").says("It is", text)) == [NOTE]
    assert json.loads(texts(Behind(None, DENY, "pass").says(TOLD))[0]) == {"id": 1}


@pytest.mark.parametrize("shape", ["or null", "or an object", "reference", "words", "root", "root or null"])
def test_what_is_allowed_of_a_text_is_allowed_of_the_json_in_it(shape):
    """Ours: paths are read as if there was no text around it."""
    schema, name = SHAPES[shape]
    assert json.loads(held(Behind(schema, ALLOW).answers(put(TOLD, name)), name)) == {"id": 1}
    assert "withheld" in held(Behind(schema, ALLOW).answers(put(PROSE, name)), name)


@pytest.mark.parametrize("shape", ["closed", "one of several"])
def test_a_text_that_rules_drop_or_replace_is_just_that(shape):
    """Ours: nothing is left of it that could be withheld."""
    schema, name = SHAPES[shape]
    assert Behind(schema, ALLOW).answers({name: TOLD})["structuredContent"] == {}
    mask = Behind(schema, Fields(mask=paths(name)))
    assert mask.answers({name: PROSE})["structuredContent"] == {name: "[masked]"}


def test_a_text_whose_member_is_allowed_is_sent():
    """docs/reference/policy.md, "What a caller sees": unless `allow` names that."""
    for schema, name in SHAPES.values():
        if name is not None:
            behind = Behind(schema, Fields(allow=paths(name, deep=False), deny=paths("**.fax")))
            assert behind.answers({name: PROSE})["structuredContent"] == {name: PROSE}


@every
def test_what_is_beside_a_text_whose_member_is_allowed_is_not_sent(schema, name):
    """PRIVACY.md, P1 and P2: the rest of the answer is not allowed with the member, whether it holds JSON or prose."""
    beside = [{"type": "text", "text": "beside"}, {"type": "image", "data": "beside", "mimeType": "image/png"}]
    behind = Behind(schema, Fields(allow=paths("result", "content", deep=False)))
    for text in (TOLD, PROSE):
        answer = behind.answers(put(text, name), *beside)
        assert "beside" not in json.dumps(answer)
        assert name is None or SECRET in held(answer, name)


@pytest.mark.parametrize("shape", ["or null", "marked", "list of types", "root or null"])
def test_nothing_is_still_nothing(shape):
    """Ours: null satisfies what is listed where it did."""
    schema, name = SHAPES[shape]
    nothing = put(None, name)
    for fields in (DENY, MASK, ALLOW):
        assert Behind(schema, fields).answers(nothing)["structuredContent"] == nothing


@pytest.mark.parametrize(
    "schema",
    [
        wrapper({"type": "array"}),
        wrapper({"type": "object", "properties": {"id": {}}}),
        {"type": "object", "properties": {"id": {}}, "required": ["id"]},
        {"type": "object", "allOf": [wrapper({"maxLength": 5})]},
    ],
)
def test_a_text_for_which_the_listed_schema_has_no_place_is_not_sent(schema):
    """PRIVACY.md, "One pipeline": validated against the visible schema."""
    for text in (TOLD, PROSE):
        answer = Behind(schema, DENY).answers({"result": text})
        assert answer["isError"] is True
        assert answer["_meta"]["dev.louver/error"]["code"] in ("OUTPUT_INVALID", "WITHHELD")
        assert "structuredContent" not in answer
        assert SECRET not in json.dumps(answer)


@pytest.mark.parametrize("held", [{"type": "array", "items": TEXT}, {"type": "object"}, {"type": "integer"}])
def test_a_schema_that_has_no_place_for_a_text_is_listed_as_it_was(held):
    """Ours: nothing is loosened without need."""
    listed = Behind(wrapper(held), DENY).policed.listed_definition(Behind(wrapper(held), DENY).tool, NOBODY)[
        "outputSchema"
    ]
    assert TEXT not in listed["properties"]["result"].get("anyOf", ())
    assert listed["properties"]["result"]["type"] == held["type"]
