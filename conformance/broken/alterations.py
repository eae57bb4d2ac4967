"""Servers that break a sentence in one of many ways: each way of altering an answer, for each request of a kind.

    {"kept / exclude a nested member / is whole": a server, ...}

What is kept goes into the content, too. Each must fail some check.
"""

from copy import deepcopy
from itertools import product

from honest import HINT, KEY, TOOLS, Honest, Refused


def is_mode(mode):
    return lambda plan: plan.request.mode == mode


def is_path(mode, *, dots, through_orders=None):
    """Whether a request in this mode is for one field so deep, within the array of orders or not."""

    def holds(plan):
        [path, *more] = plan.fields
        is_within = path.startswith("orders")
        return (
            plan.request.mode == mode and not more and path.count(".") in dots and through_orders in (None, is_within)
        )

    return holds


REQUESTS = {
    "include": is_mode("include"),
    "exclude": is_mode("exclude"),
    "view": is_mode("view"),
    "include a member": is_path("include", dots=(0,), through_orders=False),
    "include a nested member": is_path("include", dots=(1,), through_orders=False),
    "include in an array": is_path("include", dots=(1, 2, 3), through_orders=True),
    "include rows": lambda plan: plan.request.mode == "include" and "[" in plan.fields[0],
    "exclude a member": is_path("exclude", dots=(0,), through_orders=False),
    "exclude a nested member": is_path("exclude", dots=(1,), through_orders=False),
    "exclude in an array": is_path("exclude", dots=(1, 2, 3), through_orders=True),
}


# What is left of a value


def with_a_sibling(kept, value):
    return {**dict([item for item in value.items() if item[0] not in kept][:1]), **kept}


def with_nested_siblings(kept, value):
    return {name: value[name] if isinstance(member, dict | list) else member for name, member in kept.items()}


def without_a_member(kept, value):
    return dict(list(kept.items())[1:])


def without_nested_members(kept, value):
    return {name: {} if isinstance(member, dict) else member for name, member in kept.items()}


def without_an_element(kept, value):
    return {name: member[:-1] if isinstance(member, list) else member for name, member in kept.items()}


def with_other_texts(kept, value):
    return _each(kept, lambda part: part.upper() if isinstance(part, str) else part)


def with_other_numbers(kept, value):
    return _each(kept, lambda part: part + 1 if isinstance(part, int) else part)


def with_texts(kept, value):
    return _each(kept, lambda part: str(part) if isinstance(part, int) else part)


def with_nulls(kept, value):
    return {**dict.fromkeys(value), **kept}


def _each(value, change):
    if isinstance(value, dict):
        return {name: _each(member, change) for name, member in value.items()}
    if isinstance(value, list):
        return [_each(element, change) for element in value]
    return change(value)


KEPT = {
    "is whole": lambda kept, value: value,
    "is empty": lambda kept, value: {},
    "has what was left out": with_a_sibling,
    "has what was left out as null": with_nulls,
    "has whole members": with_nested_siblings,
    "lacks a member": without_a_member,
    "has empty members": without_nested_members,
    "lacks an element": without_an_element,
    "has other texts": with_other_texts,
    "has other numbers": with_other_numbers,
    "has texts for numbers": with_texts,
}


def kept_lies():
    for (request, when), (way, alter) in product(REQUESTS.items(), KEPT.items()):

        class Server(Honest):
            def kept(self, plan, value, when=when, alter=alter):
                kept = plan(value)
                return alter(kept, value) if when(plan) else kept

        yield f"kept / {request} / {way}", Server


# Content, receipts and schemas


def altered(method, alter, when=lambda plan: True):
    """A server whose method answers otherwise for plans of a kind."""

    def answer(self, plan, *others):
        found = getattr(Honest, method)(self, plan, *others)
        return alter(deepcopy(found), *others) if when(plan) else found

    return type("Server", (Honest,), {method: answer})


def _without(name):
    return lambda said, *_: {each: value for each, value in said.items() if each != name}


def _with(name, value):
    return lambda said, *_: {**said, name: value}


def _content(blocks):
    """Alters the content of a projected answer."""
    return lambda answer, value, key: {**answer, "content": blocks(answer["content"], value)}


CONTENT = {
    "is empty": _content(lambda blocks, value: []),
    "is the whole": _content(lambda blocks, value: Honest().whole(value)["content"]),
    "has the whole beside it": _content(lambda blocks, value: [*blocks, *Honest().whole(value)["content"]]),
    "has prose with a value": _content(
        lambda blocks, value: [*blocks, {"type": "text", "text": f"For {' and '.join(map(str, value.values()))}"}]
    ),
    "is missing": _without("content"),
    "is an object": lambda answer, value, key: {**answer, "content": answer["content"][0]},
    "is all there is": _without("structuredContent"),
}


