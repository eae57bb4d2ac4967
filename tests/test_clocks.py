"""No verdict of a test hangs on a clock: a busy machine is slow, and right.

No clock is mentioned, and what is waited for ends at the one fail-safe (`fixtures/failsafe.py`), or after a while in
which nothing must come. Speed is measured in `benchmarks`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

EXCEPT = {
    "tests/fixtures/failsafe.py": "the fail-safe itself",
    "tests/fixtures/growth.py": "costs in proportion to each other, in thread time",
    "tests/fixtures/stalls.py": "what a turn of the loop computes, in thread time",
    "tests/concurrency/test_stalls.py": "computes for so long",
    "tests/fixtures/hostile.py": "floods for so long",
    "tests/fixtures/sdk_authorization.py": "when a token ends",
    "tests/gateway/front/auth/issuer.py": "when a token ends",
    "tests/gateway/back/test_in_flight.py": "the clock of the loop is turned",
    "tests/fuzz/__main__.py": "prints how many pairs a second",
    "tests/team/faults.py": "measures for a benchmark",
    "tests/policy/canaries.py": "prints how many cases a second",
    "tests/policy/wire_canaries.py": "as the one before; goes on with what has come at once",
    "tests/hosts/drivers/": "programs of foreign environments, which know nothing of ours",
    "tests/stock/drivers/": "likewise",
    "tests/stock/run.py": "runs those, and ends later than they do",
    "tests/stock/suite.py": "a foreign suite, which has bounds of its own",
    "tests/stock/test_versions.py": "a whole run of tests in a foreign environment",
    "conformance/src/": "the suite is a program for others, with bounds of its own (`limits.py`)",
}
"""A file, or a folder -> why a clock may be read there, or a deadline be its own."""

CLOCK = re.compile(
    r"(\w*\.)?((monotonic|perf_counter|process_time|thread_time|clock_gettime)(_ns)?|time_ns|current_time|default_timer)"
    r"|timeit\.\w+|\w*\.(elapsed|utcnow)|(time|loop)\.time|(date|datetime)\.(now|today)|\w*\.((now|today)\(.*|time\(\))"
)
SCRIPTED = re.compile(r"\b(performance|Date)\.now\b")
WAITS = re.compile(
    r"(\w*\.)?(fail_after|move_on_after|timeout|Timeout|Timer|wait_for|to_thread|create_connection|call_later)"
    r"|(?!self\.|shlex\.|path\.)\w+\.(settimeout|set_default_timeout|wait|join|result|select|communicate)"
)
OURS = re.compile(r"FAILSAFE_S( \* \d+)?|A_WHILE_S|\w+ \+ FAILSAFE_S")


def dotted(node):
    """A name behind that of what it is taken from, as `loop.time` of `self.loop.time`."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value).rpartition('.')[2]}.{node.attr}"
    return dotted(node.func) if isinstance(node, ast.Call) else getattr(node, "id", "")


def has_number(node, numbers):
    """Whether a number takes part that is written there, or a name of one, as constants have; zero is no clock."""
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float) and node.value != 0
    if isinstance(node, ast.Name | ast.Attribute):
        name = dotted(node).rpartition(".")[2]
        return name in numbers or (name.isupper() and not OURS.fullmatch(name))
    is_sum = isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.IfExp | ast.keyword)
    if not is_sum and dotted(node) not in {"min", "max", "int", "float", "timedelta"}:
        return False
    parts = [*ast.iter_child_nodes(node)]
    return any(has_number(each, numbers) for each in parts) and not any(isinstance(each, ast.List) for each in parts)


def named_numbers(tree):
    numbers = set()
    for node in ast.walk(tree):
        value, targets = getattr(node, "value", None), getattr(node, "targets", [getattr(node, "target", None)])
        pairs = [(target, value) for target in targets]
        if isinstance(node, ast.arguments):
            pairs = [*zip([*node.posonlyargs, *node.args][::-1], node.defaults[::-1], strict=False)]
            pairs += zip(node.kwonlyargs, node.kw_defaults, strict=True)
        numbers |= {getattr(to, "id", getattr(to, "arg", "")) for to, value in pairs if has_number(value, numbers)}
    return numbers


