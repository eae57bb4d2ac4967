"""A server that keeps every sentence, without an SDK: those beside it each break one.

    python conformance/broken/server.py Honest

It speaks both protocol revisions, over standard input and output and over HTTP. What a sentence is about has a method
of its own, so that a broken server is this one with one method changed.
"""

import json
from collections import Counter
from secrets import token_hex

from louver.core.json import canonical
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.core.schema.relax import relax
from louver.errors import InvalidProjection, LouverError

OLD, NEW = "2025-11-25", "2026-07-28"
KEY, EXTENSION, HINT = "projection", "dev.louver/projection", "dev.louver/projectionHint"
URI = "resource:///tool_descriptions"
GRANT = "dev.louver/grant"
MODES = ["include", "exclude", "view"]
TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def an_object(**members):
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


PERSON = an_object(
    id=WHOLE,
    name=TEXT,
    email=TEXT,
    address=an_object(city=TEXT, street=TEXT),
    orders={"type": "array", "items": an_object(number=WHOLE, note=TEXT)},
)
PEOPLE = {
    1: {
        "id": 1,
        "name": "Ann Example",
        "email": "ann@example.com",
        "address": {"city": "Lisbon-upon-Tagus", "street": "Rua do Exemplo"},
        "orders": [{"number": 11, "note": "leave at the door"}, {"number": 12, "note": "ring the bell"}],
    },
    2: {
        "id": 2,
        "name": "Ben Specimen",
        "email": "ben@example.com",
        "address": {"city": "Porto-by-the-Sea", "street": "Rua do Modelo"},
        "orders": [{"number": 21, "note": "call before coming"}],
    },
}
TOOLS = {
    "get_person": {
        "description": "Get one person. With the address and all orders.",
        "inputSchema": {
            "type": "object",
            "properties": {"id": {"type": "integer", "description": "Which person.", "examples": [1, 2]}},
            "required": ["id"],
        },
        "outputSchema": PERSON,
    },
    "list_orders": {
        "description": "List orders. Of all people, a page at a time.",
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {
            "type": "object",
            "properties": {"total": WHOLE, "orders": {"type": "array", "items": {"type": "object"}}, "next": TEXT},
        },
    },
    "say_hello": {"description": "Say hello. In prose.", "inputSchema": {"type": "object", "properties": {}}},
    "runs": {"description": "Count runs. Of other tools.", "inputSchema": {"type": "object", "properties": {}}},
}
ORDERS = {
    "total": 3,
    "orders": [
        {"number": 11, "parcel": {"weight": 250, "shelf": "third from the left"}},
        {"number": 21, "parcel": {"weight": 1200, "shelf": "under the window"}, "gift": "with a ribbon"},
    ],
    "next": "page-two",
}
"""Fields that the schema does not know, beside an array of rows."""
VIEWS = {
    "get_person": {"minimal": ["id", "name"], "contact": ["email", "address.city"]},
    "list_orders": {"numbers": ["total", "orders.number"]},
}


class Refused(Exception):
    """A request that is answered with an error.

    Args:
        error: The object that says why.
    """

    def __init__(self, error, code=-32602):
        super().__init__(error["message"])
        self.error, self.code = error, code


