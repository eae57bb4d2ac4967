"""The example server: an invented company, kept in SQLite and served over MCP.

It knows nothing of field projection. It is an ordinary MCP server with answers of a
realistic size, which makes it the thing to attach Louver to, to measure, and to test with::

    from examples.company import build_server

    build_server().run()

Importing builds nothing: the database is made when a tool first asks it something.
"""

from examples.company.server import build_server

__all__ = ["build_server"]
