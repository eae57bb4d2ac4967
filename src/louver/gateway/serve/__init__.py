"""TODO serve."""