def deadlines(call):
    said = [keyword.value for keyword in call.keywords if keyword.arg in {"timeout", "deadline", "delay"}]
    if re.fullmatch(r"\w+\.(get|put|acquire)", dotted(call)):
        # It stands behind whether they wait.
        at = next((at for at, each in enumerate(call.args, 1) if getattr(each, "value", None) is True), None)
        return said + call.args[at:] if at else said
    return said + call.args if WAITS.fullmatch(dotted(call)) else said


def faults(text):
    """The lines of a module that hang on a clock -> what is wrong."""
    found, tree = {}, ast.parse(text)
    numbers = named_numbers(tree)
    for node in ast.walk(tree):
        names = [dotted(node)]
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{each.name}" for each in node.names]
        elif isinstance(node, ast.Call):
            names = [f"{dotted(node)}({'...' if node.args else ''})"]
            if any(has_number(each, numbers) and not OURS.fullmatch(ast.unparse(each)) for each in deadlines(node)):
                found[node.lineno] = "a deadline of its own"
        in_script = isinstance(node, ast.Constant) and SCRIPTED.search(str(node.value))
        if in_script or any(CLOCK.fullmatch(name) for name in names):
            found[node.lineno] = "a clock is mentioned"
    return found


def test_no_verdict_hangs_on_a_clock():
    """TESTS.md."""
    files = [file for folder in ("tests", "conformance") for file in (ROOT / folder).rglob("*.py")]
    found = {str(file.relative_to(ROOT)): faults(file.read_text()) for file in files}
    excepted = {name: next(filter(name.startswith, EXCEPT), None) for name, lines in found.items() if lines}
    said = [f"{name}:{line}: {found[name][line]}" for name in found if not excepted.get(name) for line in found[name]]
    assert not said, "\n".join(said)
    assert {*excepted.values()} == {*EXCEPT}, "an exception is not needed any more"


PLANTED = """
from elsewhere import MOST_S
W: float = 5
def fast(within=3.0): pass
from time import perf_counter as clock  # red
from time import time  # red
from timeit import repeat  # red
clock = time.perf_counter  # red
assert (datetime.now(UTC) - began).total_seconds() < 1  # red
assert asyncio.get_running_loop().time() < until  # red
took = [timeit.timeit(work) for work in works]  # red
assert response.elapsed < most  # red
seconds_of = lambda work: -t.monotonic() + (work(), t.monotonic())[1]  # red
subprocess.run(command, timeout=MOST_S)  # red
process.wait(W)  # red
asyncio.timeout(30 if CI else 5)  # red
thread.join(FAILSAFE_S / 60)  # red
fail_after(delay=within)  # red
fail_after(STEP_SECONDS * (len(x) + 3))  # red
queue.get(True, 5)  # red
queue.get(timeout=1)  # red
await asyncio.to_thread(event.wait, 20)  # red
socket.create_connection(("127.0.0.1", port), 5)  # red
selector.select(-5)  # red
context.set_default_timeout(15_000)  # red
loop.call_later(limits.SOON_S, stop)  # red
httpx2.Timeout(5)  # red
CancelScope(deadline=ends + 5)  # red
future.result(timeout=timedelta(seconds=5))  # red

token = signed(exp=clock.now + 60, at=make.time(5))
process.wait(FAILSAFE_S)
context.set_default_timeout(FAILSAFE_S * 1000)
subprocess.run(command, timeout=SECONDS + FAILSAFE_S)
await asyncio.wait(tasks, timeout=0)
await asyncio.wait_for(reader.readexactly(5), A_WHILE_S)
", ".join(["a"] * 5)
separator.join(["a"] * 5)
known.get("total", 3)
time.sleep(1)
"""


def test_what_hangs_on_a_clock_is_found():
    """The walk itself."""
    marked = {number: line for number, line in enumerate(PLANTED.split("\n"), 1) if line.endswith("  # red")}
    assert len(marked) == 25
    assert faults(PLANTED).keys() == marked.keys()
