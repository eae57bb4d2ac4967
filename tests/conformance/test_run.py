"""The suite against servers of ours, of others, and of nobody's."""

import json
from pathlib import Path

import pytest

from conformance.suite import BROKEN, HONEST, LOUVER, NEW, OLD, PEOPLE, broken, failures, found, inline, script
from fixtures.failsafe import A_WHILE_S, FAILSAFE_S
from fixtures.forking import PYTHON
from fixtures.process import http_process
from gateway.gateways import gateway
from louver_conformance import session, validator_process
from louver_conformance.fixture import Fixture
from louver_conformance.run import run, with_baseline
from louver_conformance.session import Target
from louver_conformance.validator_process import ValidatorProcess
from stock.run import python_with

HERE = Path(__file__).parent
PLAIN = (PYTHON, str(HERE / "plain_example.py"))

pytestmark = pytest.mark.anyio


# Ours


async def test_the_example_passes_in_both_revisions():
    """Ours: over standard input and output."""
    report = await run(Target(command=(*LOUVER, "serve", "--example")), fixture=PEOPLE)
    assert found(report, "fail", "warn", "not tried") == set()
    assert {outcome.revision for outcome in report.outcomes} == {OLD, NEW}
    assert {outcome.check.group for outcome in report.outcomes if outcome.status == "not offered"} >= {"search"}


@pytest.mark.parametrize(
    "options",
    [
        {"listing": "strict"},
        pytest.param({"listing": "omit", "exact": True}, marks=pytest.mark.deep),
        pytest.param({"disclosure": "on-error", "search": True}, marks=pytest.mark.deep),
        pytest.param(
            {
                "views": {"get_user_profile": {"minimal": ["id", "name"]}},
                "default_views": {"get_user_profile": "minimal"},
            },
            marks=pytest.mark.deep,
        ),
    ],
    ids=lambda options: "-".join(options),
)
async def test_so_does_a_server_with_other_options(options):
    """Ours: a strict listing is for clients that declare the extension; a default view is no request that sticks."""
    target = Target(command=(PYTHON, str(HERE / "attached_example.py"), json.dumps(options)))
    assert await failures(target, NEW, fixture=PEOPLE) == set()


@pytest.mark.parametrize(
    "exposure",
    [
        "full",
        *(pytest.param(other, marks=pytest.mark.deep) for other in ("deferred", "minimal", "discovery", "gateway")),
    ],
)
async def test_the_gateway_passes_in_each_exposure(exposure):
    """Ours: over HTTP, in both revisions, before a server that knows nothing of projection."""
    with gateway("--exposure", exposure, "--", *PLAIN) as url:
        report = await run(Target(url=url), fixture=PEOPLE)
    assert found(report, "fail", "warn") == set()
    assert len(found(report, "pass")) > 40


@pytest.mark.deep
async def test_the_gateway_passes_before_a_server_that_projects_itself():
    """Ours: receipts tell of the whole output, and not of what another left of it."""
    with gateway("--", PYTHON, "-m", "louver", "serve", "--example") as url:
        report = await run(Target(url=url), fixture=PEOPLE)
    assert found(report, "fail", "warn") == set()


async def test_the_vector_server_passes_with_a_witness():
    """Ours: what a refused call leaves behind is seen."""
    fixture = Fixture.read(HERE / "vectors.fixture.json")
    vectors = script(HERE.parent / "fixtures" / "vector_server.py")
    report = await run(vectors, revisions=[OLD], groups=["errors"], fixture=fixture)
    assert found(report, "fail", "warn") == set()
    assert "nothing-has-run" in found(report, "pass")


async def test_a_vector_server_over_http_passes_too():
    """Ours: an answer may come as a stream of events."""
    with http_process(HERE.parent / "fixtures" / "vector_server.py") as (url, _):
        fixture = Fixture.read(HERE / "vectors.fixture.json")
        assert await failures(Target(url=url), OLD, NEW, groups=["projection"], fixture=fixture) == set()


# Tools that say nothing of the server


def no_patience(monkeypatch, *tools):
    """Have calls of these tools, or of all, not waited for; all else is."""
    call = session.TargetSession.call

    async def impatient(self, name, *arguments):
        self._deadline.answer_s = A_WHILE_S if not tools or name in tools else FAILSAFE_S
        try:
            return await call(self, name, *arguments)
        finally:
            self._deadline.answer_s = FAILSAFE_S

    monkeypatch.setattr(session.TargetSession, "call", impatient)


async def test_tools_that_take_long_or_change_by_themselves_are_set_aside(monkeypatch, tmp_path):
    """Ours: public servers have a clock, and a tool that shows how long a call can take."""
    no_patience(monkeypatch, "a_sleeper")
    odd = Target(command=(PYTHON, str(HERE / "odd_example.py"), str(tmp_path / "calls")))
    fixture = Fixture({"ticks": [{}], **PEOPLE.arguments})
    report = await run(odd, revisions=[OLD], groups=["projection", "schema", "isolation"], fixture=fixture)
    assert found(report, "fail", "warn", "not tried") == set()
    assert (tmp_path / "calls").stat().st_size > 2