class Honest:
    """One connection, or all requests of 2026-07-28 over HTTP."""

    def __init__(self):
        self.era = NEW
        self.runs = Counter()
        self.read = set()
        self.grants = {}

    # Messages

    def answered(self, message):
        head = {"jsonrpc": "2.0", "id": message["id"]}
        handlers = {
            "initialize": self.initialize,
            "server/discover": self.discover,
            "ping": lambda params: {},
            "tools/list": self.list_tools,
            "tools/call": self.call_tool,
            "resources/list": lambda params: {"resources": [self.resource()]},
            "resources/templates/list": lambda params: {"resourceTemplates": []},
            "resources/read": self.read_resource,
        }
        handler = handlers.get(message["method"])
        if handler is None:
            return {**head, "error": {"code": -32601, "message": "Method not found"}}
        try:
            result = handler(message.get("params") or {})
        except Refused as refused:
            data = {"data": {"error": refused.error}} if refused.error.get("code") else {}
            return {**head, "error": {"code": refused.code, "message": refused.error["message"], **data}}
        return {**head, "result": {"resultType": "complete", **result} if self.era == NEW else result}

    # Opening

    def initialize(self, params):
        self.era = OLD
        info = {"name": "honest", "version": "1"}
        said = {"capabilities": self.capabilities(), "instructions": self.instructions()}
        return {"protocolVersion": OLD, "serverInfo": info, **said}

    def discover(self, params):
        said = {"capabilities": self.capabilities(), "instructions": self.instructions()}
        info = {"io.modelcontextprotocol/serverInfo": {"name": "honest", "version": "1"}}
        return {"supportedVersions": [NEW], **said, "ttlMs": 0, "cacheScope": "private", "_meta": info}

    def capability(self):
        return {"supported": True, "modes": MODES, "maxDepth": 32}

    def capabilities(self):
        return {
            "tools": {"projection": self.capability(), "filtering": True},
            "resources": {},
            "extensions": {
                EXTENSION: {**self.capability(), "argument": "output_fields"},
                "dev.louver/search": {"maxCharacters": 256, "pageSize": 20},
                "dev.louver/disclosure": {"uri": URI, "enforced": True},
            },
        }

    def instructions(self):
        return "Tool search: a query is plain words, for example 'get a person'."

    # Listing

    def list_tools(self, params):
        found = self.found(params["query"]) if params.get("query", "") != "" else list(TOOLS)
        return {"tools": [self.listed(name) for name in found], **self.caching()}

    def caching(self):
        return {"ttlMs": 0, "cacheScope": "private"} if self.era == NEW else {}

    def listed(self, name):
        annotations = {"readOnlyHint": True}
        meta = {}
        if "outputSchema" in TOOLS[name]:
            annotations["projectionHint"] = self.hint(name)
            meta = {"_meta": {HINT: self.hint(name)}}
        schema = self.listed_schema(name)
        output = {} if schema is None else {"outputSchema": schema}
        summary = self.summary(name)
        return {
            "name": name,
            "description": summary,
            "inputSchema": {"type": "object"},
            **output,
            "annotations": annotations,
            **meta,
        }

    def listed_schema(self, name):
        """Shown, though the input is not: clients hold answers against it."""
        return relax(TOOLS[name]["outputSchema"]) if "outputSchema" in TOOLS[name] else None

    def hint(self, name):
        return {"supported": True, "recommendedViews": self.views(name)}

    def views(self, name):
        return VIEWS[name]

    def summary(self, name):
        return TOOLS[name]["description"].partition(". ")[0] + "."

    def found(self, query):
        self.check_query(query)
        words = set(query.lower().split())
        return [name for name in TOOLS if words & {*name.split("_"), *TOOLS[name]["description"].lower().split()}]

    def check_query(self, query):
        if not isinstance(query, str) or len(query) > 256 or not query.isprintable():
            raise Refused({"code": "INVALID_QUERY", "message": "a query is plain words, 256 characters at most"})

    # Describing

    def resource(self):
        return {
            "uri": URI,
            "name": "Tool descriptions",
            "description": f"Choose by tools/list, then read {URI}?tools=TOOL1,TOOL2 before the first call.",
            "mimeType": "application/json",
        }

    def read_resource(self, params):
        uri = params["uri"]
        names = [name for name in uri.partition("?tools=")[2].split(",") if name]
        if not names:
            return self.contents(uri, self.nothing_named())
        grant = token_hex(8)
        self.remember(names, grant)
        meta = {"_meta": {GRANT: grant}} if self.era == NEW else {}
        return {**self.contents(uri, self.described(names, grant)), **self.caching(), **meta}

    def contents(self, uri, value):
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": json.dumps(value)}], **self.caching()}

    def nothing_named(self):
        return {
            "error": {"code": "MISSING_TOOL_SELECTION", "message": "name a tool", "examples": [f"{URI}?tools=runs"]}
        }

    def described(self, names, grant):
        return {name: self.description(name, grant) if name in TOOLS else self.unknown(name) for name in names}

    def unknown(self, name):
        return {"error": f"Tool '{name}' not found", "available_tools": list(TOOLS)}

    def description(self, name, grant):
        schema = TOOLS[name]["inputSchema"]
        if "outputSchema" in TOOLS[name]:
            schema = {**schema, "properties": {**schema["properties"], "output_fields": {"type": ["array", "object"]}}}
        if self.era == NEW:
            properties = {**schema["properties"], "grant": {"const": grant}}
            schema = {**schema, "properties": properties, "required": [*schema.get("required", []), "grant"]}
        return {"name": name, **TOOLS[name], "inputSchema": schema}

    def remember(self, names, grant):
        self.read.update(names)
        self.grants[grant] = names

    def may_call(self, name, meta, arguments):
        if self.era == OLD:
            return name in self.read
        return name in self.grants.get(meta.get(GRANT, arguments.get("grant")), ())

    # Calling

    def call_tool(self, params):
        name, arguments, meta = params["name"], params.get("arguments") or {}, params.get("_meta") or {}
        if name not in TOOLS:
            raise Refused({"code": "", "message": "Unknown tool"})
        if not self.may_call(name, meta, arguments):
            return self.not_read(name)
        given = {key: value for key, value in arguments.items() if key not in ("grant", "output_fields")}
        if "outputSchema" not in TOOLS[name]:
            return self.plain(name, meta)
        asked = self.asked(meta, arguments)
        plan = None if asked is None else self.plan(asked, name)
        value = self.run(name, given)
        if plan is None:
            return self.whole(value)
        return self.projected(plan, value, EXTENSION if EXTENSION in meta else KEY)

    def not_read(self, name):
        message = f"Tool '{name}' requires fetching its description before use."
        error = {"code": "TOOL_DESCRIPTION_REQUIRED", "message": message, "resource_uri": f"{URI}?tools={name}"}
        return {"content": [{"type": "text", "text": json.dumps({"error": error})}], "isError": True}

    def plain(self, name, meta):
        """The answer of a tool that cannot be projected."""
        if name == "runs":
            value = dict(self.runs)
            return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
        answer = {"content": [{"type": "text", "text": "hello"}]}
        if KEY not in meta:
            return answer
        if meta[KEY].get("required"):
            error = {"code": "PROJECTION_REQUIRED", "message": "it has no fields"}
            return {"content": [{"type": "text", "text": json.dumps({"error": error})}], "isError": True}
        return {**answer, "_meta": {KEY: {"applied": False, "reason": "no_structured_output"}}}

    def asked(self, meta, arguments):
        """The request; refused if it is none."""
        found = [meta[key] for key in (KEY, EXTENSION) if key in meta]
        if not found and "output_fields" in arguments:
            argument = arguments["output_fields"]
            found = [{"mode": "include", "fields": argument} if isinstance(argument, list) else argument]
        try:
            projections = [Projection.from_wire(self.understood(each)) for each in found]
            if len(set(projections)) > 1:
                raise InvalidProjection("two different requests")
        except LouverError as error:
            raise Refused(error.to_json()) from None
        return projections[0] if projections else None

    def understood(self, request):
        return request

    def plan(self, asked, name):
        try:
            return compile_projection(asked, TOOLS[name]["outputSchema"], views=self.views(name))
        except LouverError as error:
            raise Refused(error.to_json()) from None

    def run(self, name, arguments):
        if name == "get_person" and arguments.get("id") not in PEOPLE:
            raise Refused({"code": "", "message": "no such person"})
        self.runs[name] += 1
        return PEOPLE[arguments["id"]] if name == "get_person" else ORDERS

    def whole(self, value):
        return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}

    def projected(self, plan, value, key):
        kept = self.kept(plan, value)
        content = [{"type": "text", "text": json.dumps(self.content(kept, value))}]
        receipt = self.receipt(plan, kept, value)
        return {"content": content, "structuredContent": kept, "_meta": {key: receipt}}

    def kept(self, plan, value):
        return plan(value)

    def content(self, kept, value):
        return kept

    def receipt(self, plan, kept, value):
        request = plan.request
        said = {"applied": True, "mode": request.mode, "fields": list(plan.fields), "partial": kept != value}
        if request.mode == "view":
            said["view"] = request.name
        if plan.unmatched:
            said["unmatched"] = list(plan.unmatched)
        if request.schema == "inline":
            said["projectedSchema"] = self.schema(plan, kept)
        return said

    def schema(self, plan, kept):
        return json.loads(canonical(plan.schema))
