"""The requests of clients: which revision has which method, the form of its params, and the query of `tools/list`.

    check_request("tools/call", "2025-11-25", {"name": 7})    -32602 Invalid request parameters
    check_request("ping", "2026-07-28", {})                   -32601 Method not found

Members that no revision names pass: extensions use them. Source of the query: SEP-1821; its bounds are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal
from unicodedata import category

import msgspec
from msgspec import Struct, field

from louver.errors import InvalidQuery
from louver.limits import MAX_QUERY_CHARACTERS
from louver.wire.jsonrpc.errors import METHOD_NOT_FOUND, JsonRpcError, invalid_params
from louver.wire.mcp import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    MODERN_VERSIONS,
    PROTOCOL_VERSION_META_KEY,
)
from louver.wire.names import QUERY

if TYPE_CHECKING:
    from collections.abc import Mapping


LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
_Object = dict[str, Any]


class _Icon(Struct):
    src: str
    mimeType: str | None = None
    sizes: list[str] | None = None
    theme: Literal["light", "dark"] | None = None


class _Implementation(Struct):
    name: str
    version: str
    title: str | None = None
    description: str | None = None
    websiteUrl: str | None = None
    icons: list[_Icon] | None = None


class _Elicitation(Struct):
    form: _Object | None = None
    url: _Object | None = None


class _Sampling(Struct):
    context: _Object | None = None
    tools: _Object | None = None


class _Capabilities(Struct):
    elicitation: _Elicitation | None = None
    experimental: dict[str, _Object] | None = None
    extensions: dict[str, _Object] | None = None
    roots: _Object | None = None
    sampling: _Sampling | None = None
    tasks: _Object | None = None


class _Meta(Struct):
    progressToken: int | str | None = None


class _ModernMeta(Struct):
    version: str = field(name=PROTOCOL_VERSION_META_KEY)
    capabilities: _Capabilities = field(name=CLIENT_CAPABILITIES_META_KEY)
    info: _Implementation | None = field(name=CLIENT_INFO_META_KEY, default=None)
    level: LogLevel | None = field(name=LOG_LEVEL_META_KEY, default=None)
    progressToken: int | str | None = None


class _Initialize(Struct):
    protocolVersion: str
    capabilities: _Capabilities
    clientInfo: _Implementation


class _Page(Struct):
    cursor: str | None = None


class _Named(Struct):
    name: str


class _Task(Struct):
    ttl: int | None = None


class _Call(_Named):
    arguments: _Object | None = None
    task: _Task | None = None


class _Prompt(_Named):
    arguments: dict[str, str] | None = None


class _Resumable(_Named):
    inputResponses: dict[str, _Object] | None = None
    requestState: str | None = None


class _ModernCall(_Resumable):
    arguments: _Object | None = None


class _ModernPrompt(_Resumable):
    arguments: dict[str, str] | None = None


class _Resource(Struct):
    uri: str


class _Level(Struct):
    level: LogLevel


class _PromptReference(Struct, tag_field="type", tag="ref/prompt"):
    name: str
    title: str | None = None


class _ResourceReference(Struct, tag_field="type", tag="ref/resource"):
    uri: str


class _Context(Struct):
    arguments: dict[str, str] | None = None


class _CompletedArgument(Struct):
    name: str
    value: str


class _Completion(Struct):
    argument: _CompletedArgument
    ref: _PromptReference | _ResourceReference
    context: _Context | None = None


class _Filter(Struct):
    toolsListChanged: bool | None = None
    promptsListChanged: bool | None = None
    resourcesListChanged: bool | None = None
    resourceSubscriptions: list[str] | None = None


class _Listen(Struct):
    notifications: _Filter


class _Nothing(Struct):
    pass


_EVERY: Final = {
    "tools/list": _Page,
    "prompts/list": _Page,
    "resources/list": _Page,
    "resources/templates/list": _Page,
    "resources/read": _Resource,
    "completion/complete": _Completion,
}
_HANDSHAKE: Final = _EVERY | {
    "initialize": _Initialize,
    "ping": _Nothing,
    "tools/call": _Call,
    "prompts/get": _Prompt,
    "logging/setLevel": _Level,
    "resources/subscribe": _Resource,
    "resources/unsubscribe": _Resource,
}
_MODERN: Final = _EVERY | {
    "server/discover": _Nothing,
    "tools/call": _ModernCall,
    "prompts/get": _ModernPrompt,
    "subscriptions/listen": _Listen,
}
METHODS: Final = _HANDSHAKE.keys() | _MODERN.keys()
"""All methods of the specification."""


def check_request(method: str, version: str, params: Mapping[str, Any]) -> None:
    """Raise JsonRpcError if a request is not valid in its revision; methods of no specification pass."""
    is_modern = version in MODERN_VERSIONS
    form = (_MODERN if is_modern else _HANDSHAKE).get(method)
    if form is None:
        if method in METHODS:
            raise JsonRpcError(METHOD_NOT_FOUND, "Method not found", method)
        return
    try:
        msgspec.convert(params, form)
        if is_modern:
            msgspec.convert(params.get("_meta"), _ModernMeta)
        else:
            msgspec.convert(params.get("_meta"), _Meta | None)
    except msgspec.ValidationError:
        # Its text would quote the request.
        raise invalid_params() from None


# Unicode categories: control characters, and halves of a surrogate pair.
_NO_TEXT = ("Cc", "Cs")
_WHITE = "\n\r\t"


def queried(params: Mapping[str, Any]) -> str | None:
    """The query in the params of `tools/list`; `None` if there is none, or it is `null`, empty or white space."""
    query = params.get(QUERY)
    if query is None:
        return None
    if not isinstance(query, str):
        raise InvalidQuery("a query is a string of plain words, for example 'create issue'")
    if not query.strip():
        return None
    if len(query) > MAX_QUERY_CHARACTERS:
        message = f"a query has at most {MAX_QUERY_CHARACTERS} characters, not {len(query)}: say it in a few words"
        raise InvalidQuery(message, limit=MAX_QUERY_CHARACTERS)
    offset = next((at for at, sign in enumerate(query) if sign not in _WHITE and category(sign) in _NO_TEXT), None)
    if offset is not None:
        raise InvalidQuery(f"a query is plain words: there is a control character at offset {offset}", offset=offset)
    return query
