"""Middleware for a server of the MCP SDK, one class a feature; `louver.attach` puts all of it before one server.

    server = MCPServer("shop", middleware=[ProjectionMiddleware(views="views"), SearchMiddleware()])

Their order in the list does not matter. An instance belongs to one server.
"""

from louver.catalogue.policy.principal import Principal
from louver.server.middleware import (
    DisclosureMiddleware,
    PolicyMiddleware,
    ProjectionMiddleware,
    SearchMiddleware,
)

__all__ = ["DisclosureMiddleware", "PolicyMiddleware", "Principal", "ProjectionMiddleware", "SearchMiddleware"]