def content_lies():
    for mode, (way, alter) in product(("include", "exclude", "view"), CONTENT.items()):
        yield f"content / {mode} / {way}", altered("projected", alter, is_mode(mode))


RECEIPT = {
    **{f"lacks {name}": _without(name) for name in ("applied", "mode", "fields", "partial", "projectedSchema")},
    **{
        f"says {name} {value!r}": _with(name, value)
        for name, value in (
            ("applied", "true"),
            ("applied", 1),
            ("applied", False),
            ("mode", "all"),
            ("mode", None),
            ("fields", []),
            ("fields", "id"),
            ("fields", [7]),
            ("fields", ["email"]),
            ("partial", "yes"),
            ("partial", None),
            ("projectedSchema", None),
            ("projectedSchema", "object"),
            ("projectedSchema", []),
        )
    },
    "says the opposite of partial": lambda said, *_: {**said, "partial": not said["partial"]},
    "tells what was left out": lambda said, kept, value: {
        **said,
        "removed": [member for name, member in value.items() if name not in kept],
    },
}


def receipt_lies():
    for mode, (way, alter) in product(("include", "exclude"), RECEIPT.items()):
        yield f"receipt / {mode} / {way}", altered("receipt", alter, is_mode(mode))
    yield "receipt / view / lacks applied", altered("receipt", RECEIPT["lacks applied"], is_mode("view"))
    yield "receipt / view / lacks view", altered("receipt", _without("view"), is_mode("view"))
    yield "receipt / view / says another view", altered("receipt", _with("view", "other"), is_mode("view"))
    yield (
        "receipt / unmatched is a text",
        altered(
            "receipt",
            lambda said, *_: {**said, "unmatched": " ".join(said["unmatched"])} if "unmatched" in said else said,
        ),
    )
    yield (
        "receipt / matched fields are unmatched",
        altered("receipt", lambda said, *_: {**said, "unmatched": list(said["fields"])}),
    )


def _opened(schema, *_):
    return {name: value for name, value in schema.items() if name not in ("additionalProperties", "properties")}


SCHEMAS = {
    "accepts everything": lambda schema, kept: True,
    "is empty": lambda schema, kept: {},
    "accepts nothing": lambda schema, kept: False,
    "has no members": _opened,
    "is that of the whole": lambda schema, kept: TOOLS["get_person"]["outputSchema"],
    "needs more": lambda schema, kept: {**schema, "required": [*schema.get("required", ()), "no_such_member"]},
    "is of other types": lambda schema, kept: {
        **schema,
        "properties": {name: {"type": "boolean"} for name in schema.get("properties", ())},
    },
    "is of this answer": lambda schema, kept: {"const": kept},
    "is a reference": lambda schema, kept: {"$ref": "#/$defs/person"},
    "is elsewhere": lambda schema, kept: {"$ref": "person.schema.json"},
    "is itself": lambda schema, kept: {"$ref": "#"},
    "has keywords that are none": lambda schema, kept: {"allOf": 7, "pattern": 7, "$defs": []},
    "is no schema": lambda schema, kept: {"type": "people"},
}


def schema_lies():
    for mode, (way, alter) in product(("include", "exclude"), SCHEMAS.items()):
        yield f"schema / {mode} / {way}", altered("schema", alter, is_mode(mode))


# Declarations


CAPABILITY = {
    **{f"lacks {name}": _without(name) for name in ("supported", "modes")},
    **{
        f"says {name} {value!r}": _with(name, value)
        for name, value in (
            ("supported", False),
            ("supported", "true"),
            ("supported", 1),
            ("modes", "include"),
            ("modes", []),
            ("modes", ["include"]),
            ("modes", ["exclude", "view"]),
            ("modes", ["include", "exclude", "view", "only"]),
            ("maxDepth", 0),
            ("maxDepth", -1),
            ("maxDepth", "32"),
            ("maxDepth", True),
            ("maxDepth", 2.5),
        )
    },
}


