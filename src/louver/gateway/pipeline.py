"""The middleware in front of the routes, outermost first, for each exposure.

    full                  picker app ─ projection ─ call limits ─ tracing ─ forward
    minimal               disclosure ─ projection ─ call limits ─ tracing ─ forward
    discovery, gateway    built-in tools ─ projection ─ call limits ─ tracing ─ forward

With scripts, `full` and `minimal` also begin with the built-in script tool, so its calls pass the other layers. Where
savings are counted, that is done before all of them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from louver.catalogue.files.descriptions import DescriptionFiles
from louver.catalogue.files.output_schemas import SchemaFiles
from louver.catalogue.files.shipped_views import ready_views
from louver.catalogue.guidance import Guidance
from louver.catalogue.hosts import HOSTS
from louver.catalogue.learned import Learned, LearnedFields, learned_file
from louver.catalogue.policy.principal import NOBODY
from louver.core.json import digest
from louver.core.nearest import did_you_mean
from louver.gateway.metrics import RequestMetrics
from louver.gateway.middleware.forward import Forward
from louver.gateway.middleware.picker_app import PickerApp
from louver.gateway.middleware.tracing import trace_request
from louver.gateway.routing.aggregate import SEPARATOR, split_name
from louver.limits import MAX_RESULTS_BYTES
from louver.server.calls.request import RequestOptions
from louver.server.calls.response import NO_EXTRAS, ResponseExtras
from louver.server.calls.schema_resource import ProjectedSchemas
from louver.server.policy.per_audience import PerAudience
from louver.server.projection import ProjectionStep
from louver.server.request import in_order
from louver.server.results.results import KeptResults, Results
from louver.server.tools.registry import ToolRegistry
from louver.server.tools.views import ToolViews

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Mapping
    from pathlib import Path

    from louver.catalogue.entry import Entry
    from louver.catalogue.files.descriptions import DescriptionFile
    from louver.catalogue.files.views import ViewFile
    from louver.catalogue.grants import Grants
    from louver.catalogue.hosts import Host
    from louver.catalogue.policy.principal import Principal
    from louver.core.paths.path import FieldPath
    from louver.gateway.clients.client import GatewayClient
    from louver.gateway.clients.listen import ListenStreams
    from louver.gateway.config.model import Config, ExecuteLevel, LimitSettings, UpstreamConfig
    from louver.gateway.discovery.scripts import ScriptRunner
    from louver.gateway.middleware.built_in_tools import BuiltInTools, ToolProvider
    from louver.gateway.middleware.call_limits import CallLimits
    from louver.gateway.routing.single import Routes
    from louver.gateway.scripting.sandbox import Level
    from louver.gateway.shared_state import GatewayState
    from louver.gateway.single_tool.exports import Exports
    from louver.gateway.upstream.upstream import Upstream
    from louver.server.audit.middleware import AuditMiddleware, ToolOwner
    from louver.server.audit.writer import AuditWriter
    from louver.server.calls.request import Argument
    from louver.server.calls.schema_resource import CacheScope
    from louver.server.disclosure.middleware import Disclosure
    from louver.server.policy.enforcer import PolicyEnforcer
    from louver.server.request import Identity, Next, Request, Step
    from louver.server.savings.counter import SavingsCounter
    from louver.server.search import Search
    from louver.state.shared import SharedState


# The parameters of the single tool that reduce an answer, as a warning names them.
_PROJECTION_PARAMS: Final = ("'fields'", "'view'")


class Files:
    """The files of a configuration about its servers' tools, under the tool names that clients use."""

    def __init__(
        self, config: Config, server_name_of: Callable[[str], str | None], learned: dict[Path, LearnedFields]
    ) -> None:
        is_single = len(config.upstreams) == 1
        prefixes = {each.name: "" if is_single else f"{each.name}{SEPARATOR}" for each in config.upstreams}
        self._prefixes = prefixes
        self._limited = config.limits.tools_per_minute
        self.default_views = {
            f"{prefixes[each.name]}{tool}": view
            for each in config.upstreams
            for tool, view in each.default_views.items()
        }
        self._views = {prefixes[each.name]: each.views for each in config.upstreams if each.views is not None}
        self._policed = {prefixes[each.name]: each for each in config.upstreams if each.policy is not None}
        descriptions = {
            prefixes[each.name]: each.descriptions for each in config.upstreams if each.descriptions is not None
        }
        self._shipped = {
            prefixes[each.name]: partial(_shipped_file, each, server_name_of)
            for each in config.upstreams
            if each.ready_views
        }
        self.shipped_prefixes = tuple(self._shipped)
        self.schemas = SchemaFiles({prefixes[each.name]: each.schemas for each in config.upstreams if each.schemas})
        self.learned: Learned | None = None
        if config.learn is not None:
            files = {
                prefixes[each.name]: learned_file(config.learn, each.server_id)
                for each in config.upstreams
                if each.policy is None and not each.is_per_principal
            }
            for file in files.values():
                if file not in learned:
                    learned[file] = LearnedFields(file)
            self.learned = Learned({prefix: learned[file] for prefix, file in files.items()})
        self.views = ToolViews(
            None,
            self.default_views,
            self._views,
            self._shipped,
            schemas=self.schemas,
            learned=None if self.learned is None else self.learned.find,
        )
        rules = {prefixes[each.name]: each.guidance for each in config.upstreams if each.guidance}
        self.guidance = Guidance(rules) if rules else None
        self.descriptions = DescriptionFiles(descriptions)

    def views_for(self, principal: Principal, enforcers: Mapping[str, PolicyEnforcer]) -> ToolViews:
        """The views for one audience."""
        if not enforcers:
            return self.views

        def hides(tool: str, path: FieldPath) -> bool:
            found = self._enforcer_of(enforcers, tool)
            return found is not None and found[0].hides(found[1], principal, path)

        return ToolViews(None, self.default_views, self._views, self._shipped, hides, self.schemas)

    def visible_descriptions(self, principal: Principal, enforcers: Mapping[str, PolicyEnforcer]) -> DescriptionFiles:
        def visible(tool: str, file: DescriptionFile) -> DescriptionFile | None:
            found = self._enforcer_of(enforcers, tool)
            if found is None:
                return file
            names = found[0].hidden_names(found[1], principal)
            return None if names is None else file.redacted(names)

        return self.descriptions.seen_by(visible)

    def mismatches(self, upstream: str, tools: set[str]) -> list[str]:
        """Settings and files about tools that an upstream does not have."""
        prefix = self._prefixes[upstream]
        listed = {prefix + tool for tool in tools}
        names_by_kind = {
            "guidance is given for": [] if self.guidance is None else self.guidance.unknown(listed),
            "a default view is given for": self.default_views,
            "a file holds views of": self.views.tools_in_files(),
            "a file declares the output of": self.schemas.tools(),
            "a file describes": self.descriptions.tools(),
            "a limit is given for": self._limited,
        }
        unknown = [
            (kind, name.removeprefix(prefix))
            for kind, names in names_by_kind.items()
            for name in names
            if name.startswith(prefix) and name not in listed
        ]
        return [f"{kind} a tool {name!r}, which it does not have{did_you_mean(name, tools)}" for kind, name in unknown]

    def owner_of(self, enforcers: Mapping[str, PolicyEnforcer], tool: str, principal: Principal) -> ToolOwner | None:
        """The server and policy of a tool, by the name that clients use; `None` without a policy."""
        # Lazy import, as in `_audited`.
        from louver.server.audit.middleware import ToolOwner

        found = self._enforcer_of(enforcers, tool)
        return None if found is None else ToolOwner.under_policy(*found, principal)

    def _enforcer_of(self, enforcers: Mapping[str, PolicyEnforcer], tool: str) -> tuple[PolicyEnforcer, str] | None:
        """The policy of a tool, and the tool's name at its server."""
        for prefix, server in self._policed.items():
            if tool.startswith(prefix):
                return enforcers[server.name], _name_at_server(server, tool.removeprefix(prefix))
        return None


