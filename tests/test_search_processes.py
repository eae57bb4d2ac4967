"""Tool search by real processes: over stdio and Streamable HTTP, in both eras, byte for byte as it is on the wire."""

from contextlib import ExitStack, asynccontextmanager
from itertools import product
from pathlib import Path

import pytest

from fixtures.forking import PYTHON
from fixtures.process import http_process
from gateway.raw import HANDSHAKE, STATELESS, Http, raw

SERVER = Path(__file__).parent / "fixtures" / "searchable.py"

NOT_OURS = "the cursor is not of this query, this caller and the tools that there are now: ask again without it"
NO_STRING = "a query is a string of plain words, for example 'create issue'"

pytestmark = pytest.mark.anyio

EVERYDAY = (("stdio", HANDSHAKE), ("http", STATELESS), ("stateless", HANDSHAKE))
every_era = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])


def over(*transports):
    """Each of these in each era, everyday in one."""
    doors = product(transports, (HANDSHAKE, STATELESS))
    cases = [pytest.param(*door, marks=() if door in EVERYDAY else pytest.mark.deep) for door in doors]
    return pytest.mark.parametrize(("transport", "era"), cases)


every_transport = over("stdio", "http", "stateless")


def process(*options):
    """The URL of a server process, which ends when its standard input does."""
    return http_process(SERVER, *options)


@pytest.fixture(scope="module")
def url():
    """The URL of a server, by the options that it was started with; each is started once."""
    started = {}
    with ExitStack() as stack:

        def find(*options):
            if options not in started:
                started[options] = stack.enter_context(process(*options))[0]
            return started[options]

        yield find


@pytest.fixture
async def client(transport, era, url):
    """A client of the era, by that transport."""
    targets = {"stdio": lambda: [PYTHON, str(SERVER)], "http": url, "stateless": lambda: url("--stateless")}
    async with raw(targets[transport](), era) as client:
        yield client


@asynccontextmanager
async def bearer(url, era, name):
    """A client that is authenticated."""
    client = Http(url, era)
    client.client.headers["authorization"] = f"Bearer {name}"
    try:
        await client.open()
        yield client
    finally:
        await client.close()


async def names(client, **params):
    """The names of what is listed on one page."""
    return [tool["name"] for tool in (await client.result("tools/list", **params))["tools"]]


async def pages(client, query):
    """Likewise of all pages of a search, and the cursors between them."""
    found, cursors, place = [], [], {}
    while True:
        page = await client.result("tools/list", query=query, **place)
        found.append([tool["name"] for tool in page["tools"]])
        if "nextCursor" not in page:
            return found, cursors
        cursors.append(page["nextCursor"])
        place = {"cursor": page["nextCursor"]}


def refusal(code, message, **fields):
    """The error of a refused request, as it stands in the answer."""
    error = {"code": code, "message": message, **fields}
    return {"code": -32602, "message": message, "data": {"error": error}}


@every_transport
async def test_a_client_learns_that_it_can_search_and_how(client):
    """002, "ServerCapabilities.tools.filtering" and "Server Behavior" 1 and 6."""
    capabilities = client.opening["capabilities"]
    assert capabilities["tools"]["filtering"] is True
    assert capabilities["extensions"]["dev.louver/search"] == {"maxCharacters": 4096, "pageSize": 20}
    own, ours = client.opening["instructions"].split("\n\n")
    assert own == "Be kind."
    assert "`query` of plain words" in ours
    assert "'create an issue'" in ours


@every_transport
async def test_a_query_gives_what_fits(client):
    """002, "Server Behavior" 2 and 3: what fits with a query, everything without one."""
    assert await names(client, query="tools for creating an issue") == ["create_issue", "listIssues"]
    assert await names(client, query="list issues") == ["listIssues", "create_issue"]
    assert await names(client, query="submarine") == []
    for params in ({}, {"query": ""}, {"query": " \n "}):
        everything = await names(client, **params)
        assert len(everything) >= 48
        assert everything[0] == "take_note_0"


@every_transport
async def test_pages_give_each_match_once(client):
    """DISCLOSURE.md: stable, in pages."""
    found, _ = await pages(client, "notes")
    every = [name for page in found for name in page]
    assert [len(page) for page in found[:2]] == [20, 20]
    assert every == [name for name in await names(client) if name.startswith("take_note")]
    assert (await pages(client, "notes"))[0] == found


CONTROL = "a query is plain words: there is a control character at offset {}"
LONG = "a query has at most 4096 characters, not 4097: say it in a few words"

