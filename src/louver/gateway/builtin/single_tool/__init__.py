"""The single tool `gateway` of 001: one schema in `tools/list`, with actions to list, search, and call all tools."""