def _shipped_file(server: UpstreamConfig, server_name_of: Callable[[str], str | None], tool: str) -> ViewFile | None:
    """The shipped views of a tool."""
    views = ready_views(server_name_of(server.name))
    return None if views is None else views.find(_name_at_server(server, tool))


def _name_at_server(server: UpstreamConfig, tool: str) -> str:
    return tool if server.tools is None else server.tools.tool_of(tool)


class RetainedState(NamedTuple):
    """State that survives a reload unless the new configuration needs another."""

    results: Results | None
    grants: Grants | None  # for the exposure `minimal`
    call_limits: CallLimits | None


class Pipeline:
    """The middleware in front of the routes, rebuilt by each reload."""

    def __init__(
        self,
        server_info: dict[str, Any],
        listen_streams: ListenStreams,
        on_opened: Callable[[], None],
        remove_client: Callable[[GatewayClient], Awaitable[None]],
        state: GatewayState,
    ) -> None:
        self.scripts: ScriptRunner | None = None
        self.answer: Next
        self._server_info = server_info
        self._listen_streams = listen_streams
        self._on_opened = on_opened
        self._remove_client = remove_client
        self._state = state
        self._retained = RetainedState(None, None, None)
        self._grant_keys: tuple[str, ...] = ()
        self._argument: Argument = "off"
        self._audit: AuditWriter | None = None
        self._close: Callable[[], None] = _no_op
        self.audience: Callable[[Principal], Hashable]  # equal for callers to whom the policies show the same
        self._registries: dict[Hashable, ToolRegistry] = {}  # of the tools listed to each audience

    def input_schema(self, tool: str, principal: Principal) -> dict[str, Any] | None:
        """The input schema of a tool that was listed to the caller's audience."""
        tools = self._registries.get(self.audience(principal))
        return None if tools is None else tools.input_schema(tool)

    def entry(self, tool: str, caller: Identity) -> Entry | None:
        """A tool as it was listed to a caller."""
        tools = self._registries.get(self.audience(caller.principal))
        return None if tools is None else tools.listed_to(caller, tool)

    def retained_for(self, config: Config) -> RetainedState:
        """The kept state for a configuration: the current one where it fits."""
        results, grants, call_limits = self._retained
        wanted = config.keep_results
        if wanted is None and config.exposure == "gateway":
            # For exports only: no answer is over this threshold.
            wanted = KeptResults(over_bytes=MAX_RESULTS_BYTES)
        if wanted is None or results is None or results.options != wanted:
            results = None if wanted is None else Results(wanted, self._state.open)
        if config.keys != self._grant_keys:
            grants = None
        if grants is None and config.exposure == "minimal" and config.disclosure == "enforce":
            grants = _grants(config.keys)
        if call_limits is None or call_limits.settings != config.limits:
            call_limits = _call_limits(config.limits, self._server_info, self._state.shared)
        return RetainedState(results, grants, call_limits)

    def build(
        self,
        config: Config,
        files: Files,
        retained: RetainedState,
        upstreams: Mapping[str, Upstream],
        routes: Routes,
        audit: AuditWriter | None,
        savings: SavingsCounter | None,
    ) -> list[ScriptRunner]:
        """Rebuild the middleware for a configuration and return the scripts that it replaces."""
        # Captured now: requests are audited under these policies until the next reload.
        enforcers = {
            name: upstream.guard.enforcer for name, upstream in upstreams.items() if upstream.guard is not None
        }

        per_caller_rules = [
            each.tools for each in config.upstreams if each.tools is not None and each.tools.depend_on_caller
        ]
        # Lists come by callers' own logins.
        is_per_principal = any(each.is_per_principal for each in config.upstreams)
        is_per_audience = bool(enforcers or per_caller_rules or is_per_principal)

        def audience(principal: Principal) -> Hashable:
            return (
                *((each.id, each.policy.audience(principal)) for each in enforcers.values()),
                *(rules.rule_for(principal).id for rules in per_caller_rules),
                *((principal.subject, principal.client) if is_per_principal else ()),
            )

        self.audience = audience

        def scope(request: Request) -> str:
            return digest(repr(audience(request.identity.principal)))

        results = retained.results
        if results is not None and is_per_audience:
            results = results.scoped_to(scope)
        self._retained, self._grant_keys = retained._replace(results=results), config.keys
        self._audit = audit
        replaced_scripts = self._reconfigure_scripts(config.execute)
        if self.scripts is not None:
            self.scripts.names.clear()
        self._close()
        cache_scope: CacheScope = "private" if is_per_audience else "public"
        layers = partial(self._layers, config, files, upstreams, enforcers, cache_scope)
        # Scripts and the single tool select fields in their own way: tools take no projection argument.
        self._argument = config.argument
        if config.exposure == "gateway" or (config.exposure == "discovery" and self.scripts is not None):
            self._argument = "off"
        forward = Forward(
            routes, self._listen_streams, self._server_info, self._on_opened, self._remove_client, results=results
        )

        owner_of = partial(_owner_of, upstreams)
        counting: list[Step] = [RequestMetrics(owner_of)]
        if savings is not None:
            counting.append(_savings_layer(savings, owner_of, {**HOSTS, **config.hosts}))
        registries = self._registries = {}

        def handler(views: ToolViews, principal: Principal) -> tuple[Next, Callable[[], None]]:
            seen_by = audience(principal)
            steps, close_layers = layers(views, principal, partial(registries.__setitem__, seen_by))

            def close() -> None:
                close_layers()
                registries.pop(seen_by, None)

            limits = [] if retained.call_limits is None else [retained.call_limits]
            return in_order([*counting, *steps, *limits, trace_request], forward), close

        if is_per_audience:
            per_audience = PerAudience(
                audience, lambda principal: handler(files.views_for(principal, enforcers), principal)
            )
            self.answer, self._close = per_audience, per_audience.close
        else:
            self.answer, self._close = handler(files.views, NOBODY)
        return replaced_scripts

    def _layers(
        self,
        config: Config,
        files: Files,
        upstreams: Mapping[str, Upstream],
        enforcers: Mapping[str, PolicyEnforcer],
        cache_scope: CacheScope,
        views: ToolViews,
        principal: Principal,
        use_registry: Callable[[ToolRegistry], None],
    ) -> tuple[list[Step], Callable[[], None]]:
        """The layers for one audience, outermost first, and the function that closes them."""
        schemas = ProjectedSchemas(cache_scope)
        # The caller uses the single tool's parameters, so warnings name those.
        param_names = _PROJECTION_PARAMS if config.exposure == "gateway" else ()
        hosts = {**HOSTS, **config.hosts}
        extras = ResponseExtras(
            files.guidance, config.warnings, self._retained.results, files.learned, param_names, hosts
        )
        tools = ToolRegistry(views)
        descriptions = files.visible_descriptions(principal, enforcers) if enforcers else files.descriptions
        search = (
            None
            if config.exposure == "full"
            else self._search(descriptions, config.meaning, is_single=len(upstreams) == 1)
        )

        layers: list[Step] = [
            ProjectionStep(
                self._server_info,
                tools,
                RequestOptions(self._argument, files.default_views, files.shipped_prefixes, config.argument_name),
                config.listing,
                exact=config.exposure != "full",
                search=search,
                schemas=schemas,
                extras=extras,
                when_listed=partial(use_registry, tools),
            )
        ]
        if config.exposure == "full" and self._argument != "off":
            layers.insert(0, PickerApp(self._server_info, config.argument_name))
        if self._audit is not None:
            layers.insert(0, _audit_layer(self._audit, partial(files.owner_of, enforcers)))
        close = _no_op
        if config.exposure == "minimal":
            disclosure = self._disclosure_layer(descriptions, hosts, on_error=config.disclosure == "on-error")
            close = disclosure.close
            layers.insert(0, disclosure)
        if (provider := _tool_provider_of(config, upstreams, self.scripts, self._retained.results)) is not None:
            built_in_tools, request_options = ToolRegistry(ToolViews(None, {})), RequestOptions("off", {})
            # The single tool adds guidance and warnings to its answers itself.
            built_in_extras = NO_EXTRAS if config.exposure == "gateway" else extras
            projection = ProjectionStep(
                self._server_info,
                built_in_tools,
                request_options,
                config.listing,
                schemas=schemas,
                extras=built_in_extras,
            )
            keeps_results = built_in_extras.results is not None
            layers.insert(0, _built_in_tools(self._server_info, provider, projection, keeps_results=keeps_results))
        return layers, close

    def _disclosure_layer(self, files: DescriptionFiles, hosts: Mapping[str, Host], *, on_error: bool) -> Disclosure:
        # Lazy import: only the exposure `minimal` needs it.
        from louver.server.disclosure.middleware import Disclosure
        from louver.server.disclosure.read_limits import ReadLimits

        grants = None if on_error else self._retained.grants
        assert on_error or grants is not None, "they are there where descriptions have to be read"
        return Disclosure(
            self._server_info,
            self._listen_streams.on_tools_changed,
            files,
            grants,
            ReadLimits(state=self._state.shared),
            on_error=on_error,
            hosts=hosts,
        )

    def _search(self, descriptions: DescriptionFiles, meaning: Path | None, *, is_single: bool) -> Search:
        # Lazy import: most lists are not searched.
        from louver.catalogue.search.document import alone
        from louver.server.search import Search

        state = self._state.shared
        return Search(alone if is_single else split_name, state=state, files=descriptions, meaning=meaning)

    def _reconfigure_scripts(self, level: ExecuteLevel | None) -> list[ScriptRunner]:
        before = self.scripts
        if before is not None and before.level == level:
            return []
        self.scripts = None if level is None or level == "off" else _scripts(level)
        return [] if before is None else [before]


