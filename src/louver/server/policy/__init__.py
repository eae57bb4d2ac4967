"""TODO policy."""
