"""The functions of the checks, a file a group."""
