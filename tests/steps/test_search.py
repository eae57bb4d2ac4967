"""`tools/list` with a query: what is said of it, found, refused."""

import json
import os
from contextlib import contextmanager

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp.server import MCPServer, Server
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.caching import CacheHint

import louver
from fixtures.model2vec import written
from louver.concurrency.offload import in_thread
from louver.core.json import digest
from louver.errors import InvalidDescription, InvalidInput, LouverError
from louver.limits import MATCHES_A_PAGE, QUERIES_PER_MINUTE
from louver.middleware import LouverMiddleware
from louver.sdk.adapter import StepMiddleware, call_server, result_dict
from louver.steps import search as search_module
from louver.steps.calls.request import RequestOptions
from louver.steps.projection import ProjectionStep
from louver.steps.request import in_order
from louver.steps.search import Search
from louver.steps.tools.registry import ToolRegistry
from louver.steps.tools.views import ToolViews
from steps.profiles import SCHEMA, lowlevel, tool
from steps.test_callers import caller
from steps.wire import NEW, OLD, attached, connect

pytestmark = pytest.mark.anyio


def described(text, **options):
    """A tool that says what it does."""
    made = tool(**options)
    made["listed"]["description"] = text
    return made


def tracker(page_size=50, **more):
    """A server of a few tools."""
    return lowlevel(
        page_size,
        create_issue=described("Open an issue in a repository."),
        list_issues=described("All issues of a repository.", output=SCHEMA),
        read_file=described("The text of a file."),
        **more,
    )


def notes(number):
    """A server whose tools differ in their numbers alone."""
    return lowlevel(**{f"note_{n}": described("Takes a note.") for n in range(number)})


async def found(wire, query, **params):
    """The names of what is found on one page."""
    return [tool["name"] for tool in (await wire.request("tools/list", {"query": query, **params}))["tools"]]


async def all_found(wire, query):
    """Likewise of all pages."""
    names, params = [], {"query": query}
    while True:
        page = await wire.request("tools/list", params)
        names.append([tool["name"] for tool in page["tools"]])
        if "nextCursor" not in page:
            return names
        params = {"query": query, "cursor": page["nextCursor"]}


async def refused(wire, **params):
    """What is said of a list that is refused, and its message."""
    with pytest.raises(MCPError) as error:
        await wire.request("tools/list", params)
    assert error.value.error.code == -32602
    said = error.value.error.data["error"]
    assert error.value.error.message == said["message"]
    return said


# What description files add


