"""Who makes a request."""

import anyio
import pytest
from mcp.server import Server
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from louver.catalogue.policy.principal import NOBODY, Principal
from louver.server.identity import principal_of, served_as, words
from server.wire import connect

pytestmark = pytest.mark.anyio

ANN = Principal("ann", "desk", frozenset({"orders:read"}), frozenset({"support"}))


def of_token(**said):
    """Who it is whose request has this token."""
    user = AuthenticatedUser(AccessToken(token="", **{"client_id": "desk", "scopes": [], **said}))
    before = auth_context_var.set(user)
    try:
        return principal_of()
    finally:
        auth_context_var.reset(before)


def test_nobody_is_authenticated_without_a_token():
    """PRIVACY.md, "Policy file": no match is the strictest rule."""
    assert principal_of() == NOBODY == Principal()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, Principal(client="desk")),
        ({"client_id": ""}, NOBODY),
        ({"scopes": ["a", "b"]}, Principal(client="desk", scopes=frozenset({"a", "b"}))),
        ({"subject": "ann"}, Principal("ann", "desk")),
        ({"subject": "ann", "claims": {"iss": "https://id"}}, Principal("https://id#ann", "desk")),
        ({"claims": {"iss": "https://id"}}, Principal(client="desk")),
        ({"claims": {"roles": ["a", "b"]}}, Principal(client="desk", roles=frozenset({"a", "b"}))),
        ({"claims": {"roles": "a  b"}}, Principal(client="desk", roles=frozenset({"a", "b"}))),
    ],
)
def test_a_token_says_who_it_is(said, expected):
    """Ours."""
    assert of_token(**said) == expected


@pytest.mark.parametrize("said", [None, True, 7, {"admin": True}, [], [["admin"], 1, None]])
def test_roles_of_another_form_are_none(said):
    """Ours: nobody gets a role by chance."""
    assert words(said) == frozenset()


def test_subjects_of_two_issuers_are_two_principals():
    """RFC 7519 section 4.1.2: a subject is unique within its issuer."""
    one, other = (of_token(subject="ann", claims={"iss": issuer}) for issuer in ("https://a", "https://b"))
    assert one != other


async def test_who_is_served_over_stdio_reaches_the_handlers_in_their_tasks(era):
    """Ours: it is set around the transport, and requests are answered in tasks of it."""
    seen = []
    server = Server("t")

    async def see(ctx, call_next):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(note)
        return await call_next(ctx)

    async def note():
        seen.append(principal_of())

    server.middleware.append(see)
    with served_as(ANN):
        async with connect(server, era) as wire:
            await wire.request("ping") if era != "2026-07-28" else await wire.request("server/discover")
    assert set(seen) == {ANN}
    assert principal_of() == NOBODY


async def test_a_token_goes_before_who_is_served():
    """Ours: a request that says who it is, is of nobody else."""
    with served_as(ANN):
        assert of_token(client_id="other") == Principal(client="other")
        assert principal_of() == ANN
