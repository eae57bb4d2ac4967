"""The middleware that `louver.attach` adds to one MCP server, and its parts."""
