"""TODO search."""
