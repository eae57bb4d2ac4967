"""URI templates of upstreams: a URI matches where a regular expression of the same meaning does.

The first line is a template, each other line a URI.
"""

from __future__ import annotations

import re

from louver.gateway.routing.resource_owners import UriTemplate

# Of more variables a regular expression is slow, which the template is not.
MAX_VARIABLES = 4
MAX_CHARACTERS = 80


def check(data: bytes) -> None:
    text, *uris = data.decode(errors="replace").split("\n")[:20]
    template, expression = UriTemplate(text), _expression(text)
    for uri in uris:
        found = template.matches(uri)
        if text.count("{") <= MAX_VARIABLES and len(uri) <= MAX_CHARACTERS:
            assert found is (expression is not None and expression.fullmatch(uri) is not None)


def _expression(text: str) -> re.Pattern[str] | None:
    """RFC 6570 of `{name}` and `{+name}`; a template without a beginning, or of other expressions, matches nothing."""
    if text.startswith("{") or not text:
        return None
    parts = re.split(r"(\{[^{}]*\})", text)
    if not all(re.fullmatch(r"\{\+?[A-Za-z0-9_.%]+\}", part) for part in parts[1::2]):
        return None
    of_variables = [(".*" if part[1] == "+" else "[^/]*") for part in parts[1::2]]
    parts[0::2] = map(re.escape, parts[0::2])
    parts[1::2] = of_variables
    return re.compile("".join(parts), re.DOTALL)
