"""What a script can say, and that values come and go as they are."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.failsafe import FAILSAFE_S
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.errors import (
    SandboxCallLimit,
    SandboxOutputLimit,
    SandboxRuntime,
    SandboxSyntax,
    SandboxTimeout,
    ToolFailed,
    UnknownName,
)
from louver.gateway.builtin.identifiers import GLOBALS
from louver.limits import SCRIPT_CPU_S
from louver.lua.bridge import MAX_SCRIPT_CALLS, MAX_SCRIPT_PATH_LISTS, MAX_SCRIPT_RESULT_DEPTH, Bridge
from louver.lua.channel import WorkerChannel
from louver.lua.sandbox import MAX_SCRIPT_BYTES, Options
from louver.lua.script_errors import MAX_SCRIPT_MESSAGE
from louver.lua.time_limit import TimeLimit
from lua.hosts import SECRET, Tools, run, started
from steps.threads import Begun, turns

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def sandbox(anyio_backend):
    async with started() as sandbox:
        yield sandbox


async def failing(sandbox, script, kind=SandboxRuntime, host=None):
    with pytest.raises(kind) as caught:
        await run(sandbox, script, host)
    assert type(caught.value) is kind
    return caught.value


# Values

VALUES = [
    None,
    True,
    "",
    '\x00\x1f"\\/\u2028é𝄞',
    {},
    [],
    [[], {}, [[]], [{}]],
    {"a": None, "b": [None, None]},
    {"end": 1, "nil": 2, "while": 3, "not": 4},
    {"日本": "語", "": 0, "a.b": 1, "1": 2},
    0,
    -1,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    2**63,
    -(2**63) - 1,
    10**40,
    1.0,
    -0.0,
    0.1,
    1e300,
    5e-324,
    1.7976931348623157e308,
    123456789.123456789,
    [1, 1.0, 1e2],
]


def same(one, other):
    """Whether two JSON values are the same, floats and integers told apart."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@pytest.mark.parametrize("value", VALUES, ids=str)
async def test_a_value_comes_and_goes_as_it_is(sandbox, value):
    """SANDBOX.md: null, integers above 2^53, empty arrays and objects."""
    host = Tools(value)
    assert same(await run(sandbox, "result(srv.give():await())", host), value)
    assert same(await run(sandbox, "result(srv.echo({x = srv.give():await()}):await().x)", host), value)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXTS, below),
    max_leaves=30,
)


def test_every_value_comes_and_goes_as_it_is():
    """*Ours*, a law: JSON in, `result(x)`, the same JSON."""
    with asyncio.Runner() as runner:
        room = started()
        sandbox = runner.run(room.__aenter__())

        @given(JSON)
        def law(value):
            found = runner.run(run(sandbox, "result(srv.give():await())", Tools(value)))
            assert same(found, value)

        try:
            law()
        finally:
            runner.run(room.__aexit__(None, None, None))


