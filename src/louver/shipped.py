"""What ships with the package: folders of data, inside it in a wheel, at the top level in a checkout; and extras."""

from __future__ import annotations

import json
import sys
from pathlib import Path

_PACKAGE = Path(__file__).parent


def folder(name: str) -> Path:
    """The folder of `name`: `schemas` or `views`."""
    shipped = _PACKAGE / "_data" / name
    return shipped if shipped.is_dir() else _PACKAGE.parents[1] / name


def with_extra(extra: str) -> str:
    """What to run for an extra that is missing, by how Louver was installed."""
    if not (_PACKAGE / "_data").is_dir():
        return f"uv sync --inexact --extra {extra}"
    # Lazy import: it takes longer than all else here.
    from importlib.metadata import distribution

    origin = distribution("louver").read_text("direct_url.json")
    source = f"louver[{extra}]" if origin is None else f"louver[{extra}] @ {json.loads(origin)['url']}"
    is_tool = (Path(sys.prefix) / "uv-receipt.toml").is_file()
    return f"{'uv tool' if is_tool else 'pip'} install '{source}'"
