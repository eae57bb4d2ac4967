"""Random values that are often valid: grown from the schema, then changed a little."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

from .schemas import NAMES, SCALARS, Draft, constant

if TYPE_CHECKING:
    from random import Random

_KIND_OF = {
    "null": "null",
    "boolean": "boolean",
    "integer": "number",
    "number": "number",
    "string": "string",
    "array": "array",
    "object": "object",
}


def grown(rng: Random, schema: Any, draft: Draft) -> Any:
    """A value that tries to satisfy `schema`."""
    return _Grower(rng, schema, draft).value([schema], 4)


def mutated(rng: Random, value: Any) -> Any:
    """A copy of `value` with one thing changed somewhere."""
    value = copy.deepcopy(value)
    at = value
    while isinstance(at, dict | list) and at and rng.random() < 0.6:
        below = at[rng.choice(list(at))] if isinstance(at, dict) else rng.choice(at)
        if not isinstance(below, dict | list):
            break
        at = below
    if isinstance(at, dict):
        if at and rng.random() < 0.4:
            del at[rng.choice(list(at))]
        else:
            at[rng.choice(NAMES)] = constant(rng)
    elif isinstance(at, list):
        if at and rng.random() < 0.4:
            at.pop(rng.randrange(len(at)))
        elif at and rng.random() < 0.3:
            at.append(copy.deepcopy(rng.choice(at)))
        else:
            at.insert(rng.randrange(len(at) + 1), constant(rng))
    else:
        return constant(rng)
    return value


class _Grower:
    def __init__(self, rng: Random, root: Any, draft: Draft) -> None:
        self.rng = rng
        self.draft = draft
        self.named: dict[str, Any] = {"#": root}
        if isinstance(root, dict):
            for where in ("$defs", "definitions"):
                for name, part in root.get(where, {}).items():
                    self.named[f"#/{where}/{name}"] = part
                    if isinstance(part, dict):
                        self.named[part.get("$id", "")] = part
                        self.named[f"#{part.get('$anchor', '')}"] = part
            self.named["#"] = root
            self.named["#/properties/a"] = root.get("properties", {}).get("a")

    def value(self, schemas: list[Any], depth: int) -> Any:
        """A value for all of `schemas` at once, as far as that can be seen without search."""
        rng = self.rng
        flat = self.flat(schemas)
        planted = [part["const"] for part in flat if "const" in part]
        planted += [rng.choice(part["enum"]) for part in flat if part.get("enum")]
        if planted and rng.random() < 0.95:
            return copy.deepcopy(rng.choice(planted))
        kinds = {"null", "boolean", "number", "string", "array", "object"}
        for part in flat:
            if "type" in part:
                names = [part["type"]] if isinstance(part["type"], str) else part["type"]
                kinds &= {_KIND_OF[name] for name in names}
        shaped = [kind for kind in self._hinted(flat) if kind in kinds]
        kind = rng.choice(shaped if shaped and rng.random() < 0.85 else sorted(kinds) or ["null"])
        if kind == "object":
            return self.members(flat, depth)
        if kind == "array":
            return self.elements(flat, depth)
        return self._scalar(kind)

    def flat(self, schemas: list[Any]) -> list[dict[str, Any]]:
        """`schemas` and what applies beside them; of branches one is chosen."""
        rng = self.rng
        out: list[dict[str, Any]] = []
        todo = list(schemas)
        for _ in range(100):
            if not todo:
                break
            part = todo.pop()
            if not isinstance(part, dict):
                continue
            if "$ref" in part:
                todo.append(self.named.get(part["$ref"]))
                if self.draft == "7":
                    continue
            if "$dynamicRef" in part:
                todo.append(self.named["#"])
            out.append(part)
            todo += part.get("allOf", ())
            for keyword in ("anyOf", "oneOf"):
                if keyword in part:
                    todo.append(rng.choice(part[keyword]))
            if "if" in part:
                todo += [part["if"], part.get("then", True)] if rng.random() < 0.5 else [part.get("else", True)]
            for keyword in ("dependentSchemas", "dependencies"):
                todo += [below for below in part.get(keyword, {}).values() if rng.random() < 0.5]
        return out

    def members(self, flat: list[dict[str, Any]], depth: int) -> dict[str, Any]:
        rng = self.rng
        names = {name for part in flat for name in part.get("required", ())}
        if depth:
            names |= {name for part in flat for name in part.get("properties", ()) if rng.random() < 0.7}
            names |= {name for name in NAMES if rng.random() < 0.15}
        least = max((part.get("minProperties", 0) for part in flat), default=0)
        names |= set(rng.sample(NAMES, min(least, len(NAMES)))) if len(names) < least else set()
        for part in flat:
            for needing, needed in (part.get("dependentRequired") or part.get("dependencies") or {}).items():
                if needing in names and isinstance(needed, list):
                    names |= set(needed)
        out: dict[str, Any] = {}
        listed = sorted(names)
        rng.shuffle(listed)
        for name in listed:
            below = [found for part in flat for found in _schemas_of(part, name)]
            if False not in below:
                out[name] = self.value(below, depth - 1) if depth else constant(rng, 0)
        return out

    def elements(self, flat: list[dict[str, Any]], depth: int) -> list[Any]:
        rng = self.rng
        if not depth:
            return []
        least = max((part.get("minItems", 0) for part in flat), default=0)
        wanted = [part["contains"] for part in flat if "contains" in part]
        length = max(rng.randrange(4), least, len(wanted))
        out: list[Any] = []
        for position in range(length):
            below = [found for part in flat for found in _schemas_at(part, position)]
            if False in below:
                break
            if wanted and rng.random() < 0.7:
                below.append(rng.choice(wanted))
            out.append(self.value(below, depth - 1))
        return out

    def _hinted(self, flat: list[dict[str, Any]]) -> list[str]:
        words = {word for part in flat for word in part}
        hints: list[str] = []
        if words & {"properties", "required", "patternProperties", "additionalProperties", "minProperties"}:
            hints.append("object")
        if words & {"items", "prefixItems", "contains", "minItems", "uniqueItems"}:
            hints.append("array")
        return hints

    def _scalar(self, kind: str) -> Any:
        fits = {
            "null": (None,),
            "boolean": (True, False),
            "number": (0, 1, 1.0, 2),
            "string": tuple(value for value in SCALARS if isinstance(value, str)),
        }
        return self.rng.choice(fits[kind])


def _schemas_of(part: dict[str, Any], name: str) -> list[Any]:
    found = [part["properties"][name]] if name in part.get("properties", {}) else []
    found += [below for pattern, below in part.get("patternProperties", {}).items() if re.search(pattern, name)]
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        if not found and keyword in part:
            found = [part[keyword]]
    return found


def _schemas_at(part: dict[str, Any], position: int) -> list[Any]:
    listed = part["items"] if isinstance(part.get("items"), list) else part.get("prefixItems", [])
    if position < len(listed):
        return [listed[position]]
    if isinstance(part.get("items"), list):
        return [part["additionalItems"]] if "additionalItems" in part else []
    return [part["items"]] if "items" in part else []
