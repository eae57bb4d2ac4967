"""The gateway: connections to upstream servers, and their answers with projection.

uvicorn.run(create_app("mcp.json"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from louver.gateway.app import create_app

__all__ = ["create_app"]


if not TYPE_CHECKING:  # to a type checker a module with it has every name

    def __getattr__(name: str) -> Any:
        # Imported on first use: over stdio nothing of HTTP is needed.
        if name == "create_app":
            from louver.gateway.app import create_app

            return create_app
        raise AttributeError(f"module 'louver.gateway' has no attribute {name!r}")
