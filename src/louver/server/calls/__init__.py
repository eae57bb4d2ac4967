"""TODO calls."""
