"""What is added to one MCP server: one middleware, one file a concern."""
