"""A conformance suite for any server: sentences of the specification, tried on the wire.

::

    louver conformance "python server.py"
    louver conformance http://127.0.0.1:8080/mcp --era 2026-07-28 --group projection --json

What is checked stands in `conformance/checks.json`, a check an entry, each with the sentences of
`conformance/requirements.yaml` that it holds a server to. How it is checked stands in `groups/`, a file a group.
Frames are written and read as they are: a client library would strip what is checked.

A target may be hostile. What it sends is bounded in size and in time, and is judged in a process of its own where
judging could take for ever (`validator_process.py`). No message holds a value of what a tool answered.
"""
