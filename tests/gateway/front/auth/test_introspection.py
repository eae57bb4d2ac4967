"""Tokens that their issuer knows."""

import asyncio
import sys
import time

import httpx2
import pytest

from gateway.front.auth.issuer import ISSUER, RESOURCE, SECRET, claims, issuer, now
from louver.errors import AuthUnavailable
from louver.gateway.config.auth import Auth, Introspection, Jwks
from louver.gateway.front.auth import introspection
from louver.gateway.front.auth.introspection import CLIENT_ADDRESS, INTROSPECTED_S, IntrospectionVerifier
from louver.gateway.front.auth.signed import JwtVerifier
from louver.limits import CLOCK_SKEW_S
from steps.kept import Clock

pytestmark = pytest.mark.anyio


@pytest.fixture
def served():
    with issuer() as (made, url):
        made.url = url
        yield made


def verifier(served, secret=SECRET, clock=time.time, **said):
    by = Introspection(f"{served.url}/introspect", "louver", secret)
    return IntrospectionVerifier(by, Auth(by, **{"issuer": ISSUER, "audience": RESOURCE, **said}), clock)


def active(**said):
    return claims(**{"active": True, **said})


async def test_the_issuer_says_whose_a_token_is(served):
    """RFC 7662 section 2.2."""
    served.tokens["t"] = active(roles=["support"])
    found = await verifier(served).verify_token("t")
    assert (found.subject, found.client_id, found.scopes) == ("ann", "desk", ["read", "write"])
    assert found.claims == {"iss": ISSUER, "roles": ["support"]}
    assert found.token == ""


GOOD = {
    "no issuer": {"iss": None},
    "no end": {"exp": None},
    "expired just now": {"exp": now(20 - CLOCK_SKEW_S)},
    "several audiences": {"aud": ["other", RESOURCE]},
}


@pytest.mark.parametrize("said", GOOD.values(), ids=GOOD)
async def test_what_the_issuer_does_not_say_is_its_own_business(served, said):
    """RFC 7662 section 2.2: most of it is optional."""
    served.tokens["t"] = active(**said)
    assert await verifier(served).verify_token("t") is not None


BAD = {
    "not active": lambda: active(active=False),
    "active in words": lambda: active(active="true"),
    "nothing": dict,
    "a list": list,
    "of another issuer": lambda: active(iss="https://evil.example"),
    "for another audience": lambda: active(aud="https://other.example"),
    "for nobody": lambda: active(aud=None),
    "expired": lambda: active(exp=now(-5 - CLOCK_SKEW_S)),
    "not yet good": lambda: active(nbf=now(60 + CLOCK_SKEW_S)),
    "expires in words": lambda: active(exp="tomorrow"),
    "of nobody": lambda: active(sub=None, client_id=None),
}


@pytest.mark.whole
@pytest.mark.parametrize("make", BAD.values(), ids=BAD)
async def test_a_token_that_is_not_good_is_not_taken(served, make):
    """Ours: what the issuer says has to hold here too."""
    served.tokens["t"] = make()
    assert await verifier(served).verify_token("t") is None


async def test_a_token_is_asked_about_once_in_a_while(served):
    """Ours: one that was taken back counts for `INTROSPECTED_S` more."""
    clock = Clock()
    clock.now = time.time()
    by = verifier(served, clock=clock)
    served.tokens["t"] = active()
    for _ in range(3):
        assert await by.verify_token("t") is not None
        assert await by.verify_token("unknown") is None
    assert len(served.asked) == 2
    served.tokens.clear()
    clock.now += INTROSPECTED_S - 1
    assert await by.verify_token("t") is not None
    clock.now += 1
    assert await by.verify_token("t") is None


async def test_a_token_that_was_taken_back_does_not_count_for_longer_when_the_clock_is_put_back(served):
    """TRUST.md: by hours, as by a time server."""
    clock = Clock()
    clock.now = time.time()
    by = verifier(served, clock=clock)
    served.tokens["t"] = active()
    assert await by.verify_token("t") is not None
    served.tokens.clear()
    clock.now -= 7200
    assert await by.verify_token("t") is None