def with_terms(folder, *terms, name="read_file", stamp=1):
    """A folder of description files, with search terms for one tool."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"searchTerms": terms}))
    os.utime(path, ns=(stamp, stamp))
    return folder


DISCLOSURES = pytest.mark.parametrize("disclosure", ["off", "on-error"])


@DISCLOSURES
async def test_a_tool_is_found_by_search_terms_that_no_client_sees(era, disclosure, tmp_path):
    """Issue 45: with descriptions on demand or without."""
    options = {"search": True, "disclosure": disclosure, "descriptions": with_terms(tmp_path, "slurp")}
    async with attached(tracker().server, era, **options) as wire:
        assert await found(wire, "slurp") == ["read_file"]
        said = [wire.opening, await wire.request("tools/list"), await wire.request("tools/list", {"query": "slurp"})]
        if disclosure != "off":
            uri = "resource:///tool_descriptions?tools=read_file"
            said += [await wire.request("resources/read", {"uri": uri})]
        assert "slurp" not in json.dumps(said)


@DISCLOSURES
async def test_changed_search_terms_count_at_once(era, disclosure, tmp_path):
    """Ours: as all of a description file."""
    options = {"search": True, "disclosure": disclosure, "descriptions": with_terms(tmp_path, "slurp")}
    async with attached(tracker().server, era, **options) as wire:
        assert await found(wire, "slurp") == ["read_file"]
        with_terms(tmp_path, "gulp", stamp=2)
        assert await found(wire, "slurp") == []
        assert await found(wire, "gulp") == ["read_file"]


def test_a_folder_of_description_files_is_checked_where_only_search_reads_it(tmp_path, caplog):
    """Ours."""
    with pytest.raises(InvalidDescription, match="nowhere: the folder of descriptions is not there"):
        louver.attach(tracker().server, search=True, descriptions=tmp_path / "nowhere")
    search = LouverMiddleware(search=True, descriptions=with_terms(tmp_path / "folder", "slurp", name="read_fiel"))
    search.check_tools([{"name": "read_file", "inputSchema": {}}])
    assert "a file describes a tool 'read_fiel', which the server does not have" in caplog.text


# What is said when a client connects


async def test_a_server_that_can_be_searched_says_so_in_both_forms(era):
    """002, "ServerCapabilities.tools.filtering"; WIRE.md: on `initialize` and on `server/discover`."""
    async with attached(tracker().server, era, search=True) as wire:
        capabilities = wire.opening["capabilities"]
    assert capabilities["tools"]["filtering"] is True
    assert capabilities["extensions"]["dev.louver/search"] == {"maxCharacters": 4096, "pageSize": 20}
    assert capabilities["tools"]["projection"]["supported"] is True


async def test_a_server_that_cannot_be_searched_does_not_say_so(era):
    """002, "Behavior", absent: the query is ignored."""
    async with attached(tracker().server, era) as wire:
        capabilities = wire.opening["capabilities"]
        assert "filtering" not in capabilities["tools"]
        assert "dev.louver/search" not in capabilities["extensions"]
        assert "query" not in (wire.opening.get("instructions") or "")
        assert await found(wire, "issue") == ["create_issue", "list_issues", "read_file"]
        assert await found(wire, 7) == ["create_issue", "list_issues", "read_file"]


async def test_a_server_without_tools_has_nothing_to_search(era):
    """Ours."""
    async with attached(Server("empty", version="1"), era, search=True) as wire:
        assert "tools" not in wire.opening["capabilities"]
        assert wire.opening.get("instructions") is None


async def test_the_instructions_tell_how_a_query_is_written(era):
    """002, "Server Behavior" 6: the format, and examples; what the server says itself stays before it."""
    for own, before in (("Be kind.", "Be kind.\n\n"), (None, "")):
        server = MCPServer("kind", instructions=own)
        server.tool("hello")(lambda: "hello")
        async with attached(server, era, search=True) as wire:
            said = wire.opening["instructions"]
        assert said.startswith(f"{before}Tool search: send `tools/list` with a `query` of plain words")
        for example in ("'create an issue'", "'read configuration files'", "'database'", "'create_issue'"):
            assert example in said


async def test_a_server_that_is_searched_itself_has_said_how(era):
    """Ours: one behind a gateway may say so already; twice would cost tokens and say no more."""

    async def itself(ctx, call_next):
        result = await call_next(ctx)
        return (
            Search().add_to_handshake(result_dict(result))
            if ctx.method in ("initialize", "server/discover")
            else result
        )

    made = tracker()
    made.server.middleware.insert(0, itself)
    async with attached(made.server, era, search=True) as wire:
        assert wire.opening["instructions"].count("Tool search:") == 1
        assert wire.opening["capabilities"]["tools"]["filtering"] is True
        assert "dev.louver/search" in wire.opening["capabilities"]["extensions"]


async def test_the_examples_of_the_instructions_are_good_queries(era):
    """002, "Design for LLM/Agent usage": single words, short phrases, what one wants to do."""
    made = lowlevel(
        create_issue=described("Open an issue."),
        query=described("Ask the database."),
        plot=described("Analyse data, draw it."),
        stat=described("What the filesystem knows of a path."),
        config=described("Reads the configuration from its files."),
    )
    expected = {
        "create an issue": "create_issue",
        "create_issue": "create_issue",
        "database": "query",
        "filesystem": "stat",
        "read configuration files": "config",
    }
    async with attached(made.server, era, search=True) as wire:
        for example, name in expected.items():
            assert f"'{example}'" in wire.opening["instructions"]
            assert (await found(wire, example))[0] == name


@pytest.mark.parametrize(("mode", "era"), [("legacy", OLD), ("auto", NEW)])
async def test_a_typed_client_sees_the_extension_form_and_the_instructions(mode, era):
    """Ours: the SDK drops unknown members of `capabilities.tools`."""
    server = tracker().server
    louver.attach(server, search=True)
    async with Client(server, mode=mode) as client:
        assert client.protocol_version == era
        assert client.server_capabilities.extensions["dev.louver/search"]["maxCharacters"] == 4096
        assert "Tool search" in client.instructions


# What is found


async def test_a_query_gives_what_fits_and_the_best_first(era):
    """002, "Server Behavior" 2."""
    async with attached(tracker().server, era, search=True) as wire:
        assert await found(wire, "create an issue") == ["create_issue", "list_issues"]
        assert await found(wire, "tools for reading files") == ["read_file"]
        assert await found(wire, "submarine") == []


@pytest.mark.parametrize("params", [{}, {"query": ""}, {"query": "  \n"}])
async def test_without_a_query_everything_is_listed(era, params):
    """002, "Server Behavior" 3; DISCLOSURE.md: empty or white is absent. The answer is the server's own."""
    async with connect(tracker().server, era) as wire:
        before = await wire.request("tools/list")
    made = tracker()
    async with attached(made.server, era, search=True, listing="omit") as wire:
        after = await wire.request("tools/list", params)
    assert [tool["name"] for tool in after.pop("tools")] == [tool["name"] for tool in before.pop("tools")]
    assert after == before
    assert made.listings == 1


