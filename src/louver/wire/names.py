"""Names on the wire: a literal form (issue #1704, SEP-1821), and a vendor form that typed clients do not drop."""

from typing import Final

# Our vendor prefix: a reversed domain and a slash, as the specification requires of extensions.
PREFIX: Final = "dev.louver/"

# The extension in `capabilities.extensions`; the key of request and receipt in `_meta`.
PROJECTION: Final = f"{PREFIX}projection"

# The key of request and receipt in `_meta`, and of the capability in `capabilities.tools`.
PROJECTION_LITERAL: Final = "projection"

# In a tool's `annotations`.
HINT_LITERAL: Final = "projectionHint"

# In a tool's `_meta`, which some clients send back with each call.
HINT: Final = f"{PREFIX}projectionHint"

# Requests a projection, for models, which cannot set `_meta`.
ARGUMENT: Final = "output_fields"

# Member of structured content with notes, for hosts that show their model structured content alone.
EXTRAS: Final = "louver"

# Reads a kept result, for models that cannot read resources.
RESULT_TOOL: Final = "read_result"

# The extension in `capabilities.extensions`: tools can be searched.
SEARCH: Final = f"{PREFIX}search"

# The same in `capabilities.tools`, as SEP-1821 proposes.
FILTERING_LITERAL: Final = "filtering"

# Parameter of `tools/list`, as SEP-1821 proposes.
QUERY: Final = "query"

# In the `_meta` of search results: the needs of the query, and the tools that serve each.
NEEDS: Final = f"{PREFIX}needs"

# In the `_meta` of an error result: the error as an object.
ERROR: Final = f"{PREFIX}error"

# The extension in `capabilities.extensions`: where full tool descriptions are read.
DISCLOSURE: Final = f"{PREFIX}disclosure"

# Resource of full descriptions; `?tools=a,b` names the tools.
DESCRIPTIONS_URI: Final = "resource:///tool_descriptions"

# Returns the same, for models that cannot read resources.
DESCRIPTIONS_TOOL: Final = "get_tool_descriptions"

# Explains the two stages to a model.
DESCRIPTIONS_PROMPT: Final = "use_tool_descriptions"

# In the `_meta` of the single tool's result: the receipt of the call that it made.
DATA: Final = f"{PREFIX}data"

# In the `_meta` of a `tools/list` request: only this upstream lists its tools.
SERVER: Final = f"{PREFIX}server"

# In the `_meta` of a call: `false` requests the whole result of a tool that has a default view.
COMPACT: Final = f"{PREFIX}compact"

# The same, by the name that 001 has.
COMPACT_LITERAL: Final = "compact"

# In the `_meta` of read descriptions, and of a call: proof that the description was read.
GRANT: Final = f"{PREFIX}grant"

# The same, for models, which cannot set `_meta`.
GRANT_ARGUMENT: Final = "grant"

# In the `_meta` of read descriptions: tool -> digest of its description, for clients with a cache.
VERSIONS: Final = f"{PREFIX}versions"

# In the `_meta` of a result: the notes of rules that apply, which are also text in `content`.
GUIDANCE: Final = f"{PREFIX}guidance"

# In the `_meta` of a result: warnings that it is large.
WARNINGS: Final = f"{PREFIX}warnings"

# In the `_meta` of a preview: the URI and the shape of the kept result.
RESULT: Final = f"{PREFIX}result"

# Before the handle of a kept result.
RESULTS_URI: Final = "louver://results/"
