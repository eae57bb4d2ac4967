"""The steps before a server, composed of those features that are on; one that is off is not there.

    counted ─ built-in tools ─ disclosure ─ audit ─ projection, search ─ policy, limits, traces ─ server

A request passes only the steps that act on its method. Callers share steps, and what these cache, only if they may see
the same (PRIVACY.md, P16).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from louver.core.json import digest
from louver.policy.principal import NOBODY
from louver.steps.calls.planning import Planning
from louver.steps.projection import ProjectionStep
from louver.steps.request import in_order
from louver.steps.tools.origin import ATTACHED_SERVER
from louver.steps.tools.registry import ToolRegistry
from louver.wire.names import RESULT_TOOL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence

    from louver.catalogue.files.descriptions import DescriptionFile, DescriptionFiles
    from louver.core.paths.path import FieldPath
    from louver.policy.principal import Principal
    from louver.steps.audit.step import RecordWriter, ToolOwner
    from louver.steps.calls.request import RequestOptions
    from louver.steps.calls.response import ResponseExtras
    from louver.steps.policy.enforcer import PolicyEnforcer
    from louver.steps.request import Identity, Next, Request, Step
    from louver.steps.results.results import Results
    from louver.steps.search import Search
    from louver.steps.tools.listing import Listing
    from louver.steps.tools.origin import ToolOrigins
    from louver.steps.tools.views import ToolViews

    class Discloses(Step, Protocol):
        """A step that lists less of the tools, and tells of the rest on demand."""

        @property
        def methods(self) -> Collection[str]: ...

        def close(self) -> None: ...

    # whether an audience may not know a field path of a tool
    Hides = Callable[[str, FieldPath], bool]
    # the policy of a tool, and the tool's name at its server; None without a policy
    Policed = Callable[[str], tuple[PolicyEnforcer, str] | None]

MAX_AUDIENCES = 64
"""Groups of callers that may see the same, each with cached lists, plans and searches."""


class Acting(NamedTuple):
    """A step, and the methods on which it acts: on all, if it names none."""

    step: Step
    methods: Collection[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The features before a server; what is None, or empty, is off."""

    server_info: dict[str, Any]
    views: Callable[[Hides | None], ToolViews]
    options: RequestOptions
    listing: Listing
    exact: bool
    extras: ResponseExtras
    descriptions: DescriptionFiles
    search: Callable[[DescriptionFiles], Search] | None = None
    disclosure: Callable[[DescriptionFiles, ToolRegistry], Discloses] | None = None
    built_in: Callable[[], Step] | None = None  # tools of the gateway, which it projects itself
    policed: Policed | None = None
    audit: RecordWriter | None = None
    # the server of a tool, and the tool's name there, by which it is audited without a policy
    server_of: Callable[[str], tuple[str, str] | None] | None = None
    outer: Sequence[Acting] = ()
    inner: Sequence[Acting] = ()
    audience: Callable[[Principal], Hashable] | None = None  # equal for callers who may see the same; all, without it
    origins: ToolOrigins = ATTACHED_SERVER
    when_listed: Callable[[ToolRegistry], None] = lambda _: None
    planning: Planning = field(default_factory=Planning)


class _Chains(NamedTuple):
    """The steps for one audience."""

    tools: ToolRegistry
    by_method: dict[str, Next]
    others: Next
    close: Callable[[], None]


