"""TODO shaping."""
