"""No verdict of a test hangs on a clock: a busy machine is slow, and right.

Nothing that a clock says is compared, and what is waited for ends at the one fail-safe (`fixtures/failsafe.py`), or
after a while in which nothing must come. Speed is measured in `benchmarks`.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
FAILSAFE = "failsafe.py"

EXCEPT = {
    "tests/fixtures/growth.py": "costs in proportion to each other, in thread time",
    "tests/fixtures/stalls.py": "what a turn of the loop computes, in thread time",
    "tests/concurrency/test_stalls.py": "computes for so long",
    "tests/fixtures/hostile.py": "floods for so long",
    "tests/hosts/drivers/": "programs of foreign environments, which know nothing of ours",
    "tests/stock/suite.py": "a foreign suite, which has bounds of its own",
    "tests/stock/test_versions.py": "a whole run of tests in a foreign environment",
    "conformance/src/": "the suite is a program for others, with bounds of its own (`limits.py`)",
}
"""A file, or a folder -> why a clock may be read and compared there."""

CLOCKS = {
    *("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime", "current_time"),
    *("time_ns", "monotonic_ns", "perf_counter_ns", "process_time_ns", "thread_time_ns", "clock_gettime_ns"),
}
OF_DATES = {"now", "utcnow", "today"}
PASSED_ON = {"abs", "float", "int", "list", "max", "min", "round", "sorted", "sum", "tuple"}
"""Functions whose result is a reading, if what they take is one."""

KEEPS = {"add", "append", "setdefault"}
"""Methods whose object then holds a reading."""

DEADLINE_AT = {
    **dict.fromkeys(("fail_after", "move_on_after", "timeout", "Timer", "settimeout", "wait", "join", "result"), 0),
    **dict.fromkeys(("wait_for", "to_thread"), 1),
    "select": 3,
}
"""Calls -> which of their arguments is a deadline."""


def named(call):
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


class Clocks:
    """Where a module holds what a clock says, by the names of variables, attributes and functions."""

    def __init__(self, text, tree):
        self.held, self.numbers = set(), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and is_number(node.value, ()):
                self.numbers |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            if isinstance(node, ast.arguments):
                given = [*node.posonlyargs, *node.args][::-1], node.defaults[::-1]
                pairs = [*zip(*given, strict=False), *zip(node.kwonlyargs, node.kw_defaults, strict=True)]
                self.numbers |= {each.arg for each, default in pairs if default is not None and is_number(default, ())}
        before = None if any(f"{name}(" in text for name in (*CLOCKS, *OF_DATES)) else 0
        while before != len(self.held):
            before = len(self.held)
            self._look(tree, "")

    def _look(self, node, function):
        """Add what is assigned, appended or returned; a variable is of its function, an attribute of anything."""
        for child in ast.iter_child_nodes(node):
            within = function
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                within = f"{function}{child.name}:"
            if isinstance(child, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and child.value:
                for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                    self._assign(target, child.value, function)
            if isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute) and named(child) in KEEPS:
                for value in child.args:
                    self._assign(child.func.value, value, function)
            if isinstance(child, ast.For | ast.comprehension):
                self._assign(child.target, child.iter, function)
            if isinstance(child, ast.Return) and child.value is not None and self.reads(child.value, function):
                self.held.add(f"{function.split(':')[-2]}()")
            self._look(child, within)

    def _assign(self, target, value, function):
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for each, its in zip(target.elts, value.elts, strict=True):
                self._assign(each, its, function)
        elif self.reads(value, function):
            for each in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                while isinstance(each, ast.Subscript | ast.Starred):
                    each = each.value
                if isinstance(each, ast.Attribute):
                    self.held.add(f".{each.attr}")
                elif isinstance(each, ast.Name):
                    self.held.add(function + each.id)

    def reads(self, node, function):
        """Whether an expression is made of what a clock says."""
        if isinstance(node, ast.Call):
            if named(node) in PASSED_ON:
                return any(self.reads(each, function) for each in node.args)
            of_date = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value).endswith("datetime")
            is_clock = named(node) in CLOCKS or (of_date and named(node) in OF_DATES)
            return is_clock or f"{named(node)}()" in self.held
        if isinstance(node, ast.Name):
            # Also of a function around this one.
            parts = function.split(":")
            return any(":".join([*parts[:end], node.id]) in self.held for end in range(len(parts)))
        if isinstance(node, ast.Attribute):
            # Also a property.
            return {f".{node.attr}", f"{node.attr}()"} & self.held != set()
        if isinstance(node, ast.Lambda | ast.Constant):
            return False
        return any(self.reads(each, function) for each in ast.iter_child_nodes(node))


def is_number(node, numbers):
    """Whether it is a number that is written there, or its name; zero is no clock."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool) and node.value != 0
    if isinstance(node, ast.BinOp):
        return is_number(node.left, numbers) and is_number(node.right, numbers)
    return isinstance(node, ast.Name) and node.id in numbers