async def test_tools_that_have_not_answered_are_named(monkeypatch):
    """Ours: where nothing else is left."""
    no_patience(monkeypatch)
    mute = (
        "def answered(self, message):\n"
        "  while message['method'] == 'tools/call': message = json.loads(input())\n"
        "  return super().answered(message)\n"
    )
    report = await run(inline(f"{HONEST}{mute}serve(Server())"), revisions=[OLD], groups=["capability"])
    (outcome,) = [outcome for outcome in report.outcomes if outcome.check.id == "tools-answer"]
    assert (outcome.status, report.is_decided) == ("not tried", False)
    assert outcome.detail.endswith("These have not answered in time: 'get_person', 'list_orders', 'say_hello', 'runs'")


@pytest.mark.parametrize(
    "method",
    [
        # Tools that may not be called without a word from its maintainer, one field, and a clock.
        "def listed(self, name): return {**super().listed(name), 'annotations': {}}",
        "def call_tool(self, params): return {'content': [], 'structuredContent': {'only': 1}}",
        "def call_tool(self, params): return {'content': [], 'structuredContent': {'a': 1, 'now': time.time_ns()}}",
    ],
)
async def test_a_server_on_which_nothing_can_be_tried_does_not_fail(method):
    """HOSTS.md: no sentence is broken, and the report says that nothing was tried, and why."""
    report = await run(
        inline(f"import time\n{HONEST}{method}\nserve(Server())"), revisions=[OLD], groups=["capability"]
    )
    assert found(report, "fail") == set()
    (outcome,) = [outcome for outcome in report.outcomes if outcome.check.id == "tools-answer"]
    assert outcome.status == "not tried"
    assert "name one by --fixture" in outcome.detail


async def test_the_tool_that_ends_a_server_is_named():
    """Ours: what its maintainer has to look at."""
    report = await run(inline(f"{HONEST}def call_tool(self, params): sys.exit()\nserve(Server())"), revisions=[OLD])
    (outcome,) = [outcome for outcome in report.outcomes if outcome.check.id == "tools-answer"]
    assert outcome.detail == "the target's process has ended, when 'get_person' was called"


# Others'


async def test_a_server_that_knows_nothing_of_projection_fails_to_declare_it():
    """Ours: and nothing else, since it offers nothing else."""
    report = await run(Target(command=PLAIN), fixture=PEOPLE)
    assert found(report, "fail", "warn") == {"capability-declared"}
    assert "stock-client-accepts-full" in found(report, "pass")
    assert "stock-client-accepts-projected" in found(report, "not offered")
    assert {outcome.revision for outcome in report.outcomes} == {OLD, NEW}


async def test_a_group_that_is_named_must_be_offered():
    """Ours: a missing prerequisite fails."""
    report = await run(Target(command=PLAIN), revisions=[OLD], groups=["search", "errors"], fixture=PEOPLE)
    assert {outcome.check.group for outcome in report.outcomes} == {"search", "errors"}
    assert {outcome.status for outcome in report.outcomes} == {"fail", "warn"}


@pytest.mark.deep
async def test_a_proxy_of_fastmcp_does_not_crash_it():
    """Ours: before a server that projects, it passes on some of what is said, and so fails some checks."""
    command = (str(python_with("fastmcp>=4.1,<5")), str(HERE / "fastmcp_proxy.py"), PYTHON)
    report = await run(Target(command=(*command, str(BROKEN / "server.py"), "Honest")), fixture=PEOPLE)
    details = {outcome.detail for outcome in report.outcomes if outcome.status == "fail"}
    assert "capability-declared" in found(report, "fail")
    assert not [detail for detail in details if "cannot be judged" in detail]


async def test_a_server_of_one_revision_is_checked_in_that():
    """Ours: unless the other one is asked for."""
    old = inline(HONEST + "def discover(self, params):\n  raise Refused({'message': 'no'}, -32601)\nserve(Server())")
    fixture = Fixture.read(BROKEN / "fixture.json")
    report = await run(old, fixture=fixture, groups=["hint"])
    assert report.is_passed
    assert {outcome.revision for outcome in report.outcomes} == {OLD}
    assert report.unsupported.keys() == {NEW}
    assert await failures(old, NEW, groups=["hint"], fixture=fixture) == {"connects"}


# Nobody's


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("", id="ends at once"),
        pytest.param("print('hello')", id="no JSON"),
        pytest.param("print('[' * 100000)", id="an abyss"),
        pytest.param("import sys; sys.stdout.write('x' * 9_000_000)", id="a long line"),
        pytest.param("import sys\nfor line in sys.stdin: print(line, flush=True)", id="an echo"),
        pytest.param('for n in range(2000): print(\'{"jsonrpc": "2.0", "method": "n"}\')', id="a chatterbox"),
        pytest.param('print(\'{"jsonrpc": "2.0", "id": 1}\')', id="neither result nor error"),
        pytest.param('print(\'{"jsonrpc": "2.0", "id": 1, "result": NaN}\')', id="no number"),
        pytest.param("import sys; sys.stdout.buffer.write(b'\\xff\\n')", id="no UTF-8"),
    ],
)
async def test_what_is_no_server_fails_to_connect(code):
    """Ours: and is no error of the suite."""
    assert await failures(inline(code)) == {"connects"}


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_who_does_not_answer_is_not_waited_for(monkeypatch, era):
    """Ours: for longer than is said; and no sentence is broken."""
    monkeypatch.setattr(session, "OPENING_TIMEOUT_S", 0.2)
    report = await run(inline("import sys; sys.stdin.read()"), revisions=[era], timeout_s=0.1)
    (outcome,) = report.outcomes
    assert (outcome.check.id, outcome.status, report.is_decided) == ("connects", "not tried", False)
    assert outcome.detail == "the target has not answered for 0.2 seconds"


