"""The middleware in front of the routes, outermost first, for each exposure.

    full                  projection ─ tracing ─ forward
    minimal               disclosure ─ projection ─ tracing ─ forward
    discovery, gateway    built-in tools ─ projection ─ tracing ─ forward

With scripts, `full` and `minimal` also begin with the built-in script tool, so its calls pass the other layers.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from louver.catalogue.files.descriptions import DescriptionFiles
from louver.catalogue.files.output_schemas import SchemaFiles
from louver.catalogue.guidance import Guidance
from louver.catalogue.hosts import HOSTS
from louver.catalogue.learned import Learned, LearnedFields, learned_file
from louver.catalogue.policy.principal import NOBODY
from louver.core.json import digest
from louver.core.nearest import did_you_mean
from louver.gateway.discovery.tools import Discovery, Executing
from louver.gateway.middleware.built_in_tools import OwnTools
from louver.gateway.middleware.forward import Forward
from louver.gateway.middleware.tracing import traced
from louver.gateway.routing.aggregate import SEPARATOR, named
from louver.gateway.single_tool.exports import ExportedFiles, ExportedResults
from louver.gateway.single_tool.tool import Actions
from louver.limits import MAX_RESULTS_BYTES
from louver.server.calls.request import Asking
from louver.server.calls.response import NOTHING, Beside
from louver.server.calls.schema_resource import ProjectedSchemas
from louver.server.policy.per_audience import Audiences
from louver.server.projection import ProjectionStep
from louver.server.results.results import KeptResults, Results
from louver.server.tools.registry import Tools
from louver.server.tools.views import ToolViews

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Mapping
    from pathlib import Path

    from louver.catalogue.files.descriptions import DescriptionFile
    from louver.catalogue.grants import Grants
    from louver.catalogue.hosts import Host
    from louver.catalogue.policy.principal import Principal
    from louver.core.paths.path import FieldPath
    from louver.gateway.clients.client import Client
    from louver.gateway.config.model import Config, Execute
    from louver.gateway.discovery.scripts import Scripts
    from louver.gateway.middleware.built_in_tools import Offer
    from louver.gateway.routing.single import Routes
    from louver.gateway.scripting.sandbox import Level
    from louver.gateway.single_tool.exports import Exports
    from louver.gateway.upstream.upstream import Upstream
    from louver.server.audit.middleware import Auditing, Owned
    from louver.server.audit.writer import Audit
    from louver.server.calls.request import Argument
    from louver.server.disclosure.middleware import Disclosure
    from louver.server.policy.enforcer import Policed
    from louver.server.request import Request, Step
    from louver.server.search import Search

    FindSchema = Callable[[str], dict[str, Any] | None]  # tool name -> input schema


# The parameters of the single tool that reduce an answer, as a warning names them.
_PARAMETERS: Final = ("'fields'", "'view'")


class Files:
    """The files of a configuration about its servers' tools, under the tool names that clients use."""

    def __init__(self, config: Config, says: Callable[[str], str | None], learned: dict[Path, LearnedFields]) -> None:
        alone = len(config.upstreams) == 1
        before = {each.name: "" if alone else f"{each.name}{SEPARATOR}" for each in config.upstreams}
        self._before = before
        self.default_views = {
            f"{before[each.name]}{tool}": view for each in config.upstreams for tool, view in each.default_views.items()
        }
        self._views = {before[each.name]: each.views for each in config.upstreams if each.views is not None}
        self._policed = {before[each.name]: each.name for each in config.upstreams if each.policy is not None}
        described = {before[each.name]: each.descriptions for each in config.upstreams if each.descriptions is not None}
        self._ready = {before[each.name]: partial(says, each.name) for each in config.upstreams if each.ready_views}
        self.ready = tuple(self._ready)
        self.schemas = SchemaFiles({before[each.name]: each.schemas for each in config.upstreams if each.schemas})
        self.learned: Learned | None = None
        if config.learn is not None:
            files = {
                before[each.name]: learned_file(config.learn, each.place)
                for each in config.upstreams
                if each.policy is None
            }
            for file in files.values():
                if file not in learned:
                    learned[file] = LearnedFields(file)
            self.learned = Learned({prefix: learned[file] for prefix, file in files.items()})
        self.views = ToolViews(
            None,
            self.default_views,
            self._views,
            self._ready,
            schemas=self.schemas,
            learned=None if self.learned is None else self.learned.find,
        )
        rules = {before[each.name]: each.guidance for each in config.upstreams if each.guidance}
        self.guidance = Guidance(rules) if rules else None
        self.descriptions = DescriptionFiles(described)

    def views_seen_by(self, principal: Principal, policed: Mapping[str, Policed]) -> ToolViews:
        def hides(tool: str, path: FieldPath) -> bool:
            found = self._policed_of(policed, tool)
            return found is not None and found[0].hides(found[1], principal, path)

        return ToolViews(None, self.default_views, self._views, self._ready, hides, self.schemas)

    def descriptions_seen_by(self, principal: Principal, policed: Mapping[str, Policed]) -> DescriptionFiles:
        def seen(tool: str, file: DescriptionFile) -> DescriptionFile | None:
            found = self._policed_of(policed, tool)
            if found is None:
                return file
            names = found[0].names_besides(found[1], principal)
            return None if names is None else file.untold(names)

        return self.descriptions.seen_by(seen)

    def misfits(self, upstream: str, tools: set[str]) -> list[str]:
        """Settings and files about tools that an upstream does not have."""
        before = self._before[upstream]
        there = {before + tool for tool in tools}
        said = {
            "guidance is given for": [] if self.guidance is None else self.guidance.unknown(there),
            "a default view is given for": self.default_views,
            "a file holds views of": self.views.in_files(),
            "a file declares the output of": self.schemas.tools(),
            "a file describes": self.descriptions.tools(),
        }
        unknown = [
            (what, name.removeprefix(before))
            for what, names in said.items()
            for name in names
            if name.startswith(before) and name not in there
        ]
        return [f"{what} a tool {name!r}, which it does not have{did_you_mean(name, tools)}" for what, name in unknown]

    def whose(self, policed: Mapping[str, Policed], tool: str, principal: Principal) -> Owned | None:
        """The server and policy of a tool, by the name that clients use; `None` without a policy."""
        # Lazy import, as in `_audited`.
        from louver.server.audit.middleware import UNKNOWN, Owned

        found = self._policed_of(policed, tool)
        if found is None:
            return None
        guarding, own = found
        # The name of an unknown tool is the client's input: it is not recorded.
        told = own if guarding.knows(own) else UNKNOWN
        return Owned(guarding.server, told, guarding.policy.version, guarding.names_of(own, principal))

    def _policed_of(self, policed: Mapping[str, Policed], tool: str) -> tuple[Policed, str] | None:
        """The policy of a tool, and the tool's name at its server."""
        for prefix, name in self._policed.items():
            if tool.startswith(prefix):
                return policed[name], tool.removeprefix(prefix)
        return None


