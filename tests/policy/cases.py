"""Random tools, answers, rules and requests in which every leaf and every name is a token of its own.

A token is told from all others wherever it turns up, so what of a case nobody may see can be looked for in all that
leaves (`canaries.py`). Which tokens these are is worked out here from the positions in the value, by code that knows
nothing of masks, schemas or twins.
"""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from louver.core.paths.path import FieldPath, fold
from louver.core.policy.visibility import Fields
from louver.policy.policy import Policy, Rule, ToolPolicy, Who

if TYPE_CHECKING:
    from random import Random

Steps = tuple[str, ...]
TOOL = "the_tool"
TEXTS: tuple[dict[str, Any], ...] = (
    {"type": "string"},
    {"type": ["string", "null"]},
    {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Result"},
    {"anyOf": [{"type": "object", "additionalProperties": True}, {"type": "string"}]},
    {},
)
"""What servers list for a text."""


@dataclass
class Node:
    """A place in values: names -> what is below them, what the elements are, or a scalar."""

    names: dict[str, Node] = field(default_factory=dict[str, "Node"])
    element: Node | None = None
    kind: str = "string"
    ghosts: tuple[str, ...] = ()
    """Names that the schema speaks of, and no value has."""


@dataclass
class Case:
    """One tool with its answer, the rules for it, and what is asked of it."""

    policy: Policy
    tool: dict[str, Any]
    result: dict[str, Any] | None
    meta: dict[str, Any]
    views: dict[str, Any]
    denied: dict[str, str]
    """Token -> what it is."""


class Cases:
    """Makes cases.

    Args:
        rng: Where its choices are from.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def case(self) -> Case:
        """One case."""
        rng = self.rng
        self.values: dict[str, Steps] = {}
        self.keys: dict[str, Steps] = {}
        self.never: dict[str, str] = {}
        self.beside: set[str] = set()
        root = self._node(3, rooted=True)
        seats = ("structured", "text", "wrapped text", "text at the root", "prose", "error", "refused")
        seat = rng.choices(seats, (12, 3, 3, 1, 1, 2, 1))[0]
        is_declared = (seat == "structured" and rng.random() < 0.85) or (seat == "text" and rng.random() < 0.5)
        wrapped = is_declared and rng.random() < 0.25
        top: Steps = ("result",) if wrapped else ()
        value = self._value(root, top)
        siblings = self._siblings(root) if wrapped and rng.random() < 0.5 else {}
        self.has_siblings = bool(siblings)
        places = [*self.keys.values(), *((name,) for name in siblings)]
        # The root of JSON text in a wrapper is that of the text, and of a schema that of the wrapper.
        rules = [self._fields(places, is_rooted=seat != "wrapped text")]
        value = self._with_twins(value, root, rules, top)
        schema = self._schema(root, top)
        inside = schema["properties"]
        if wrapped:
            value = {"result": [value, self._value(root, top)] if rng.random() < 0.5 else value, **siblings}
            item = schema
            schema = {"type": "object", "properties": {"result": {"anyOf": [{"type": "array", "items": item}, item]}}}
            schema["required"] = ["result"]
            schema |= rng.choice(({}, {}, {"additionalProperties": True}, {"additionalProperties": {}}))
            if seat == "text" and not siblings and rng.random() < 0.5:
                value = value["result"]
        if inside and rng.random() < 0.2:
            name = rng.choice(list(inside))
            schema["$defs"] = {name: inside[name]}
            inside[name] = {"$ref": f"#/$defs/{name}"}
        declared = schema if is_declared else None
        name = rng.choice(("result", "content"))
        if seat == "wrapped text":
            declared = rng.choice((None, *(_around(name, held) for held in TEXTS), {"type": "object"}))
        elif seat == "text at the root":
            declared = rng.choice((None, *TEXTS))
        if declared is None:
            value = self._scattered(value)
        # An admin sees everything, and who meets no rule sees nothing.
        is_met = rng.random() < 0.9
        others = Rule("others", Who() if is_met else Who(roles=frozenset({"nobody"})), *rules)
        admins = Rule("admins", Who(roles=frozenset({"admin"})), Fields())
        policy = Policy("1", {TOOL: ToolPolicy((admins, others), is_for_others=True)}, key=b"k" * 32)
        request, asked = self._request(places)
        denied = self._denied(rules, whole=seat in ("prose", "error", "refused"))
        if not is_met:
            denied = {**dict.fromkeys(self.values, "value"), **dict.fromkeys(self.keys, "name")}
        denied = {token: what for token, what in denied.items() if token not in asked}
        tool, result = self._tool(declared, denied, rules), self._result(seat, value, name)
        return Case(policy, tool, result, request, self._views(places), {**denied, **self.never})

    # Tokens

    def _token(self, letter: str) -> str:
        return f"{letter}{self.rng.getrandbits(40):010x}"

    def _never(self, what: str) -> str:
        """A token that nobody may see, whatever the rules."""
        token = self._token("n")
        self.never[token] = what
        return token

    # Values

    def _node(self, depth: int, *, rooted: bool = False) -> Node:
        rng = self.rng
        pick = rng.random()
        if rooted or (depth and pick < 0.35):
            names = {self._token("k"): self._node(depth - 1) for _ in range(rng.choice((1, 2, 2, 3, 4)))}
            ghosts = tuple(self._token("k") for _ in range(rng.choice((0, 0, 1))))
            return Node(names, ghosts=ghosts)
        if depth and pick < 0.5:
            return Node(element=self._node(depth - 1))
        return Node(kind=rng.choice(("string", "string", "string", "integer")))

    def _value(self, node: Node, at: Steps) -> Any:
        rng = self.rng
        if node.element is not None:
            return [self._value(node.element, at) for _ in range(rng.choice((1, 2)))]
        if node.names or node.ghosts:
            for name in (*node.names, *node.ghosts):
                self.keys[name] = (*at, name)
            return {name: self._value(below, (*at, name)) for name, below in node.names.items()}
        return self._leaf(node.kind, at)

    def _siblings(self, root: Node) -> dict[str, Any]:
        """Members beside the wrapper's, which no schema declares; some are named as one within it."""
        rng = self.rng
        siblings: dict[str, Any] = {}
        for _ in range(rng.choice((1, 1, 2))):
            node = self._node(1)
            if rng.random() < 0.5:
                name = rng.choice(list(root.names))
                self.beside.add(name)
            else:
                name = self._token("k")
                self.keys[name] = (name,)
            siblings[name] = self._value(node, (name,))
        return siblings

    def _leaf(self, kind: str, at: Steps) -> Any:
        if kind == "integer":
            number = self.rng.randrange(10**11, 10**12)
            self.values[str(number)] = at
            return number
        token = self._token("v")
        self.values[token] = at
        return self.rng.choice(("{}", "{}", "{}\u00e9\u2028", 'a "{}"\n', '{{"{}": 1}}', "\U0001f600{}/")).format(token)

    def _with_twins(self, value: Any, root: Node, rules: list[Fields], top: Steps) -> Any:
        """The value with twins of names that are denied at the root."""
        rng = self.rng
        denied = [
            path.steps[-1]
            for fields in rules
            for path in (*fields.deny, *fields.mask, *fields.hash)
            if path.steps[-1] in root.names and _is_below(path, (*top, str(path.steps[-1])))
        ]
        if denied and rng.random() < 0.3:
            name = str(rng.choice(denied))
            twin = rng.choice((name.upper(), "".join(map(_wide, name)), f"{name[:3]}\u200b{name[3:]}"))
            value = {**value, twin: self._leaf("string", (*top, name))}
        return value

    def _scattered(self, value: Any) -> Any:
        """The value with some of it as JSON text within strings, strictly or nearly."""
        rng = self.rng
        if isinstance(value, list):
            value = [self._scattered(each) for each in value]
        elif isinstance(value, dict):
            value = {name: self._scattered(each) for name, each in value.items()}
            if rng.random() < 0.1:
                return {rng.choice(("result", "Result", "data")): json.dumps(value), "id": 1}
        else:
            return value
        if rng.random() < 0.8:
            return value
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
        nearly = ("{}", "{}", "\ufeff{}", "```json\n{}\n```", "\u200b {}", "{}{}", "{},", "[{}, NaN]", "{} // it")
        return json.dumps(text) if rng.random() < 0.2 else rng.choice(nearly).replace("{}", text)

    # Schemas

    def _schema(self, node: Node, at: Steps) -> Any:
        rng = self.rng
        if node.element is not None:
            return {"type": "array", "items": self._schema(node.element, at)}
        if not node.names and not node.ghosts:
            return self._of_leaf(node.kind, at)
        parts = {name: self._schema(below, (*at, name)) for name, below in node.names.items()}
        parts |= {name: self._of_leaf("string", (*at, name)) for name in node.ghosts}
        schema: dict[str, Any] = {"type": "object", "properties": dict(parts)}
        names, both = list(node.names), [*node.names, *node.ghosts]
        schema["required"] = rng.sample(names, rng.randrange(len(names) + 1))
        one, other = rng.choice(both), rng.choice(names)
        said = self._leaf_said((*at, one))
        extras: dict[str, Any] = {
            "description": f"Has {one}. It is {said}.",
            "title": f"The {one}",
            "examples": [{one: said}],
            "default": {one: said},
            "dependentRequired": {one: [other]},
            "dependentSchemas": {one: {"required": [other]}},
            "propertyNames": {"pattern": f"^({'|'.join(both)}|.*)$"},
            "if": {"required": [one]},
            "then": {"properties": {other: True}},
            "not": {"required": [self._none(at)]},
        }
        for keyword in rng.sample(list(extras), rng.choice((0, 1, 3))):
            schema[keyword] = extras[keyword]
        if "then" in schema:
            schema.setdefault("if", True)
        if rng.random() < 0.15:
            moved = rng.choice(names)
            schema["patternProperties"] = {f"^{moved}$": schema["properties"].pop(moved)}
        if rng.random() < 0.1:
            # A schema may declare less than the value has.
            schema["properties"].pop(rng.choice(names), None)
        if rng.random() < 0.15:
            moved = rng.choice(list(schema["properties"]) or names)
            if moved in schema["properties"]:
                schema = {"anyOf": [{"properties": {moved: schema["properties"].pop(moved)}}, False], **schema}
        return schema

    def _none(self, at: Steps) -> str:
        name = self._token("k")
        self.keys[name] = (*at, name)
        return name

    def _of_leaf(self, kind: str, at: Steps) -> Any:
        rng = self.rng
        schema: dict[str, Any] = {"type": kind}
        if rng.random() < 0.2:
            schema["description"] = f"Such as {self._leaf_said(at)}, of {at[-1] if at else 'it'}"
        if rng.random() < 0.15:
            schema["not"] = {"const": self._leaf_said(at)}
        if rng.random() < 0.15:
            schema["default"] = self._leaf_said(at)
        if rng.random() < 0.1:
            schema = {"anyOf": [schema, {"const": self._leaf_said(at)}]}
        return schema

    def _leaf_said(self, at: Steps) -> str:
        """A value that a schema tells of a place."""
        token = self._token("v")
        self.values[token] = at
        return token

    # Rules

    def _fields(self, places: list[Steps], *, is_rooted: bool) -> Fields:
        rng = self.rng

        def some(*, deep: bool) -> tuple[FieldPath, ...]:
            paths: list[FieldPath] = []
            for steps in rng.sample(places, min(len(places), rng.choice((1, 1, 2, 3)))):
                if deep and rng.random() < 0.3:
                    paths.append(FieldPath((steps[-1],), deep=True))
                else:
                    paths.append(FieldPath.parse(_written(rng, steps) if is_rooted else ".".join(steps)))
            return fold(tuple(paths))

        kinds = rng.choice(
            (
                ("deny",),
                ("deny",),
                ("allow",),
                ("mask",),
                ("hash",),
                ("allow", "deny"),
                ("deny", "mask"),
                ("allow", "hash"),
            )
        )
        return Fields(**{kind: some(deep=kind != "allow") for kind in kinds})

    def _denied(self, rules: list[Fields], *, whole: bool) -> dict[str, str]:
        """The tokens that these rules let nobody see."""
        denied = {token: "value" for token, at in self.values.items() if any(_value_is_denied(f, at) for f in rules)}
        # What is hidden wherever it stands is told as something that may stand anywhere.
        told = {path.steps[0] for fields in rules for path in (*fields.mask, *fields.hash) if path.deep}
        if self.has_siblings:
            # A dotted path beside a wrapper is also told as one within it.
            shown = [path for fields in rules for path in (*fields.allow, *fields.mask, *fields.hash)]
            told |= {step for path in shown if not path.absolute for step in path.steps}
            told |= {step for fields in rules for path in fields.deny if not path.absolute for step in path.steps[:-1]}
        for name, at in self.keys.items():
            places = [at, (name,)] if name in self.beside else [at]
            if name not in told and all(any(_name_is_denied(f, place) for f in rules) for place in places):
                denied[name] = "name"
        if whole and any(fields != Fields() for fields in rules):
            denied |= dict.fromkeys(self.values, "value")
        return denied

    # Answers

    def _tool(self, schema: Any, denied: dict[str, str], rules: list[Fields]) -> dict[str, Any]:
        rng = self.rng
        # Of a name that no rule names, and the schema at most in a pattern, nobody knows that it is one.
        known = {path.steps[-1] for fields in rules for path in fields.deny}
        told = json.dumps(schema)
        names = [name for name in self.keys if f'"{name}"' in told or name in known or name not in denied]
        names = names or ["nothing"]
        told = " ".join(f"With {name}: it." for name in rng.sample(names, min(3, len(names))))
        described = f"Not {rng.choice(names)}. Any."
        tool = {
            "name": TOOL,
            "title": f"By {rng.choice(names)}",
            "description": f"Does it. {told}",
            "inputSchema": {"type": "object", "properties": {"q": {"type": "string", "description": described}}},
            "annotations": {"readOnlyHint": True, "title": self._never("title of annotations")},
            "_meta": {"x.y/z": self._never("meta of a tool")},
        }
        return tool if schema is None else {**tool, "outputSchema": schema}

    def _result(self, seat: str, value: Any, name: str) -> dict[str, Any] | None:
        if seat == "refused":
            return None
        around = self.rng.choice(
            ("It is {}", "200 OK\n{}", "{}\n{}", "data: {}\n\ndata: {}", "Here:\n```json\n{}\n```")
        )
        prose = {
            "type": "text",
            "text": around.replace("{}", json.dumps(value, ensure_ascii=False)),
            "_meta": {"x.y/z": self._never("meta")},
        }
        text = {"type": "text", "text": json.dumps(value)}
        link = {"type": "resource_link", "uri": f"file:///{self._never('link')}", "name": self._never("link")}
        meta = {"_meta": {"x.y/z": self._never("meta"), self._never("key of meta"): 1}}
        if seat == "structured":
            return {"structuredContent": value, "content": [text, prose, link], **meta}
        if seat == "text":
            return {"content": [text, link], **meta}
        if seat == "wrapped text":
            told = self.rng.choice((text, text, text, prose))["text"]
            return {"structuredContent": {name: told}, "content": [text], **meta}
        if seat == "text at the root":
            told = self.rng.choice((text, prose))["text"]
            return {"structuredContent": told, "content": [text], **meta}
        return {"content": [prose, link], **meta, **({"isError": True} if seat == "error" else {})}

    # Requests

    def _request(self, places: list[Steps]) -> tuple[dict[str, Any], set[str]]:
        """The `_meta` of a call, and the names that it tells itself."""
        rng = self.rng
        steps = [*rng.choice(places)]
        if rng.random() < 0.2:
            steps[-1] = "nonesuch"
        if rng.random() < 0.15:
            steps[rng.randrange(len(steps))] = "*"
        text = _written(rng, tuple(steps))
        asked: Any = rng.choice(
            (
                None,
                None,
                {"mode": "include", "fields": [text]},
                {"mode": "include", "fields": ["*"]},
                {"mode": "exclude", "fields": [text]},
                {"mode": "exclude", "fields": [f"**.{steps[-1]}" if steps[-1] != "*" else text]},
                {"mode": "include", "fields": [text], "strict": True},
                {"mode": "exclude", "fields": ["nonesuch"]},
                {"mode": "view", "view": "v0"},
                {"mode": "include", "fields": [text], "schema": "none"},
            )
        )
        if asked is None:
            return {}, set()
        told = set(steps) if "fields" in asked and asked["fields"] not in (["*"], ["nonesuch"]) else set[str]()
        return {"projection": asked}, told

    def _views(self, places: list[Steps]) -> dict[str, Any]:
        rng = self.rng

        def path(steps: Steps) -> str:
            # A dotted path beside a wrapper is also told as one within it.
            is_beside = self.has_siblings and steps[0] != "result"
            return "/" + "/".join(steps) if is_beside else _written(rng, steps)

        return {f"v{number}": [path(rng.choice(places)) for _ in range(2)] for number in range(2)}


def _written(rng: Random, steps: Steps) -> str:
    """A path in one of its forms; a dotted one may leave out the name of the wrapper."""
    form = rng.choice(("dotted", "dotted", "pointer", "JSONPath"))
    if form == "pointer" and "*" not in steps:
        return "/" + "/".join(steps)
    if form == "JSONPath":
        return "$." + ".".join(steps)
    within = steps[1:] if steps[0] == "result" and len(steps) > 1 and rng.random() < 0.7 else steps
    return ".".join(within)


def _around(name: str, held: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: held}, "required": [name]}


