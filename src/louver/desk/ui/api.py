"""The page's data, as JSON under `/ui/api/`, behind the token that `/mcp` needs.

    GET  about                                   what the caller may see here
    GET  servers                                 the servers, with their state                  the operator
    GET  explain?server=S&tool=T&as=role:x       what the policy shows of a tool to a caller    the operator
    GET  saved?by=tool&days=7                    what projection has saved                      the operator
    GET  audit?by=field&days=7                   which fields went to whom                      the operator
    POST project {tool, projection?, result?}    the receipt, of a result also what is kept;
                                                 without a projection the declared fields       every caller
    POST view {tool, name, projection,           the change that saves a view, in the folder
               default?, save?}                  of views; saved, if `save` is its digest       the operator

The operator holds the token of this machine, at a loopback address: the user who can read all of this in files.
"""

from __future__ import annotations

import re
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args
from urllib.parse import parse_qsl

import msgspec

from louver.concurrency.budget import BudgetByKey
from louver.concurrency.offload import in_thread
from louver.core.json import compact, compact_bytes, is_object
from louver.core.projection.request import Projection
from louver.desk.ui.page import SAFE_HEADERS
from louver.desk.ui.view_change import view_change
from louver.errors import InvalidInput, LouverError
from louver.gateway.front.endpoint import PAGE
from louver.gateway.front.exchange import HttpExchange, TooManyUnfinished, folded
from louver.gateway.routing.aggregate import split_name
from louver.limits import MAX_PEER_BODY_BYTES
from louver.policy.principal import read_principal
from louver.steps.audit.report import AuditReport
from louver.steps.calls.apply import apply_projection, receipt
from louver.steps.calls.output import find_output_in_thread
from louver.steps.policy.explain import explain, fields_of
from louver.steps.savings.report import By, SavingsReport
from louver.wire.jsonrpc import inbound
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.names import ARGUMENT

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

    from louver.catalogue.entry import Entry
    from louver.core.json import Json
    from louver.core.paths.path import FieldPath
    from louver.gateway.config.model import UpstreamConfig
    from louver.gateway.front.allowed_hosts import AllowedSources
    from louver.gateway.gateway import Gateway
    from louver.steps.audit.report import Total

_By = TypeVar("_By", bound=str)

_SAVED_BY: Final[tuple[By, ...]] = get_args(By)

_DAY_S: Final = 86_400
_PREFIX: Final = f"{PAGE}/api/"
_FOR_EVERYBODY: Final = ("about", "project")
_FOR_OPERATOR: Final = "for the operator: with the token of this machine, at a loopback address"


