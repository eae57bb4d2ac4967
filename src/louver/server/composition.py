"""The steps of the middleware classes of one server, outermost first.

    disclosure ─ audit ─ projection, search ─ policy ─ server

Under a policy, callers share steps, and what these cache, only if they may see the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from louver.catalogue.policy.principal import NOBODY
from louver.core.json import digest
from louver.server.calls.request import RequestOptions
from louver.server.calls.schema_resource import ProjectedSchemas
from louver.server.policy.per_audience import PerAudience
from louver.server.projection import ProjectionStep
from louver.server.request import in_order
from louver.server.sdk import StepMiddleware
from louver.server.tools.registry import ToolRegistry
from louver.server.tools.views import ToolViews

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.catalogue.files.descriptions import DescriptionFile, DescriptionFiles
    from louver.catalogue.grants import Grants
    from louver.catalogue.policy.principal import Principal
    from louver.core.paths.path import FieldPath
    from louver.server.disclosure.middleware import Disclosure
    from louver.server.middleware import (
        DisclosureMiddleware,
        PolicyMiddleware,
        ProjectionMiddleware,
        SearchMiddleware,
    )
    from louver.server.policy.enforcer import PolicyEnforcer
    from louver.server.request import Next, Request, Step
    from louver.server.search import Search


def _no_op() -> None:
    pass


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the steps need to know of their server."""

    info: dict[str, Any]  # its `serverInfo`
    # calls back whenever the server publishes that its tools changed; returns what unsubscribes
    on_tools_published: Callable[[Callable[[], None]], Callable[[], None]] = lambda _: _no_op
    on_listed: Callable[[ToolRegistry], None] = lambda _: None

    @property
    def name(self) -> str:
        return str(self.info.get("name", ""))


def compose(
    server: ServerFacts,
    projection: ProjectionMiddleware | None,
    search: SearchMiddleware | None,
    disclosure: DisclosureMiddleware | None,
    policy: PolicyMiddleware | None,
) -> StepMiddleware:
    """One middleware with all steps."""
    grants = None if disclosure is None else disclosure.grants(server.name)
    if policy is None:
        return StepMiddleware(_Steps(server, projection, search, disclosure, grants).build(NOBODY)[0])
    # Imported only now, as below: each step only where it is used.
    from louver.server.policy.enforcer import PolicyEnforcer

    enforcer = PolicyEnforcer(server.name, policy.policy)
    steps = _Steps(server, projection, search, disclosure, grants, policy, enforcer)
    per_audience = PerAudience(policy.policy.audience, steps.build)

    async def for_caller(request: Request, call_next: Next) -> dict[str, Any]:
        return await in_order(per_audience.find(request.identity.principal), call_next)(request)

    return StepMiddleware([for_caller], identify=policy.identify, message_filter=enforcer)


@dataclass(frozen=True, slots=True)
class _Steps:
    server: ServerFacts
    projection: ProjectionMiddleware | None
    search: SearchMiddleware | None
    disclosure: DisclosureMiddleware | None
    grants: Grants | None
    policy: PolicyMiddleware | None = None
    enforcer: PolicyEnforcer | None = None  # of the policy

    def build(self, principal: Principal) -> tuple[list[Step], Callable[[], None]]:
        """The steps for callers who may see the same as a principal, and what closes them."""
        steps: list[Step] = []
        close = _no_op
        if self.disclosure is not None:
            disclosure = self._disclosure_step(self.disclosure, principal)
            steps.append(disclosure)
            close = disclosure.close
        if self.policy is not None and self.enforcer is not None:
            from louver.server.audit.middleware import AuditMiddleware, ToolOwner

            steps.append(AuditMiddleware(self.policy.writer, partial(ToolOwner.under_policy, self.enforcer)))
        search = None if self.search is None else self._search_step(self.search, principal)
        if self.projection is not None:
            steps.append(self._projection_step(self.projection, search, principal))
        elif search is not None:
            steps.append(search)
        if self.enforcer is not None:
            from louver.server.policy.step import PolicyStep

            steps.append(PolicyStep(self.enforcer, self.server.info))
        return steps, close

    def _projection_step(
        self, options: ProjectionMiddleware, search: Search | None, principal: Principal
    ) -> ProjectionStep:
        views, extras, schemas = options.tool_views, options.extras, ProjectedSchemas()
        if self.enforcer is not None:
            views = ToolViews(options.views, options.default_views, hides=_hides(self.enforcer, principal))
            schemas = ProjectedSchemas("private")
            if extras.results is not None:
                extras = replace(extras, results=extras.results.scoped_to(_scope(self.enforcer)))
        tools = ToolRegistry(views)
        return ProjectionStep(
            self.server.info,
            tools,
            RequestOptions("projectable" if options.argument else "off", options.default_views),
            options.listing,
            # Descriptions hold the exact output schema, and are made from this list.
            exact=options.exact or self.disclosure is not None,
            search=search,
            schemas=schemas,
            extras=extras,
            when_listed=partial(self.server.on_listed, tools),
        )

    def _disclosure_step(self, options: DisclosureMiddleware, principal: Principal) -> Disclosure:
        from louver.server.disclosure.middleware import Disclosure
        from louver.server.disclosure.read_limits import ReadLimits

        return Disclosure(
            self.server.info,
            self.server.on_tools_published,
            self._visible(options.files, principal),
            self.grants,
            ReadLimits(options.reads_per_minute),
            on_error=options.mode == "on-error",
        )

    def _search_step(self, options: SearchMiddleware, principal: Principal) -> Search:
        # Without search SQLite is not needed.
        from louver.server.search import Search

        files = options.files
        if files is None and self.disclosure is not None:
            files = self.disclosure.files
        visible = None if files is None else self._visible(files, principal)
        return Search(per_minute=options.queries_per_minute, files=visible, meaning=options.meaning)

    def _visible(self, files: DescriptionFiles, principal: Principal) -> DescriptionFiles:
        return files if self.enforcer is None else files.seen_by(_redaction(self.enforcer, principal))


def _hides(enforcer: PolicyEnforcer, principal: Principal) -> Callable[[str, FieldPath], bool]:
    return lambda tool, path: enforcer.hides(tool, principal, path)


def _redaction(
    enforcer: PolicyEnforcer, principal: Principal
) -> Callable[[str, DescriptionFile], DescriptionFile | None]:
    def visible(tool: str, file: DescriptionFile) -> DescriptionFile | None:
        names = enforcer.hidden_names(tool, principal)
        return None if names is None else file.redacted(names)

    return visible


def _scope(enforcer: PolicyEnforcer) -> Callable[[Request], str]:
    """The scope of kept results: what is seen of a result depends on it."""
    return lambda request: digest(repr((enforcer.id, enforcer.policy.audience(request.identity.principal))))