class Kept(NamedTuple):
    """State that survives a reload unless the new configuration needs another."""

    results: Results | None
    grants: Grants | None  # for the exposure `minimal`


class Stack:
    """The middleware in front of the routes, rebuilt by each reload."""

    def __init__(
        self,
        server_info: dict[str, Any],
        subscribe: Callable[[Callable[[], None]], Callable[[], None]],  # to changes of tools
        use_schemas: Callable[[FindSchema | None], None],  # of listed tools; None before a list
        opened: Callable[[], None],
        leave: Callable[[Client], Awaitable[None]],
    ) -> None:
        self.scripts: Scripts | None = None
        self.steps: list[Step] = []
        self._use_schemas = use_schemas
        self._server_info = server_info
        self._subscribe = subscribe
        self._opened = opened
        self._leave = leave
        self._kept = Kept(None, None)
        self._grant_keys: tuple[str, ...] = ()
        self._argument: Argument = "off"
        self._audit: Audit | None = None
        self._close: Callable[[], None] = _nothing

    def kept_for(self, config: Config) -> Kept:
        """The kept state for a configuration: the current one where it fits."""
        results, grants = self._kept
        wanted = config.keep_results
        if wanted is None and config.exposure == "gateway":
            # For exports only: no answer is over this threshold.
            wanted = KeptResults(over_bytes=MAX_RESULTS_BYTES)
        if wanted is None or results is None or results.options != wanted:
            results = None if wanted is None else Results(wanted)
        if config.grant_keys != self._grant_keys:
            grants = None
        if grants is None and config.exposure == "minimal" and config.disclosure == "enforce":
            grants = _grants(config.grant_keys)
        return Kept(results, grants)

    def build(
        self,
        config: Config,
        files: Files,
        kept: Kept,
        upstreams: Mapping[str, Upstream],
        routes: Routes,
        audit: Audit | None,
    ) -> list[Scripts]:
        """Rebuild the middleware for a configuration and return the scripts that it replaces."""
        # Captured now: requests are audited under these policies until the next reload.
        policed = {name: up.guard.policed for name, up in upstreams.items() if up.guard is not None}

        def audience(principal: Principal) -> Hashable:
            return tuple((each.id, each.policy.audience(principal)) for each in policed.values())

        def scope(request: Request) -> str:
            return digest(repr(audience(request.identity.principal)))

        results = kept.results
        if results is not None and policed:
            results = results.within(scope)
        self._kept, self._grant_keys = Kept(results, kept.grants), config.grant_keys
        self._audit = audit
        gone = self._take_up_scripts(config.execute)
        if self.scripts is not None:
            self.scripts.names.clear()
        self._close()
        layers = partial(self._layers, config, files, upstreams, policed)
        # Scripts and the single tool select fields in their own way: tools take no projection argument.
        self._argument = config.argument
        if config.exposure == "gateway" or (config.exposure == "discovery" and self.scripts is not None):
            self._argument = "off"
        forward = Forward(routes, self._opened, self._leave, results=results)
        innermost: list[Step] = [traced, forward]
        self._use_schemas(None)
        if policed:
            audiences = Audiences(
                audience, lambda principal: layers(files.views_seen_by(principal, policed), principal)
            )
            self.steps, self._close = [audiences, *innermost], audiences.close
        else:
            outermost, self._close = layers(files.views, NOBODY)
            self.steps = [*outermost, *innermost]
        return gone

    def _layers(
        self,
        config: Config,
        files: Files,
        upstreams: Mapping[str, Upstream],
        policed: Mapping[str, Policed],
        views: ToolViews,
        principal: Principal,
    ) -> tuple[list[Step], Callable[[], None]]:
        """The layers for one audience, outermost first, and the function that closes them."""
        schemas = ProjectedSchemas("private" if policed else "public")
        # The caller uses the single tool's parameters, so warnings name those.
        by = _PARAMETERS if config.exposure == "gateway" else ()
        hosts = {**HOSTS, **config.hosts}
        beside = Beside(files.guidance, config.warnings, self._kept.results, files.learned, by, hosts)
        tools = Tools(views)

        def when_listed() -> None:
            self._use_schemas(tools.input_schema)

        layers: list[Step] = [
            ProjectionStep(
                self._server_info,
                tools,
                Asking(self._argument, files.default_views, files.ready, config.argument_name),
                config.listing,
                exact=config.exposure != "full",
                search=_search(alone=len(upstreams) == 1) if config.exposure in ("minimal", "gateway") else None,
                schemas=schemas,
                beside=beside,
                when_listed=when_listed,
            )
        ]
        if self._audit is not None:
            layers.insert(0, _audited(self._audit, partial(files.whose, policed)))
        close = _nothing
        if config.exposure == "minimal":
            described = files.descriptions_seen_by(principal, policed) if policed else files.descriptions
            disclosure = self._disclosing(described, hosts, on_error=config.disclosure == "on-error")
            close = disclosure.close
            layers.insert(0, disclosure)
        if (offer := _offered(config, upstreams, self.scripts, self._kept.results)) is not None:
            own, asking = Tools(ToolViews(None, {})), Asking("off", {})
            # The single tool adds guidance and warnings to its answers itself.
            said = NOTHING if config.exposure == "gateway" else beside
            before = ProjectionStep(self._server_info, own, asking, config.listing, schemas=schemas, beside=said)
            keeps_results = said.results is not None
            layers.insert(0, OwnTools(self._server_info, offer, before, keeps_results=keeps_results))
        return layers, close

    def _disclosing(self, files: DescriptionFiles, hosts: Mapping[str, Host], *, on_error: bool) -> Disclosure:
        # Lazy import: only the exposure `minimal` needs it.
        from louver.server.disclosure.middleware import Disclosure
        from louver.server.disclosure.read_limits import Reads

        grants = None if on_error else self._kept.grants
        assert on_error or grants is not None, "they are there where descriptions have to be read"
        return Disclosure(self._server_info, self._subscribe, files, grants, Reads(), on_error=on_error, hosts=hosts)

    def _take_up_scripts(self, level: Execute | None) -> list[Scripts]:
        before = self.scripts
        if before is not None and before.level == level:
            return []
        self.scripts = None if level is None or level == "off" else _scripts(level)
        return [] if before is None else [before]


