"""The upstreams of a gateway, made of its configuration; a reload keeps the sessions of those that have not changed."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from louver import __version__
from louver.core.json import digest
from louver.gateway.back.availability import AvailabilityListeners
from louver.gateway.back.lists.kept_catalogue import CatalogueFolder
from louver.gateway.back.openings import OpeningPlaces
from louver.gateway.back.processes import ProcessBudget
from louver.gateway.back.transports.budgets import UpstreamBudgets
from louver.gateway.back.upstream import Upstream, UpstreamSettings
from louver.gateway.clients.revisions import GATEWAY_IDENTITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from louver.catalogue.grants import PrincipalKey
    from louver.gateway.back.logins import Logins
    from louver.gateway.back.policy_guard import Guard
    from louver.gateway.back.processes import IdleProcess
    from louver.gateway.back.shared_state import GatewayState
    from louver.gateway.back.transports.endpoint import Credentials
    from louver.gateway.back.transports.transport import Listener, Transport
    from louver.gateway.clients.client import GatewayClient
    from louver.gateway.clients.listen import ListenStreams
    from louver.gateway.clients.revisions import ClientIdentity
    from louver.gateway.config.model import Config, UpstreamConfig
    from louver.policy.policy import Policy
    from louver.wire.jsonrpc.codec import Params

# Prefix of the loggers for the standard error of upstreams; the upstream's name follows.
LOGGER_PREFIX: Final = "louver.upstream."

# Variables that differ from one terminal, network, or run of a host, to the next.
_VOLATILE: Final = re.compile(
    r"SESSION|_PROXY$|_proxy$|_PID$|^(SHLVL|_|PWD|OLDPWD|COLUMNS|LINES|WINDOWID|TERM|INVOCATION_ID|JOURNAL_STREAM)$"
)


class Upstreams:
    def __init__(
        self,
        state: GatewayState,
        logins: Logins,
        listen_streams: ListenStreams,
        *,
        single_client: bool,
        catalogues: Path | None,
    ) -> None:
        self._state = state
        self._logins = logins
        self._listen_streams = listen_streams
        self._single_client = single_client
        self._catalogues = None if catalogues is None else CatalogueFolder(catalogues)
        # The processes of a single client end with it.
        self.processes = ProcessBudget(self._idle_processes, ends_idle=not single_client)
        self._openings = OpeningPlaces()
        self._configs: dict[str, UpstreamConfig] = {}
        # Includes upstreams that a reload removed: they may return, with the clients that they served.
        self._all: dict[str, Upstream] = {}
        self.availability_listeners = AvailabilityListeners(self.publish)
        self.by_name: dict[str, Upstream] = {}

    @property
    def clients(self) -> set[GatewayClient]:
        return {client for upstream in self._all.values() for client in upstream.clients}

    def reconfigure(self, config: Config, max_processes: int) -> None:
        """Make the upstreams of a configuration; sessions of changed and removed ones end."""
        changed = {
            each.name: self._settings_of(each, config)
            for each in config.upstreams
            if self._configs.get(each.name) != each
        }
        for name in self._configs.keys() - {each.name for each in config.upstreams}:
            self._all[name].close()
            self._logins.end(name)
        shared_identity = next((upstream.shared_identity for upstream in self._all.values()), GATEWAY_IDENTITY)
        for name, settings in changed.items():
            if name in self._all:
                self._all[name].reconfigure(settings)
            else:
                self._all[name] = self._upstream(name, settings, shared_identity)
            self._set_principals(self._all[name], settings, shared_identity)
        self._configs = {each.name: each for each in config.upstreams}
        self.processes.limit = max_processes
        self.by_name = {name: self._all[name] for name in self._configs}

    async def publish(self, method: str, params: Params, only: PrincipalKey | None = None) -> None:
        """Publish a change to 2026-07-28 clients; sessions notify handshake clients themselves."""
        self._listen_streams.publish(method, params, only)

    async def remove_client(self, client: GatewayClient) -> None:
        await asyncio.gather(*(upstream.remove_client(client) for upstream in self._all.values()))

    def close(self) -> None:
        for upstream in self._all.values():
            upstream.close()

    async def wait_closed(self) -> None:
        """Wait until closed sessions have ended."""
        await asyncio.gather(*(each.wait_closed() for each in self._all.values()))

    def _upstream(
        self,
        name: str,
        settings: UpstreamSettings,
        identity: ClientIdentity,
        only: PrincipalKey | None = None,
        shared: Upstream | None = None,
    ) -> Upstream:
        return Upstream(
            name,
            settings,
            shared_identity=identity,
            single_client=self._single_client,
            publish=partial(self.publish, only=only),
            availability_listeners=self.availability_listeners,
            has_listeners=lambda: self._listen_streams.want_lists,
            pass_on=self._state.pass_on(name),
            shared=shared,
        )

    def _set_principals(self, upstream: Upstream, settings: UpstreamSettings, identity: ClientIdentity) -> None:
        """Give an upstream those of principals, where callers use logins of their own."""
        principals = upstream.principals
        if settings.of_principal is None:
            if principals is not None:
                principals.give_up_all()
                upstream.principals = None
        elif principals is not None:
            principals.reconfigure(settings.of_principal)
        else:
            # Lazy import: most servers are the same for all.
            from louver.gateway.back.per_principal import PrincipalUpstreams

            def make(principal: PrincipalKey, settings: UpstreamSettings) -> Upstream:
                return self._upstream(upstream.name, settings, identity, principal, upstream)

            forget = partial(self._logins.forget, upstream.name)
            upstream.principals = PrincipalUpstreams(upstream, settings.of_principal, make, forget)

    def _settings_of(self, config: UpstreamConfig, gateway: Config) -> UpstreamSettings:
        # Not under a policy, and not where changes are blocked: a kept definition would count as the first.
        can_keep = config.policy is None and config.on_change != "block" and not config.is_per_principal
        credentials_of = self._credentials_for(config)

        def link(principal: PrincipalKey | None) -> Callable[[Listener], Transport]:
            credentials = None if credentials_of is None else credentials_of(principal)
            return partial(_make_transport, config, UpstreamBudgets(), credentials, self.processes)

        settings = UpstreamSettings(
            link(None),
            config.timeout_seconds,
            isolated=config.isolation == "session" if config.isolation is not None else not self._single_client,
            per_revision=config.transport == "http",
            shared_if_stateless=config.transport == "http" and config.isolation is None and not self._single_client,
            on_change=config.on_change,
            pins=self._state.pins(config.server_id),
            guard=None if config.policy is None else _make_guard(config.name, config.policy),
            catalogues=self._catalogues if can_keep else None,
            place=_catalogue_place(config, gateway),
            configured=_configured_place(config),
            openings=self._openings,
            processes=self.processes if config.transport == "stdio" else None,
        )
        if not config.is_per_principal:
            return settings

        def of_principal(principal: PrincipalKey) -> UpstreamSettings:
            pins = self._state.pins(f"{config.server_id}:{digest(list(principal))}")
            return replace(settings, link=link(principal), pins=pins, catalogues=None)

        return replace(settings, of_principal=of_principal)

    def _credentials_for(self, config: UpstreamConfig) -> Callable[[PrincipalKey | None], Credentials] | None:
        credentials = self._logins.credentials_for(config)
        if not config.header_templates and config.headers_helper is None:
            return credentials
        # Lazy import: only such servers need it.
        from louver.gateway.back.transports.secret_headers import SecretHeaders

        secrets = SecretHeaders(config.header_templates, config.headers_helper)
        return lambda _: secrets

    def _idle_processes(self) -> Iterator[IdleProcess]:
        for upstream in self._all.values():
            yield from upstream.idle_processes()


def _make_transport(
    config: UpstreamConfig,
    budgets: UpstreamBudgets,
    credentials: Credentials | None,
    processes: ProcessBudget,
    listener: Listener,
) -> Transport:
    if config.policy is None or "logging" in config.policy.allowed_features:
        logger = logging.getLogger(f"{LOGGER_PREFIX}{config.name}")
    else:
        # The policy cannot filter standard error: it goes to a disabled logger that no logging configuration reaches.
        logger = logging.Logger(config.name)
        logger.disabled = True
    if config.transport != "stdio":
        # Lazy imports: each transport only where it is used.
        from louver.gateway.back.transports.http import HttpTransport

        return HttpTransport(
            config.url,
            headers=config.headers,
            listener=listener,
            budgets=budgets,
            logger=logger,
            credentials=credentials,
        )
    from louver.gateway.back.transports.stdio import StdioTransport

    return StdioTransport(
        config.command,
        env=config.env,
        cwd=config.cwd,
        listener=listener,
        budgets=budgets,
        processes=processes,
        logger=logger,
    )


def _catalogue_place(config: UpstreamConfig, gateway: Config) -> str:
    """A digest of all that decides what an upstream answers, besides the identity of its client."""
    process: list[Any] = []
    if config.transport == "stdio":
        # Lazy import, as in `_make_transport`.
        from louver.gateway.back.transports.stdio import inherited_environment

        environment = {**inherited_environment(), **config.env}
        stable = {name: value for name, value in environment.items() if not _VOLATILE.search(name)}
        process = [list(config.command), stable, _folder_of(config)]
    return digest([__version__, process, _reached(config), config.isolation, repr(gateway.principal)])


def _configured_place(config: UpstreamConfig) -> str:
    """A digest of a server's own settings: the same wherever, and by whatever client, it is started."""
    cwd = None if config.cwd is None else str(config.cwd)
    return f"configured-{digest([list(config.command), dict(config.env), cwd, _reached(config)])}"


def _reached(config: UpstreamConfig) -> list[Any]:
    helper = None if config.headers_helper is None else list(config.headers_helper.command)
    templates = {name: list(map(str, template)) for name, template in config.header_templates.items()}
    return [config.url, dict(config.headers), templates, helper]


def _folder_of(config: UpstreamConfig) -> str:
    try:
        return str(Path.cwd() if config.cwd is None else config.cwd.absolute())
    except FileNotFoundError:
        # The current folder was removed.
        return ""


def _make_guard(server: str, policy: Policy) -> Guard:
    # Lazy import: only policies need it.
    from louver.gateway.back.policy_guard import Guard
    from louver.steps.policy.enforcer import PolicyEnforcer

    return Guard(PolicyEnforcer(server, policy))
