"""The gateway's configuration as values. The file is that of MCP hosts, with added settings under `louver`.

    {"mcpServers": {"memory":  {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]},
                    "tracker": {"url": "http://127.0.0.1:9000/mcp", "louver": {"views": "views"}}},
     "louver": {"argument": "all"}}

Its schema is `schemas/config.schema.json`; `read_config` reads it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from louver.core.json import digest
from louver.core.nearest import instead
from louver.errors import InvalidConfig
from louver.gateway.config.auth import DISCOVERED, OAuthSettings
from louver.limits import AUDIT_DAYS
from louver.steps.call_limits import LimitSettings
from louver.wire.uris import is_url

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from louver.catalogue.grants import PrincipalKey
    from louver.catalogue.guidance import GuidanceRule
    from louver.gateway.config.auth import Auth
    from louver.policy.policy import Policy
    from louver.policy.principal import Principal
    from louver.policy.tool_rules import ToolRules
    from louver.steps.calls.request import Argument
    from louver.steps.results.results import KeptResults
    from louver.steps.shared_state import StateUrl
    from louver.steps.tools.listing import Listing

# An upstream session for each client session, or one for all.
Isolation = Literal["session", "shared"]

# Tools are listed whole; only those in use; minimally, with descriptions on demand; by discovery tools; or behind one.
Exposure = Literal["full", "deferred", "minimal", "discovery", "gateway"]

# A minimally listed tool runs after its description was read, or if its arguments fit.
DisclosureLevel = Literal["enforce", "on-error"]

# Containment of scripts: the system refuses everything, or a process alone, for systems that can do no more; or none.
ExecuteLevel = Literal["strict", "process", "off"]

# What happens to a tool that changed.
OnChange = Literal["warn", "block"]

# The tools that a sample call may run: those annotated as read-only, or all.
Inspect = Literal["readOnly", "all"]

TransportKind = Literal["stdio", "http"]

# The name of a server that the command line gives.
COMMAND_LINE_SERVER = "upstream"


# The value of a header: texts, and files whose contents stand between them.
HeaderTemplate = tuple[str | Path, ...]


@dataclass(frozen=True, slots=True)
class HeadersHelper:
    """A command that prints headers."""

    command: tuple[str, ...]
    folder: Path  # where it runs
    env: Mapping[str, str]  # besides the gateway's own environment


@dataclass(frozen=True, slots=True)
class UpstreamConfig:
    """One server; its `repr` leaves out what may hold a secret."""

    name: str  # with several servers, their tools are called `name__tool`
    transport: TransportKind
    command: tuple[str, ...] = field(default=(), repr=False)  # for stdio
    # besides `HOME`, `PATH` and the like, which every command gets
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path | None = None  # `None`: the current folder
    url: str = field(default="", repr=False)  # for HTTP
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    header_templates: Mapping[str, HeaderTemplate] = field(default_factory=dict[str, HeaderTemplate], repr=False)
    headers_helper: HeadersHelper | None = field(default=None, repr=False)
    oauth: OAuthSettings = DISCOVERED  # for logins at the URL
    principal: PrincipalKey | None = None  # whose login it is; `None`: the gateway's
    views: Path | None = None  # a folder that exists
    schemas: Path | None = None  # a folder that exists; not under a policy
    ready_views: bool = False  # use the shipped views, if there are any for this server
    descriptions: Path | None = None  # a folder that exists
    isolation: Isolation | None = None  # `None`: depends on the client's transport and revision
    on_change: OnChange = "warn"
    timeout_seconds: float = 30
    guidance: tuple[GuidanceRule, ...] = ()
    policy: Policy | None = None  # `None`: every caller may see everything
    tools: ToolRules | None = None  # `None`: every caller has all tools
    file: str = field(default="", compare=False)  # name of the file that has it, for messages

    @property
    def server_id(self) -> str:
        """Identifies the server by its name and how it is reached, whatever its other settings."""
        cwd = None if self.cwd is None else str(self.cwd)
        return digest([self.name, self.transport, list(self.command), cwd, self.url])

    @property
    def login_id(self) -> str:
        """Identifies the login at the server: one for each name, so that a server can have two accounts."""
        return digest([self.name, self.url, self.oauth.client_id, self.oauth.grant, *(self.principal or ())])

    @property
    def is_per_principal(self) -> bool:
        """Whether each caller uses it with credentials of their own."""
        return self.oauth.belongs_to == "principal"

    @property
    def exchanges_tokens(self) -> bool:
        """Whether those are exchanged for the callers' tokens."""
        return self.oauth.grant == "token_exchange"

    @property
    def logs_in_callers(self) -> bool:
        """Whether callers log in for that."""
        return self.is_per_principal and not self.exchanges_tokens

    @property
    def can_log_in(self) -> bool:
        """Whether its requests have room for a login: the configuration sends no credentials."""
        has_credentials = (
            any(name.lower() == "authorization" for name in self.headers)
            or bool(self.header_templates)
            or self.headers_helper is not None
            or "@" in urlsplit(self.url).netloc
        )
        return self.transport == "http" and not has_credentials


