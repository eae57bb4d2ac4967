"""TODO paths."""
