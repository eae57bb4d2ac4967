"""The client. A call passes through `call` (its request), `tools`, `wire`, `answer` (the checks) and `typed`."""
