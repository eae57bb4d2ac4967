"""Targets of the action `export`, which stores a whole result instead of returning it. Source: 001 pattern 5.

    {"resource": "louver://results/Zk3x...", "expiresInSeconds": 600, "bytes": 45200, "fields": [...], "NOTE": "..."}
    {"path": "/exports/tracker__list_issues-5f0c2b.json", "bytes": 45200, "fields": [...], "NOTE": "..."}

A model reads a resource in parts; a file is for the user of the gateway's machine.
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

    from louver.core.json import Json
    from louver.steps.request import Request
    from louver.steps.results.results import ResultInfo, Results

_UNSAFE_CHARACTERS: Final = re.compile(r"[^A-Za-z0-9_.-]+")
# Stripped from a file name: with one of these first, a file is hidden or looks like an option.
_STRIPPED: Final = "._-"
_SUFFIX: Final = ".part"  # of a file that is being written


class Exports(Protocol):
    async def put(self, text: str, about: ResultInfo, request: Request) -> dict[str, Any]:
        """Store a result's JSON and return where it is; raise `ToolFailed` if that is impossible."""
        ...


class ResultExports:
    """Stores exports as kept results."""

    def __init__(self, results: Results) -> None:
        self._results = results

    async def put(self, text: str, about: ResultInfo, request: Request) -> dict[str, Any]:
        uri = await self._results.keep(text, about, request)
        if uri is None:
            problem = "it is too large, or the store does not take it"
            raise ToolFailed(f"the answer of {about.tool} cannot be kept: {problem}", tool=about.tool)
        note = f"Read parts of it: {uri}?fields=PATH,PATH or {uri}?page=1. The tool does not run again."
        return {"resource": uri, "expiresInSeconds": round(self._results.options.seconds), "NOTE": note}


class FileExports:
    """Stores exports as files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, text: str, about: ResultInfo, request: Request) -> dict[str, Any]:
        name = _UNSAFE_CHARACTERS.sub("_", about.tool)[:100].strip(_STRIPPED) or "export"
        path = self._folder / f"{name}-{secrets.token_hex(8)}.json"
        try:
            await in_thread(partial(_write, path, text))
        except OSError as error:
            raise ToolFailed(f"the file cannot be written: {error.strerror}", tool=about.tool) from None
        note = "The file is written on the machine of the gateway, for its user: you may not be able to read it."
        return {"path": str(path), "NOTE": note}


def _write(path: Path, text: str) -> None:
    """Write a file atomically, readable only by the gateway's user."""
    part = path.with_name(path.name + _SUFFIX)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def export_summary(value: Json, size: int) -> dict[str, Any]:
    """Return the size and the preview of an exported value."""
    return {"bytes": size, **fitted(preview(value, size))}