def _grants(keys: tuple[str, ...]) -> Grants:
    # Lazy import: only grants need it.
    from louver.catalogue.grants import Grants

    return Grants(keys, audience="louver")


def _scripts(level: Level) -> Scripts:
    # Lazy import: only scripts need it.
    from louver.gateway.discovery.scripts import Scripts

    return Scripts(level)


def _audited(audit: Audit, whose: Callable[[str, Principal], Owned | None]) -> Auditing:
    # Lazy import: only an audit needs it.
    from louver.server.audit.middleware import Auditing

    return Auditing(audit, whose)


def _nothing() -> None:
    pass


def _search(*, alone: bool) -> Search:
    # Lazy import: only search needs SQLite.
    from louver.server.search import Search

    return Search() if alone else Search(named)


def _offered(
    config: Config, upstreams: Mapping[str, Upstream], scripts: Scripts | None, results: Results | None
) -> Offer | None:
    """The built-in tools of a configuration, if it has any."""
    if config.exposure == "gateway":
        return Actions(upstreams, scripts, _exports(config, results))
    if config.exposure == "discovery":
        return Discovery(upstreams, config.inspect, scripts)
    return None if scripts is None else Executing(upstreams, scripts)


def _exports(config: Config, results: Results | None) -> Exports:
    """Where the single tool exports whole answers."""
    if config.exports is not None:
        return ExportedFiles(config.exports)
    assert results is not None, "in this exposure there is a store of results"
    return ExportedResults(results)
