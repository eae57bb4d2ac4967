"""The keys of an issuer: when they are read again."""

import asyncio

import pytest

from gateway.front.auth.issuer import ec_key, key_set, public, rsa_key
from louver.errors import AuthUnavailable
from louver.gateway.front.auth.keys import JWKS_FRESH_S, JWKS_KEPT_S, JwksCache
from louver.limits import JWKS_AGAIN_S, JWKS_RETRY_S
from steps.kept import Clock

pytestmark = pytest.mark.anyio


class Served:
    """Keys, a clock, and how often they were read."""

    def __init__(self):
        self.clock = Clock()
        self.body = key_set(public(rsa_key())).encode()
        self.reads = 0
        self.keys = JwksCache(self.read, self.clock)

    async def read(self):
        self.reads += 1
        await asyncio.sleep(0)
        if self.body is None:
            raise AuthUnavailable("gone")
        return self.body

    async def find(self, name="one", after=0.0):
        self.clock.now += after
        return await self.keys.find(name, "RS256")


async def test_an_unknown_key_has_them_read_again_at_most_once_a_minute():
    """Ours: issuers change keys, and anybody can name one."""
    served = Served()
    assert await served.find() is not None
    for _ in range(20):
        assert await served.find("two") is None
    assert served.reads == 1
    served.body = key_set(public(rsa_key(), "two")).encode()
    assert await served.find("two", JWKS_AGAIN_S - 1) is None
    assert await served.find("two", 1) is not None
    assert await served.find("one") is None
    assert served.reads == 2


async def test_a_key_that_was_taken_back_counts_no_more_after_a_while():
    """Ours."""
    served = Served()
    assert await served.find() is not None
    served.body = key_set(public(ec_key(), "two")).encode()
    assert await served.find(after=JWKS_FRESH_S - 1) is not None
    assert await served.find(after=1) is None


async def test_known_keys_count_for_a_while_where_they_cannot_be_read(caplog):
    """Ours: an issuer may be started anew; but not for ever, for it may have taken a key back."""
    served = Served()
    assert await served.find() is not None
    served.body = None
    for _ in range(int(JWKS_KEPT_S / JWKS_FRESH_S) - 1):
        assert await served.find(after=JWKS_FRESH_S) is not None
    assert "the issuer's keys cannot be read: gone" in caplog.text
    with pytest.raises(AuthUnavailable):
        await served.find(after=JWKS_FRESH_S)
    served.body = key_set(public(rsa_key())).encode()
    with pytest.raises(AuthUnavailable):
        await served.find(after=JWKS_RETRY_S - 1)
    assert await served.find(after=1) is not None


async def test_tokens_that_come_at_once_have_them_read_once():
    """Ours."""
    served = Served()
    found = await asyncio.gather(*(served.find() for _ in range(50)))
    assert all(found)
    assert served.reads == 1


async def test_a_wrong_answer_leaves_the_keys_as_they_were(caplog):
    """Ours."""
    served = Served()
    assert await served.find() is not None
    served.body = b"[]"
    assert await served.find(after=JWKS_FRESH_S) is not None
    assert "expected an object with at most 100 'keys'" in caplog.text


@pytest.mark.parametrize(
    "members",
    [
        {"use": "enc"},
        {"key_ops": ["sign"]},
        {"key_ops": "verify"},
        {"kty": "oct"},
        {"kty": None},
        {"n": "!"},
        {"alg": 7},
    ],
)
async def test_what_is_no_key_for_signatures_is_passed_over(members):
    """RFC 7517 sections 4.2 and 4.3."""
    served = Served()
    served.body = key_set(public(rsa_key(), **members), "no key", public(rsa_key(), "good")).encode()
    assert await served.find() is None
    assert await served.find("good") is not None


async def test_who_leaves_while_they_are_read_ends_that_for_nobody():
    """Ours: no key was known for `JWKS_RETRY_S` then, and all tokens were refused."""
    served = Served()
    leaving = asyncio.create_task(served.find())
    while not served.reads:  # noqa: ASYNC110
        await asyncio.sleep(0)
    leaving.cancel()
    assert await served.find() is not None
    assert served.reads == 1
    assert leaving.cancelled()
