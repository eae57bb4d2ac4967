"""The features of a gateway by its configuration; `louver.steps.compose` makes the steps of them.

    full                  projection ─ call limits ─ tracing ─ forward
    deferred              deferred tools ─ projection ─ call limits ─ tracing ─ forward
    minimal               disclosure ─ projection ─ call limits ─ tracing ─ forward
    discovery, gateway    built-in tools ─ projection ─ call limits ─ tracing ─ forward

With scripts, `full` and `minimal` also begin with the built-in script tool, so its calls pass the other steps.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from louver.catalogue.files.descriptions import DescriptionFiles
from louver.catalogue.files.output_schemas import SchemaFiles
from louver.catalogue.files.views import ready_views
from louver.catalogue.guidance import Guidance
from louver.catalogue.learned import Learned, LearnedFields, learned_file
from louver.concurrency.offload import in_thread
from louver.core.nearest import did_you_mean
from louver.gateway.routing.aggregate import SEPARATOR, split_name
from louver.gateway.routing.forward import Forward
from louver.gateway.routing.tool_origins import UpstreamOrigins
from louver.limits import MAX_CALLERS, MAX_RESULTS_BYTES
from louver.policy.principal import Principal
from louver.seams import plugged_in
from louver.steps.calls.planning import Planning
from louver.steps.calls.request import RequestOptions
from louver.steps.calls.response import NO_EXTRAS, ResponseExtras
from louver.steps.compose import Acting, Composed, Features, scoped
from louver.steps.projection import ProjectionStep
from louver.steps.results.results import KeptResults, Overflow, Results
from louver.steps.telemetry import metrics, tracing
from louver.steps.tools.registry import ToolRegistry
from louver.steps.tools.views import ToolViews
from louver.wire.mcp import MODERN_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
    from pathlib import Path

    from louver.catalogue.entry import Entry
    from louver.catalogue.files.views import ViewFile
    from louver.catalogue.grants import Grants
    from louver.gateway.back.shared_state import GatewayState
    from louver.gateway.back.upstream import Upstream
    from louver.gateway.builtin.scripts import ScriptRunner
    from louver.gateway.builtin.single_tool.exports import Exports
    from louver.gateway.builtin.step import ToolProvider
    from louver.gateway.clients.client import GatewayClient
    from louver.gateway.clients.listen import ListenStreams
    from louver.gateway.config.model import Config, ExecuteLevel, UpstreamConfig
    from louver.gateway.routing.single import Routes
    from louver.steps.audit.writer import AuditWriter
    from louver.steps.call_limits import CallLimits, LimitSettings
    from louver.steps.compose import Discloses, Hides
    from louver.steps.policy.enforcer import PolicyEnforcer
    from louver.steps.request import Identity, Next, Step
    from louver.steps.savings.counter import SavingsCounter
    from louver.steps.savings.tool_use import Use
    from louver.steps.search import Search
    from louver.steps.shared_state import SharedState


OVERFLOW_PAGE_BYTES: Final = 24_000
"""Largest page of an answer that its host would not show whole, in bytes: every host shows so much."""

LIKELY_CHARACTERS: Final = 20_000
"""Characters of a tool's answers, on average, from which some are likely to be more than hosts show."""

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
        self._pinned = config.pinned or ()
        self._views = {prefixes[each.name]: each.views for each in config.upstreams if each.views is not None}
        self._servers = {prefixes[each.name]: each for each in config.upstreams}
        descriptions = {
            prefixes[each.name]: each.descriptions for each in config.upstreams if each.descriptions is not None
        }
        self._shipped = {
            prefixes[each.name]: partial(_shipped_file, each, server_name_of)
            for each in config.upstreams
            if each.ready_views
        }
        self.prefixes_with_views = (*self._views, *self._shipped)
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
            {},
            self._views,
            self._shipped,
            schemas=self.schemas,
            learned=None if self.learned is None else self.learned.find,
        )
        rules = {prefixes[each.name]: each.guidance for each in config.upstreams if each.guidance}
        self.guidance = Guidance(rules) if rules else None
        self.descriptions = DescriptionFiles(descriptions)

    def views_for(self, hides: Hides | None) -> ToolViews:
        """The views for one audience, without what it may not know."""
        if hides is None:
            return self.views
        return ToolViews(None, {}, self._views, self._shipped, hides, self.schemas)

    def mismatches(self, upstream: str, tools: set[str]) -> list[str]:
        """Settings and files about tools that an upstream does not have."""
        prefix = self._prefixes[upstream]
        listed = {prefix + tool for tool in tools}
        names_by_kind = {
            "guidance is given for": [] if self.guidance is None else self.guidance.unknown(listed),
            "a file holds views of": self.views.tools_in_files(),
            "a file declares the output of": self.schemas.tools(),
            "a file describes": self.descriptions.tools(),
            "a limit is given for": self._limited,
            "'pinned' names": self._pinned,
        }
        unknown = [
            (kind, name.removeprefix(prefix))
            for kind, names in names_by_kind.items()
            for name in names
            if name.startswith(prefix) and name not in listed
        ]
        return [f"{kind} a tool {name!r}, which it does not have{did_you_mean(name, tools)}" for kind, name in unknown]

    def server_of(self, tool: str) -> tuple[str, str] | None:
        """The server of a tool by the name that clients use, and the tool's name there."""
        for prefix, server in self._servers.items():
            if tool.startswith(prefix):
                return server.name, _name_at_server(server, tool.removeprefix(prefix))
        return None

    def policy_of(self, enforcers: Mapping[str, PolicyEnforcer], tool: str) -> tuple[PolicyEnforcer, str] | None:
        """The policy of a tool by the name that clients use, and the tool's name at its server."""
        server, name = self.server_of(tool) or ("", "")
        return (enforcers[server], name) if server in enforcers else None


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
    """The steps in front of the routes, composed by each reload."""

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
        self.versions: Sequence[str]  # the revisions that a request may name
        self._composed: Composed
        self.planning = Planning()
        self.audience: Callable[[Principal], Hashable]  # equal for callers to whom the policies show the same
        self._server_info = server_info
        self._listen_streams = listen_streams
        self._on_opened = on_opened
        self._remove_client = remove_client
        self._state = state
        self._retained = RetainedState(None, None, None)
        self._load_search: Callable[[], object] | None = None
        self._overflowing: Results | None = None  # of answers that no configuration keeps
        self._grant_keys: tuple[str, ...] = ()
        self._close: Callable[[], None] = _no_op

    def input_schema(self, tool: str, principal: Principal) -> dict[str, Any] | None:
        """The input schema of a tool that was listed to the caller's audience."""
        tools = self._composed.tools(principal)
        return None if tools is None else tools.input_schema(tool)

    def entry(self, tool: str, caller: Identity) -> Entry | None:
        """A tool as it was listed to a caller."""
        tools = self._composed.tools(caller.principal)
        return None if tools is None else tools.listed_to(caller, tool)

    async def load_search(self) -> None:
        """Read the word vectors of searches, before the first one needs them."""
        if self._load_search is not None:
            await in_thread(self._load_search)

    def retained_for(self, config: Config) -> RetainedState:
        """The kept state for a configuration: the current one where it fits."""
        results, grants, call_limits = self._retained
        wanted = config.keep_results or None
        if wanted is None and config.exposure == "gateway":
            # For exports only: no answer is over this threshold.
            wanted = KeptResults(over_bytes=MAX_RESULTS_BYTES)
        if wanted is None or results is None or results.options != wanted:
            results = None if wanted is None else Results(wanted, self._state.shared)
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
        use: Use,
    ) -> list[ScriptRunner]:
        """Compose the steps for a configuration and return the scripts that it replaces."""
        # Captured now: requests are audited under these policies until the next reload.
        enforcers = {
            name: upstream.guard.enforcer for name, upstream in upstreams.items() if upstream.guard is not None
        }
        self.audience = _audience(config, enforcers)
        is_per_audience = self.audience is not everybody
        results = None if retained.results is None else self._scoped(retained.results)
        self._retained, self._grant_keys = retained, config.keys
        replaced_scripts = self._reconfigure_scripts(config.execute)
        if self.scripts is not None:
            self.scripts.names.clear()
        self._close()
        is_full = config.exposure in ("full", "deferred")
        # Scripts and the single tool select fields in their own way: tools take no projection argument.
        is_argument_off = config.exposure == "gateway" or (config.exposure == "discovery" and self.scripts is not None)
        argument = "off" if is_argument_off else config.argument
        owner_of = partial(_owner_of, upstreams)
        overflow = self._overflow(config, use, upstreams) if results is None else None
        # The caller uses the single tool's parameters, so warnings name those.
        param_names = _PROJECTION_PARAMS if config.exposure == "gateway" else ()
        extras = ResponseExtras(
            files.guidance, config.warnings, results, overflow, files.learned, param_names, config.toon
        )
        origins = UpstreamOrigins(upstreams)
        forward = Forward(
            routes, self._listen_streams, self._server_info, self._on_opened, self._remove_client, results=results
        )
        features = Features(
            server_info=self._server_info,
            views=files.views_for,
            options=RequestOptions(
                argument,
                files.prefixes_with_views,
                _large(use, owner_of),
                may_lengthen=False,
            ),
            listing=config.listing,
            exact=not is_full,
            extras=extras,
            descriptions=files.descriptions,
            search=None if config.exposure == "full" else self._search(config.meaning, is_single=len(upstreams) == 1),
            disclosure=self._disclosure(config, upstreams, origins, use),
            built_in=self._built_in(config, upstreams, extras),
            policed=partial(files.policy_of, enforcers) if enforcers else None,
            audit=audit,
            server_of=None if len(enforcers) == len(upstreams) else files.server_of,
            outer=_counting(owner_of, savings, forward),
            inner=_limiting(retained.call_limits),
            audience=self.audience if is_per_audience else None,
            origins=origins,
            planning=self.planning,
        )
        self.answer = self._composed = Composed(features, forward)
        self.versions = MODERN_VERSIONS
        if "result-variants" in config.experimental:
            # Lazy imports: a draft, which is off by default.
            from louver.steps.result_variants import ResultVariants
            from louver.wire.result_variants import DRAFT_VERSION

            self.answer = partial(ResultVariants(is_per_audience=is_per_audience), call_next=self._composed)
            self.versions = (*MODERN_VERSIONS, DRAFT_VERSION)
        self._close = self._composed.close
        return replaced_scripts

    def _disclosure(
        self,
        config: Config,
        upstreams: Mapping[str, Upstream],
        origins: UpstreamOrigins,
        use: Use,
    ) -> Callable[[DescriptionFiles, ToolRegistry], Discloses] | None:
        if config.exposure == "deferred":
            return self._deferred(config, upstreams, use)
        if config.exposure != "minimal":
            return None
        # Lazy import: only the exposure `minimal` needs it.
        from louver.steps.disclosure.read_limits import ReadLimits
        from louver.steps.disclosure.step import Disclosure

        on_error = config.disclosure == "on-error"
        grants = None if on_error else self._retained.grants
        assert on_error or grants is not None, "they are there where descriptions have to be read"
        subscribe, state = self._listen_streams.on_tools_changed, self._state.shared
        return lambda files, _: Disclosure(
            self._server_info,
            subscribe,
            files,
            grants,
            ReadLimits(state=state),
            origins=origins,
        )

    def _deferred(
        self, config: Config, upstreams: Mapping[str, Upstream], use: Use
    ) -> Callable[[DescriptionFiles, ToolRegistry], Discloses]:
        # Lazy import: only this exposure needs it.
        from louver.gateway.builtin.deferred import DeferredTools, choose_pinned, choose_used

        owner_of = partial(_owner_of, upstreams)

        def servers() -> list[str]:
            # Known once they are open.
            return [each.display_name for each in upstreams.values()]

        choose = (
            partial(choose_used, use, owner_of, servers)
            if config.pinned is None
            else partial(choose_pinned, config.pinned)
        )
        is_single = len(upstreams) == 1
        return lambda _, tools: DeferredTools(self._server_info, choose, owner_of, tools, is_single=is_single)

    def _overflow(self, config: Config, use: Use, upstreams: Mapping[str, Upstream]) -> Overflow | None:
        """What keeps answers that hosts would not show whole; not where another replica could be asked for them."""
        if config.keep_results is False or (config.keys and config.state is None):
            return None
        of_upstreams = [each for (name, _), each in use.items() if name in upstreams and each.calls]
        largest = max((each.characters / each.calls for each in of_upstreams), default=0)
        options = KeptResults(over_bytes=OVERFLOW_PAGE_BYTES)

        def open_results() -> Results:
            if self._overflowing is None or self._overflowing.options != options:
                self._overflowing = Results(options, self._state.shared)
            return self._scoped(self._overflowing)

        # Another replica may have kept some.
        is_open = self._overflowing is not None or config.state is not None
        opened = open_results() if is_open else None
        is_likely = largest > LIKELY_CHARACTERS
        return Overflow(open_results, opened, page_bytes=OVERFLOW_PAGE_BYTES, is_likely=is_likely)

    def _scoped(self, results: Results) -> Results:
        return results if self.audience is everybody else scoped(results, self.audience)

    def _search(self, meaning: Path | None, *, is_single: bool) -> Callable[[DescriptionFiles], Search]:
        # Lazy import: most lists are not searched.
        from louver.catalogue.search.meaning_extra import word_vectors
        from louver.catalogue.search.ranking import alone
        from louver.steps.search import Search

        self._load_search = partial(word_vectors, meaning)
        split, state = alone if is_single else split_name, self._state.shared
        return lambda files: Search(split, state=state, files=files, meaning=meaning)

    def _built_in(
        self, config: Config, upstreams: Mapping[str, Upstream], extras: ResponseExtras
    ) -> Callable[[], Step] | None:
        provider = _tool_provider_of(config, upstreams, self.scripts, extras.results)
        if provider is None:
            return None
        from louver.gateway.builtin.step import BuiltInTools

        # The single tool adds guidance and warnings to its answers itself.
        own = NO_EXTRAS if config.exposure == "gateway" else extras

        def step() -> Step:
            projection = ProjectionStep(
                self._server_info,
                ToolRegistry(ToolViews(None, {})),
                RequestOptions("off"),
                config.listing,
                extras=own,
                planning=self.planning,
            )
            keeps_results = own.results is not None or own.overflow is not None
            return BuiltInTools(self._server_info, provider, projection, keeps_results=keeps_results)

        return step

    def _reconfigure_scripts(self, level: ExecuteLevel | None) -> list[ScriptRunner]:
        before = self.scripts
        if before is not None and before.level == level:
            return []
        self.scripts = None if level is None or level == "off" else plugged_in("lua.scripts:ScriptRunner")(level)
        return [] if before is None else [before]