@dataclass(frozen=True, slots=True)
class AuditSettings:
    file: Path
    retention_days: float = AUDIT_DAYS
    ship_to: Path | None = None  # a file of JSON lines; `None`: records stay in the file
    shipping_key: bytes | None = field(default=None, repr=False)  # by which shipped records name principals


@dataclass(frozen=True, slots=True)
class Config:
    upstreams: tuple[UpstreamConfig, ...]
    argument: Argument = "projectable"  # which tools take it
    listing: Listing = "relaxed"  # the output schema that projectable tools list
    exposure: Exposure = "full"
    pinned: tuple[str, ...] | None = None  # tools that `deferred` lists; `None`: those in use
    disclosure: DisclosureLevel = "enforce"
    execute: ExecuteLevel | None = None  # `None`: `strict` in the exposure `discovery`, else `off`
    inspect: Inspect = "readOnly"  # which tools may run to show an answer
    # Shared with other replicas; if empty, each has its own secret.
    keys: tuple[str, ...] = field(default=(), repr=False)
    replica_url: str = ""  # where other replicas reach this one; empty if they cannot
    state: StateUrl | None = None  # shared with other replicas; `None`: each has its own
    generation: int | None = None  # which of two replicas has the newer configuration; `None`: nobody can tell
    limits: LimitSettings = field(default_factory=LimitSettings)
    max_processes: int | None = None  # of servers over stdio; `None`: as many as the machine has room for
    warnings: bool = False  # of large answers
    keep_results: KeptResults | Literal[False] | None = None  # `None`: only what a host would not show whole
    toon: bool = False  # models of known hosts get arrays of alike objects as TOON; with the extra
    learn: Path | None = None  # folder for learned output fields; `None`: nothing is learned
    meaning: Path | None = None  # a folder with word vectors; `None`: those of the extra, if it is installed
    exports: Path | None = None  # a folder that exists, for whole answers
    experimental: tuple[str, ...] = ()  # drafts that are on
    auth: Auth | None = None  # `None`: every HTTP client is served
    principal: Principal | None = None  # the client over stdio
    audit: AuditSettings | None = None  # `None`: no audit
    savings: Path | Literal[False] | None = None  # file for counters of savings; `None`: that of the command, if any
    version: str = field(default="", compare=False)  # digest of the texts of the file and its policies

    @classmethod
    def from_command(cls, command: Sequence[str], environ: Mapping[str, str] = os.environ) -> Config:
        """One server, with the gateway's whole environment: the user of the command line has set it."""
        if not command or not command[0]:
            raise InvalidConfig("expected the command that starts a server, for example: -- npx -y some-server")
        return cls((UpstreamConfig(COMMAND_LINE_SERVER, "stdio", command=tuple(command), env=dict(environ)),))

    @classmethod
    def from_url(cls, url: str, headers: Mapping[str, str] | None = None) -> Config:
        if not is_url(url):
            raise InvalidConfig("expected a URL that begins with http:// or https://")
        return cls((UpstreamConfig(COMMAND_LINE_SERVER, "http", url=url, headers=headers or {}),))

    def only(self, name: str | None) -> Config:
        """The configuration with just the named server; all of it if `name` is `None`."""
        if name is None:
            return self
        upstreams = tuple(each for each in self.upstreams if each.name == name)
        if not upstreams:
            names = [each.name for each in self.upstreams]
            raise InvalidConfig(f"there is no server {name[:80]!r} in the configuration: {instead(name, names)}")
        return replace(self, upstreams=upstreams)