def _grants(keys: tuple[str, ...]) -> Grants:
    # Lazy import: only grants need it.
    from louver.catalogue.grants import Grants

    return Grants(keys, audience="louver")


def _scripts(level: Level) -> ScriptRunner:
    # Lazy import: only scripts need it.
    from louver.gateway.discovery.scripts import ScriptRunner

    return ScriptRunner(level)


def _audit_layer(audit: AuditWriter, owner_of: Callable[[str, Principal], ToolOwner | None]) -> AuditMiddleware:
    # Lazy import: only an audit needs it.
    from louver.server.audit.middleware import AuditMiddleware

    return AuditMiddleware(audit, owner_of)


def _owner_of(upstreams: Mapping[str, Upstream], tool: str) -> tuple[str, str]:
    """The server of a tool by its listed name, and the tool's name there."""
    if len(upstreams) != 1:
        return split_name(tool)
    (upstream,) = upstreams.values()
    return upstream.display_name, tool


def _savings_layer(
    savings: SavingsCounter, owner_of: Callable[[str], tuple[str, str]], hosts: Mapping[str, Host]
) -> Step:
    # Lazy import: only savings need it.
    from louver.gateway.middleware.savings import SavingsMiddleware

    return SavingsMiddleware(savings, owner_of, hosts)