def everybody(_: Principal) -> Hashable:
    """The audience of all callers, where all may see the same."""
    return ()


def _audience(config: Config, enforcers: Mapping[str, PolicyEnforcer]) -> Callable[[Principal], Hashable]:
    per_caller_rules = [
        each.tools for each in config.upstreams if each.tools is not None and each.tools.depend_on_caller
    ]
    # Lists come by callers' own logins.
    is_per_principal = any(each.is_per_principal for each in config.upstreams)
    if not (enforcers or per_caller_rules or is_per_principal):
        return everybody

    @lru_cache(maxsize=MAX_CALLERS)
    def known(*rights: Any) -> Hashable:
        principal = Principal(*rights)
        return (
            *((each.id, each.policy.audience(principal)) for each in enforcers.values()),
            *(rules.rule_for(principal).id for rules in per_caller_rules),
            *((principal.subject, principal.client) if is_per_principal else ()),
        )

    def audience(who: Principal) -> Hashable:
        # By the rights, not by the caller: those of an object of somebody else's class may change.
        return known(who.subject, who.client, frozenset(who.scopes), frozenset(who.roles))

    return audience


def _counting(
    owner_of: Callable[[str], tuple[str, str]],
    savings: SavingsCounter | None,
    forward: Forward,
) -> list[Acting]:
    measured = metrics()
    found = [] if measured is None else [Acting(measured.request_metrics(owner_of))]
    if savings is not None:
        # Lazy import: only savings need it.
        from louver.steps.savings.step import SavingsStep

        found.append(Acting(SavingsStep(savings, owner_of, forward), SavingsStep.methods))
    return found


