"""Grants: good for who has read what they say, and for nothing else."""

import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server.request_state import AESGCMRequestStateCodec

from louver.catalogue.grants import GRANT_S, Grants
from louver.errors import LouverError
from louver.limits import CLOCKS_APART_S, MAX_TOOLS_READ

ANN, BEN = ("client", "https://issuer.example", "ann"), ("client", "https://issuer.example", "ben")
KEY, OTHER = b"k" * 32, "o" * 32


class Clock:
    def __init__(self):
        self.now = 1_800_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def grants(clock):
    return Grants([KEY], audience="server", clock=clock)


def test_a_grant_admits_the_tools_it_was_made_for(grants):
    """000 section 5.1."""
    grant = grants.seal(None, {"a": "1", "b": "2"})
    assert grants.admits(grant, None, "a", "1")
    assert grants.admits(grant, None, "b", "2")


@pytest.mark.parametrize(
    ("principal", "tool", "version"),
    [
        (BEN, "a", "1"),
        (None, "a", "1"),
        (("client", None, "ann"), "a", "1"),
        (ANN, "b", "1"),
        (ANN, "a", "2"),
        (ANN, "1", "a"),
        (ANN, "", ""),
    ],
)
def test_it_admits_nobody_and_nothing_else(grants, principal, tool, version):
    """000 section 5.1; DISCLOSURE: foreign, or the tool has changed since."""
    grant = grants.seal(ANN, {"a": "1"})
    assert grants.admits(grant, ANN, "a", "1")
    assert not grants.admits(grant, principal, tool, version)


def test_what_anybody_may_use_a_principal_may_not(grants):
    """Ours: who was not authenticated has not read as somebody."""
    assert not grants.admits(grants.seal(None, {"a": "1"}), ANN, "a", "1")


def test_it_is_good_for_an_hour(grants, clock):
    """Ours: 2026-07-28 has no session whose lifetime it could have."""
    grant = grants.seal(ANN, {"a": "1"})
    clock.now += GRANT_S - 1
    assert grants.admits(grant, ANN, "a", "1")
    clock.now += 1
    assert not grants.admits(grant, ANN, "a", "1")


def test_a_clock_that_is_put_back_does_not_prolong_it(grants, clock):
    """TRUST.md: but that of another process may differ a little."""
    grant = grants.seal(ANN, {"a": "1"})
    clock.now -= CLOCKS_APART_S
    assert grants.admits(grant, ANN, "a", "1")
    clock.now -= 1
    assert not grants.admits(grant, ANN, "a", "1")


def test_any_other_character_in_it_spoils_it(grants):
    """Ours: it is sealed."""
    grant = grants.seal(ANN, {"a": "1"})
    for place in range(len(grant)):
        for letter in "Ab0-":
            other = grant[:place] + letter + grant[place + 1 :]
            assert grants.admits(other, ANN, "a", "1") == (other == grant)


@given(
    st.text(max_size=120)
    | st.binary(max_size=90).map(lambda data: "v1." + urlsafe_b64encode(data).decode().rstrip("="))
)
def test_any_text_can_be_looked_at(text):
    """Ours: what is no grant admits nothing, and raises nothing."""
    assert not Grants(audience="server").admits(text, None, "a", "1")


def test_what_is_cut_or_put_together_admits_nothing(grants):
    """Ours."""
    one, other = grants.seal(ANN, {"a": "1"}), grants.seal(BEN, {"b": "2"})
    raw, more = (urlsafe_b64decode(grant.removeprefix("v1.") + "==") for grant in (one, other))
    forged = [raw[:-16], raw + more, raw[:16] + more[16:], raw[:4] + more[4:16] + raw[16:], b""]
    for data in forged:
        grant = "v1." + urlsafe_b64encode(data).decode().rstrip("=")
        assert not any(grants.admits(grant, who, tool, "1") for who in (ANN, BEN) for tool in "ab")
    for text in (one.removeprefix("v1."), one + "=", one.upper(), f" {one}", one + other, "", "v1.", "v2." + one[3:]):
        assert not grants.admits(text, ANN, "a", "1")


