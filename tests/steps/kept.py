"""A server with an answer that is too large to send, and reading what is kept of it."""

import json

from jsonschema import Draft202012Validator

from louver.shipped import folder
from steps.profiles import lowlevel, structured, text, tool

KEY = "dev.louver/result"
COUNT = 1280

ISSUES = {
    "total": COUNT,
    "nextCursor": "c2",
    "issues": [
        {
            "id": number,
            "title": f"t{number}",
            "body": f"{number:04d}" * 375,
            "user": {"login": f"u{number % 7}", "email": f"canary-{number}@example.com"},
            "labels": ["bug", "ui"],
        }
        for number in range(COUNT)
    ],
}
"""2 MB."""

ISSUE = {
    "type": "object",
    "required": ["id", "title", "body", "user", "labels"],
    "properties": {
        "id": {"type": "integer"},
        "title": {"type": "string"},
        "body": {"type": "string"},
        "user": {
            "type": "object",
            "required": ["login", "email"],
            "properties": {"login": {"type": "string"}, "email": {"type": "string"}},
        },
        "labels": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    },
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "required": ["total", "issues"],
    "properties": {
        "total": {"type": "integer"},
        "nextCursor": {"type": "string"},
        "issues": {"type": "array", "minItems": 101, "items": ISSUE},
    },
    "additionalProperties": False,
}
WRAPPED = {"type": "object", "required": ["result"], "properties": {"result": {"type": "array", "items": ISSUE}}}
VIEWS = {"brief": ["issues.id", "issues.title"], "people": {"include": ["issues.user"], "exclude": ["**.email"]}}


def issues(**more):
    """Tools that answer 2 MB: declared, wrapped, as text, as text in a wrapper."""
    rows = ISSUES["issues"]
    return lowlevel(
        list_issues=tool(SCHEMA, structured(ISSUES)),
        wrapped=tool(WRAPPED, structured({"result": rows})),
        told=tool(None, text(json.dumps(ISSUES))),
        told_within=tool(None, structured({"content": json.dumps(rows)})),
        undeclared=tool(None, structured(ISSUES)),
        **more,
    )


def uri_of(answer):
    """Where an answer is kept."""
    return answer["_meta"][KEY]["uri"]


async def read(wire, uri):
    """The value of a kept result, and the answer that it stands in."""
    answer = await wire.request("resources/read", {"uri": uri})
    (content,) = answer["contents"]
    assert (content["uri"], content["mimeType"]) == (uri, "application/json")
    return json.loads(content["text"]), answer


def fits(form, said):
    """Hold what is said in `_meta` against its schema."""
    schema = json.loads((folder("schemas") / "answers.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator({"$ref": f"#/$defs/{form}", "$defs": schema["$defs"]}).validate(said)


class Clock:
    """Time that goes on when a test says so."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now