@pytest.mark.parametrize(
    ("script", "value"),
    [
        ("result({})", {}),
        ("result(json.array{})", []),
        ("result(json.array())", []),
        ("result({1, 2})", [1, 2]),
        ("result({a = {b = null}})", {"a": {"b": None}}),
        ("result(nil)", None),
        ("result()", None),
        ("result(1 == 1.0)", True),
        ("result({1, 1.5, 2^53})", [1, 1.5, 2.0**53]),
        ("result({b = 1, a = 2})", {"a": 2, "b": 1}),
        ('result(json.decode(\'{"a": [1, 2.50, null, "\\\\u00e9\\\\ud834\\\\udd1e"]}\'))', {"a": [1, 2.5, None, "é𝄞"]}),
        ("result(json.encode({b = json.array{}, a = null}))", '{"a":null,"b":[]}'),
        ("local list = json.decode('[1]'); table.remove(list); result(list)", []),
        ("result(tostring(null))", "null"),
        ("result({null == null, json.decode('null') == null, type(null)})", [True, True, "table"]),
        ("local big = json.decode('9223372036854775808'); result({big, tostring(big)})", [2**63, str(2**63)]),
        ("result(json.decode('10000000000000000000') == json.decode('10000000000000000000'))", True),
        ("result(math.type(json.decode('1')) .. math.type(json.decode('1.0')))", "integerfloat"),
    ],
)
async def test_what_lua_says_in_json(sandbox, script, value):
    """SANDBOX.md, the language."""
    assert same(await run(sandbox, script), value)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("result({items = {1, 2, {x = print == nil and function() end}}})", "result.items[3].x is a function"),
        ("result({a = 0/0})", "result.a is not a number"),
        ("result({a = -1/0})", "result.a is infinite"),
        ("result({a = '\\255'})", "result.a is a text that is not UTF-8"),
        ("result({['\\255'] = 1})", "result has a name that is not UTF-8"),
        ("result({1, 2, x = 3})", "result is an array and has names"),
        ("result({[1] = 1, [3] = 3})", "result has gaps: position 3 of 2"),
        ("result({[2] = 1})", "result has gaps"),
        ("result({[0] = 1})", "result has a key that is neither a name nor a position from 1, but 0"),
        ("result({[true] = 1})", "but a boolean"),
        ("result({[1.5] = 1})", "but 1.5"),
        ("local t = {}; t.t = {t}; result(t)", "result.t[1] is part of itself"),
        ("result({['a b'] = {srv.echo}})", 'result["a b"][1] is a function'),
        ("result({srv})", "result[1] is a server"),
        ("result({srv.echo{}})", "result[1] is a promise"),
        ("srv.echo({a = {b = 0/0}})", "srv.echo: arguments.a.b is not a number"),
        ("json.encode({x = function() end})", "json.encode: value.x is a function"),
        ("srv.echo('x')", "the arguments of srv.echo are one table of names"),
        ("srv.echo({1})", "a table of names, not a list"),
        ("srv:echo({})", "write srv.echo{...}, with a dot and not a colon"),
        ("srv.echo({}, {colour = 1})", "unknown option of srv.echo: expected 'fields' or 'view'"),
        ("srv.echo({}, {fields = 'id'})", "the fields of srv.echo are a list of field paths"),
        ("srv.echo({}, {fields = {1}})", "each of them a text"),
        ("srv.echo({}, {view = 1})", "the view of srv.echo is the name of a view"),
        ("srv.echo({}, {view = 'a', fields = {'a'}})", "the options of srv.echo have 'fields' or 'view', not both"),
        ("srv.echo({}, 'x')", "the options of srv.echo are a table"),
        ("srv[1]({})", "a tool of srv has a name"),
        ("srv.x = 1", "the tools of srv cannot be changed"),
        ("local x = null.a", "null has no fields, and so no 'a'"),
        ("null.a = 1", "null has no fields"),
        ("await_all(srv.echo{})", "await_all takes a list of promises"),
        ("await_all{1}", "await_all: element 1 is no promise"),
        ("project({a = 1})", "the fields of project are a list of field paths"),
        ("json.array(1)", "json.array takes a list"),
        ("json.decode(1)", "json.decode takes a text"),
        ("setmetatable({}, {__gc = function() end})", "a metatable here has no __gc"),
        ("coroutine.yield()", "coroutine.yield is called outside a coroutine"),
        ("coroutine.create(1)", "coroutine.create takes a function"),
        ("coroutine.resume(1)", "coroutine.resume takes a coroutine"),
        ("error({})", "an error was raised that is a table"),
        ("error()", "an error was raised without a message"),
        ("json.decode(('1'):rep(20000))", "not JSON at byte 1: an integer of over"),
        ("string.format('%%%5p', {})", "string.format has no %p here"),
        ("result(1)\nresult(2)", "result(...) was called already, on line 1"),
    ],
)
async def test_what_has_no_place_in_json_is_told_with_its_place(sandbox, script, says):
    """*Ours*: what, where, and what would have been right."""
    error = await failing(sandbox, script)
    assert says in error.message
    assert error.line == script.count("\n") + 1


@pytest.mark.whole
@pytest.mark.parametrize(
    "text",
    ["", "{", "[1", "[1,]", "{'a':1}", '{"a":1,"a":2}', "01", "1.", ".5", "+1", "1e", "NaN", '"\n"', '"\\x"',
     '"\\ud800"', '"\\ud800\\u0041"', "nul", "[1] 2", "1e999", '"a', "-", '{"a" 1}', '{"a":1 "b":2}', "[1 2]"],
)  # fmt: skip
async def test_json_is_read_strictly(sandbox, text):
    """*Ours*: as everywhere here."""
    script = f"result(json.decode([==[{text}]==]))" if "\n" not in text else 'result(json.decode("\\"\\n\\""))'
    assert "not JSON at byte" in (await failing(sandbox, script)).message
    json_error = "local ok = pcall(json.decode, '\\255'); result(ok)"
    assert await run(sandbox, json_error) is False


# Calls