def _large(use: Use, owner_of: Callable[[str], tuple[str, str]]) -> Callable[[str], bool | None]:
    if not use:
        return lambda _: None
    # Lazy import: only counted answers need it.
    from louver.steps.savings.tool_use import has_large_answers

    return partial(has_large_answers, use, owner_of)


def _limiting(call_limits: CallLimits | None) -> list[Acting]:
    limits = [] if call_limits is None else [Acting(call_limits, call_limits.methods)]
    spans = tracing()
    return limits if spans is None else [*limits, Acting(spans)]


def _grants(keys: tuple[str, ...]) -> Grants:
    # Lazy import: only grants need it.
    from louver.catalogue.grants import Grants

    return Grants(keys, audience="louver")


def _owner_of(upstreams: Mapping[str, Upstream], tool: str) -> tuple[str, str]:
    """The server of a tool by its listed name, and the tool's name there."""
    if len(upstreams) != 1:
        return split_name(tool)
    (upstream,) = upstreams.values()
    return upstream.display_name, tool


def _no_op() -> None:
    pass


def _call_limits(settings: LimitSettings, server_info: dict[str, Any], state: SharedState | None) -> CallLimits | None:
    if settings.calls_per_minute is None and not settings.tools_per_minute:
        return None
    # Lazy import: most gateways have no limits.
    from louver.steps.call_limits import CallLimits

    return CallLimits(settings, server_info, state)


def _tool_provider_of(
    config: Config, upstreams: Mapping[str, Upstream], scripts: ScriptRunner | None, results: Results | None
) -> ToolProvider | None:
    """The built-in tools of a configuration, if it has any."""
    if config.exposure == "gateway":
        # Lazy imports: each kind only where it is used.
        from louver.gateway.builtin.single_tool.tool import SingleToolProvider

        return SingleToolProvider(upstreams, scripts, _exports(config, results))
    if config.exposure != "discovery" and scripts is None:
        return None
    from louver.gateway.builtin.tools import DiscoveryProvider, ExecuteProvider

    if config.exposure == "discovery":
        return DiscoveryProvider(upstreams, config.inspect, scripts)
    assert scripts is not None, "without scripts there are no built-in tools"
    return ExecuteProvider(upstreams, scripts)


def _exports(config: Config, results: Results | None) -> Exports:
    """Where the single tool exports whole answers."""
    from louver.gateway.builtin.single_tool.exports import FileExports, ResultExports

    if config.exports is not None:
        return FileExports(config.exports)
    assert results is not None, "in this exposure there is a store of results"
    return ResultExports(results)
