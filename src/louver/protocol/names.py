"""Names on the wire, each in one place.

Every key of ours has two forms: the literal one that issue #1704 proposes, and one
under our vendor prefix, which typed clients do not drop on receipt.
"""

from typing import Final

PREFIX: Final = "dev.louver/"
"""Our vendor prefix, as the specification asks of extensions: a reversed domain and a slash."""

PROJECTION: Final = f"{PREFIX}projection"
"""The extension: in `capabilities.extensions`, in a tool's `_meta`, and as a key of request and receipt."""

PROJECTION_LITERAL: Final = "projection"
"""The literal key of request and receipt in `_meta`, and of the capability in `capabilities.tools`."""

HINT_LITERAL: Final = "projectionHint"
"""The literal key of the hint in a tool's `annotations`."""

ARGUMENT: Final = "_projection"
"""The reserved argument by which a model, which cannot set `_meta`, asks for a projection."""

ERROR: Final = f"{PREFIX}error"
"""In the `_meta` of an error result: the error as an object, beside its text."""

SCHEMAS_URI: Final = "louver://schemas/"
"""Before the digest of a projected schema: the resource that holds it."""
