"""TODO disclosure."""