class Composed:
    """The steps of each audience, before a server."""

    def __init__(self, features: Features, last: Next) -> None:
        self._features, self._last = features, last
        self._audience = features.audience
        self._chains: OrderedDict[Hashable, _Chains] = OrderedDict()
        self._for_all = self._compose(NOBODY) if self._audience is None else None

    def __call__(self, request: Request) -> Awaitable[dict[str, Any]]:
        chains = self._for_all or self._of(request.identity.principal)
        return chains.by_method.get(request.method, chains.others)(request)

    def tools(self, principal: Principal) -> ToolRegistry | None:
        """The tools that were listed to callers who may see the same as a principal."""
        chains = self._for_all if self._audience is None else self._chains.get(self._audience(principal))
        return None if chains is None else chains.tools

    def close(self) -> None:
        """Unsubscribe from the server's events, before others replace these steps."""
        if self._for_all is not None:
            self._for_all.close()
        while self._chains:
            self._chains.popitem()[1].close()

    def _of(self, principal: Principal) -> _Chains:
        assert self._audience is not None, "otherwise all callers see the same"
        audience = self._audience(principal)
        if audience not in self._chains:
            self._chains[audience] = self._compose(principal)
            if len(self._chains) > MAX_AUDIENCES:
                self._chains.popitem(last=False)[1].close()
        self._chains.move_to_end(audience)
        return self._chains[audience]

    def _compose(self, principal: Principal) -> _Chains:
        features, policed = self._features, self._features.policed
        tools = ToolRegistry(features.views(None if policed is None else _hides(policed, principal)), features.origins)
        files = features.descriptions
        if policed is not None:
            files = files.seen_by(_visible_file(policed, principal))
        disclosure = None if features.disclosure is None else features.disclosure(files, tools)
        built_in = None if features.built_in is None else features.built_in()
        projection = ProjectionStep(
            features.server_info,
            tools,
            features.options,
            features.listing,
            exact=features.exact,
            search=None if features.search is None else features.search(files),
            extras=features.extras,
            when_listed=partial(features.when_listed, tools),
            planning=features.planning,
        )
        steps = [
            *features.outer,
            Acting(built_in) if built_in is not None else None,
            Acting(disclosure, disclosure.methods) if disclosure is not None else None,
            None if features.audit is None else _audit(features.audit, features, tools, self._last),
            Acting(projection, projection.methods),
            *features.inner,
        ]
        by_method, others = _in_order([step for step in steps if step is not None], self._last)
        return _Chains(tools, by_method, others, _no_op if disclosure is None else disclosure.close)


def scoped(results: Results, audience: Callable[[Principal], Hashable]) -> Results:
    """Kept results, each only for callers who may see the same: what is seen of a result depends on it."""
    return results.scoped_to(lambda request: digest(repr(audience(request.identity.principal))))


def _in_order(steps: Sequence[Acting], last: Next) -> tuple[dict[str, Next], Next]:
    """The handler of each method on which a step acts by name, and that of all others."""
    methods = {method for step in steps for method in step.methods or ()}
    by_method = {
        method: in_order([each.step for each in steps if each.methods is None or method in each.methods], last)
        for method in methods
    }
    return by_method, in_order([each.step for each in steps if each.methods is None], last)


def _audit(writer: RecordWriter, features: Features, tools: ToolRegistry, last: Next) -> Acting:
    # Lazy import: most gateways have no audit.
    from louver.steps.audit.step import AuditStep, ToolOwner

    policed, server_of = features.policed or _nothing, features.server_of or _nothing

    def owner_of(tool: str, identity: Identity) -> ToolOwner | None:
        if (found := policed(tool)) is not None:
            return ToolOwner.under_policy(*found, identity.principal)
        place = server_of(tool)
        return None if place is None else ToolOwner.as_listed(*place, tools.listed_to(identity, tool))

    async def look_up(tool: str, request: Request) -> None:
        # A policy looks tools up itself.
        if policed(tool) is None and server_of(tool) is not None and tool != RESULT_TOOL:
            await tools.find_if_listed(tool, request, last)

    return Acting(AuditStep(writer, owner_of, look_up if features.server_of else None), AuditStep.methods)


def _hides(policed: Policed, principal: Principal) -> Hides:
    def hides(tool: str, path: FieldPath) -> bool:
        found = policed(tool)
        return found is not None and found[0].hides(found[1], principal, path)

    return hides


def _visible_file(policed: Policed, principal: Principal) -> Callable[[str, DescriptionFile], DescriptionFile | None]:
    def visible(tool: str, file: DescriptionFile) -> DescriptionFile | None:
        found = policed(tool)
        if found is None:
            return file
        content = found[0].visible_description(found[1], principal, file.content)
        return None if content is None else replace(file, content=content)

    return visible


def _nothing(_: str) -> None:
    return None


def _no_op() -> None:
    pass
