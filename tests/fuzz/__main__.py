"""`python -m tests.fuzz --pairs N --seed S`: counts by law, counter-examples made small; 1 if there is one."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from random import Random
from time import perf_counter
from typing import Any

from louver.errors import InvalidProjection

from .judges import JUDGES
from .laws import Subject
from .minimise import minimised
from .requests import Request, random_request
from .schemas import Draft, has_circle, random_schema
from .values import grown, mutated

VALUES, REQUESTS = 3, 3


def valid_values(rng: Random, subject: Subject, draft: Draft) -> list[Any]:
    """Up to `VALUES` different valid values."""
    found: dict[str, Any] = {}
    if subject.valid is None:
        return []
    for attempt in range(6 * VALUES):
        if found and attempt % 2:
            value = mutated(rng, rng.choice(list(found.values())))
        else:
            value = grown(rng, subject.schema, draft)
        if subject.valid(value):
            found[json.dumps(value)] = value
        if len(found) == VALUES:
            break
    return list(found.values())


class Run:
    """One run: what was counted, and what was found."""

    def __init__(self, seed: int, judges: list[str], rows: float = 0.5) -> None:
        self.rng = Random(seed)
        self.judges = judges
        self.rows = rows
        self.counts: Counter[str] = Counter()
        self.found: list[dict[str, Any]] = []

    def schema(self) -> None:
        """One schema, with all its triples."""
        rng = self.rng
        draft: Draft = rng.choice(("2020-12", "2020-12", "2020-12", "7", "7", "2019-09"))
        judge = rng.choice(self.judges)
        schema = random_schema(rng, draft)
        subject = Subject(schema, draft, JUDGES[judge])
        values = valid_values(rng, subject, draft)
        self.counts["schemas" if values else "schemas without a valid value"] += 1
        if not values:
            return
        example: dict[str, Any] = {"schema": schema, "draft": draft, "judge": judge}
        self._note(example, list(subject.own()))
        earlier = None
        for _ in range(REQUESTS):
            request = random_request(rng, values, rows=rng.random() < self.rows)
            example |= {"mode": request.mode, "fields": list(request.fields)}
            asked, broken = subject.asked(request, rng)
            self._note(example, broken)
            for value in values:
                self.counts["pairs"] += 1
                self.counts[f"pairs, {request.mode}"] += 1
                self._note({**example, "value": value}, list(subject.broken(asked, value, rng)))
            if earlier is not None and rng.random() < 0.3:
                first = {"first": {"mode": earlier.request.mode, "fields": list(earlier.request.fields)}}
                for value in values:
                    self.counts["chains"] += 1
                    broken = list(subject.chained(earlier, asked, value))
                    self._note({**example, **first, "value": value}, broken)
            earlier = asked

    def _note(self, example: dict[str, Any], broken: list[str]) -> None:
        for law in broken:
            self.counts[f"BROKEN {law}, {example.get('mode', 'no request')}"] += 1
            if len(self.found) < 100:
                self.found.append({"law": law, **example})


def breaks(example: dict[str, Any]) -> bool:
    """Whether an example still breaks its law."""
    schema, draft = example.get("schema"), example.get("draft")
    try:
        if has_circle(schema, draft):
            return False
        subject = Subject(schema, draft, JUDGES[example["judge"]])
        rng = Random(1)
        if "mode" not in example:
            return example["law"] in subject.own()
        request = Request(example["mode"], tuple(example["fields"]))
        asked, broken = subject.asked(request, rng)
        if "value" not in example:
            return subject.valid is not None and example["law"] in broken
        value = example["value"]
        if subject.valid is None or not subject.valid(value):
            return False
        if "first" in example:
            first, _ = subject.asked(Request(example["first"]["mode"], tuple(example["first"]["fields"])), rng)
            return example["law"] in subject.chained(first, asked, value)
        return any(example["law"] in subject.broken(asked, value, Random(seed)) for seed in range(4))
    except (InvalidProjection, KeyError, TypeError, AttributeError, ValueError, IndexError):
        return False


def small(example: dict[str, Any]) -> dict[str, Any]:
    """The example with its schema, value and paths as small as they get."""
    fixed = {key: example[key] for key in example if key not in ("schema", "value", "fields")}
    parts = {key: example[key] for key in ("schema", "value", "fields") if key in example}

    def fails(smaller: Any) -> bool:
        return smaller.keys() == parts.keys() and breaks({**fixed, **smaller})

    return {**fixed, **minimised(parts, fails)}


def main() -> int:
    """Run, print, and say whether all laws held."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--judge", choices=[*JUDGES, "both"], default=next(iter(JUDGES)))
    parser.add_argument("--rows", type=float, default=0.5, help="the share of requests that select rows")
    parser.add_argument("--show", type=int, default=8, help="counter-examples printed")
    options = parser.parse_args()
    run = Run(options.seed, list(JUDGES) if options.judge == "both" else [options.judge], options.rows)
    start = perf_counter()
    while run.counts["pairs"] < options.pairs:
        run.schema()
    taken = perf_counter() - start
    for name, count in sorted(run.counts.items()):
        print(f"{count:>9}  {name}")
    print(f"{run.counts['pairs'] / taken:>9.0f}  pairs a second")
    shown: set[str] = set()
    for example in run.found:
        if len(shown) < options.show:
            line = json.dumps(small(example))
            if line not in shown:
                shown.add(line)
                print(line)
    return 1 if run.found else 0


if __name__ == "__main__":
    sys.exit(main())
