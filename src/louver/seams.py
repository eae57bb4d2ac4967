"""How `team`, `desk` and `lua` are plugged in: by name, and only where a setting or a command needs them.

Nothing below `louver.cli` imports them. What is expected of each is a protocol beside its use; the docstring of each
package lists what it plugs in.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def plugged_in(name: str) -> Any:
    """The module of that name below `louver`, or what stands after a colon in it."""
    module, _, member = name.partition(":")
    found = import_module(f"louver.{module}")
    return getattr(found, member) if member else found
