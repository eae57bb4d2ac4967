"""`python -m benchmarks.derivation`: what a derived schema costs to make, and how large it is.

CPU time of this thread, the median of several rounds; sizes in bytes of canonical JSON.
Reads the pairs of GitHub's public REST description from ../shared/corpus.
"""

from __future__ import annotations

import gzip
import json
import sys
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import thread_time
from typing import TYPE_CHECKING, Any

from louver.catalogue.entry import Entry
from louver.core.derive import derive
from louver.core.json import canonical
from louver.core.mask import include_mask
from louver.core.path import FieldPath
from louver.core.plan import compile_projection
from louver.core.projection import Projection
from louver.core.view import Views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "github.pairs.jsonl.gz"
ROUNDS = 30
PATHS = 7


def main() -> int:
    """Print the figures."""
    if not CORPUS.exists():
        print(f"no corpus: {CORPUS.name} is not in ../shared/corpus", file=sys.stderr)
        return 2
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        pairs: list[dict[str, Any]] = [json.loads(line) for line in lines]
    print(f"derive, {PATHS} paths, schemas of 5 kB       {_derive(pairs):8.3f} ms")
    print(f"warm plan lookup                       {_warm(pairs):8.3f} µs")
    share, schemas = _share(pairs)
    print(f"projected schema / original, median    {share:8.1%}    ({schemas} schemas over 2 kB, 1 to 10 paths)")
    for name, schema in HOSTILE.items():
        many = [FieldPath((f"p{number % 40}", f"p{number // 40}", "x")) for number in range(256)]
        masks = [include_mask([FieldPath(("a", "a", "id"))]), include_mask(many)]
        cost = max(_milliseconds(partial(derive, schema(), mask), rounds=3) for mask in masks)
        print(f"hostile: {name:30}{cost:8.3f} ms")
    return 0


def _derive(pairs: list[dict[str, Any]]) -> float:
    rng = Random(1)
    near = sorted(pairs, key=lambda pair: abs(len(canonical(pair["schema"])) - 5_000))[:20]
    return median(
        _milliseconds(partial(derive, pair["schema"], include_mask(_some(rng, pair["value"], PATHS)))) for pair in near
    )


def _warm(pairs: list[dict[str, Any]]) -> float:
    pair = pairs[1]
    entry = Entry({"name": "tool", "inputSchema": {}, "outputSchema": pair["schema"]}, Views())
    projection = Projection("include", tuple(_some(Random(1), pair["value"], PATHS)))
    entry.plan(projection)

    def thousand() -> None:
        for _ in range(1000):
            entry.plan(projection)

    return _milliseconds(thousand)


def _share(pairs: list[dict[str, Any]]) -> tuple[float, int]:
    rng = Random(1)
    large = [pair for pair in pairs if len(canonical(pair["schema"])) > 2_000]
    shares = [
        len(canonical(compile_projection(Projection("include", tuple(paths)), pair["schema"]).schema))
        / len(canonical(pair["schema"]))
        for pair in large
        if (paths := _some(rng, pair["value"], rng.randint(1, 10)))
    ]
    return median(shares), len(shares)


def _some(rng: Random, value: Any, most: int) -> list[FieldPath]:
    names = sorted(set(_paths(value, ())))
    return [FieldPath(path) for path in rng.sample(names, min(most, len(names)))]


def _paths(value: Any, before: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield (*before, name)
            yield from _paths(member, (*before, name))
    elif isinstance(value, list):
        for element in value[:3]:
            yield from _paths(element, before)


def _milliseconds(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    times: list[float] = []
    for _ in range(rounds):
        started = thread_time()
        work()
        times.append((thread_time() - started) * 1000)
    return median(times)


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
    "2^22 ways through references": _doubling,
    "400 levels": _deep,
    "40 mutual definitions": _mutual,
    "787 properties": _wide,
}

if __name__ == "__main__":
    sys.exit(main())
