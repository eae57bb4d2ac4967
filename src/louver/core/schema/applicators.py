"""Applicators: the keywords that hold schemas, by the form of their argument.

One that is new goes into one of the first three sets, by which walks find what it holds; some name it besides.
Its rules: `keywords.py` under projection, `carry_over.py` where it is kept whole, `relax.py` in lists.
"""

from __future__ import annotations

# Keywords of 2020-12 with one schema as argument. Every applicator is in one of these three sets.
ONE_SCHEMA = frozenset(
    {
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "items",
        "unevaluatedItems",
        "contains",
        "not",
        "if",
        "then",
        "else",
        "contentSchema",
    }
)

# Keywords of 2020-12 with a list of schemas as argument.
SCHEMA_LIST = frozenset({"prefixItems", "allOf", "anyOf", "oneOf"})

# Keywords of 2020-12 with an object of schemas as argument.
SCHEMA_MAP = frozenset({"properties", "patternProperties", "dependentSchemas"})

# Those that say which members are possible.
MEMBERS = frozenset({"properties", "patternProperties", "additionalProperties"})

# Keywords with an object of schemas that assert nothing by themselves.
DEFINITIONS = ("$defs", "definitions")

# Keywords of all dialects with one schema or a list of schemas as argument.
HOLDING_SCHEMAS = ONE_SCHEMA | SCHEMA_LIST | {"additionalItems"}

# Keywords of all dialects with an object of schemas as argument.
HOLDING_SCHEMA_MAP = SCHEMA_MAP | {"dependencies", *DEFINITIONS}
