"""`python -m tests.policy.canaries --cases N --seed S`: counts of cases, and of tokens that got out; 1 if one did.

Each case is a tool under a policy, behind all that stands before a server in the gateway: guard, projection, named
views, kept results, search and audit, a stack for each audience. What a caller gets of it who may not see everything,
and all that is written down meanwhile, is searched for every token that it may not see, in each form that it can take.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import json
import logging
import re
import sys
import unicodedata
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from random import Random
from time import perf_counter
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

from mcp import MCPError
from mcp.server import Server

from louver.gateway.back.policy_guard import Guard
from louver.sdk.adapter import StepMiddleware, call_server
from louver.steps.audit import step
from louver.steps.calls.request import RequestOptions
from louver.steps.calls.response import ResponseExtras
from louver.steps.policy import enforcer
from louver.steps.policy.enforcer import PolicyEnforcer
from louver.steps.projection import ProjectionStep
from louver.steps.request import Identity, in_order
from louver.steps.results.results import KeptResults, Results
from louver.steps.search import Search
from louver.steps.tools.registry import ToolRegistry
from louver.steps.tools.views import ToolViews
from louver.wire.jsonrpc.errors import JsonRpcError
from tests.policy.cases import TOOL, Case, Cases
from tests.steps.wire import NEW, connect


class Caller:
    """Who is served, whose roles change from request to request."""

    subject, client, scopes, roles = "ann", None, frozenset[str](), frozenset[str]()


class Pipeline:
    """What stands before a server under a policy; which server that is changes from case to case."""

    def __init__(self) -> None:
        self.caller = Caller()
        self.records: list[Any] = []
        self.results = Results(KeptResults(over_bytes=200))
        self.server: Server[Any] = Server("canaries")
        self.lists = SimpleNamespace(generation=0)
        writer = SimpleNamespace(principal_digest=lambda _who: "p:someone", check_room=_nothing, write=self._write)
        audit: Any = step.AuditStep(
            writer,
            lambda _name, who: step.ToolOwner("it", TOOL, "1", self.policed.names_of(TOOL, who.principal)),
        )
        self.audiences: dict[Any, Any] = {}
        self.server.middleware[:] = [StepMiddleware(in_order([self._identify, audit, self._step], call_server))]

    def begin(self, case: Case) -> None:
        """Serve the tool of another case."""
        self.case = case
        self.audiences.clear()
        self.policed = PolicyEnforcer("it", case.policy)
        self.guard = Guard(self.policed)
        self.session = Session(case.tool)
        self.records.clear()
        self.results._store._kept.clear()

    def audience(self, who: Any) -> Any:
        return self.policed.id, self.policed.policy.audience(who)

    async def _write(self, record: Any, **_: Any) -> None:
        self.records.append(record.to_json())

    def _made(self, who: Any) -> Any:
        tools = ToolRegistry(ToolViews({TOOL: self.case.views}, {}, hides=partial(self._hides, who)))
        beside = ResponseExtras(
            results=self.results.scoped_to(lambda request: repr(self.audience(request.identity.principal)))
        )
        asking = RequestOptions("all")
        info = self.server.server_info_stamp
        layer = ProjectionStep(info, tools, asking, "relaxed", exact=True, search=Search(), extras=beside)
        return in_order([layer], self._forward)

    def _hides(self, who: Any, tool: str, path: Any) -> bool:
        return self.policed.hides(tool, who, path)

    def _identify(self, request: Any, call_next: Any) -> Any:
        caller: Any = self.caller
        return call_next(replace(request, identity=Identity(caller)))

    async def _step(self, request: Any, call_next: Any) -> Any:
        if request.method in ("server/discover", "initialize", "ping"):
            return await call_next(request)
        who = request.identity.principal
        if (audience := self.audience(who)) not in self.audiences:
            self.audiences[audience] = self._made(who)
        return await self.audiences[audience](request)

    async def _forward(self, request: Any) -> Any:
        client = SimpleNamespace(is_modern=True)
        turn: Any = SimpleNamespace(
            client=client, identity=request.identity, record=request.record, is_live=request.is_live
        )
        session: Any = self.session
        return await self.guard.send(session, turn, request.method, dict(request.params), self._ask)

    async def _ask(self, _turn: Any, params: dict[str, Any]) -> dict[str, Any]:
        if "name" not in params:
            return {"resultType": "complete", "tools": [self.case.tool], "ttlMs": 0, "cacheScope": "public"}
        if self.case.result is None:
            said = json.dumps([self.case.tool, self.case.denied], ensure_ascii=False)
            raise JsonRpcError(code=-32001, message=said, data={"said": said})
        return {"resultType": "complete", **self.case.result}


class Session:
    """The one tool, as its server lists it."""

    def __init__(self, tool: dict[str, Any]) -> None:
        self.lists = SimpleNamespace(generation=0)
        self._tool = tool

    async def tools(self) -> list[dict[str, Any]]:
        return [self._tool]


class Lines(logging.Handler):
    """All that is logged, with what was raised."""

    def __init__(self) -> None:
        super().__init__()
        self.said = io.StringIO()
        self.setFormatter(logging.Formatter("%(name)s %(message)s %(args)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.said.write(self.format(record))


class Run:
    """One run: what was counted, and what got out."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = Random(seed)
        self.counts: Counter[str] = Counter()
        self.found: list[tuple[str, str]] = []
        self.example = ""

    async def cases(self, number: int, *, enough: int | None = None) -> Run:
        """So many cases, or until so many tokens have got out."""
        made, pipeline, lines = Cases(self.rng), Pipeline(), Lines()
        root = logging.getLogger()
        root.addHandler(lines)
        try:
            pipeline.begin(made.case())
            async with connect(pipeline.server, NEW) as wire:
                for _ in range(number):
                    case = made.case()
                    pipeline.begin(case)
                    await self._case(case, pipeline, wire, lines)
                    if enough is not None and len(self.found) >= enough:
                        break
        finally:
            root.removeHandler(lines)
        return self

    async def _case(self, case: Case, pipeline: Pipeline, wire: Any, lines: Lines) -> None:
        self.counts["cases"] += 1
        uris: list[str] = []
        if self.rng.random() < 0.3:
            # Somebody who sees everything comes first, over the same connection.
            pipeline.caller.roles = frozenset({"admin"})
            seen = await self._all(case, wire, {"projection": {"mode": "exclude", "fields": ["none"]}})
            uris = [uri for uri in _uris(json.loads(seen)) if uri.startswith("louver://")]
            self.counts["after an admin"] += 1
        pipeline.results._store._kept.clear() if not uris else None
        kept_before = len(pipeline.results._store._kept)
        pipeline.records.clear()
        lines.said = io.StringIO()
        pipeline.caller.roles = frozenset()
        out = [await self._all(case, wire, case.meta)]
        out += [await _said(wire, "resources/read", uri=uri) for uri in uris]
        stored = [value for _, value in list(pipeline.results._store._kept.values())[kept_before:]]
        out += [str(part, "utf-8", "replace") for parts in stored for part in parts]
        out += [json.dumps(pipeline.records), lines.said.getvalue()]
        self.counts["kept"] += bool(stored)
        self.counts["answered"] += "structuredContent" in out[0] or '"isError"' not in out[0]
        self.counts["denied tokens"] += len(case.denied)
        for token, what in escaped(out, case.denied):
            self.counts[f"OUT {what}"] += 1
            self.found.append((token, what))
            if len(self.found) == 1:
                self.example = _example(case, token, what, out)

    async def _all(self, case: Case, wire: Any, meta: dict[str, Any]) -> str:
        """All that one caller gets: the list, the answer, what it leads to, and what a search finds."""
        said = [
            await _said(wire, "tools/list"),
            await _said(wire, "tools/call", name=TOOL, arguments={}, **({"_meta": meta} if meta else {})),
        ]
        answer = json.loads(said[1])
        said += [await _said(wire, "resources/read", uri=uri) for uri in _uris(answer)]
        if self.rng.random() < 0.1:
            said.append(await _said(wire, "tools/list", query=f"does {next(iter(case.denied))}"))
            # The query stands in nothing that is said, but for an error.
            case.denied.pop(next(iter(case.denied)))
        return "[" + ",".join(said) + "]"