def _no_op() -> None:
    pass


def _call_limits(settings: LimitSettings, server_info: dict[str, Any], state: SharedState | None) -> CallLimits | None:
    if settings.calls_per_minute is None and not settings.tools_per_minute:
        return None
    # Lazy import: most gateways have no limits.
    from louver.gateway.middleware.call_limits import CallLimits

    return CallLimits(settings, server_info, state)


def _tool_provider_of(
    config: Config, upstreams: Mapping[str, Upstream], scripts: ScriptRunner | None, results: Results | None
) -> ToolProvider | None:
    """The built-in tools of a configuration, if it has any."""
    if config.exposure == "gateway":
        # Lazy imports: each kind only where it is used.
        from louver.gateway.single_tool.tool import SingleToolProvider

        return SingleToolProvider(upstreams, scripts, _exports(config, results))
    if config.exposure != "discovery" and scripts is None:
        return None
    from louver.gateway.discovery.tools import DiscoveryProvider, ExecuteProvider

    if config.exposure == "discovery":
        return DiscoveryProvider(upstreams, config.inspect, scripts)
    assert scripts is not None, "without scripts there are no built-in tools"
    return ExecuteProvider(upstreams, scripts)


def _built_in_tools(
    server_info: dict[str, Any], provider: ToolProvider, projection: ProjectionStep, *, keeps_results: bool
) -> BuiltInTools:
    from louver.gateway.middleware.built_in_tools import BuiltInTools

    return BuiltInTools(server_info, provider, projection, keeps_results=keeps_results)


def _exports(config: Config, results: Results | None) -> Exports:
    """Where the single tool exports whole answers."""
    from louver.gateway.single_tool.exports import FileExports, ResultExports

    if config.exports is not None:
        return FileExports(config.exports)
    assert results is not None, "in this exposure there is a store of results"
    return ResultExports(results)