def deadlines(call):
    at = DEADLINE_AT.get(named(call))
    yield from () if at is None else call.args[at : at + 1]
    yield from (keyword.value for keyword in call.keywords if keyword.arg == "timeout")


def faults(text):
    """The lines of a module whose verdict is a clock's -> what is wrong."""
    tree = ast.parse(text)
    clocks, found = Clocks(text, tree), {}

    def look(node, function):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Compare) and clocks.reads(child, function):
                found[child.lineno] = "a reading of a clock is compared"
            if isinstance(child, ast.Call) and any(is_number(each, clocks.numbers) for each in deadlines(child)):
                found[child.lineno] = "a deadline of its own"
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            look(child, f"{function}{child.name}:" if is_function else function)

    look(tree, "")
    return found


def test_no_verdict_hangs_on_a_clock():
    """TESTS.md."""
    files = [file for folder in ("tests", "conformance") for file in (ROOT / folder).rglob("*.py")]
    found = {str(file.relative_to(ROOT)): faults(file.read_text()) for file in files if file.name != FAILSAFE}
    excepted = {name: next(filter(name.startswith, EXCEPT), None) for name, lines in found.items() if lines}
    said = [f"{name}:{line}: {found[name][line]}" for name in found if not excepted.get(name) for line in found[name]]
    assert not said, "\n".join(said)
    assert {*excepted.values()} == {*EXCEPT}, "an exception is not needed any more"


PLANTED = """
import time
from time import perf_counter

MOST_S = 5

class Watch:
    def __init__(self):
        self.began = time.monotonic()

    @property
    def taken(self):
        return loop.time() - self.began

def now():
    return round(perf_counter(), 3)

async def test_of_what_is_fast(within=3.0):
    began = perf_counter()
    assert perf_counter() - began < 1  # red
    first, waits = now(), []
    waits.append(now() - first)
    assert max(waits) < 2 * SLACK  # red
    assert Watch().taken <= 1  # red
    while datetime.datetime.now() < until:  # red
        pass
    def is_late():
        return began > 3  # red
    took = {}
    took[1], found = began, time.thread_time_ns()
    assert took[1] == 1 and found == 1  # red
    process.wait(5)  # red
    await asyncio.wait_for(task, 0.5)  # red
    subprocess.run(command, timeout=MOST_S)  # red
    async with asyncio.timeout(within):  # red
        pass
    with anyio.fail_after(2 * 5):  # red
        pass
    await asyncio.to_thread(event.wait, 20)  # red
    thread.join(timeout=2)  # red

async def test_of_what_is_right(began):
    token = signed(exp=time.time() + 60)
    assert verify(token) == began
    process.wait(FAILSAFE_S)
    await asyncio.wait(tasks, timeout=0)
    clock.now = time.time()
    time.sleep(1)
    ", ".join(["a"] * 5)
"""


def test_what_hangs_on_a_clock_is_found():
    """The walk itself."""
    marked = {number: line for number, line in enumerate(PLANTED.split("\n"), 1) if line.endswith("  # red")}
    assert len(marked) == 13
    assert faults(PLANTED).keys() == marked.keys()
