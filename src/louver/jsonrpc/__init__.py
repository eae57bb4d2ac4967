"""TODO jsonrpc."""