REFUSED = [
    *((value, refusal("INVALID_QUERY", NO_STRING)) for value in (7, 1.5, True, ["issue"], {"text": "issue"})),
    ("x" * 4097, refusal("INVALID_QUERY", LONG, limit=4096)),
    ("a\0b", refusal("INVALID_QUERY", CONTROL.format(1), offset=1)),
    ("two\x0blines", refusal("INVALID_QUERY", CONTROL.format(3), offset=3)),
    ("\x1b[2J", refusal("INVALID_QUERY", CONTROL.format(0), offset=0)),
]

AS_WORDS = {
    "'; DROP TABLE tools; --": [],
    "x' OR 1=1 --": ["take_note_1"],
    'issue" OR "repository': ["create_issue", "listIssues"],
    "issue*": ["create_issue", "listIssues"],
    "name:issue": ["create_issue", "listIssues"],
    "NEAR(issue)": ["create_issue", "listIssues"],
    "^issue": ["create_issue", "listIssues"],
    '{"category": "issue"}': ["create_issue", "listIssues"],
    ".*": [],
    "(issue+)+$": ["create_issue", "listIssues"],
    "{{7*8}}": ["take_note_7", "take_note_8"],
    "../../etc/passwd": [],
    "\u202eeussi": [],
    "x" * 4096: [],
    "🙂": [],
}


@every_transport
async def test_hostile_queries_are_answered_exactly(client):
    """PRIVACY.md, "Hostile inputs"; 002, "Security Implications": refused, or taken as words."""
    for query, error in REFUSED:
        assert await client.error("tools/list", query=query) == error
    for query, found in AS_WORDS.items():
        assert await names(client, query=query) == found, query


@every_transport
async def test_hostile_cursors_are_answered_exactly(client):
    """PRIVACY.md, "Hostile inputs": forged, of another query, without its query, stale."""
    _, cursors = await pages(client, "notes")
    refused = refusal("INVALID_CURSOR", NOT_OURS)
    for cursor in ("", "20", "search:20:0123456789abcdef", cursors[0] + "0", "' OR 1=1 --", 20, {}, [cursors[0]]):
        assert await client.error("tools/list", query="notes", cursor=cursor) == refused
    assert await client.error("tools/list", query="note", cursor=cursors[0]) == refused
    alone = "the cursor is of a search, and there is no query: send the query with it"
    assert await client.error("tools/list", cursor=cursors[0]) == refusal("INVALID_CURSOR", alone)
    assert len(await names(client, query="notes", cursor=cursors[0])) == 20
    await client.call("grow")
    assert await client.error("tools/list", query="notes", cursor=cursors[0]) == refused


@over("stdio", "http")
async def test_after_a_notification_of_a_change_the_same_query_gives_what_fits_now(client, era):
    """002, "Server behavior when tools change": told of the change, a client asks as before."""
    if era == STATELESS:
        client.begin(client.request("subscriptions/listen", notifications={"toolsListChanged": True}))
        await client.hears("notifications/subscriptions/acknowledged")
    before = [name for page in (await pages(client, "notes"))[0] for name in page]
    await client.call("grow")
    await client.hears("notifications/tools/list_changed")
    after = [name for page in (await pages(client, "notes"))[0] for name in page]
    assert after[:-1] == before
    assert after[-1].startswith("take_note_")


@every_era
async def test_nobody_finds_what_they_could_not_list(url, era):
    """002, "Security Implications"; DISCLOSURE.md: a cursor of another caller is refused."""
    target = url("--bearers")
    async with bearer(target, era, "manager") as manager, bearer(target, era, "clerk") as clerk:
        for query in ("salaries", "what everybody earns", "salarise", "read_salaries"):
            assert await names(manager, query=query) == ["read_salaries"]
            assert await names(clerk, query=query) == []
        _, cursors = await pages(manager, "notes")
        refused = refusal("INVALID_CURSOR", NOT_OURS)
        assert await clerk.error("tools/list", query="notes", cursor=cursors[0]) == refused
        assert len(await names(manager, query="notes", cursor=cursors[0])) == 20


@every_era
async def test_a_cursor_of_one_process_is_good_at_another(url, era):
    """Ours: workers behind one address keep nothing for each other."""
    with process() as (other, _):
        async with raw(other, era) as one, raw([PYTHON, str(SERVER)], era) as two:
            found, cursors = await pages(one, "notes")
            assert await names(two, query="notes", cursor=cursors[0]) == found[1]
