"""Real data beside the repository; a clone without it skips the tests that read it, CI must have it."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"


def rows(name: str) -> Iterator[dict[str, Any]]:
    """The rows of one file of the corpus."""
    with gzip.open(_found(name), "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def catalogue() -> list[dict[str, Any]]:
    """The tools of many public servers, as they list them."""
    return json.loads(gzip.decompress(_found("livemcp.catalogue.json.gz").read_bytes()))


def recordings(server: str) -> dict[str, Any]:
    """What a public server listed and answered: its `tools`, and `calls` with their `response`."""
    return json.loads(_found(f"recordings/{server}.json").read_text("utf-8"))


def _found(name: str) -> Path:
    path = _CORPUS / name
    if not path.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no corpus: {path.name} is not in ../shared/corpus")
    return path
