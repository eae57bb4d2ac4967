"""Reads the configuration file into values; an error names the file and line. Paths are relative to the file.

Variables and files of secrets are expanded in `command`, `args`, `env`, `cwd`, `url`, `headers`, `keys`, `replicaUrl`,
`state`, `pseudonymKey`, `policy`, `savings`, the texts of `auth`, `oauth`, `principal` and `audit`, and the names of
folders. A disabled server is skipped: its variables need not be set, and its settings need not fit the schema.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from louver.catalogue.files.line_numbers import nearest_line
from louver.catalogue.files.open_regular import trusted_or_pipe
from louver.catalogue.files.stamp import stamp_of
from louver.catalogue.guidance import GuidanceRule
from louver.catalogue.learned import state_folder
from louver.catalogue.search.meaning_extra import word_vectors
from louver.core.json import digest
from louver.core.secret_key import MIN_KEY_BYTES
from louver.errors import InvalidConfig, InvalidGuidance, InvalidInput, LouverError
from louver.gateway.config.auth import DISCOVERED, OAuthSettings, Tokens
from louver.gateway.config.env import UnresolvedVariable, expand_variables, split_files
from louver.gateway.config.model import Config, HeadersHelper, UpstreamConfig
from louver.gateway.config.read_auth import read_audit, read_auth, read_oauth, read_principal
from louver.gateway.config.secret_file import UnreadableSecret, read_secret
from louver.gateway.config.validate import SERVERS, check, parse_json, server_prefix
from louver.policy.policy import Policy
from louver.policy.tool_rules import ToolRules
from louver.shipped import with_extra
from louver.steps.call_limits import LimitSettings
from louver.steps.results.results import KeptResults
from louver.steps.shared_state import StateUrl
from louver.wire.uris import is_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from louver.catalogue.files.folder import Opener
    from louver.catalogue.files.line_numbers import Place
    from louver.catalogue.files.stamp import Stamp
    from louver.gateway.config.auth import Auth
    from louver.gateway.config.model import HeaderTemplate

_DICT: Final = "<dict>"  # stands for the file in errors
_HALF_PAIR: Final = re.compile(r"[\ud800-\udfff]")


def as_config(config: Config | Mapping[str, Any] | str | PathLike[str]) -> Config:
    """The configuration itself, that of a file, or that of the content of one, with paths relative to this folder."""
    if isinstance(config, Config):
        return config
    if isinstance(config, str | PathLike):
        return read_config(Path(config))
    try:
        text = json.dumps(config, default=os.fspath, indent=2)
    except TypeError:
        raise InvalidConfig("a configuration is JSON: texts, numbers, lists and dicts, or paths") from None
    return _config_of(text, Path(_DICT), os.environ, {})


def read_config(
    path: Path,
    environ: Mapping[str, str] = os.environ,
    opener: Opener = trusted_or_pipe,
    *,
    stamps: dict[Path, Stamp | None] | None = None,  # gets that of each file that is read, from before
) -> Config:
    stamps = {} if stamps is None else stamps
    stamps[path] = stamp_of(path)
    return _config_of(read_text(path, opener), path, environ, stamps)


def _config_of(text: str, path: Path, environ: Mapping[str, str], stamps: dict[Path, Stamp | None]) -> Config:
    content = parse_json(text, str(path))
    check(content, text, str(path))
    source = ConfigSource(path, text, environ, stamps)
    settings = dict(content.get("louver", {}))
    pseudonyms = source.secret(("louver", "pseudonymKey"), settings.pop("pseudonymKey", ""))
    upstreams = [
        source.upstream(name, server, pseudonyms)
        for name, server in content["mcpServers"].items()
        if not server.get("disabled", False)
    ]
    keys = source.keys(settings.pop("keys", []))
    auth, principal, audit = (settings.pop(name, None) for name in ("auth", "principal", "audit"))
    if audit is None:
        source.check_has_no_policy(upstreams)
    clients_auth = None if auth is None else read_auth(auth, source)
    source.check_can_return(upstreams, clients_auth)
    source.check_can_exchange(upstreams, clients_auth)
    return Config(
        tuple(upstreams),
        pinned=None if (pinned := settings.pop("pinned", None)) is None else tuple(pinned),
        keys=keys,
        replica_url=source.replica_url(settings.pop("replicaUrl", None)),
        state=source.state(settings.pop("state", None)),
        max_processes=settings.pop("maxProcesses", None),
        limits=LimitSettings(settings.pop("callsPerMinute", None), settings.pop("toolsPerMinute", {})),
        keep_results=_kept_results(settings.pop("keepResults", None)),
        toon=source.toon(settings.pop("toon", False)),
        learn=source.learn(settings.pop("learn", False)),
        meaning=source.meaning(settings.pop("meaning", None)),
        exports=source.folder(("louver", "exports"), settings.pop("exports", None)),
        experimental=tuple(settings.pop("experimental", ())),
        auth=clients_auth,
        principal=None if principal is None else read_principal(principal, source),
        audit=None if audit is None else read_audit(audit, source, pseudonyms),
        savings=source.savings(settings.pop("savings", None)),
        version=digest([text, *(each.policy.text_digest for each in upstreams if each.policy is not None)]),
        **settings,
    )


def _kept_results(written: bool | int | None) -> KeptResults | Literal[False] | None:
    if written is None or written is False:
        return written
    return KeptResults() if written is True else KeptResults(over_bytes=written)


def _is_text(parts: HeaderTemplate) -> bool:
    return all(isinstance(part, str) for part in parts)


def read_text(path: Path, opener: Opener) -> str:
    """The text of a UTF-8 file, without a byte order mark."""
    try:
        with open(path, encoding="utf-8-sig", opener=opener) as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidConfig(f"the configuration cannot be read: {reason}", file=str(path)) from None


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """A file that fits the schema, and its environment."""

    path: Path
    text: str
    environ: Mapping[str, str]
    stamps: dict[Path, Stamp | None]  # of each file that is read, from before

    def upstream(self, name: str, server: dict[str, Any], pseudonyms: bytes) -> UpstreamConfig:
        at = (*SERVERS, name)
        connection = self._http(at, server) if "url" in server else self._stdio(at, server)
        settings = server.get("louver", {})
        found = UpstreamConfig(
            name,
            **connection,
            oauth=self._oauth((*at, "louver", "oauth"), server),
            views=self.folder((*at, "louver", "views"), settings.get("views")),
            schemas=self._schemas((*at, "louver", "schemas"), settings),
            ready_views=settings.get("readyViews", False),
            descriptions=self.folder((*at, "louver", "descriptions"), settings.get("descriptions")),
            isolation=settings.get("isolation"),
            on_change=settings.get("onChange", "warn"),
            timeout_seconds=settings.get("timeoutSeconds", 30),
            guidance=self._rules((*at, "louver", "guidance"), settings.get("guidance", [])),
            policy=self._policy((*at, "louver", "policy"), settings.get("policy"), pseudonyms),
            tools=self._tools((*at, "louver", "tools"), settings.get("tools")),
            file="" if self.path == Path(_DICT) else self.path.name,
        )
        if "oauth" in settings and not found.can_log_in:
            problem = "'oauth' goes with Streamable HTTP, and not with credentials of the configuration"
            raise self.error_at((*at, "louver", "oauth"), f"{problem}: 'headersHelper', or a secret in headers or URL")
        return found

    def keys(self, written: list[str]) -> tuple[str, ...]:
        places = [("louver", "keys", number) for number in range(len(written))]
        return tuple(self.secret(place, key).decode() for place, key in zip(places, written, strict=True))

    def secret(self, place: Place, written: str) -> bytes:
        """A secret; empty if none is set."""
        text = self.string(place, written)
        if _HALF_PAIR.search(text):
            # A variable's bytes that are not UTF-8 are such characters, too.
            raise self.error_at(place, f"{place[1]!r}: expected a secret in UTF-8")
        key = text.encode()
        if written and len(key) < MIN_KEY_BYTES:
            raise self.error_at(place, f"{place[1]!r}: expected at least {MIN_KEY_BYTES} bytes of secret randomness")
        return key

    def state(self, written: str | None) -> StateUrl | None:
        """The store that replicas share."""
        if written is None:
            return None
        place = ("louver", "state")
        try:
            return StateUrl.read(self.string(place, written))
        except LouverError as error:
            raise self.error_at(place, f"'state': {error.message}") from None

    def learn(self, written: bool | str) -> Path | None:
        """The folder for learned fields, which need not exist yet."""
        if isinstance(written, str):
            return self.path.parent / self.string(("louver", "learn"), written)
        return state_folder(self.environ) if written else None

    def savings(self, written: str | Literal[False] | None) -> Path | Literal[False] | None:
        return self.file(("louver", "savings"), written) if isinstance(written, str) else written

    def check_has_no_policy(self, upstreams: Sequence[UpstreamConfig]) -> None:
        """Raise if there is a policy, without an audit."""
        policed_server = next((each.name for each in upstreams if each.policy is not None), None)
        if policed_server is not None:
            message = "'policy' needs 'audit' under 'louver' at the top: who gets which fields is written down"
            raise self.error_at((*SERVERS, policed_server, "louver", "policy"), message)

    def check_can_return(self, upstreams: Sequence[UpstreamConfig], auth: Auth | None) -> None:
        """Raise if callers log in for themselves, but it is not known who they are, or where their browsers return."""
        own = next((each.name for each in upstreams if each.logs_in_callers), None)
        if own is not None and (auth is None or auth.public_url is None):
            message = "'for': principals need 'auth' under 'louver' at the top, with a 'resource' that ends with /mcp"
            raise self.error_at((*SERVERS, own, "louver", "oauth", "for"), message)

    def check_can_exchange(self, upstreams: Sequence[UpstreamConfig], auth: Auth | None) -> None:
        """Raise if callers' tokens are exchanged, but they bring none of an issuer."""
        exchanging = next((each.name for each in upstreams if each.exchanges_tokens), None)
        if exchanging is not None and (auth is None or isinstance(auth.method, Tokens)):
            message = "'grant': 'token_exchange' needs 'auth' under 'louver' at the top, with 'jwks'"
            problem = f"{message}: callers bring tokens of an issuer then"
            raise self.error_at((*SERVERS, exchanging, "louver", "oauth", "grant"), problem)

    def _schemas(self, place: Place, settings: dict[str, Any]) -> Path | None:
        if "schemas" in settings and "policy" in settings:
            # The listed schema, and the answers that fit it, would depend on the caller.
            message = "'schemas' does not go with 'policy', by which the answers of these tools are pruned as text"
            raise self.error_at(place, message)
        return self.folder(place, settings.get("schemas"))

    def _policy(self, place: Place, written: str | None, pseudonyms: bytes) -> Policy | None:
        if written is None:
            return None
        file = self.path.parent / self.string(place, written)
        self.stamps.setdefault(file, stamp_of(file))
        return Policy.read(file, pseudonyms)

    def _tools(self, place: Place, written: Any) -> ToolRules | None:
        if written is None:
            return None
        try:
            return ToolRules.read(written)
        except InvalidConfig as error:
            raise self.error_at(place, f"'tools': {error.message}") from None

    def _rules(self, at: Place, written: list[dict[str, Any]]) -> tuple[GuidanceRule, ...]:
        rules: list[GuidanceRule] = []
        for number, rule in enumerate(written):
            try:
                rules.append(GuidanceRule.read(rule))
            except InvalidGuidance as error:
                raise self.error_at((*at, number, "when"), error.message) from None
        return tuple(rules)

    def _stdio(self, at: Place, server: dict[str, Any]) -> dict[str, Any]:
        args = [self.string((*at, "args", n), arg) for n, arg in enumerate(server.get("args", []))]
        command = self.string((*at, "command"), server["command"])
        if not command:
            raise self.error_at((*at, "command"), "'command': expected a command")
        cwd = server.get("cwd")
        return {
            "transport": "stdio",
            "command": (command, *args),
            "env": self._strings((*at, "env"), server.get("env", {})),
            "cwd": None if cwd is None else self.path.parent / self.string((*at, "cwd"), cwd),
        }

    def _http(self, at: Place, server: dict[str, Any]) -> dict[str, Any]:
        url = self.string((*at, "url"), server["url"])
        if not is_url(url):
            raise self.error_at((*at, "url"), "'url': expected a URL that begins with http:// or https://")
        templates = {
            name: tuple(self._template((*at, "headers", name), written))
            for name, written in server.get("headers", {}).items()
        }
        return {
            "transport": "http",
            "url": url,
            "headers": {name: "".join(map(str, parts)) for name, parts in templates.items() if _is_text(parts)},
            "header_templates": {name: parts for name, parts in templates.items() if not _is_text(parts)},
            "headers_helper": self._helper(at, server.get("headersHelper"), url),
        }

    def _template(self, place: Place, written: str) -> Iterator[str | Path]:
        """The texts of a header, with the files between them."""
        for text, file in split_files(written):
            value = self.string(place, text)
            if not (value.isascii() and value.isprintable()):
                raise self.error_at(place, f"{place[-1]!r}: expected printable ASCII, in one line")
            yield value
            if file is not None:
                yield self._secret_file(file)

    def _helper(self, at: Place, written: str | None, url: str) -> HeadersHelper | None:
        if written is None:
            return None
        place = (*at, "headersHelper")
        try:
            command = tuple(self.string(place, word) for word in shlex.split(written))
        except ValueError:
            raise self.error_at(place, "'headersHelper': a quote is not closed") from None
        if not command:
            raise self.error_at(place, "'headersHelper': expected a command")
        # The names that helpers for Claude Code read.
        env = {"CLAUDE_CODE_MCP_SERVER_NAME": str(at[-1]), "CLAUDE_CODE_MCP_SERVER_URL": url}
        return HeadersHelper(command, self.path.parent.absolute(), env)

    def _oauth(self, place: Place, server: dict[str, Any]) -> OAuthSettings:
        written = server.get("louver", {}).get("oauth")
        if written is None:
            return DISCOVERED
        if "url" not in server:
            raise self.error_at(place, "'oauth' goes with 'url'")
        if any(name.lower() == "authorization" for name in server.get("headers", {})):
            raise self.error_at(place, "'oauth' does not go with the header 'Authorization', which it sends itself")
        return read_oauth(written, place, self)

    def replica_url(self, written: str | None) -> str:
        if written is None:
            return ""
        url = self.string(("louver", "replicaUrl"), written)
        if not is_url(url) or urlsplit(url).path.strip("/") == "":
            raise self.error_at(("louver", "replicaUrl"), "'replicaUrl': expected a URL, as http://10.0.0.7:8080/mcp")
        return url

    def folder(self, place: Place, written: str | None) -> Path | None:
        if written is None:
            return None
        found = self.path.parent / self.string(place, written)
        if not os.path.isdir(found):
            raise self._no_folder(place, written, written)
        return found

    def meaning(self, written: str | None) -> Path | None:
        """A folder with word vectors."""
        place = ("louver", "meaning")
        folder = self.folder(place, written)
        if folder is None:
            return None
        try:
            word_vectors(folder)
        except InvalidInput as error:
            raise self.error_at(place, f"'meaning': {error.message}") from None
        return folder

    def toon(self, written: bool) -> bool:
        """Whether answers may be TOON; the library is imported here, since that takes longer than an answer may."""
        if written:
            try:
                import_module("toon_format")
            except ModuleNotFoundError:
                problem = f"'toon': answers as TOON need the extra 'toon': {with_extra('toon')}"
                raise self.error_at(("louver", "toon"), problem) from None
        return written

    def _strings(self, at: Place, written: dict[str, str]) -> dict[str, str]:
        return {key: self.string((*at, key), value) for key, value in written.items()}

    def file(self, place: Place, written: str) -> Path:
        """A file in a folder that exists."""
        found = self.path.parent / self.string(place, written)
        if not os.path.isdir(found.parent):
            raise self._no_folder(place, written, str(PurePath(written).parent))
        return found

    def _no_folder(self, place: Place, written: str, folder: str) -> InvalidConfig:
        # The value of a variable is not shown.
        displayed = "" if self.string(place, written) != written else f": {folder!r}"
        return self.error_at(place, f"{place[-1]!r}: there is no such folder{displayed}")

    def string(self, place: Place, written: str) -> str:
        """A setting with its variables and files expanded."""
        key, value = _key(place), ""
        for text, file in split_files(written):
            try:
                value += expand_variables(text, self.environ)
            except UnresolvedVariable as error:
                raise self.error_at(place, str(error)) from None
            if file is not None:
                value += self._secret(place, self._secret_file(file))
        if "\0" in value:
            raise self.error_at(place, f"{key!r}: expected a text without the character U+0000")
        if _HALF_PAIR.search(written):
            raise self.error_at(place, f"{key!r}: expected a text without half a surrogate pair")
        return value

    def _secret_file(self, written: str) -> Path:
        return self.path.parent / os.path.expanduser(written)

    def _secret(self, place: Place, file: Path) -> str:
        self.stamps.setdefault(file, stamp_of(file))
        try:
            return read_secret(file)
        except UnreadableSecret as error:
            problem = f"{_key(place)!r}: the file {str(file)!r} cannot be read: {error}"
            raise self.error_at(place, problem) from None

    def error_at(self, place: Place, message: str) -> InvalidConfig:
        return InvalidConfig(server_prefix(place) + message, file=str(self.path), line=nearest_line(self.text, place))


def _key(place: Place) -> str:
    return next(name for name in reversed(place) if isinstance(name, str))