async def test_what_is_left_when_time_is_up_is_not_tried():
    """Ours: a target that takes long for each answer does not take for ever."""
    report = await run(broken("Honest"), revisions=[OLD], timeout_s=0.0)
    assert found(report, "not tried") == {"connects"}


@pytest.mark.parametrize("target", [Target(command=("no-such-command",)), Target(url="http://127.0.0.1:9/mcp")])
async def test_what_is_not_there_fails_to_connect(target):
    """Ours."""
    assert await failures(target) == {"connects"}


@pytest.mark.parametrize(
    "method",
    [
        "def list_tools(self, params): return {'tools': 7}",
        "def list_tools(self, params): return {'tools': []}",
        "def list_tools(self, params): return {'tools': [{'name': {}}, 7, {}]}",
        "def list_tools(self, params): return {'tools': [], 'nextCursor': 'again'}",
        "def call_tool(self, params): sys.exit()",
        "def call_tool(self, params): return {'content': 7, 'structuredContent': [[]] * 9}",
        "def contents(self, uri, value): return {'contents': [7]}",
        "def listed(self, name): return {'name': name, 'annotations': 7, '_meta': 7, 'inputSchema': 7}",
    ],
)
async def test_a_server_whose_tools_cannot_be_used_fails_to_answer(method):
    """Ours: whatever it sends."""
    report = await run(inline(f"{HONEST}{method}\nserve(Server())"), revisions=[OLD], groups=["projection"])
    assert found(report, "fail") == {"tools-answer"}


@pytest.mark.parametrize(
    "method",
    [
        "def receipt(self, plan, kept, value): return []",
        "def receipt(self, plan, kept, value): return {'applied': True, 'fields': {}, 'projectedSchema': 7}",
        "def projected(self, plan, value, key): return {'structuredContent': 1, '_meta': {key: {'applied': True}}}",
        "def schema(self, plan, kept): return {'$ref': '#', 'properties': 7, 'type': [[]], 'allOf': {}}",
        "def capabilities(self): return {**super().capabilities(), 'tools': []}",
        "def hint(self, name): return {'supported': True, 'recommendedViews': {'a': [7, [], {}]}}",
    ],
)
async def test_whatever_a_server_answers_is_a_failure_of_checks(method):
    """Ours: nothing that it sends is an error of the suite."""
    fixture = Fixture.read(BROKEN / "fixture.json")
    server = inline(f"{HONEST}{method}\nserve(Server())")
    report = await run(
        server, revisions=[OLD], groups=["capability", "hint", "projection", "schema", "errors"], fixture=fixture
    )
    assert not report.is_passed


async def test_a_schema_that_cannot_be_judged_in_time_is_not_tried(monkeypatch):
    """Ours: it refers to itself twice, forty levels deep."""
    accepts = ValidatorProcess.accepts

    async def impatient(self, schema, *values):
        is_bomb = "#/$defs/l0" in str(schema)
        monkeypatch.setattr(validator_process, "VALIDATION_TIMEOUT_S", A_WHILE_S if is_bomb else FAILSAFE_S)
        return await accepts(self, schema, *values)

    monkeypatch.setattr(ValidatorProcess, "accepts", impatient)
    bomb = (
        "def schema(self, plan, kept):\n"
        "  names = {f'l{n}': {'allOf': [{'$ref': f'#/$defs/l{n + 1}'}] * 2} for n in range(40)}\n"
        "  return {'$ref': '#/$defs/l0', '$defs': {**names, 'l40': {'type': 'object'}}}"
    )
    report = await run(inline(f"{HONEST}{bomb}\nserve(Server())"), revisions=[OLD], groups=["schema"])
    (outcome,) = [outcome for outcome in report.outcomes if outcome.check.id == "schema-accepts-what-is-left"]
    assert (outcome.status, report.is_decided) == ("not tried", False)


# Known failures


async def test_a_known_failure_does_not_count_and_one_that_passes_is_told():
    """Ours."""
    report = await run(broken("ExcludeAdds"), revisions=[OLD], groups=["projection"])
    assert not report.is_passed
    failing, passing = f"{OLD} exclude-leaves-out", f"{OLD} include-keeps-named"
    known = with_baseline(report, [failing, passing])
    assert known.is_passed
    assert found(known, "known") == {"exclude-leaves-out"}
    assert known.fixed == (passing,)
    assert not with_baseline(report, [passing]).is_passed
