"""The power of the everyday tests: how many small faults in each folder of the source they find.

    python -m benchmarks.mutants [FOLDER ...]     a line a folder; all by default
    python -m benchmarks.mutants --json FILE      writes the mutants that survived, too
    python -m benchmarks.mutants --only FILE      tries just those again

A mutant is one operator, constant or condition of a function made wrong, chosen by a fixed seed. The tests of a
folder are the files in that of the same name under `tests`, up to the first that fails. A mutant that lets them hang is
found.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).parents[1]
SOURCE = Path("src/louver")

MUTANTS = 20
SEED = 1
AT_ONCE = 2
SLACK_S = 30.0
"""A mutant hangs if its tests take three times as long as without it, and these seconds."""

_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: the `number`th possible one of a file."""

    file: str
    number: int
    line: int
    what: str


class UnsoundTestsError(Exception):
    """Tests that fail without a fault."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run mutants and print; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description="The power of the tests.")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="a folder of src/louver; all by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the mutants that survived are written")
    parser.add_argument("--only", type=Path, metavar="FILE", help="try only the mutants in such a file")
    given = parser.parse_args(arguments)
    only = None if given.only is None else [Mutant(**mutant) for mutant in json.loads(given.only.read_text("utf-8"))]
    survived: list[Mutant] = []
    status = 0
    print(f"{'':24}{'mutants':>8}{'found':>8}{'s':>8}", flush=True)
    with TemporaryDirectory(prefix="louver-mutants-") as place:
        checkouts: SimpleQueue[Path] = SimpleQueue()
        for number in range(AT_ONCE):
            checkouts.put(_copied(Path(place) / str(number)))
        for folder in given.folders or folders():
            chosen = [mutant for mutant in chosen_of(folder) if only is None or mutant in only]
            if not chosen:
                continue
            began = monotonic()
            try:
                missed = _survivors(chosen, tests_of(folder), checkouts)
            except UnsoundTestsError as error:
                print(f"{folder:24}not judged: {error}", flush=True)
                status = 1
                continue
            print(f"{folder:24}{len(chosen):8}{len(chosen) - len(missed):8}{monotonic() - began:8.0f}", flush=True)
            survived += missed
            if given.json is not None:
                given.json.write_text(json.dumps(list(map(asdict, survived)), indent=1), "utf-8")
    return status


def folders() -> list[str]:
    """The folders with modules, relative to the package; `.` is the package itself."""
    found = (ROOT / SOURCE).rglob("*.py")
    return sorted({file.parent.relative_to(ROOT / SOURCE).as_posix() for file in found})


def tests_of(folder: str) -> list[str]:
    """The files of tests for a folder: in that of the same name, below it, or in the nearest around that has some."""
    place = ROOT / "tests" / folder
    while not (found := sorted(place.glob("test_*.py")) or sorted(place.rglob("test_*.py"))):
        place = place.parent
    return [file.relative_to(ROOT).as_posix() for file in found]


def chosen_of(folder: str) -> list[Mutant]:
    """The mutants of a folder, by the fixed seed."""
    files = sorted(path for path in (ROOT / SOURCE / folder).glob("*.py"))
    possible = [mutant for file in files for mutant in _possible(file)]
    return Random(f"{SEED} {folder}").sample(possible, min(MUTANTS, len(possible)))


def mutated(source: str, number: int) -> str:
    """The source with its `number`th possible fault."""
    tree = ast.parse(source)
    for at, (_, make) in enumerate(_faults(tree)):
        if at == number:
            make()
            return ast.unparse(ast.fix_missing_locations(tree))
    raise IndexError(number)


def _possible(file: Path) -> list[Mutant]:
    name = file.relative_to(ROOT).as_posix()
    tree = ast.parse(file.read_text("utf-8"))
    return [Mutant(name, at, node.lineno, type(node).__name__) for at, (node, _) in enumerate(_faults(tree))]


def _faults(tree: ast.Module) -> Iterator[tuple[ast.expr, Callable[[], None]]]:
    """Each place in a function that can be made wrong, with what does it."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in (node for statement in function.body for node in ast.walk(statement)):
            match node:
                case ast.Compare(ops=[operator, *_]) if type(operator) in _SWAPPED:
                    yield node, partial(node.ops.__setitem__, 0, _SWAPPED[type(operator)]())
                case ast.BoolOp() | ast.BinOp() if type(node.op) in _SWAPPED:
                    yield node, partial(setattr, node, "op", _SWAPPED[type(node.op)]())
                case ast.UnaryOp(op=ast.Not()):
                    yield node, partial(setattr, node, "op", ast.UAdd())
                case ast.Constant(value=bool() as value):
                    yield node, partial(setattr, node, "value", not value)
                case ast.Constant(value=int() as value):
                    yield node, partial(setattr, node, "value", value + 1)
                case ast.IfExp():
                    yield node, partial(setattr, node, "test", ast.UnaryOp(ast.Not(), node.test))
                case _:
                    pass


def _survivors(mutants: list[Mutant], tests: list[str], checkouts: SimpleQueue[Path]) -> list[Mutant]:
    clean = checkouts.get()
    began = monotonic()
    if _fails(clean, tests, None):
        checkouts.put(clean)
        raise UnsoundTestsError(f"these fail without a mutant: {' '.join(tests)}")
    limit_s = 3 * (monotonic() - began) + SLACK_S
    checkouts.put(clean)

    def survives(mutant: Mutant) -> bool:
        checkout = checkouts.get()
        file = checkout / mutant.file
        original = file.read_text("utf-8")
        try:
            file.write_text(mutated(original, mutant.number), "utf-8")
            return not _fails(checkout, tests, limit_s)
        finally:
            file.write_text(original, "utf-8")
            checkouts.put(checkout)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [mutant for mutant, lives in zip(mutants, pool.map(survives, mutants), strict=True) if lives]


def _fails(checkout: Path, tests: list[str], limit_s: float | None) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
    process = subprocess.Popen(
        command,
        cwd=checkout,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(limit_s) != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _copied(place: Path) -> Path:
    """A checkout of its own, with the data beside it."""
    place.mkdir()
    shutil.copytree(ROOT, place / "it", ignore=shutil.ignore_patterns(".venv", "__pycache__"), symlinks=True)
    if (ROOT.parent / "shared").is_dir():
        (place / "shared").symlink_to((ROOT.parent / "shared").resolve())
    return place / "it"


if __name__ == "__main__":
    sys.exit(main())
