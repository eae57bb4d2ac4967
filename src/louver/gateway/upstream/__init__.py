"""TODO upstream."""
