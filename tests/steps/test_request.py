"""What a request says of its caller, and how steps follow each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from louver.policy.principal import NOBODY, Principal
from louver.steps.request import ANONYMOUS, Identity, in_order
from steps.requests import Silent, asks
from steps.wire import NEW, OLD

pytestmark = pytest.mark.anyio

OPENED = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
ANN = Identity(Principal("https://id#ann", "desk", frozenset({"b", "a"})), ("desk", "https://id", "ann"))
LESS = replace(ANN, principal=Principal("https://id#ann", "desk", frozenset({"a"})))
BOB = Identity(Principal("https://id#bob", "desk"), ("desk", "https://id", "bob"))


def opened(**more):
    """A connection that a handshake has opened."""
    return Silent(opening=OPENED, **more)


def test_nobody_is_authenticated_unless_it_is_said():
    """PRIVACY.md, "Policy file": no match is the strictest rule."""
    assert asks().identity is ANONYMOUS
    assert ANONYMOUS.principal == NOBODY == Principal()
    assert (ANONYMOUS.key, ANONYMOUS.caller) == (None, None)


def test_what_is_visible_depends_on_who_calls_and_on_scopes():
    """Ours: what may be seen often hangs on scopes; whoever the configuration names without a token is not another."""
    assert ANN.caller == ("desk", "https://id", "ann", "a", "b")
    assert len({ANN.caller, LESS.caller, BOB.caller}) == 3
    assert Identity(ANN.principal).caller is None


@pytest.mark.parametrize(
    ("revision", "connection", "lasts"),
    [(OLD, opened(), True), (OLD, Silent(), False), (NEW, opened(), False), (NEW, Silent(), False)],
    ids=["handshake", "before the handshake", "2026-07-28 beside it", "2026-07-28"],
)
def test_only_after_a_handshake_a_connection_is_that_of_other_requests(revision, connection, lasts):
    """MCP: 2026-07-28 has no sessions."""
    asked = asks(revision=revision, connection=connection)
    assert (asked.is_modern, asked.lasts) == (revision == NEW, lasts)


def test_callers_are_counted_by_principal_then_by_connection_then_by_address():
    """DISCLOSURE.md, "Search": limits are those of a caller; no log holds the principal itself."""
    connection = opened()
    by_key = asks(revision=OLD, connection=connection, identity=ANN).counted_as
    assert by_key == asks(revision=NEW, address="1.2.3.4", identity=LESS).counted_as
    assert by_key.startswith("principal ")
    assert not {"ann", "desk"} & set(by_key.split())
    assert by_key != asks(identity=BOB).counted_as
    one, other = (asks(revision=OLD, connection=each, address="1.2.3.4") for each in (connection, opened()))
    assert one.counted_as.startswith("connection ")
    assert one.counted_as == asks(revision=OLD, connection=connection).counted_as != other.counted_as
    assert asks(address="1.2.3.4").counted_as == "address 1.2.3.4"
    assert asks().counted_as == "address none"


def test_a_result_is_held_by_its_connection_and_its_principal():
    """GATEWAY.md: to anybody else it is unknown; in 2026-07-28 there is the principal alone."""
    connection = opened()
    holders = [
        asks(revision=OLD, connection=each, identity=who).holder
        for each in (connection, opened())
        for who in (ANN, BOB, ANONYMOUS)
    ]
    assert len({str(holder) for holder in holders}) == 6
    assert asks(revision=OLD, connection=connection, identity=ANN).holder == holders[0]
    assert asks(identity=ANN).holder == [None, ["desk", "https://id", "ann"]]
    assert asks().holder == asks(connection=opened()).holder == [None, None]


@pytest.mark.parametrize(
    ("revision", "connection"), [(OLD, opened()), (NEW, Silent(shared={}))], ids=["a session", "one standard input"]
)
def test_what_was_read_is_remembered_for_each_caller_of_a_connection(revision, connection):
    """DISCLOSURE.md: requests that share nothing need a grant."""
    asks(revision=revision, connection=connection, identity=ANN).read_before()["t"] = "1"
    assert asks(revision=revision, connection=connection, identity=LESS).read_before() == {"t": "1"}
    assert asks(revision=revision, connection=connection, identity=BOB).read_before() == {}
    assert asks(revision=revision, connection=connection).read_before() == {}


@pytest.mark.parametrize("revision", [OLD, NEW])
def test_where_requests_share_nothing_nothing_is_remembered(revision):
    assert asks(revision=revision).read_before() is None


async def test_steps_follow_in_their_order_and_each_passes_on_what_it_will():
    """Ours: the outermost first; one that answers itself is the last."""
    went = []

    def passing(name):
        async def step(request, call_next):
            went.append((name, request.method))
            result = await call_next(replace(request, method=name))
            return {**result, name: True}

        return step

    async def last(request):
        went.append(("last", request.method))
        return {"last": True}

    async def answers(request, call_next):
        return {}

    steps = [passing("a"), passing("b")]
    assert list(await in_order(steps, last)(asks("x"))) == ["last", "b", "a"]
    assert went == [("a", "x"), ("b", "a"), ("last", "b")]
    assert list(await in_order([passing("a"), answers, passing("b")], last)(asks("x"))) == ["a"]
    assert await in_order([], last)(asks("x")) == {"last": True}


async def test_what_is_asked_for_a_request_has_its_record_and_its_own_marks():
    """Ours: an audit finds what all of it did; each request begins with a record of its own."""
    asked = asks()
    other = replace(asked, method="tools/list", is_inner=True, is_for_program=True)
    assert other.record is asked.record
    assert (asked.is_inner, asked.is_for_program) == (False, False)
    assert asks().record is not asked.record
