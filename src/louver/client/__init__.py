"""The client. A call passes through `request`, `tools`, `wire`, `answer` (the checks) and `typed`."""