async def test_what_is_found_is_listed_as_ever(era):
    """Ours: as without a query, with all that projection adds."""
    async with attached(tracker().server, era, search=True, argument=True) as wire:
        listed = await wire.tools()
        answer = await wire.request("tools/list", {"query": "issues"})
    assert answer["tools"] == [listed["list_issues"], listed["create_issue"]]
    assert answer["tools"][0]["annotations"]["projectionHint"]["supported"] is True


async def test_a_list_that_was_searched_is_not_kept_for_the_whole(era):
    """WIRE.md: `ttlMs: 0`, `private`, whatever the server says of its list; some clients keep lists by method alone."""
    made = tracker()
    made.server.cache_hints = {"tools/list": CacheHint(ttl_ms=60_000, scope="public")}
    async with attached(made.server, era, search=True) as wire:
        answer = await wire.request("tools/list", {"query": "issue"})
        if era == NEW:
            assert (await wire.request("tools/list"))["ttlMs"] == 60_000
    modern = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
    assert {key: answer.get(key) for key in modern} == (modern if era == NEW else dict.fromkeys(modern))
    server_info = answer.get("_meta", {}).get("io.modelcontextprotocol/serverInfo")
    assert server_info == ({"name": "profiles", "version": "1"} if era == NEW else None)


async def test_all_pages_of_the_server_are_searched(era):
    """Ours."""
    async with attached(tracker(page_size=1).server, era, search=True) as wire:
        assert await found(wire, "file") == ["read_file"]


async def test_a_search_grants_nothing_and_changes_nothing(era):
    """DISCLOSURE.md: searching never grants; 2026-07-28: `tools/list` is not changed by other requests."""
    made = tracker()
    async with attached(made.server, era, search=True) as wire:
        before = await wire.request("tools/list")
        await found(wire, "issue")
        assert await wire.request("tools/list") == before
    assert made.calls == []


async def test_the_query_is_never_passed_on(era):
    """Ours: a server that filters by itself would be asked for parts of its list."""
    asked = []

    async def watch(ctx, call_next):
        if ctx.method == "tools/list":
            asked.append(dict(ctx.params or {}).keys() - {"_meta"})
        return await call_next(ctx)

    made = tracker(page_size=2)
    made.server.middleware.insert(0, watch)
    async with attached(made.server, era, search=True) as wire:
        await found(wire, "issue")
        await found(wire, " ")
    assert asked == [set(), {"cursor"}, set()]


async def test_after_a_change_the_same_query_gives_what_fits_now(era):
    """002, "Server behavior when tools change": with a notification or without one."""
    made = tracker()
    async with attached(made.server, era, search=True) as wire:
        assert await found(wire, "issue") == ["create_issue", "list_issues"]
        made.tools["close_issue"] = described("Close an issue.")
        assert sorted(await found(wire, "issue")) == ["close_issue", "create_issue", "list_issues"]
        del made.tools["create_issue"]
        made.tools["read_file"] = described("Not what it was.")
        assert sorted(await found(wire, "issue")) == ["close_issue", "list_issues"]
        assert await found(wire, "text of a page") == []