def _wide(letter: str) -> str:
    return chr(ord(letter) - 0x21 + 0xFF01)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name.replace("\u200b", "")).casefold()


def _is_below(path: FieldPath, at: Steps) -> bool:
    if path.deep:
        return path.steps[0] in at
    return any(place[: len(path.steps)] == path.steps for place in _readings(path, at))


def _readings(path: FieldPath, at: Steps) -> list[Steps]:
    """A place from the root, and from within the wrapper if a path may leave its name out."""
    may_be_within = at[:1] == ("result",) and not path.absolute
    return [at, at[1:]] if may_be_within else [at]


def _value_is_denied(fields: Fields, at: Steps) -> bool:
    if any(_is_below(path, at) for path in (*fields.deny, *fields.mask, *fields.hash)):
        return True
    shown = (*fields.allow, *fields.mask, *fields.hash)
    return bool(fields.allow) and not any(_is_below(path, at) for path in shown)


def _name_is_denied(fields: Fields, at: Steps) -> bool:
    if any(_is_below(path, at) for path in fields.deny):
        return True
    if any(_is_below(path, at[:-1]) for path in (*fields.mask, *fields.hash)):
        return True
    shown = (*fields.allow, *fields.mask, *fields.hash)
    return bool(fields.allow) and not any(
        path.deep or _is_below(path, at) or any(path.steps[: len(place)] == place for place in _readings(path, at))
        for path in shown
    )
