"""The documentation, held to what the software does."""
