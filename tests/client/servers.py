"""Servers that a client is tried on: honest ones, and one that says what it is told to say."""

import louver
from steps.profiles import CANARY, PROFILE, SCHEMA, lowlevel, structured, tool
from tests.fixtures.company import build_server

MODES = {"2025-11-25": "legacy", "2026-07-28": "auto"}
"""How a client opens a connection of each revision."""

DECLARED = {"supported": True}

RECEIPT = {"applied": True, "mode": "include", "fields": ["name"]}


def example(**options):
    """The example company, attached."""
    server = build_server()
    louver.attach(server, **options)
    return server


def plain():
    """The example company as it is."""
    return build_server()


def liar(result, *, output=SCHEMA, exact=None, hint=None):
    """A server that says that it projects, and answers what it is told.

    Args:
        result: What its tool `get_profile` answers; or a function of the arguments.
        output: The output schema that it lists.
        exact: The one that it calls the exact one.
        hint: What else it says of the projection of its tool.
    """
    said = {**DECLARED, **(hint or {}), **({"outputSchema": exact} if exact is not None else {})}
    return lowlevel(get_profile=tool(output, result, meta={"dev.louver/projectionHint": said}))


def answering(value, **receipt):
    """A result with a receipt: that of a request for `name`, but for what is told otherwise."""
    return {**structured(value), "_meta": {"projection": {**RECEIPT, **receipt}}}


__all__ = ["CANARY", "PROFILE", "SCHEMA", "answering", "example", "liar", "lowlevel", "plain", "structured", "tool"]