async def test_a_call_has_arguments_and_options(sandbox):
    """SANDBOX.md: one table, and `fields`/`view` as an option."""
    host = Tools()
    script = "srv.echo(); srv.echo({a = {1}}, {fields = {'a', 'b.c'}}); srv.echo({}, {view = 'brief'}); result(1)"
    assert await run(sandbox, script, host) == 1
    assert host.calls == [
        ("srv", "echo", {}, Options()),
        ("srv", "echo", {"a": [1]}, Options(fields=("a", "b.c"))),
        ("srv", "echo", {}, Options(view="brief")),
    ]


async def test_calls_run_at_once_and_are_awaited_together(sandbox):
    """SANDBOX.md: `await_all{...}`, and at most four at once."""
    host = Tools()
    script = """
    local promises = {}
    for i = 1, 12 do promises[i] = srv.together({i = i}) end
    local sum = 0
    for _, value in ipairs(await_all(promises)) do sum = sum + value.i end
    result({sum = sum, none = await_all{}})
    """
    assert await run(sandbox, script, host) == {"sum": 78, "none": []}
    assert host.most_running == 4


async def test_await_all_waits_for_all_before_it_raises(sandbox):
    """*Ours*."""
    host = Tools()
    script = """
    local fails, echoes = srv.fail(), srv.echo({a = 1})
    local ok, failure = pcall(await_all, {fails, echoes})
    result({ok, failure.code, echoes:await()})
    """
    assert await run(sandbox, script, host) == [False, "TOOL_ERROR", {"a": 1}]


async def test_waiting_works_within_coroutines_and_protected_calls(sandbox):
    """*Ours*: a coroutine's own yields stay its own."""
    script = """
    local function each() for i = 1, 3 do coroutine.yield(srv.echo({i = i}):await().i, i) end end
    local found = {}
    for one, other in coroutine.wrap(each) do found[#found + 1] = one + other end
    local co = coroutine.create(function(a)
      local b = coroutine.yield(a)
      return select(2, pcall(srv.echo, {b = b})):await().b
    end)
    local _, a = coroutine.resume(co, "a")
    local _, b = coroutine.resume(co, "b")
    result({found, a, b, coroutine.status(co), coroutine.isyieldable()})
    """
    assert await run(sandbox, script) == [[2, 4, 6], "a", "b", "dead", False]


async def test_a_promise_is_awaited_as_often_as_one_likes(sandbox):
    """*Ours*."""
    host = Tools()
    assert await run(sandbox, "local p = srv.echo({a = 1}); result({p:await().a, p:await().a})", host) == [1, 1]
    assert len(host.calls) == 1


async def test_a_call_that_is_not_waited_for_is_done_before_the_end(sandbox):
    """*Ours*: what a script has begun is not cut off in the middle, and its failure is one of the script."""
    host = Tools()
    assert (
        await run(sandbox, "srv.echo({a = 1}); string.gsub('x', 'x', function() srv.echo() end); result(1)", host) == 1
    )
    assert (len(host.calls), host.cancelled) == (2, 0)
    error = await failing(sandbox, "\nsrv.fail()\nresult(1)")
    assert error.line == 2
    assert isinstance(error.__cause__, ToolFailed)


async def test_project_keeps_what_the_paths_name(sandbox):
    """SANDBOX.md: `project(x, {"items.id"})`."""
    value = {"items": [{"id": 1, "x": 2}, {"id": 3}], "next": None}
    host = Tools(value)
    script = 'result(project(srv.give():await(), {"items.id"}))'
    assert await run(sandbox, script, host) == {"items": [{"id": 1}, {"id": 3}]}
    script = """
    local given = {items = {{id = 1, x = 2}}}
    project(given, {"items.id"}).items[1].id = 7
    result({given, project(7, {"a"}), project(7, {"*"}), project(json.array{}, {"a"}), project(null, {"a"})})
    """
    assert await run(sandbox, script, host) == [{"items": [{"id": 1, "x": 2}]}, None, 7, [], None]
    error = await failing(sandbox, 'project({}, {"a..b"})')
    assert "INVALID_PROJECTION" in error.message
    assert "at offset 2" in error.message


NAMES = st.sampled_from("abc")
PARTS = st.recursive(
    st.none() | st.integers() | st.integers(2**63, 2**70) | TEXTS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES, below, max_size=3),
    max_leaves=20,
)
PATHS = st.lists(st.lists(NAMES | st.just("*"), min_size=1, max_size=4).map(".".join), min_size=1, max_size=5)