def test_a_grant_is_of_one_server(clock):
    """DISCLOSURE: audience; two servers can have been given the same keys."""
    grant = Grants([KEY], audience="one", clock=clock).seal(ANN, {"a": "1"})
    assert Grants([KEY], audience="one", clock=clock).admits(grant, ANN, "a", "1")
    assert not Grants([KEY], audience="two", clock=clock).admits(grant, ANN, "a", "1")


def test_keys_can_be_changed_one_by_one(clock):
    """DISCLOSURE: a key ring. The first seals, each opens."""
    both, old, new = ([KEY, OTHER], [KEY], [OTHER])
    grants = {name: Grants(keys, audience="s", clock=clock) for name, keys in zip("bon", (both, old, new), strict=True)}
    by_old = grants["o"].seal(ANN, {"a": "1"})
    by_both = grants["b"].seal(ANN, {"a": "1"})
    by_new = grants["n"].seal(ANN, {"a": "1"})
    assert all(grants["b"].admits(grant, ANN, "a", "1") for grant in (by_old, by_both, by_new))
    assert grants["o"].admits(by_both, ANN, "a", "1")
    assert not grants["n"].admits(by_both, ANN, "a", "1")
    assert not grants["o"].admits(by_new, ANN, "a", "1")


def test_a_key_that_is_given_twice_is_one(clock):
    """Ours."""
    grants = Grants([KEY, KEY, KEY.decode()], audience="s", clock=clock)
    assert grants.admits(grants.seal(ANN, {"a": "1"}), ANN, "a", "1")


@pytest.mark.parametrize("key", [b"", b"k" * 31, "k" * 31])
def test_a_short_key_is_refused(key):
    """Ours: it could be guessed."""
    message = f"a key has at least 32 bytes of secret randomness, this one {len(key)}"
    with pytest.raises(LouverError, match=message):
        Grants([KEY, key], audience="s")


def test_another_token_sealed_with_the_same_key_is_no_grant(grants):
    """Ours: the SDK's own request states are sealed so."""
    codec = AESGCMRequestStateCodec([KEY])
    assert not grants.admits(codec.seal(b"\0" * 40), ANN, "a", "1")
    with pytest.raises(Exception, match="unknown key"):
        codec.unseal(grants.seal(ANN, {"a": "1"}))


def test_without_keys_each_process_has_its_own_and_wonders_once(clock, caplog):
    """DISCLOSURE: with a warning when several workers serve."""
    caplog.set_level(logging.WARNING)
    one, other = (Grants(audience="s", clock=clock) for _ in range(2))
    grant = one.seal(ANN, {"a": "1"})
    assert one.admits(grant, ANN, "a", "1")
    assert not one.admits("v1.AAAA", ANN, "a", "1")
    assert not caplog.records
    assert not other.admits(grant, ANN, "a", "1")
    assert not other.admits(grant, ANN, "a", "1")
    (record,) = caplog.records
    assert "give all workers the same `keys`" in record.getMessage()
    assert grant not in record.getMessage()


def test_with_keys_a_foreign_grant_is_no_wonder(grants, clock, caplog):
    """Ours: the keys have been changed, or somebody tries."""
    assert not grants.admits(Grants(audience="server", clock=clock).seal(ANN, {"a": "1"}), ANN, "a", "1")
    assert not caplog.records


def test_a_grant_for_one_tool_is_short_and_names_nothing(grants):
    """Ours: a model copies it, letter by letter."""
    grant = grants.seal(ANN, {"a_tool_with_a_long_name" * 5: "0123456789abcdef"})
    assert len(grant) < 80
    assert set(grant) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
    everything = grants.seal(ANN, {f"tool_{n}": "0123456789abcdef" for n in range(MAX_TOOLS_READ)})
    assert len(everything) < 1200
