"""Stock MCP clients, each in its own process, against a server of ours."""