def test_project_keeps_what_the_gateway_would():
    """*Ours*, a law: the walk of the script's process is that of an include."""
    with asyncio.Runner() as runner:
        room = started()
        sandbox = runner.run(room.__aenter__())

        @given(PARTS, PATHS)
        def law(value, paths):
            found = runner.run(
                run(
                    sandbox,
                    f"result(project(srv.give():await(), json.decode([==[{json.dumps(paths)}]==])))",
                    Tools(value),
                )
            )
            assert same(found, compile_projection(Projection(include=[*paths]))(value))

        try:
            law()
        finally:
            runner.run(room.__aexit__(None, None, None))


async def test_a_list_of_paths_is_read_once(sandbox):
    """*Ours*: what a script projects is its own work, which its CPU time bounds; lists are counted."""
    script = 'for i = 1, 1000 do project({a = i}, {"a"}) end result(project({a = 1, b = 2}, {"b"}))'
    assert await run(sandbox, script) == {"b": 2}
    error = await failing(sandbox, 'for i = 1, 30 do pcall(project, {}, {"a" .. i}) end result(1)', SandboxCallLimit)
    assert error.fields["limit"] == MAX_SCRIPT_PATH_LISTS
    error = await failing(sandbox, 'for i = 1, 30 do pcall(project, {}, {i .. ".."}) end result(1)', SandboxCallLimit)
    assert (error.line, error.fields["limit"]) == (1, MAX_SCRIPT_PATH_LISTS)


async def test_nothing_tells_an_address(sandbox):
    """*Ours*: neither of a table, nor of a function or a coroutine, nor a seed made of one."""
    script = """
    local named = setmetatable({}, {__name = "mine"})
    local spoken = setmetatable({}, {__tostring = function() return "a: b" end})
    local texts = {}
    for _, one in ipairs({{}, ipairs, coroutine.create(ipairs), json.array{}, named, spoken, json, srv, 1.5}) do
      texts[#texts + 1] = tostring(one)
      texts[#texts + 1] = ("%s"):format(one)
    end
    result({texts, select("#", math.randomseed()), string.format("%d%%p %s %s", 1, nil, "x: 1")})
    """
    texts, seeds, formatted = await run(sandbox, script)
    names = ["table", "function", "thread", "array", "mine", "a: b", "table", "server srv", "1.5"]
    assert texts == [name for name in names for _ in range(2)]
    assert (seeds, formatted) == (0, "1%p nil x: 1")


# Errors


async def test_a_tool_s_error_is_a_value_with_a_code(sandbox):
    """SANDBOX.md: a tool error raises with its code; what the tool said is for the script alone."""
    script = """
    local ok, failure = pcall(function() return srv.fail():await() end)
    result({ok, failure.code, failure.server, failure.tool, failure.message, failure.detail, tostring(failure)})
    """
    said = "srv.fail has answered with an error"
    found = await run(sandbox, script)
    assert found == [False, "TOOL_ERROR", "srv", "fail", said, [SECRET], f"TOOL_ERROR: {said}"]


async def test_a_tool_s_error_that_nobody_catches_is_the_cause(sandbox):
    """*Ours*: the content goes to who asks for it, and stands in no message."""
    error = await failing(sandbox, "local x = 1\nsrv.fail():await()")
    assert (error.line, error.code) == (2, "SANDBOX_RUNTIME")
    assert isinstance(error.__cause__, ToolFailed)
    assert error.__cause__.content == [{"type": "text", "text": SECRET}]
    assert SECRET not in json.dumps(error.to_json()) + json.dumps(error.__cause__.to_json())


async def test_a_fault_of_the_host_is_no_fault_of_the_script(sandbox):
    """*Ours*: it goes on as it is."""

    class Broken:
        async def call(self, server, tool, arguments, options):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run(sandbox, "pcall(function() srv.echo():await() end) while true do end", Broken())


async def test_a_fault_of_the_host_counts_whatever_the_child_says_before_it_knows():
    """*Ours*: what comes in the same turn of the loop in which the call has ended."""
    heard = asyncio.StreamReader()

    def says(frame):
        text = json.dumps(frame).encode()
        heard.feed_data(len(text).to_bytes(4, "big") + text)

    class Broken:
        async def call(self, server, tool, arguments, options):
            asyncio.current_task().add_done_callback(lambda _: says({"wait": True}))
            raise ZeroDivisionError

    mine, other = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=mine)
    says({"call": 1, "server": "srv", "tool": "echo", "arguments": {}})
    wall = TimeLimit(5.0, 10.0)
    with other, pytest.raises(ZeroDivisionError):
        async with wall.enforced():
            await Bridge(WorkerChannel(heard, writer), ["srv"], Broken(), wall).run("")