async def test_only_what_a_caller_could_list_is_found(era):
    """002, "Security Implications": nothing sensitive by a search, nor by a slip of it; whoever has searched before."""
    made = tracker()
    made.before_listing = lambda: made.tools.pop("salaries", None) if who() == "clerk" else made.tools.update(secret)
    secret = {"salaries": described("What everybody earns, a repository of issues.")}
    louver.attach(made.server, search=True)
    async with connect(made.server, era) as wire:
        for _ in range(2):
            with caller("manager"):
                assert await found(wire, "salaries") == ["salaries"]
                assert await found(wire, "slaries") == ["salaries"]
            with caller("clerk"):
                assert await found(wire, "salaries") == []
                assert await found(wire, "slaries") == []
                hidden = await found(wire, "issues of a repository")
    alone = tracker()
    async with attached(alone.server, era, search=True) as wire:
        assert await found(wire, "issues of a repository") == hidden


def who():
    return get_access_token().client_id


# Pages


async def test_pages_give_each_match_once(era, by_words):
    """DISCLOSURE.md: pages by cursor."""
    async with attached(notes(2 * MATCHES_A_PAGE + 5).server, era, search=True) as wire:
        pages = await all_found(wire, "notes")
        assert [len(page) for page in pages] == [MATCHES_A_PAGE, MATCHES_A_PAGE, 5]
        assert [name for page in pages for name in page] == [f"note_{n}" for n in range(2 * MATCHES_A_PAGE + 5)]
        assert await all_found(wire, "notes") == pages


async def test_a_full_page_that_is_the_last_has_no_cursor(era):
    """Ours."""
    async with attached(notes(MATCHES_A_PAGE).server, era, search=True) as wire:
        assert [len(page) for page in await all_found(wire, "notes")] == [MATCHES_A_PAGE]


@given(st.text(max_size=30) | st.sampled_from(["note", "notes 7", "taeks"]), st.integers(0, 50))
def test_no_text_is_too_much(query, number):
    """Ours: it is answered or `INVALID_QUERY`, whatever it is, on every page."""

    async def ask():
        async with attached(notes(number).server, NEW, search=True) as wire:
            try:
                return await all_found(wire, query)
            except MCPError as error:
                return error

    said = anyio.run(ask)
    if isinstance(said, MCPError):
        assert said.error.data["error"]["code"] == "INVALID_QUERY"
    else:
        names = [name for page in said for name in page]
        assert len(set(names)) == len(names)
        assert set(names) <= {f"note_{n}" for n in range(number)}


async def first_cursor(wire, query="notes"):
    return (await wire.request("tools/list", {"query": query}))["nextCursor"]


NOT_OURS = "the cursor is not of this query, this caller and the tools that there are now: ask again without it"
CURSOR = {"code": "INVALID_CURSOR", "message": NOT_OURS}


@pytest.mark.whole
@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "20",
        "search:",
        "search:20",
        "search:20:",
        "search:20:0123456789abcdef",
        "search:-20:0123456789abcdef",
        "search:٢٠:0123456789abcdef",
        f"search:{'9' * 5000}:0123456789abcdef",
        "' OR 1=1 --",
        "../..",
        "\0",
        "\ud800",
        20,
        True,
        ["search:20"],
        {},
    ],
    ids=ascii,
)
async def test_a_forged_cursor_is_refused(era, cursor):
    """DISCLOSURE.md: else INVALID_CURSOR."""
    async with attached(notes(50).server, era, search=True) as wire:
        assert await refused(wire, query="notes", cursor=cursor) == CURSOR


async def test_a_cursor_that_was_changed_is_refused(era):
    """Ours: each sign of it counts."""
    async with attached(notes(100).server, era, search=True) as wire:
        cursor = await first_cursor(wire)
        for at, sign in enumerate(cursor):
            other = cursor[:at] + ("1" if sign != "1" else "2") + cursor[at + 1 :]
            assert await refused(wire, query="notes", cursor=other) == CURSOR
        assert await refused(wire, query="notes", cursor=cursor + " ") == CURSOR
        assert len(await found(wire, "notes", cursor=cursor)) == MATCHES_A_PAGE


async def test_a_cursor_is_of_one_query(era):
    """DISCLOSURE.md."""
    async with attached(notes(50).server, era, search=True) as wire:
        cursor = await first_cursor(wire)
        for query in ("note", "notes ", "Notes"):
            assert await refused(wire, query=query, cursor=cursor) == CURSOR


@pytest.mark.parametrize("params", [{}, {"query": " "}])
async def test_a_cursor_without_its_query_is_refused(era, params):
    """Ours: it is none of the server's own list."""
    async with attached(notes(50).server, era, search=True) as wire:
        cursor = await first_cursor(wire)
        said = await refused(wire, cursor=cursor, **params)
    assert said == {
        "code": "INVALID_CURSOR",
        "message": "the cursor is of a search, and there is no query: send the query with it",
    }


