"""Arguments that hold what an earlier answer gave: `$handle`, the handle of a kept result, and `$grant`, a grant.

Shared with drivers that run in environments of their own: it imports nothing but the standard library.
"""

import json
import re

_FOUND = {"handle": r'"handle": ?"([^"]+)"', "grant": r"(v1\.[A-Za-z0-9_-]{40,})"}


def filled(arguments, seen):
    """The arguments with what the texts that were seen hold; an argument for which there is nothing is left out.

    Args:
        arguments: Of a call.
        seen: The texts.
    """
    text = "\n".join(seen).replace("\\", "")
    out = {}
    for name, value in arguments.items():
        if isinstance(value, dict):
            value = filled(value, seen)
        if value in ("$handle", "$grant"):
            found = re.findall(_FOUND[value[1:]], text)
            if not found:
                continue
            value = found[-1]
        out[name] = value
    return out


def text_of(value):
    """What a model gets, as one text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