async def test_calls_that_a_script_leaves_end_in_peace(sandbox):
    """*Ours*: also when its client goes meanwhile."""
    ending, let_go, ended = asyncio.Event(), asyncio.Event(), []

    class Lingering(Tools):
        async def call(self, server, tool, arguments, options):
            if tool != "linger":
                return await super().call(server, tool, arguments, options)
            try:
                await asyncio.Event().wait()
            finally:
                ending.set()
                await let_go.wait()
                ended.append(tool)

    script = "srv.linger() srv.echo():await() error('over')"
    begun = Begun(failing(sandbox, script, host=Lingering()))
    running = begun.task
    async with asyncio.timeout(FAILSAFE_S):
        await ending.wait()
    begun.give_up()
    await turns()
    assert not running.done()
    let_go.set()
    await asyncio.wait([running], timeout=FAILSAFE_S)
    assert ended == ["linger"]


@pytest.mark.parametrize(
    ("script", "line", "says", "hint"),
    [
        ("result(srv.echo({}).x)", 1, "a promise has no field 'x'", ":await()"),
        ("\nresult(srv.echo({}))", 2, "result is a promise", ":await()"),
        ("for k in pairs(srv.echo({})) do end", 1, "a promise is no value yet", ":await()"),
        ("local x = 1", None, "the script ended without a result", "Call result(value) once"),
        ("srw.echo{}", 1, "global 'srw'", "Did you mean the server 'srv'?"),
        ("files.read{}", 1, "global 'files'", "There is no 'files' here; the servers are: srv."),
        ("print('x')", 1, "global 'print'", "result(...)"),
        ("os.time()", 1, "global 'os'", "neither files nor a clock"),
        ("\n\nsrv.ecko{}:await()", 3, "UNKNOWN_NAME: srv has no tool 'ecko'", "Did you mean 'echo'?"),
    ],
)
async def test_the_usual_mistakes_have_a_hint(sandbox, script, line, says, hint):
    """SANDBOX.md: no `result(...)`, missing `:await()`, unknown server or tool with the nearest name."""
    error = await failing(sandbox, script)
    assert error.line == line
    assert says in error.message
    assert hint in error.hint
    assert error.to_json()["hint"] == error.hint


async def test_a_script_without_servers_has_none(sandbox):
    """*Ours*."""
    with pytest.raises(SandboxRuntime) as caught:
        await sandbox.run("files.read{}", [], Tools(), "ann")
    assert "the servers are: none" in caught.value.hint


async def test_an_unknown_tool_is_the_cause(sandbox):
    """*Ours*."""
    assert isinstance((await failing(sandbox, "srv.ecko{}:await()")).__cause__, UnknownName)


@pytest.mark.parametrize(
    ("script", "line"),
    [("x =", 1), ("local a\nif a then", 2), ("return \0", 1), ("\x1bLua", None), ("goto nowhere", 1)],
)
async def test_what_is_not_lua_is_told_with_its_line(sandbox, script, line):
    """SANDBOX.md."""
    error = await failing(sandbox, script, SandboxSyntax)
    assert error.line == line


async def test_errors_speak_of_the_script_alone(sandbox):
    """SANDBOX.md: the Lua line and the script's own text only."""
    error = await failing(sandbox, "local function f(x) return x.y.z end\nf({})")
    assert error.message == "line 1: attempt to index a nil value (field 'y')"
    error = await failing(sandbox, "error('line:7: mine ' .. ('x'):rep(5000))")
    assert error.message.startswith("line 1: line 7: mine x")
    assert len(error.message) <= MAX_SCRIPT_MESSAGE + len("line 1: ")
    error = await failing(sandbox, "coroutine.wrap(function()\nerror('inner') end)()")
    assert error.message == "line 2: inner"


async def test_the_globals_are_those_that_are_named(sandbox):
    """*Ours*: a server of such a name would not be reached."""
    script = "local names = {}; for name in pairs(_G) do names[#names + 1] = name end; result(names)"
    assert set(await sandbox.run(script, [], Tools(), "ann")) == GLOBALS
    assert await sandbox.run("result(math.floor(1.5))", ["math"], Tools(), "ann") == 1


# Limits


