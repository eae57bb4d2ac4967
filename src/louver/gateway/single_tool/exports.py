"""Where the action `export` puts a whole answer, so that a model need not read it.

    {"resource": "louver://results/Zk3x...", "expiresInSeconds": 600, "bytes": 45200, "fields": [...], "NOTE": "..."}
    {"path": "/exports/tracker__list_issues-5f0c2b.json", "bytes": 45200, "fields": [...], "NOTE": "..."}

A file is for the user, on the machine of the gateway; a resource is for the model, in parts. Source: 001 pattern 5.
"""

from __future__ import annotations

import os
import re
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from louver.concurrency.offload import in_thread
from louver.core.preview.preview import fitted, preview
from louver.errors import ToolFailed

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server.context import ServerRequestContext

    from louver.core.json import Json
    from louver.server.results.results import About, Results

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_AT_THE_ENDS: Final = "._-"
"""Characters that a file's name neither begins nor ends with: it would be hidden, or taken for an option."""

_SUFFIX: Final = ".part"
"""Ends the name of a file that is being written."""


class Exports(Protocol):
    """A place for whole answers."""

    async def put(self, text: str, about: About, ctx: ServerRequestContext[Any, Any]) -> dict[str, Any]:
        """Put the JSON of an answer there; what is told of it.

        Raises:
            ToolFailed: It cannot be put there.
        """
        ...


class ExportedResults:
    """Kept results, of which parts can be read.

    Args:
        results: Keeps them.
    """

    def __init__(self, results: Results) -> None:
        self._results = results

    async def put(self, text: str, about: About, ctx: ServerRequestContext[Any, Any]) -> dict[str, Any]:
        """Keep it."""
        uri = await self._results.keep(text, about, ctx)
        if uri is None:
            raise ToolFailed(f"the answer of {about.tool} is too large to be kept", tool=about.tool)
        note = f"Read parts of it: {uri}?fields=PATH,PATH or {uri}?page=1. The tool does not run again."
        return {"resource": uri, "expiresInSeconds": round(self._results.options.seconds), "NOTE": note}


class ExportedFiles:
    """Files in a folder.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, text: str, about: About, ctx: ServerRequestContext[Any, Any]) -> dict[str, Any]:
        """Write it to a file of its own, which nobody but our user can read."""
        name = _NO_NAME.sub("_", about.tool)[:100].strip(_AT_THE_ENDS) or "export"
        path = self._folder / f"{name}-{secrets.token_hex(8)}.json"
        try:
            await in_thread(partial(_write, path, text))
        except OSError as error:
            raise ToolFailed(f"the file cannot be written: {error.strerror}", tool=about.tool) from None
        note = "The file is written on the machine of the gateway, for its user: you may not be able to read it."
        return {"path": str(path), "NOTE": note}


def _write(path: Path, text: str) -> None:
    """Write a file that is there whole, or not at all."""
    part = path.with_name(path.name + _SUFFIX)
    number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(number, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def told(value: Json, size: int) -> dict[str, Any]:
    """What is told of an exported value beside its place."""
    return {"bytes": size, **fitted(preview(value, size))}
