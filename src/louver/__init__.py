"""Louver: ask an MCP tool for only the fields you need, and get a schema that matches what came back.

    plan = compile_projection(Projection.include("id", "user.login"), schema)
    louver.attach(server)
    async with louver.Client(server) as client: await client.call_tool("get_user", {"user_id": 7}, include=["name"])

What needs the MCP SDK (`attach`, `hint`, the clients and their results) is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.projection.plan import Plan, compile_projection
from louver.core.projection.request import Projection
from louver.core.schema.relax import relax
from louver.errors import (
    InvalidAnswer,
    InvalidDescription,
    InvalidGuidance,
    InvalidPath,
    InvalidProjection,
    InvalidView,
    LouverError,
    OutputInvalid,
    ProjectionLimit,
    ProjectionRequired,
    ToolFailed,
    UnfitType,
    UnknownField,
    UnknownView,
)

if TYPE_CHECKING:
    from louver.client.client import Client
    from louver.client.result import DryRun, ProjectedResult, Stats
    from louver.client.sync import SyncClient
    from louver.protocol.hint import hint
    from louver.server.attach import attach
    from louver.server.calls.warnings import Warnings
    from louver.server.results.results import KeptResults

__version__ = "0.1.0"

__all__ = [
    "Client",
    "DryRun",
    "InvalidAnswer",
    "InvalidDescription",
    "InvalidGuidance",
    "InvalidPath",
    "InvalidProjection",
    "InvalidView",
    "KeptResults",
    "LouverError",
    "OutputInvalid",
    "Plan",
    "ProjectedResult",
    "Projection",
    "ProjectionLimit",
    "ProjectionRequired",
    "Stats",
    "SyncClient",
    "ToolFailed",
    "UnfitType",
    "UnknownField",
    "UnknownView",
    "Warnings",
    "__version__",
    "attach",
    "compile_projection",
    "hint",
    "relax",
]


def __getattr__(name: str) -> Any:
    if name == "attach":
        from louver.server.attach import attach

        return attach
    if name == "hint":
        from louver.protocol.hint import hint

        return hint
    if name == "KeptResults":
        from louver.server.results.results import KeptResults

        return KeptResults
    if name == "Warnings":
        from louver.server.calls.warnings import Warnings

        return Warnings
    if name == "Client":
        from louver.client.client import Client

        return Client
    if name == "SyncClient":
        from louver.client.sync import SyncClient

        return SyncClient
    if name in ("DryRun", "ProjectedResult", "Stats"):
        from louver.client import result

        return getattr(result, name)
    raise AttributeError(f"module 'louver' has no attribute {name!r}")
