"""TODO preview."""
