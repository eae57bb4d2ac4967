"""The matrix of `docs/reference/hosts.md`: `python -m hosts.matrix [STACK...]`, with `tests` on the path.

Each cell is `yes`, or a number that leads to the reason in `known.py`; what is no expected failure is printed in full.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from stock.run import StockError

from .known import KNOWN
from .scenes import CELLS, runs, verdicts
from .stacks import STACKS, run_all


def cells_of(stack, folder):
    """Cell -> nothing, or what the model saw instead.

    Raises:
        StockError: The stack cannot be installed.
    """
    with runs(folder) as asked:
        seen = dict(zip(asked, run_all(stack, list(asked.values()), folder), strict=True))
    return verdicts(seen)


def main(stacks):
    lines = [["stack", *CELLS], ["---"] * (len(CELLS) + 1)]
    for stack in stacks:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = cells_of(stack, Path(folder))
            except StockError as error:
                found = dict.fromkeys(CELLS, str(error))
        lines.append([stack, *(_cell(stack, cell, said) for cell, said in found.items())])
        for cell, said in found.items():
            if said and (stack, cell) not in KNOWN:
                print(f"{stack}, {cell}: {said}", file=sys.stderr)
    for line in lines:
        print(f"| {' | '.join(line)} |")
    print()
    for number, reason in enumerate(_reasons(), 1):
        print(f"{number}. {reason[0].upper()}{reason[1:]}.")


def _reasons():
    return list(dict.fromkeys(KNOWN.values()))


def _cell(stack, cell, said):
    if not said:
        return "yes"
    return f"no ({_reasons().index(KNOWN[stack, cell]) + 1})" if (stack, cell) in KNOWN else "no"


if __name__ == "__main__":
    main(sys.argv[1:] or STACKS)