def declaration_lies():
    for way, alter in CAPABILITY.items():

        class Server(Honest):
            def capabilities(self, alter=alter):
                said = super().capabilities()
                return {**said, "tools": {**said["tools"], "projection": alter(said["tools"]["projection"])}}

        yield f"capability / {way}", Server

    ways = {"is supported": {"supported": True}, "is a text": "yes"}
    for tool, (way, hint) in product(("say_hello", "runs"), ways.items()):

        class Hinted(Honest):
            def listed(self, name, tool=tool, hint=hint):
                listed = super().listed(name)
                annotations = {**listed["annotations"], "projectionHint": hint}
                return {**listed, "annotations": annotations, "_meta": {HINT: hint}} if name == tool else listed

        yield f"hint / of {tool}, which has no fields, {way}", Hinted

    for way, wrong in {
        "supported is missing": {"recommendedViews": {}},
        "supported is text": {"supported": "true"},
        "is false": {"supported": False},
        "has views in a list": {"supported": True, "recommendedViews": ["id"]},
        "has a view without fields": {"supported": True, "recommendedViews": {"none": []}},
        "has a view that is a text": {"supported": True, "recommendedViews": {"minimal": "id"}},
        "has a view that there is not": {"supported": True, "recommendedViews": {"new": ["id"]}},
        "has a view of other fields": {"supported": True, "recommendedViews": {"minimal": ["email"]}},
    }.items():

        class HintedAnew(Honest):
            def hint(self, name, said=wrong):
                return said if name == "get_person" else super().hint(name)

        yield f"hint / {way}", HintedAnew


# Requests that are refused


REFUSED = {
    "a mode": lambda asked: asked.get("mode") == "only",
    "a view": lambda asked: asked.get("view") == "no such view",
    "no fields": lambda asked: asked.get("fields") == [] and asked.get("mode") == "include",
    "no fields to leave out": lambda asked: asked.get("fields") == [] and asked.get("mode") == "exclude",
    "a double dot": lambda asked: asked.get("fields") == ["a..b"],
    "a dot at the end": lambda asked: asked.get("fields") == ["a."],
    "a bracket": lambda asked: asked.get("fields") == ["["],
    "an index": lambda asked: asked.get("fields") == ["a[0]"],
    "a filter": lambda asked: asked.get("fields") == ["a[?(@.b==1)]"],
    "an empty path": lambda asked: asked.get("fields") == [""],
    "a member": lambda asked: "limit" in asked,
    "a view beside fields": lambda asked: "view" in asked and "fields" in asked,
    "strict": lambda asked: asked.get("strict") is True,
}


def refusal_lies():
    for request, is_it in REFUSED.items():

        class Answered(Honest):
            def asked(self, meta, arguments, is_it=is_it):
                return None if is_it(meta.get(KEY, {})) else super().asked(meta, arguments)

        yield f"refusal / of {request} / is a whole answer", Answered

        class Silent(Honest):
            def call_tool(self, params, is_it=is_it):
                try:
                    return super().call_tool(params)
                except Refused:
                    if is_it((params.get("_meta") or {}).get(KEY, {})):
                        return {"content": [], "structuredContent": {}, "_meta": {KEY: {"applied": True}}}
                    raise

        yield f"refusal / of {request} / is an empty answer", Silent
    for way, alter in {
        "has another code": _with("code", "BAD"),
        **{f"lacks {name}": _without(name) for name in ("code", "message", "path", "offset")},
        "has another offset": _with("offset", 0),
        "has another path": _with("path", "a"),
    }.items():

        class Worded(Honest):
            def asked(self, meta, arguments, alter=alter):
                try:
                    return super().asked(meta, arguments)
                except Refused as refused:
                    refused.error = {"message": "", **alter(refused.error)}
                    raise

        yield f"refusal / {way}", Worded

    class Late(Honest):
        def plan(self, asked, name):
            self.runs[name] += 1
            return super().plan(asked, name)

    yield "refusal / of a view / comes late", Late


ALTERATIONS = {
    name: server
    for family in (kept_lies, content_lies, receipt_lies, schema_lies, declaration_lies, refusal_lies)
    for name, server in family()
}

EQUAL = {
    "kept / include a member / has whole members": "the member is a number",
    "kept / include a nested member / lacks an element": "there is no array in the address",
    "kept / include a nested member / has other numbers": "the address has texts alone",
    "kept / include a nested member / has texts for numbers": "the address has texts alone",
    "kept / include in an array / has empty members": "the orders are an array",
    "kept / include rows / has empty members": "the orders are an array",
    "kept / include rows / has other texts": "the rows have numbers alone",
    "kept / exclude a member / has whole members": "what is left out is no part of a member",
    "kept / exclude a nested member / has what was left out": "what is left out is part of a member",
    "kept / exclude a nested member / has what was left out as null": "what is left out is part of a member",
    "kept / exclude in an array / has what was left out": "what is left out is part of a member",
    "kept / exclude in an array / has what was left out as null": "what is left out is part of a member",
    "hint / of runs, which has no fields, is supported": "it answers an empty object until a tool has run",
}
"""Alterations that change nothing, with the reason."""
