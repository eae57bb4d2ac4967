"""Field policy in front of one server: what its callers may see of its tools and answers."""