class PageApi:
    """ASGI wrapper that answers for the page; `is_operator`: clients with the token are the operator."""

    def __init__(
        self, app: ASGIApp, gateway: Gateway, sources: AllowedSources, savings: Path | None, *, is_operator: bool
    ) -> None:
        self._app = app
        self._gateway = gateway
        self._sources = sources
        self._savings = savings
        self._is_operator = is_operator
        self._bodies = BudgetByKey(MAX_PEER_BODY_BYTES)
        self._gets = {
            "about": self._about,
            "servers": self._servers,
            "explain": self._explain,
            "saved": self._saved,
            "audit": self._audit,
        }
        self._posts = {"project": self._project, "view": self._view}

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http" or not scope["path"].startswith(_PREFIX):
            return self._app(scope, receive, send)
        exchange = HttpExchange(scope, receive, send, folded(tuple(scope["headers"])))
        if (refused := self._sources.refused(exchange.headers)) is not None:
            return exchange.respond_text(*refused)
        return self._respond(exchange, scope["path"].removeprefix(_PREFIX), scope["query_string"])

    async def _respond(self, exchange: HttpExchange, name: str, query: bytes) -> None:
        method = "POST" if name in self._posts else "GET"
        if name not in self._gets and name not in self._posts:
            await _send(exchange, 404, {"message": f"there is no {name[:40]!r} here"})
        elif exchange.method != method:
            await _send(exchange, 405, {"message": f"expected {method}"})
        elif name not in _FOR_EVERYBODY and not self._is_operator:
            await _send(exchange, 403, {"message": _FOR_OPERATOR})
        else:
            try:
                if method == "POST":
                    answer = await self._posts[name](exchange)
                else:
                    answer = await self._gets[name](dict(parse_qsl(query.decode("latin-1"))))
            except LouverError as error:
                await _send(exchange, 400, error.to_json())
            except JsonRpcError as error:
                await _send(exchange, 400, {"message": error.message})
            except TooManyUnfinished:
                await _send(exchange, 429, {"message": "too many bytes of unfinished requests"})
            else:
                await _send(exchange, 200, answer)

    async def _about(self, _: dict[str, str]) -> Json:
        config = self._gateway.config
        if not self._is_operator:
            return {"operator": False, "argument": ARGUMENT}
        policies = {each.name: sorted(each.policy.tools) for each in config.upstreams if each.policy is not None}
        return {
            "operator": True,
            "argument": ARGUMENT,
            "saved": self._savings is not None,
            "audit": config.audit is not None,
            "policies": policies,
        }

    async def _servers(self, _: dict[str, str]) -> Json:
        return [
            {
                "name": state.name,
                "transport": state.transport,
                "version": state.version,
                "tools": len(state.tools),
                "projectable": state.projectable,
                "problem": state.problem,
                "notes": self._gateway.problems_of(state),
            }
            for state in await self._gateway.open()
        ]

    async def _explain(self, query: dict[str, str]) -> Json:
        server, tool, who = (query.get(name, "") for name in ("server", "tool", "as"))
        policy = next((each.policy for each in self._gateway.config.upstreams if each.name == server), None)
        if policy is None:
            raise InvalidInput(f"'server': expected a server under a policy, not {server[:80]!r}")
        principal = read_principal("'as'", who)
        states = {state.name: state for state in await self._gateway.open()}
        definition = next((each for each in states[server].tools if each["name"] == tool), None)
        if definition is None:
            raise InvalidInput(f"'tool': server {server!r} lists no tool {tool[:80]!r}")
        found = await in_thread(lambda: explain(policy, tool, definition, principal))
        schema = definition.get("outputSchema")
        fates = {} if schema is None else found.fates(schema)
        return {
            "rule": None if found.rule is None else found.rule.name,
            "fields": None if schema is None else [_fate(*each) for each in fates.items()],
            "schema": found.listed_schema,
        }

    async def _saved(self, query: dict[str, str]) -> Json:
        file = self._savings
        if file is None:
            raise InvalidInput("nothing is counted: expected 'savings' in the configuration to be no 'false'")
        by: By = _by(query, *_SAVED_BY)

        def read() -> Json:
            report = SavingsReport(file, _since(query))
            return {"total": report.total(), "rows": report.totals(by), "days": report.totals("day")}

        return await in_thread(read)

    async def _audit(self, query: dict[str, str]) -> Json:
        settings = self._gateway.config.audit
        if settings is None:
            raise InvalidInput("nothing is audited: expected 'audit' in the configuration")
        return await in_thread(lambda: _audit_totals(settings.file, query))

    async def _project(self, exchange: HttpExchange) -> Json:
        question = await self._body(exchange)
        name, result = question.get("tool"), question.get("result")
        entry = self._gateway.entry(name, exchange.identity) if isinstance(name, str) else None
        if entry is None:
            raise InvalidInput("'tool': expected a tool that this caller was listed")
        if "projection" not in question:
            members = await in_thread(lambda: [] if entry.output_schema is None else fields_of(entry.output_schema))
            return {"fields": [{"steps": list(each.path.steps), "type": each.type} for each in members]}
        projection = Projection.from_wire(question["projection"])
        await self._gateway.planning.check(entry, projection, exchange)
        if not is_object(result):
            return await in_thread(lambda: _checked(entry, projection))
        output = await find_output_in_thread(result, entry.text_wrapper_in(result.get("structuredContent")))
        if output is None:
            raise InvalidInput("'result': expected structured content, or one text with JSON")
        kept = await apply_projection(entry, projection, output)
        wire = receipt(kept.ready_plan, projection, kept.is_partial, 0, kept.rows).to_wire()
        return {"receipt": wire, "kept": await in_thread(lambda: compact(kept.value))}

    async def _view(self, exchange: HttpExchange) -> Json:
        question = await self._body(exchange)
        tool, name = question.get("tool"), question.get("name")
        if not (isinstance(tool, str) and isinstance(name, str)):
            raise InvalidInput("expected the 'tool', and the view's 'name'")
        projection = Projection.from_wire(question.get("projection"))
        if projection.mode == "view":
            raise InvalidInput("'projection': expected fields, not a view")
        upstream, local_name = self._owner_of(tool)
        if upstream.views is None:
            message = f'server {upstream.name!r} has no folder of views: add "views": "views" to its "louver" settings'
            raise InvalidInput(message)
        is_default = question.get("default") is True
        change = await in_thread(
            partial(view_change, upstream.views, local_name, name, projection, is_default=is_default)
        )
        is_saved = question.get("save") == change.digest
        if is_saved:
            await in_thread(change.save)
        return {"file": str(change.file), "lines": change.lines, "digest": change.digest, "saved": is_saved}

    def _owner_of(self, tool: str) -> tuple[UpstreamConfig, str]:
        """The server of a listed tool, and the tool's name there."""
        upstreams = {each.name: each for each in self._gateway.config.upstreams}
        server, name = (next(iter(upstreams)), tool) if len(upstreams) == 1 else split_name(tool)
        if server not in upstreams:
            raise InvalidInput(f"'tool': expected a tool of a server, not {tool[:80]!r}")
        return upstreams[server], name

    async def _body(self, exchange: HttpExchange) -> dict[str, Any]:
        body = await exchange.body(self._bodies)
        if body is None:
            raise InvalidInput("the body is too large")
        inbound.check(body)
        try:
            question: object = msgspec.json.decode(body)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise InvalidInput("the body: expected JSON") from None
        if not is_object(question):
            raise InvalidInput("the body: expected an object with 'tool' and 'projection'")
        return question


