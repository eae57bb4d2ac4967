"""A conformance suite for any MCP server: each sentence of the specification, checked on the wire.

`checks.json` names the checks and the sentences of `requirements.yaml` that each holds a server to; `groups/` has
their functions, a file a group. The suite writes and reads messages itself: client libraries strip what is checked.

A target may be hostile. Messages are bounded in size and time, schemas are validated in a process that can be killed
(`validator_process.py`), and no output of the suite holds a value of a tool's answer.
"""

__version__ = "0.1.0"
