"""Servers that show each caller a list of its own, and lists that have no end."""

from contextlib import contextmanager

import pytest
from mcp.server.auth.middleware.auth_context import auth_context_var, get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

import louver
from louver.limits import MAX_CALLERS, MAX_TOOL_PAGES
from steps.profiles import SCHEMA, lowlevel, structured, tool
from steps.test_refusals import include, refused
from steps.wire import NEW, attached, connect

pytestmark = pytest.mark.anyio

SECRET = {**SCHEMA, "properties": {"salary": {"type": "integer"}, "name": {"type": "string"}}, "required": []}
PUBLIC = {**SECRET, "properties": {"name": {"type": "string"}}}


@contextmanager
def caller(client, *scopes):
    """Whoever sends requests meanwhile is authenticated as `client`."""
    user = AuthenticatedUser(AccessToken(token=client, client_id=client, scopes=list(scopes)))
    before = auth_context_var.set(user)
    try:
        yield
    finally:
        auth_context_var.reset(before)


def by_scope():
    """A server whose tool shows a field to those with the scope `pay`; its value depends on that too."""

    def may():
        return "pay" in get_access_token().scopes

    made = lowlevel(t=tool(PUBLIC, lambda _: structured({"name": "Ann", **({"salary": 1} if may() else {})})))
    listed = made.tools["t"]["listed"]
    made.before_listing = lambda: listed.update(outputSchema=SECRET if may() else PUBLIC)
    return made


async def test_what_one_caller_sees_is_kept_apart_from_what_another_sees(era):
    """Ours: neither the schema nor a suggestion of one is another's, whoever listed last."""
    made = by_scope()
    louver.attach(made.server)
    async with connect(made.server, era) as wire:
        for _ in range(2):
            with caller("clerk"):
                await wire.tools()
            with caller("manager", "pay"):
                await wire.tools()
                answer = await wire.call("t", projection=include("salary", strict=True))
                assert answer["structuredContent"] == {"salary": 1}
            with caller("clerk"):
                error = await refused(wire, "t", projection=include("salray", strict=True))
                assert "salary" not in error["message"]
                assert error["suggestions"] == {}
                answer = await wire.call("t", projection=include("name"))
                assert "salary" not in str(answer)


async def test_one_principal_with_other_scopes_is_another_caller(era):
    """Ours: what may be seen often hangs on scopes."""
    made = by_scope()
    louver.attach(made.server)
    async with connect(made.server, era) as wire:
        with caller("ann", "pay"):
            await wire.tools()
        with caller("ann"):
            assert (await refused(wire, "t", projection=include("salary", strict=True)))["code"] == "UNKNOWN_FIELD"


async def test_the_callers_that_were_not_seen_for_longest_are_forgotten():
    """Ours: `MAX_CALLERS`; who was forgotten is listed for again."""
    made = by_scope()
    louver.attach(made.server)
    async with connect(made.server, NEW) as wire:
        for n in range(MAX_CALLERS + 1):
            with caller(f"c{n}"):
                await wire.call("t", projection=include("name"))
        assert made.listings == MAX_CALLERS + 1
        for client, listings in ((f"c{MAX_CALLERS}", 0), ("c1", 0), ("c0", 1)):
            with caller(client):
                await wire.call("t", projection=include("name"))
            assert made.listings == MAX_CALLERS + 1 + listings


async def test_a_list_that_has_no_end_does_not_hang_a_call(era):
    """Ours: `MAX_TOOL_PAGES`."""
    made = lowlevel(page_size=0, t=tool(SCHEMA))
    async with attached(made.server, era) as wire:
        await wire.call("t", projection=include("name"))
    assert made.listings == MAX_TOOL_PAGES
