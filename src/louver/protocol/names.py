"""Names on the wire, each in one place.

Every key of ours has two forms: the literal one that the proposal has (issue #1704, SEP-1821), and
one under our vendor prefix, which typed clients do not drop on receipt.
"""

from typing import Final

PREFIX: Final = "dev.louver/"
"""Our vendor prefix, as the specification asks of extensions: a reversed domain and a slash."""

PROJECTION: Final = f"{PREFIX}projection"
"""The extension: in `capabilities.extensions`, and as a key of request and receipt in `_meta`."""

PROJECTION_LITERAL: Final = "projection"
"""The literal key of request and receipt in `_meta`, and of the capability in `capabilities.tools`."""

HINT_LITERAL: Final = "projectionHint"
"""The literal key of the hint in a tool's `annotations`."""

HINT: Final = f"{PREFIX}projectionHint"
"""The key of the hint in a tool's `_meta`. Some clients send a tool's `_meta` back with each call of it."""

ARGUMENT: Final = "output_fields"
"""The argument by which a model, which cannot set `_meta`, asks for a projection."""

EXTRAS: Final = "louver"
"""The member of structured content that holds notes for models of hosts which show structured content alone."""

RESULT_TOOL: Final = "read_result"
"""The tool that reads a kept result, for models that cannot read resources."""

SEARCH: Final = f"{PREFIX}search"
"""The extension in `capabilities.extensions` that says that tools can be searched."""

FILTERING_LITERAL: Final = "filtering"
"""Likewise, the literal key in `capabilities.tools`, as SEP-1821 proposes."""

QUERY: Final = "query"
"""The parameter of `tools/list` that holds a query, as SEP-1821 proposes."""

ERROR: Final = f"{PREFIX}error"
"""In the `_meta` of an error result: the error as an object, beside its text."""

SCHEMAS_URI: Final = "louver://schemas/"
"""Before the digest of a projected schema: the resource that holds it."""

DISCLOSURE: Final = f"{PREFIX}disclosure"
"""The extension in `capabilities.extensions`: where full descriptions of tools are read."""

DESCRIPTIONS_URI: Final = "resource:///tool_descriptions"
"""The resource that holds them; `?tools=a,b` says of which tools."""

DESCRIPTIONS_TOOL: Final = "get_tool_descriptions"
"""The tool that answers the same, for models that cannot read resources."""

DESCRIPTIONS_PROMPT: Final = "use_tool_descriptions"
"""The prompt that tells a model of the two stages."""

DATA: Final = f"{PREFIX}data"
"""In the `_meta` of an answer of the one tool: the receipt of the call that it made."""

SERVER: Final = f"{PREFIX}server"
"""In the `_meta` of `tools/list`: the one server behind the gateway whose tools are listed."""

COMPACT: Final = f"{PREFIX}compact"
"""In the `_meta` of a call: `false` for the whole answer of a tool that has a default view."""

COMPACT_LITERAL: Final = "compact"
"""Likewise, the word for it that 001 has."""

GRANT: Final = f"{PREFIX}grant"
"""In the `_meta` of what was read, and of a call: that its caller has read how the tool is described."""

GRANT_ARGUMENT: Final = "grant"
"""The argument by which a model, which cannot set `_meta`, says so."""

VERSIONS: Final = f"{PREFIX}versions"
"""In the `_meta` of what was read: tool -> digest of its description, for those who keep what they read."""

GUIDANCE: Final = f"{PREFIX}guidance"
"""In the `_meta` of an answer: the notes of the rules that fired, beside their text in `content`."""

WARNINGS: Final = f"{PREFIX}warnings"
"""Likewise, the warnings that the answer is large."""

RESULT: Final = f"{PREFIX}result"
"""In the `_meta` of an answer that is kept instead of sent: where it is read, and its shape."""

RESULTS_URI: Final = "louver://results/"
"""Before the handle of a kept result."""
