"""TODO middleware."""