@pytest.mark.parametrize(
    "script",
    [
        "\nwhile true do end",
        "while true do\npcall(function() while true do end end) end",
        "coroutine.wrap(function()\nwhile true do end end)()",
    ],
)
async def test_the_end_of_the_cpu_time_is_told_with_its_line(sandbox, script, monkeypatch):
    """SANDBOX.md: hooks in every coroutine; `pcall` loops end."""
    monkeypatch.setattr("louver.lua.bridge.SCRIPT_CPU_S", SCRIPT_CPU_S - 1)
    error = await failing(sandbox, script, SandboxTimeout)
    assert (error.line, error.fields["limit"]) == (2, SCRIPT_CPU_S - 1)


async def test_a_result_has_its_bounds(sandbox):
    """SANDBOX.md: 256 KiB, 32 levels."""
    exactly = "result(('x'):rep(256 * 1024 - 2 + %d))"
    assert len(await run(sandbox, exactly % 0)) == 256 * 1024 - 2
    error = await failing(sandbox, exactly % 1, SandboxOutputLimit)
    assert (error.line, error.fields["limit"]) == (1, 256 * 1024)
    deep = "local t = {{}} for i = 3, %d do t = {{t}} end result(t)"
    await run(sandbox, deep.format() % (MAX_SCRIPT_RESULT_DEPTH + 1))
    await failing(sandbox, deep.format() % (MAX_SCRIPT_RESULT_DEPTH + 2), SandboxOutputLimit)


async def test_arguments_have_their_bounds(sandbox):
    """SANDBOX.md: 256 KiB."""
    exactly = "result(#srv.echo({a = ('x'):rep(256 * 1024 - 8 + %d)}):await().a)"
    assert await run(sandbox, exactly % 0) == 256 * 1024 - 8
    await failing(sandbox, exactly % 1, SandboxCallLimit)
    await failing(sandbox, "local t = {} for i = 1, 40 do t = {t} end srv.echo({t = t})", SandboxCallLimit)


async def test_a_reply_has_its_bounds_and_can_be_asked_for_again(sandbox):
    """SANDBOX.md: 1 MiB; the script may catch that and name fields."""
    around = len('{"reply":1,"value":{"text":""}}')
    exactly = f"result(#srv.large({{bytes = 1024 * 1024 - {around} + %d}}):await().text)"
    assert await run(sandbox, exactly % 0) == 1024 * 1024 - around
    error = await failing(sandbox, exactly % 1, SandboxCallLimit)
    assert (error.line, error.__cause__) == (1, None)
    assert "fewer fields" in error.message
    caught = "local ok, e = pcall(function() srv.large({bytes = 2e6 // 1 | 0}):await() end) result(e.code)"
    assert await run(sandbox, caught) == "SANDBOX_CALL_LIMIT"


async def test_calls_are_counted(sandbox):
    """SANDBOX.md: 20, and nothing is caught by the script."""
    calls = "for i = 1, %d do pcall(function() srv.echo({i = i}):await() end) end result(1)"
    assert await run(sandbox, calls % MAX_SCRIPT_CALLS) == 1
    error = await failing(sandbox, calls % (MAX_SCRIPT_CALLS + 1), SandboxCallLimit)
    assert error.fields["limit"] == MAX_SCRIPT_CALLS
    assert error.line == 1


async def test_a_script_has_its_bounds(sandbox):
    """SANDBOX.md: 64 KiB."""
    script = "result(1) --"
    assert await run(sandbox, script + "x" * (MAX_SCRIPT_BYTES - len(script))) == 1
    error = await failing(sandbox, script + "x" * (MAX_SCRIPT_BYTES - len(script) + 1), SandboxSyntax)
    assert error.fields["limit"] == MAX_SCRIPT_BYTES
    await failing(sandbox, "result('\ud800')", SandboxSyntax)


async def test_what_no_json_can_hold_is_an_error_of_the_tool(sandbox):
    """*Ours*: half a surrogate pair."""
    error = await failing(sandbox, "srv.give():await()", host=Tools("\ud800"))
    assert isinstance(error.__cause__, ToolFailed)


async def test_each_script_has_random_numbers_of_its_own():
    """TRUST.md, row 12: seeds were equal in processes forked within a second; also where a script seeds again."""
    script = "local a = math.random(0); math.randomseed(); result({a, math.random(0)})"
    async with started() as room:
        drawn = [await run(room, script) for _ in range(12)]
        fixed = [await run(room, "math.randomseed(7); result(math.random(1000))") for _ in range(2)]
    numbers = [number for pair in drawn for number in pair]
    assert len(set(numbers)) == len(numbers)
    assert fixed[0] == fixed[1]