def _example(case: Case, token: str, what: str, out: list[str]) -> str:
    """What there is to know of a token that got out."""
    where = [text[max(0, text.find(token) - 300) :][:600] for text in out if token in text]
    rules = [rule.fields for rule in case.policy.tools[TOOL].rules]
    return "\n".join(map(str, (f"{token}, a {what}:", *where, *rules, json.dumps(case.tool), case.result, case.meta)))


async def _said(wire: Any, method: str, **params: Any) -> str:
    """The answer to a request, or the error, as it stands on the wire."""
    try:
        return json.dumps(await wire.request(method, params))
    except MCPError as error:
        return json.dumps([error.error.code, error.error.message, error.error.data])


def _uris(answer: Any) -> list[str]:
    meta: Any = answer.get("_meta", {}) if isinstance(answer, dict) else {}
    if isinstance(answer, list):
        return [uri for each in answer for uri in _uris(each)]
    kept = meta.get("dev.louver/result", {}).get("uri")
    return [kept] if kept else []


def escaped(out: list[str], denied: dict[str, str]) -> list[tuple[str, str]]:
    """The tokens that stand in a text, in whatever form."""
    hay = "\n".join(out)
    # Also what JSON, an address or a compatibility form would hide.
    opened = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), hay)
    plain = unicodedata.normalize("NFKC", unquote(opened)).replace("\u200b", "")
    hay = f"{hay}\n{plain.casefold()}"
    return [(token, what) for token, what in denied.items() if any(form in hay for form in forms(token))]


def forms(token: str) -> list[str]:
    """How a token may be written; each form as it stands in the middle of something longer."""
    raw = token.encode()
    coded = [base64.b64encode(b"\0" * before + raw).decode() for before in range(3)]
    inner = [text.rstrip("=")[-(-4 * before // 3) : -1] for before, text in enumerate(coded)]
    return [token, raw.hex(), *inner]


def naive() -> Any:
    """A pipeline that passes everything on: it must leak."""

    def answered(_self: Any, raw: Any, *_: Any) -> Any:
        return enforcer.Visible(raw.unpruned)

    def listed(_self: Any, _method: str, raw: Any, *_: Any) -> Any:
        return enforcer.Visible(raw.unpruned)

    return {"visible_call_result": answered, "visible_list": listed}


@contextmanager
def patched(where: Any, **functions: Any) -> Any:
    """Other functions for a while."""
    before = {name: where.__dict__[name] for name in functions}
    for name, function in functions.items():
        setattr(where, name, function)
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(where, name, function)


def main() -> int:
    """Run, print, and say whether nothing got out."""
    parser = argparse.ArgumentParser(prog="python -m tests.policy.canaries", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = perf_counter()
    run = asyncio.run(Run(options.seed).cases(options.cases))
    for name, count in sorted(run.counts.items()):
        print(f"{count:>9}  {name}")
    print(f"{run.counts['cases'] / (perf_counter() - start):>9.0f}  cases a second")
    if run.found:
        print(run.example)
    return 1 if run.found else 0


async def _nothing() -> None: ...


if __name__ == "__main__":
    sys.exit(main())
