"""TODO tools."""