async def test_a_cursor_of_the_servers_own_list_is_none_of_a_search(era):
    """Ours; without a query it is the server's, as ever."""
    async with attached(tracker(page_size=1).server, era, search=True) as wire:
        cursor = (await wire.request("tools/list"))["nextCursor"]
        assert [tool["name"] for tool in (await wire.request("tools/list", {"cursor": cursor}))["tools"]]
        assert await refused(wire, query="issue", cursor=cursor) == CURSOR


@pytest.mark.parametrize("other", [("ben",), ("ann", "pay"), ()])
async def test_a_cursor_is_of_one_caller(era, other):
    """DISCLOSURE.md; one principal with other scopes is another caller."""
    made = notes(50)
    louver.attach(made.server, search=True)
    async with connect(made.server, era) as wire:
        with caller("ann"):
            cursor = await first_cursor(wire)
        with caller(*other) if other else nobody():
            assert await refused(wire, query="notes", cursor=cursor) == CURSOR
        with caller("ann"):
            assert len(await found(wire, "notes", cursor=cursor)) == MATCHES_A_PAGE


@contextmanager
def nobody():
    yield


async def test_a_cursor_is_of_the_tools_that_there_were(era):
    """DISCLOSURE.md: a stale cursor; when they are again as they were it is good again."""
    made = notes(50)
    async with attached(made.server, era, search=True) as wire:
        cursor = await first_cursor(wire)
        made.tools["more"] = described("Something else.")
        assert await refused(wire, query="notes", cursor=cursor) == CURSOR
        del made.tools["more"]
        assert len(await found(wire, "notes", cursor=cursor)) == MATCHES_A_PAGE


async def test_every_worker_takes_the_cursors_of_the_others(era):
    """Ours: they hold nothing that a process keeps."""
    async with attached(notes(50).server, era, search=True) as one, attached(notes(50).server, era, search=True) as two:
        pages = await all_found(one, "notes")
        assert await found(two, "notes", cursor=await first_cursor(one)) == pages[1]


async def test_a_cursor_tells_nothing_of_who_it_is_for():
    """Ours: a number and a digest."""
    made = notes(50)
    louver.attach(made.server, search=True)
    async with connect(made.server, NEW) as wire:
        with caller("ann"):
            cursor = await first_cursor(wire)
    word, start, bound = cursor.split(":")
    assert (word, start) == ("search", "20")
    assert len(bound) == len(digest(""))


# Needs

NEEDS = "dev.louver/needs"


@pytest.mark.parametrize("query", ["read a file\nopen an issue", "\tread a file\r\n\r\nopen an issue\n"])
async def test_each_line_is_a_need_whose_tools_take_turns(era, query):
    """Issue 45: ranked apart; `_meta` tells which need each tool serves."""
    async with attached(tracker().server, era, search=True) as wire:
        listed = await wire.request("tools/list", {"query": query})
        assert [tool["name"] for tool in listed["tools"]] == ["read_file", "create_issue", "list_issues"]
        assert listed["_meta"][NEEDS] == [
            {"need": "read a file", "tools": ["read_file"]},
            {"need": "open an issue", "tools": ["create_issue", "list_issues"]},
        ]
        one = await wire.request("tools/list", {"query": "read a file\n"})
        assert NEEDS not in one.get("_meta", {})


# What is refused


@pytest.mark.parametrize("query", [7, True, ["issue"], {"text": "issue"}, "x" * 4097, "a\0b", "a\x0bb"], ids=ascii)
async def test_what_is_no_query_is_refused_before_anything_is_listed(era, query):
    """002, "Security Implications"; the exact words stand in `tests/wire/test_query.py`."""
    made = tracker()
    async with attached(made.server, era, search=True) as wire:
        assert (await refused(wire, query=query))["code"] == "INVALID_QUERY"
    assert made.listings == 0


@pytest.mark.parametrize(
    "query", ["'; DROP TABLE tools; --", '" OR "a', "issue*", "name:issue", ".*", "(a+)+$", "{}", '{"tag": "x"}']
)
async def test_a_query_is_no_code_and_no_language(era, query):
    """002, "Server Behavior" 5 and "Security Implications": SQL, FTS5, regex, JSON are words like others."""
    async with attached(tracker().server, era, search=True) as wire:
        await found(wire, query)
        assert await found(wire, "issue") == ["create_issue", "list_issues"]


