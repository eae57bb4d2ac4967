"""Field policy in front of one server: what its callers may see of tools, answers and messages."""
