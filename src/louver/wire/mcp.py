"""Names of the Model Context Protocol: its revisions, the keys of `_meta`, and methods."""

from __future__ import annotations

from typing import Final

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions that begin with `initialize`, the oldest first."""

MODERN_VERSIONS: Final = ("2026-07-28",)
"""Revisions without sessions: each request describes its client."""

LATEST_HANDSHAKE_VERSION: Final = HANDSHAKE_VERSIONS[-1]
LATEST_MODERN_VERSION: Final = MODERN_VERSIONS[-1]

PROTOCOL_VERSION_META_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_META_KEY: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_META_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_META_KEY: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO_META_KEY: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID_META_KEY: Final = "io.modelcontextprotocol/subscriptionId"

CACHEABLE_METHODS: Final = frozenset(
    {"prompts/list", "resources/list", "resources/read", "resources/templates/list", "server/discover", "tools/list"}
)
"""Methods whose results have `ttlMs` and `cacheScope` in 2026-07-28."""

INPUT_REQUIRED_METHODS: Final = frozenset({"prompts/get", "resources/read", "tools/call"})
"""Methods whose results may ask for input in 2026-07-28."""

INPUT_REQUEST_METHODS: Final = frozenset({"elicitation/create", "roots/list", "sampling/createMessage"})
"""Methods by which such a result asks for input."""

CLIENT_METHODS: Final = INPUT_REQUEST_METHODS | {"ping", "tasks/cancel", "tasks/get", "tasks/list", "tasks/result"}
"""Methods of the requests that a client answers, in the revisions with a handshake."""

NOTIFICATION_PREFIX: Final = "notifications/"
"""With it the methods of all notifications of MCP begin, and those of no request."""

TOOLS_CHANGED: Final = "notifications/tools/list_changed"
PROMPTS_CHANGED: Final = "notifications/prompts/list_changed"
RESOURCES_CHANGED: Final = "notifications/resources/list_changed"
LIST_CHANGED_METHODS: Final = frozenset((TOOLS_CHANGED, PROMPTS_CHANGED, RESOURCES_CHANGED))
RESOURCE_UPDATED: Final = "notifications/resources/updated"
SUBSCRIPTION_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

CONNECTION_NOTIFICATIONS: Final = ("notifications/cancelled", "notifications/initialized")
"""Notifications about a connection itself: none is forwarded."""

VERSION_HEADER: Final = "mcp-protocol-version"
METHOD_HEADER: Final = "mcp-method"
NAME_HEADER: Final = "mcp-name"
PARAM_HEADER_PREFIX: Final = "mcp-param-"
SESSION_HEADER: Final = "mcp-session-id"
LAST_EVENT_HEADER: Final = "last-event-id"
"""HTTP headers, in lower case."""

TRACE_KEYS: Final = ("traceparent", "tracestate")
"""W3C's trace context: keys of `_meta`, and HTTP headers."""

NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose header `Mcp-Name` repeats a member of the params."""
