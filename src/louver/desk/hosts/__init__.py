"""The files of MCP hosts: where they are, what they hold, and how Louver takes the place of servers in them."""