async def test_so_many_queries_a_minute_and_no_more(era):
    """002, "Security Implications": rate limiting; what is refused otherwise does not count, nor do lists."""
    async with attached(tracker().server, era, search=True) as wire:
        for _ in range(QUERIES_PER_MINUTE):
            await found(wire, "issue")
            await wire.request("tools/list")
        assert (await refused(wire, query=7))["code"] == "INVALID_QUERY"
        said = await refused(wire, query="issue")
        assert await wire.tools()
    wait = said.pop("retryAfterSeconds")
    assert 0 < wait <= 60
    message = f"a caller may make 120 queries a minute: ask again in {wait} s"
    assert said == {"code": "RATE_LIMITED", "message": message, "limit": 120}


async def test_each_caller_is_counted_alone():
    """DISCLOSURE.md: per caller. Ours: the number is the server's to say."""
    made = tracker()
    louver.attach(made.server, search=True, queries_per_minute=1)
    async with connect(made.server, NEW) as wire:
        for name in ("ann", "ben"):
            with caller(name):
                await found(wire, "issue")
                assert (await refused(wire, query="issue"))["code"] == "RATE_LIMITED"


async def test_an_error_of_the_server_stays_that_error(era):
    """Ours."""
    made = tracker()

    def fails():
        raise MCPError(code=-32050, message="not today")

    made.before_listing = fails
    async with attached(made.server, era, search=True) as wire:
        with pytest.raises(MCPError) as error:
            await found(wire, "issue")
    assert (error.value.error.code, error.value.error.message) == (-32050, "not today")


async def test_a_server_without_a_list_says_so_itself(era):
    """Ours."""
    async with attached(Server("empty", version="1"), era, search=True) as wire:
        with pytest.raises(MCPError) as error:
            await found(wire, "issue")
    assert error.value.error.code == -32601


# Work


async def test_a_list_is_read_once_for_all_who_search_it_at_once(monkeypatch):
    """Ours: in a thread, so that who does not search need not wait for it."""
    made_by = []

    async def noted(work):
        made_by.append(work.func.__name__)
        return await in_thread(work)

    monkeypatch.setattr(search_module, "in_thread", noted)
    made = notes(30)
    louver.attach(made.server, search=True)

    async def search():
        async with connect(made.server, NEW) as wire:
            assert len(await found(wire, "note")) == MATCHES_A_PAGE

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(search)
    assert made_by.count("_made") == 1


async def test_word_vectors_of_a_folder_find_tools(era, tmp_path):
    """Issue 45: any model of Model2Vec; by the words alone nothing is found."""
    made = lowlevel(a=described("Feeds a kitten."), b=described("Pays an invoice."))
    async with attached(made.server, era, search=True, meaning=written(tmp_path)) as wire:
        assert await found(wire, "bill") == ["b"]
        assert await found(wire, "cat") == ["a"]
        assert await found(wire, "submarine") == []


def test_a_folder_without_word_vectors_is_an_error_at_once(tmp_path):
    """Issue 45: not at the first search."""
    with pytest.raises(InvalidInput, match=r"tokenizer\.json cannot be read"):
        louver.attach(tracker().server, search=True, meaning=tmp_path)
    with pytest.raises(LouverError, match="'meaning' is the path to a folder, not of type 'bool'"):
        LouverMiddleware(search=True, meaning=True)


async def test_tools_of_several_servers_are_found_by_their_server(era):
    """Ours: where a server's name stands before those of its tools, as in the gateway, it is searched as such."""
    made = lowlevel(github__list=described("All of them."), tracker__list=described("All of them, as github."))

    def named(name):
        server, _, own = name.partition("__")
        return server, own

    tools, info = ToolRegistry(ToolViews(None, {})), made.server.server_info_stamp
    step = ProjectionStep(info, tools, RequestOptions("off"), "relaxed", search=Search(named))
    made.server.middleware.insert(0, StepMiddleware(in_order([step], call_server)))
    async with connect(made.server, era) as wire:
        assert await found(wire, "list") == ["github__list", "tracker__list"]
        assert await found(wire, "tracker") == ["tracker__list"]
        assert await found(wire, "github list") == ["github__list", "tracker__list"]