async def test_one_token_that_comes_many_times_at_once_is_asked_about_by_few(served, monkeypatch):
    """Ours: `MAX_INTROSPECTIONS` at once."""
    monkeypatch.setattr(introspection, "MAX_INTROSPECTIONS", 2)
    by = verifier(served)
    served.tokens["t"] = active()
    found = await asyncio.gather(*(by.verify_token("t") for _ in range(20)))
    assert all(found)
    assert len(served.asked) <= 2


async def test_unknown_tokens_of_one_address_hold_up_no_other(served, monkeypatch):
    """TRUST.md: 2,500 made-up tokens of one address had the others wait for 20 s, before any token was good."""
    monkeypatch.setattr(introspection, "MAX_ADDRESS_INTROSPECTIONS", 2)
    by = verifier(served)
    served.tokens["t"] = active()
    CLIENT_ADDRESS.set("192.0.2.1")
    made_up = [asyncio.create_task(by.verify_token(f"made up {number}")) for number in range(10)]
    CLIENT_ADDRESS.set("192.0.2.2")
    assert await by.verify_token("t") is not None
    found = await asyncio.gather(*made_up, return_exceptions=True)
    assert found[:2] == [None, None]
    assert {str(each) for each in found[2:]} == {"2 tokens of this address are being checked already"}
    assert len(by._open_by_address) == len(by._open) == 0


async def test_a_client_that_leaves_does_not_end_the_check_of_its_token(served):
    """Ours: another may have brought the same one."""
    by = verifier(served)
    served.tokens["t"] = active()
    leaving, staying = (asyncio.create_task(by.verify_token("t")) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying is not None
    assert len(served.asked) == 1


async def test_few_tokens_are_remembered(served, monkeypatch):
    """Ours: `MAX_INTROSPECTED`."""
    monkeypatch.setattr(introspection, "MAX_INTROSPECTED", 2)
    by = verifier(served)
    for token in ("a", "b", "c", "c", "b", "a"):
        await by.verify_token(token)
    assert len(served.asked) == 4


async def test_an_issuer_that_does_not_answer_is_told(served, caplog):
    """Ours: the client is told that it is not its token; nothing of it is logged."""
    with pytest.raises(AuthUnavailable):
        await verifier(served, secret="wrong-s3cr3t").verify_token("t0k3n")
    assert [record.message for record in caplog.records] == [
        "a token cannot be asked about: the issuer answers with HTTP 401: expected 200, without a redirect"
    ]


async def test_a_token_that_is_too_long_is_not_asked_about(served):
    """Ours."""
    assert await verifier(served).verify_token("x" * 20_000) is None
    assert served.asked == []


def test_the_secret_is_not_in_what_is_printed():
    """Ours."""
    assert SECRET not in repr(Auth(Introspection("https://id.example", "louver", SECRET)))


async def test_an_issuer_is_waited_for_by_one_bound_alone(served, monkeypatch):
    """Ours: five seconds of the HTTP client lay beneath `AUTH_FETCH_S`."""
    monkeypatch.setattr(httpx2._config.DEFAULT_TIMEOUT_CONFIG, "connect", 0.0)
    served.tokens["t"] = active()
    assert await verifier(served).verify_token("t") is not None


@pytest.mark.whole
@pytest.mark.parametrize("made", [verifier, lambda served: JwtVerifier(by := Jwks(f"{served.url}/jwks"), Auth(by))])
def test_what_requests_to_an_issuer_need_is_there_before_the_first(served, monkeypatch, made):
    """Ours: it was imported while all clients waited."""
    monkeypatch.delitem(sys.modules, "httpcore2", raising=False)
    made(served)
    assert "httpcore2" in sys.modules
