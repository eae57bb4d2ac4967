"""The gateway's configuration: which servers stand behind it, and how they are shown.

The file is the one that MCP hosts already have, with settings of ours under `louver`::

    {"mcpServers": {
       "memory":  {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]},
       "tracker": {"url": "http://127.0.0.1:9000/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"},
                   "louver": {"views": "views", "defaultViews": {"list_issues": "brief"}}}},
     "louver": {"argument": "all"}}

What may stand in it is said by `schemas/config.schema.json`, and it is read by `read_config`. Here are the values
that come of it. One server can be named on the command line instead, by its command or by its URL.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from louver.catalogue.hosts import Host
from louver.core.json import digest
from louver.errors import InvalidConfig
from louver.limits import AUDIT_DAYS
from louver.protocol.names import ARGUMENT
from louver.protocol.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from louver.catalogue.guidance import Rule
    from louver.catalogue.policy.policy import Policy
    from louver.catalogue.policy.principal import Principal
    from louver.gateway.auth.settings import Auth
    from louver.gateway.discovery.service import Inspect
    from louver.gateway.upstream.tool_pins import OnChange
    from louver.server.calls.request import Argument
    from louver.server.calls.warnings import Warnings
    from louver.server.results.results import KeptResults
    from louver.server.tools.listing import Listing

Isolation = Literal["session", "shared"]
"""Whether each session of a client has its own with the upstream, or all share one."""

Exposure = Literal["full", "minimal", "discovery", "gateway"]
"""Whether tools are listed whole, or in a few words with their descriptions on demand, or found by tools for that, or
reached by one tool."""

Disclosure = Literal["enforce", "on-error"]
"""When a tool that is listed in a few words runs: after its description was read, or if its arguments fit."""

Execute = Literal["strict", "process", "off"]
"""How scripts are contained: so that the system refuses them everything, or by a process of their own alone, which is
for systems that know no more. Or there are none."""

Transport = Literal["stdio", "http"]
"""How an upstream is reached: as a process of ours, or over Streamable HTTP."""

ONLY = "upstream"
"""The name of a server that was given on the command line."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """One server. What may hold a secret is not in its `repr`.

    Args:
        name: Its name; with several, its tools are called `name__tool`.
        transport: How it is reached.
        command: What starts it, with its arguments; for `stdio`.
        env: Variables for the command, beside the few that every command gets: `HOME`, `PATH` and the like.
        cwd: Where the command starts; `None` is where we are.
        url: Where it serves; for `http`, else empty.
        headers: HTTP headers of each request.
        views: The folder of its files of views, which is there.
        schemas: The folder of its files of output schemas, which is there; not under a policy.
        default_views: Tool -> the view that a call without a request gets.
        ready_views: Whether it gets the views that ship for it, if it is a server that there are some for.
        descriptions: The folder of its files of descriptions, which is there.
        isolation: `None` where the client's transport and era decide.
        on_change: What becomes of a tool that is defined otherwise than before.
        timeout_seconds: How long it may take to answer.
        guidance: What is said of its tools' answers, and when.
        policy: Who may see what of it; `None` where everybody may see everything.
    """

    name: str
    transport: Transport
    command: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    views: Path | None = None
    schemas: Path | None = None
    default_views: Mapping[str, str] = field(default_factory=dict[str, str])
    ready_views: bool = False
    descriptions: Path | None = None
    isolation: Isolation | None = None
    on_change: OnChange = "warn"
    timeout_seconds: float = 30
    guidance: tuple[Rule, ...] = ()
    policy: Policy | None = None

    @property
    def place(self) -> str:
        """Names the server that is reached so, whatever else is said of it: another one of its name has another."""
        cwd = None if self.cwd is None else str(self.cwd)
        return digest([self.name, self.transport, list(self.command), cwd, self.url])


@dataclass(frozen=True, slots=True)
class Audited:
    """Where records are kept, and for how long.

    Args:
        file: The file.
        retention_days: How long, in days.
    """

    file: Path
    retention_days: float = AUDIT_DAYS


@dataclass(frozen=True, slots=True)
class Config:
    """All of it.

    Args:
        upstreams: The servers that are not disabled, in the file's order.
        argument: Which tools take the argument.
        argument_name: What it is called, unless a tool has an argument of that name.
        hosts: What hosts show their models, beside those that are known.
        listing: What stands as output schema of tools that can be projected.
        exposure: How tools are listed.
        disclosure: When tools run that are listed in a few words.
        execute: How scripts are contained; `None` is `strict` in the exposure `discovery`, elsewhere `off`.
        inspect: Which tools are run for a look at their answer.
        grant_keys: Secrets for grants; without any, one of this process alone.
        warnings: When is warned of large answers, if ever.
        keep_results: Which answers are kept instead of sent, if any.
        learn: The folder in which is kept which fields the answers of tools have that declare none, if that is learnt.
        exports: The folder that whole answers are written to, which is there.
        auth: Which tokens clients must send over HTTP; without it, everybody is served.
        principal: Who the one client over stdio is, if that is said.
        audit: Where audit records are written, if they are.
    """

    upstreams: tuple[Upstream, ...]
    argument: Argument = "projectable"
    argument_name: str = ARGUMENT
    hosts: Mapping[str, Host] = field(default_factory=dict[str, Host])
    listing: Listing = "relaxed"
    exposure: Exposure = "full"
    disclosure: Disclosure = "enforce"
    execute: Execute | None = None
    inspect: Inspect = "readOnly"
    grant_keys: tuple[str, ...] = field(default=(), repr=False)
    warnings: Warnings | None = None
    keep_results: KeptResults | None = None
    learn: Path | None = None
    exports: Path | None = None
    auth: Auth | None = None
    principal: Principal | None = None
    audit: Audited | None = None

    @classmethod
    def of_command(cls, command: Sequence[str], environ: Mapping[str, str] = os.environ) -> Config:
        """One server, started by a command, with our own environment: who wrote the command line set that for it.

        Raises:
            InvalidConfig: The command is empty.
        """
        if not command or not command[0]:
            raise InvalidConfig("expected the command that starts a server, for example: -- npx -y some-server")
        return cls((Upstream(ONLY, "stdio", command=tuple(command), env=dict(environ)),))

    @classmethod
    def of_url(cls, url: str) -> Config:
        """One server, at a URL.

        Raises:
            InvalidConfig: It is not a URL of HTTP.
        """
        if not is_url(url):
            raise InvalidConfig("expected a URL that begins with http:// or https://")
        return cls((Upstream(ONLY, "http", url=url),))
