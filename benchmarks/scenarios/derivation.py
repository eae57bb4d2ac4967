"""What a derived schema costs to make, and how large it is.

    derive              7 paths of each of twenty typical schemas of GitHub, 5 kB
    derive, hostile     schemas that a careless derivation takes for ever to derive
    size                the projected schema as a share of the original, 1 to 10 paths

Absolute times, of this machine; sizes in bytes of canonical JSON.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks import corpus
from benchmarks.measuring import timed
from benchmarks.payloads import SEED
from benchmarks.results import Group, Row
from louver.core.json import canonical
from louver.core.paths.mask import include_mask
from louver.core.paths.path import FieldPath
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.core.schema.derive import derive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.scenarios import Setting

PATHS = 7
LARGE_BYTES = 2_000
"""Schemas from here on count for the share of the size; of small ones the frame is most."""


def run(setting: Setting) -> Iterator[Group]:
    """Times, then sizes."""
    rng, works = Random(SEED), dict[str, Any]()
    for pair in corpus.typical():
        mask = include_mask(corpus.some_paths(rng, pair["value"], PATHS))
        works[pair["name"]] = partial(derive, pair["schema"], mask)
    times = [row.median for row in timed(works, setting.rounds)]
    yield Group("derive", "20 of GitHub", corpus.TYPICAL_BYTES, "s", None, (Row.over("louver", times),))
    many = [FieldPath((f"p{number % 40}", f"p{number // 40}", "x")) for number in range(256)]
    masks = {"1 path": include_mask([FieldPath(("a", "a", "id"))]), "256 paths": include_mask(many)}
    for name, schema in HOSTILE.items():
        works = {label: partial(derive, schema(), mask) for label, mask in masks.items()}
        yield Group("derive, hostile", name, 0, "s", None, timed(works, setting.rounds))
    yield Group("size", "github", 0, "share", None, (_share(rng),))


def _share(rng: Random) -> Row:
    shares: list[float] = []
    for pair in corpus.pairs():
        size = len(canonical(pair["schema"]))
        if size > LARGE_BYTES and (paths := corpus.some_paths(rng, pair["value"], rng.randint(1, 10))):
            plan = compile_projection(Projection("include", paths), pair["schema"])
            shares.append(len(canonical(plan.schema)) / size)
    return Row.over("projected / original", shares)


def _doubling() -> dict[str, Any]:
    """Each of 22 definitions refers twice to the next: 2^22 ways through."""
    later = [{"$ref": f"#/$defs/d{n + 1}"} for n in range(22)]
    steps = {f"d{n}": {"properties": {"a": reference, "b": reference}} for n, reference in enumerate(later)}
    return {"$ref": "#/$defs/d0", "$defs": {**steps, "d22": {"type": "object"}}}


def _deep() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def _mutual() -> dict[str, Any]:
    """Forty definitions, each of which refers to every other."""
    names = [f"p{n}" for n in range(40)]
    properties = {name: {"$ref": f"#/$defs/{name}"} for name in names}
    return {"$ref": "#/$defs/p0", "$defs": {name: {"type": "object", "properties": properties} for name in names}}


def _wide() -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{n}": {"type": "object", "properties": {"x": {}}} for n in range(787)}}


HOSTILE: dict[str, Callable[[], dict[str, Any]]] = {
    "2^22 ways": _doubling,
    "400 levels": _deep,
    "40 mutual definitions": _mutual,
    "787 properties": _wide,
}
