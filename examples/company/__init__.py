"""The example company: an ordinary MCP server over an SQLite database, which knows nothing of field projection."""

from examples.company.server import build_server

__all__ = ["build_server"]
