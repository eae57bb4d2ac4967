"""TODO projection."""
