"""Folders of data that ship with the package: inside it in a wheel, at the top level in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def folder(name: str) -> Path:
    """The folder of `name`: `schemas`, `views`, `vectors` or `conformance`."""
    shipped = _PACKAGE / "_data" / name
    if shipped.is_dir():
        return shipped
    checkout = _PACKAGE.parents[1]
    return checkout / "conformance" / "vectors" if name == "vectors" else checkout / name
