"""Where the data stands that ships with the package: schemas, views, descriptions, vectors, checks.

In a wheel it lies within the package, in a checkout at its top level.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def folder(name: str) -> Path:
    """The folder of `name`: `schemas`, `views`, `tool_descriptions`, `vectors` or `conformance`."""
    shipped = _PACKAGE / "_data" / name
    if shipped.is_dir():
        return shipped
    checkout = _PACKAGE.parents[1]
    return checkout / "conformance" / "vectors" if name == "vectors" else checkout / name