def _audit_totals(file: Path, query: dict[str, str]) -> list[Total]:
    by = _by(query, "field", "tool", "principal")
    with closing(AuditReport(file, _since(query))) as report:
        return report.totals(by)


def _by(query: dict[str, str], *choices: _By) -> _By:
    """What rows are for: one of the choices, by default the first."""
    by = query.get("by", choices[0])
    for each in choices:
        if each == by:
            return each
    raise InvalidInput(f"'by': expected {', '.join(choices)}")


def _since(query: dict[str, str]) -> float:
    """The time from which on is reported, in seconds since the epoch."""
    days = query.get("days", "")
    if days and not re.fullmatch("[0-9]{1,5}", days):
        raise InvalidInput("'days': expected a whole number")
    return max(0.0, time.time() - int(days) * _DAY_S) if days else 0.0


def _fate(path: FieldPath, fate: str) -> Json:
    return {"path": str(path), "steps": list(path.steps), "is": fate}


def _checked(entry: Entry, projection: Projection) -> Json:
    """The receipt that a projected answer would have, from what the tool declares."""
    if entry.output_schema is None or entry.text_wrapper is not None:
        return {"receipt": None}
    return {"receipt": receipt(entry.plan(projection), projection, partial=True, dropped=0).to_wire()}


async def _send(exchange: HttpExchange, status: int, answer: Json) -> None:
    body = compact_bytes(answer)
    await exchange.respond_as(b"application/json", body, *SAFE_HEADERS, status=status)
