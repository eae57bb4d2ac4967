"""Every bound, with its unit and its reason.

A bound is a promise in both directions: what stays under it is served. What goes
over it is refused with `PROJECTION_LIMIT` (a request), answered with the always
sound shape (a schema), read as no JSON (a text), or forgotten (what is only kept to
be fast).
"""

MAX_PATHS = 256
"""Field paths in one request. A longer list says "everything but", which exclude says shorter."""

MAX_PATH_CHARACTERS = 512
"""Length of one field path, in code points. Bounds the reading of it."""

MAX_REMEMBERED_PATHS = 32
"""Field paths of a request that is remembered as it was read. The latest 512 are; longer ones are read anew."""

MAX_SEGMENTS = 32
"""Longest path, in segments. Bounds the recursion of every later step; advertised as `maxDepth`."""

MAX_MASK_STATES = 4096
"""States of a determinised mask. Twelve short paths with wildcards can ask for 196,406."""

MAX_MASK_STEPS = 600_000
"""Elementary steps of determinising a mask. Few states with wide sets cost as much as many states."""

MAX_SCHEMA_STEPS = 20_000
"""Schema objects visited by one derivation. Over it: shape only."""

MAX_SCHEMA_DEPTH = 80
"""Schema objects nested in one another, written out, in one derivation. Over it: shape only."""

MAX_INLINE_DEPTH = 40
"""Depth to which single-use definitions are written in place, in levels of JSON."""

MAX_SUGGESTION_NAMES = 1000
"""Names of a schema that are compared with an unknown one to suggest what was meant."""

MAX_PLANS = 4096
"""Plans kept for the tools of one server; those that were not used for long go first."""

MAX_PLAN_NODES = 500_000
"""Likewise, the size of them all: nodes of their masks and JSON values of their schemas, some 100 MB."""

MAX_TOOL_PAGES = 100
"""Pages of a `tools/list` that are read, so that a cursor which never ends cannot hang a call."""

MAX_JSON_DEPTH = 200
"""Nesting of JSON text that is read as structured output, in levels."""

MAX_WRITTEN_DEPTH = 250
"""Deepest nesting of a derived schema, in levels of JSON, so that any JSON reader takes it."""

MAX_PATTERN_CHARACTERS = 256
"""Longest `patternProperties` pattern that is run on a name, in code points."""

MAX_CALLERS = 256
"""Callers whose view of a server's tools is remembered, the least recently seen go first."""

MAX_BACKTRACKS = 100_000
"""Steps of matching one pattern with look-around, by the backend that can have them."""

MAX_KEPT_SCHEMAS = 1024
"""Projected schemas that a server serves by their digest, the least recently named go first."""

MAX_ARRAY_LEVELS = 64
"""Arrays directly in one another through which a named field looks; an array nested deeper is missing."""

MAX_WRITTEN_SIZE = 10 * MAX_SCHEMA_STEPS
"""Largest derived schema, in JSON values, a long text counted for one every 100 characters.

A large constant can be kept under each of the states of a mask.
"""

MAX_COMPARING = 2_000_000
"""Pairs of characters (30 more for each pair of names) that one reading compares to suggest what was meant: 0.1 s."""

MAX_GENERATED_LINES = 1000
"""Lines, names and members of generated code for one plan. A wider plan is kept by closures."""

MAX_GENERATED_DEPTH = 15
"""Nesting of generated code; Python itself stops at 20 loops. A deeper plan is kept by closures."""

MAX_GENERATIONS = 8
"""How often code is generated for one plan. The last is generated so that it expects nothing, and stays."""

FIRST_CALLS = 3
"""Values that are kept by closures, and learnt from, before code is generated."""

FIRST_ELEMENTS = 300
"""Likewise, elements of the root's arrays: of a large value one is enough."""

MAX_SHAPE_SAMPLES = 64
"""Elements of each array that are learnt from, at first."""

MAX_ON_LOOP = 20_000
"""Parts of a value that is projected and validated on the event loop, about 1 MB; a larger one goes to a thread."""

MAX_SIZE_SAMPLES = 8
"""Elements of each array that are looked at to find out how large a value is."""

MAX_READING_STEPS = 20_000
"""Schemas looked at to find what a request's paths mean. Over it every path is known: about 0.1 s."""

MAX_EXTENDS = 32
"""Views that extend one another, in a row."""
