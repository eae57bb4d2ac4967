"""The checks, a file a group."""
