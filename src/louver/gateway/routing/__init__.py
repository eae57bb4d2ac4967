"""TODO routing."""
