"""What MCP servers cost in a host, what Louver would save, and how it is put in front of them."""
