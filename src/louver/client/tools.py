"""What a client knows about a server's tools: their schemas, their views, and whether they can be projected.

    outputSchema of a server without projection       exact
    _meta["dev.louver/projectionHint"].outputSchema   exact
    outputSchema of a server with projection          relaxed for stock clients; exact if relaxing would change it

An exact schema gives exact schemas of results. A relaxed one gives which members there can be, and their types.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from anyio import Lock, to_thread

from louver.catalogue.entry import Entry
from louver.catalogue.plan_cache import ReadyPlan
from louver.core.json import is_array, is_object, members
from louver.core.projection.view import Views
from louver.core.schema.relax import relax
from louver.core.schema.validate import validator
from louver.core.wrapper import TEXT_WRAPPERS, WRAPPER, is_wrapped
from louver.errors import InvalidView, UnknownView
from louver.wire.hint import read_hint
from louver.wire.names import HINT, HINT_LITERAL

if TYPE_CHECKING:
    from louver.catalogue.plan_cache import Plans
    from louver.client.wire import Wire
    from louver.core.json import Json, Schema
    from louver.core.projection.request import Projection


# A wrapped output without a known schema.
_WRAPPED: Final[dict[str, Any]] = {"type": "object", "properties": {WRAPPER: {}}, "x-fastmcp-wrap-result": True}


class KnownTool:
    def __init__(self, tool: dict[str, Any], plans: Plans, *, declared: bool) -> None:
        self.listed = tool
        self.name: str = tool["name"]
        extension: Any = members(tool.get("_meta")).get(HINT)
        literal: Any = members(tool.get("annotations")).get(HINT_LITERAL)
        self.knows_options = declared or is_object(extension)
        self.projects = self.knows_options or is_object(literal)
        self._plans = plans
        self.views = _views(tool, literal)
        source, self.is_exact = _source(tool, members(extension), projects=self.projects)
        self.entry = self.entry_of(source)

    @property
    def source(self) -> Schema | None:
        return self.entry.output_schema

    @property
    def may_answer_text(self) -> bool:
        """Whether the output may be one string, which can hold JSON text."""
        properties = members(members(self.source).get("properties"))
        if self.source is None or len(properties) != 1:
            return self.source is None
        [(name, held)] = properties.items()
        # Each shaped view adds a branch.
        branches: Any = members(held).get("anyOf", [held])
        kinds = [members(branch).get("type") for branch in branches] if is_array(branches) else []
        is_text = all(kind in ("null", "string", ["null", "string"]) for kind in kinds)
        return name in TEXT_WRAPPERS and is_text and any(kind != "null" for kind in kinds)

    def entry_of(self, schema: Schema | None) -> Entry:
        listed = {name: part for name, part in self.listed.items() if name != "outputSchema"}
        if schema is not None:
            listed["outputSchema"] = schema
        return Entry(listed, self.views, plans=self._plans)

    def with_views(self, views: Views) -> KnownTool:
        known = object.__new__(KnownTool)
        known.__dict__.update(self.__dict__)
        known.views = self.views.joined(views)
        known.entry = known.entry_of(self.source)
        return known

    def shape_plan(
        self, projection: Projection, wrapper: str | None, *, structured: bool, beside: Json = None
    ) -> ReadyPlan:
        """The plan that follows from the request alone; `structured` values may have the SDK's wrapper.

        `beside`: the object that has a member `wrapper`, without a schema.
        """
        if structured and is_wrapped(self.source):
            return self.entry_of(_WRAPPED).plan(projection)
        plan = self.entry.plan_without_schema(projection, wrapper, beside)
        return ReadyPlan(plan, validator(plan.schema), plan.schema)

    def check(self, projection: Projection, *, prunes: bool) -> None:
        """Refuse an impossible request before the tool runs. `prunes`: the client projects if the server does not."""
        if projection.mode == "view" and projection.name not in self.views.named:
            if prunes:
                message = f"view {projection.name!r} is none that {self.name!r} tells of, so it cannot be done here"
                raise UnknownView(message, view=projection.name, views=sorted(self.views.named))
            # The server may know a view that it does not list.
            return
        self.entry.check(projection)


class Tools:
    def __init__(self, wire: Wire, plans: Plans, *, declared: bool) -> None:
        self._wire = wire
        self._plans = plans
        self._declared = declared
        self._listed: dict[str, dict[str, Any]] | None = None
        self._known: dict[str, KnownTool] = {}
        self._lock = Lock()

    def forget(self) -> None:
        self._listed = None

    async def find(self, name: str) -> KnownTool:
        """A tool. One that is not listed has no schema and no views."""
        async with self._lock:
            is_fresh = self._listed is None
            listed = await self._wire.tools() if self._listed is None else self._listed
            if name not in listed and not is_fresh:
                listed = await self._wire.tools()
            self._listed = listed
        tool = listed.get(name, {"name": name, "inputSchema": {}})
        known = self._known.get(name)
        if known is None or known.listed != tool:
            # In a thread: a hint, and a schema to relax, can be large.
            known = await to_thread.run_sync(self._know, tool)
            self._known[name] = known
        return known

    async def refreshed(self, tool: KnownTool) -> KnownTool | None:
        """The tool if its definition has changed; `None` if it has not."""
        self.forget()
        newer = await self.find(tool.name)
        return None if newer is tool else newer

    def _know(self, tool: dict[str, Any]) -> KnownTool:
        return KnownTool(tool, self._plans, declared=self._declared)


def _views(tool: dict[str, Any], literal: Any) -> Views:
    """The views that a tool lists; none if they are malformed, since a call may not need them."""
    with suppress(InvalidView):
        views, _ = read_hint(tool.get("_meta"))
        # An empty path adds everything, so nothing would be left out.
        views = Views(views.named, tuple(path for path in views.always if path.steps))
        recommended: Any = members(literal).get("recommendedViews")
        return views if views.named or not is_object(recommended) else Views.read(recommended).joined(views)
    return Views()


def _source(tool: dict[str, Any], extension: dict[str, Any], *, projects: bool) -> tuple[Schema | None, bool]:
    exact: Any = extension.get("outputSchema")
    if isinstance(exact, bool) or is_object(exact):
        return exact, True
    listed: Any = tool.get("outputSchema")
    if not is_object(listed) or not projects:
        return listed, listed is not None
    if relax(listed) != listed:
        return listed, True
    return _marked(listed), False


def _marked(listed: dict[str, Any]) -> dict[str, Any]:
    """A relaxed schema, marked again as wrapped: relaxing drops `required`, and each shaped view adds a branch."""
    branches: Any = listed.get("anyOf")
    parts = [members(part) for part in branches] if is_array(branches) and branches else [listed]
    held = [members(part.get("properties")) for part in parts]
    if any(properties.keys() != {WRAPPER} for properties in held):
        return listed
    within = held[0] if len(held) == 1 else {WRAPPER: {"anyOf": [properties[WRAPPER] for properties in held]}}
    rest = {name: argument for name, argument in listed.items() if name != "anyOf"}
    return {**rest, "properties": within, "x-fastmcp-wrap-result": True}
