"""Louver as middleware of a server of the MCP SDK; `louver.attach` puts it before a server from outside.

server = MCPServer("shop", middleware=[LouverMiddleware(views="views", search=True)])
"""

from louver.policy.principal import Principal
from louver.sdk.middleware import FieldPolicy, LouverMiddleware

__all__ = ["FieldPolicy", "LouverMiddleware", "Principal"]
