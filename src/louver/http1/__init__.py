"""TODO http1."""
