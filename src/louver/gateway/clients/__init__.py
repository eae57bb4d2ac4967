"""TODO clients."""
