"""TODO transports."""
