"""Louver: ask an MCP tool for only the fields you need, and get a schema that matches what came back.

    plan = compile_projection(Projection(include=["id", "user.login"]), schema)
    louver.attach(server)
    async with louver.Client(server) as client: await client.call_tool("get_user", {"user_id": 7}, include=["name"])

Errors are in `louver.errors`. All but these is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from louver.errors import LouverError

if TYPE_CHECKING:
    from louver.catalogue.search.ranking import Ranking
    from louver.client.call import ProjectedResult
    from louver.client.client import Client
    from louver.core.projection.plan import Plan, compile_projection
    from louver.core.projection.request import Projection
    from louver.core.schema.relax import relax
    from louver.gateway.gateway import Gateway
    from louver.sdk.attach import attach
    from louver.steps.results.results import KeptResults
    from louver.wire.hint import hint

__version__ = "0.1.0"

__all__ = [
    "Client",
    "Gateway",
    "KeptResults",
    "LouverError",
    "Plan",
    "ProjectedResult",
    "Projection",
    "Ranking",
    "__version__",
    "attach",
    "compile_projection",
    "hint",
    "relax",
]

_LAZY: Final = {
    "attach": "louver.sdk.attach",
    "Client": "louver.client.client",
    "compile_projection": "louver.core.projection.plan",
    "Gateway": "louver.gateway.gateway",
    "hint": "louver.wire.hint",
    "KeptResults": "louver.steps.results.results",
    "Plan": "louver.core.projection.plan",
    "ProjectedResult": "louver.client.call",
    "Projection": "louver.core.projection.request",
    "Ranking": "louver.catalogue.search.ranking",
    "relax": "louver.core.schema.relax",
}


if not TYPE_CHECKING:  # to a type checker a module with it has every name

    def __getattr__(name: str) -> Any:
        if (module := _LAZY.get(name)) is not None:
            return getattr(import_module(module), name)
        raise AttributeError(f"module 'louver' has no attribute {name!r}")
