"""`python -m tests.fuzz.jsonpath_suite cts.json`: the cases of RFC 9535's compliance suite that are not met.

The suite: jsonpath-standard/jsonpath-compliance-test-suite. A case is met if an include keeps the nodes that the suite
names, or if a path that is none is refused; empty objects and arrays around nothing do not count.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from louver.core.paths.mask import include_mask
from louver.core.paths.path import FieldPath
from louver.core.project import project
from louver.errors import InvalidProjection

NOTHING: Any = object()


def is_met(case: dict[str, Any]) -> bool:
    """Whether a case of the suite is met."""
    try:
        path = FieldPath.parse(case["selector"], rows=True)
    except InvalidProjection:
        return case.get("invalid_selector", False)
    if case.get("invalid_selector"):
        return False
    document = case["document"]
    kept = pruned(project(document, include_mask([path])))
    named = case["results_paths"] if "results_paths" in case else [case["result_paths"]]
    return any(kept == pruned(only(document, [keys(each) for each in paths])) for paths in named)


def keys(path: str) -> list[Any]:
    """The names and positions of a normalized path."""
    found = re.findall(r"\[(?:'((?:[^'\\]|\\.)*)'|(\d+))\]", path)
    return [
        int(at) if at else json.loads('"' + name.replace('"', '\\"').replace("\\'", "'") + '"') for name, at in found
    ]


def only(value: Any, paths: list[list[Any]]) -> Any:
    """The places of a value, with what is around them."""
    if not all(paths):
        return value
    first = {path[0]: [each[1:] for each in paths if each[0] == path[0]] for path in paths}
    if isinstance(value, dict):
        return {name: only(value[name], below) for name, below in first.items()}
    return [only(value[at], first[at]) for at in sorted(first)] if isinstance(value, list) else NOTHING


def pruned(value: Any) -> Any:
    """A value without what is empty."""
    if isinstance(value, dict):
        return {name: part for name, each in sorted(value.items()) if (part := pruned(each)) is not NOTHING} or NOTHING
    if isinstance(value, list):
        return [part for each in value if (part := pruned(each)) is not NOTHING] or NOTHING
    return json.dumps(value)


def main() -> None:
    """Print the cases that are not met, and how many are."""
    cases = json.loads(Path(sys.argv[1]).read_text("utf-8"))["tests"]
    missed = [case for case in cases if not is_met(case)]
    for case in missed:
        print(f"{case['name']}: {case['selector']}")
    to_refuse = sum(case.get("invalid_selector", False) for case in cases)
    refused = to_refuse - sum(case.get("invalid_selector", False) for case in missed)
    print(f"{len(cases) - len(missed)} of {len(cases)}; {refused} of {to_refuse} to be refused")


if __name__ == "__main__":
    main()
