"""Sealed session ids: what they hold, who can open them, and for how long."""

from __future__ import annotations

import pytest

from louver.gateway.front.replicas import SealedSession
from louver.limits import CLOCKS_APART_S, REPLICA_TAG_S, SEALED_SESSION_S
from louver.team.session_seal import MAX_SESSION_ID, SessionSeal

OLD, NEW = "o" * 32, "n" * 32
PARAMS = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "tests", "version": "1"},
}
OWNER = ("client", "issuer", "ann")


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize("owner", [None, OWNER])
@pytest.mark.parametrize("replica", [None, "", "http://10.0.0.7:8080/mcp"])
def test_an_id_holds_the_session(owner, replica):
    session = SealedSession(PARAMS, owner, replica)
    session_id = SessionSeal([NEW]).seal(session)
    assert SessionSeal([NEW]).unseal(session_id) == session
    assert session_id.isascii()
    assert session_id.isprintable()
    assert session_id != SessionSeal([NEW]).seal(session)


def test_what_only_a_person_would_look_at_is_left_out():
    info = {**PARAMS["clientInfo"], "icons": [{"src": "data:" + 5000 * "x"}]}
    session_id = SessionSeal([NEW]).seal(SealedSession({**PARAMS, "clientInfo": info, "_meta": {}}, None, None))
    assert SessionSeal([NEW]).unseal(session_id).params == PARAMS


def test_keys_are_rotated():
    by_old = SessionSeal([OLD]).seal(SealedSession(PARAMS, None, None))
    assert SessionSeal([NEW, OLD]).unseal(by_old) is not None
    assert SessionSeal([NEW]).unseal(by_old) is None
    assert SessionSeal([OLD]).unseal(SessionSeal([NEW, OLD]).seal(SealedSession(PARAMS, None, None))) is None


def test_an_id_expires():
    clock = Clock()
    seal = SessionSeal([NEW], clock)
    session_id = seal.seal(SealedSession(PARAMS, None, None))
    clock.now += SEALED_SESSION_S
    assert seal.unseal(session_id) is not None
    clock.now += 1
    assert seal.unseal(session_id) is None


def test_a_clock_that_is_put_back_does_not_prolong_an_id():
    """TRUST.md: of replicas, too, whose clocks differ a little."""
    clock = Clock()
    seal = SessionSeal([NEW], clock)
    session_id, url = seal.seal(SealedSession(PARAMS, None, None)), seal.seal_url("http://10.0.0.7:8080/mcp")
    clock.now -= CLOCKS_APART_S
    assert seal.unseal(session_id) is not None
    assert seal.unseal_url(url) is not None
    clock.now -= 1
    assert seal.unseal(session_id) is None
    assert seal.unseal_url(url) is None


def test_the_address_of_a_replica_expires():
    """Step 19: an old one sent the client's request, with its token, to whoever had the address by then."""
    clock, url = Clock(), "http://10.0.0.7:8080/mcp"
    seal = SessionSeal([NEW], clock)
    sealed = seal.seal_url(url)
    clock.now += SEALED_SESSION_S + REPLICA_TAG_S
    assert seal.unseal_url(sealed) == url
    assert SessionSeal([OLD, NEW], clock).unseal_url(sealed) == url
    assert SessionSeal([OLD], clock).unseal_url(sealed) is None
    assert seal.unseal_url(sealed[:-5] + "AAAAA") is None
    # The id of a session is no address, nor the other way around.
    session_id = seal.seal(SealedSession(PARAMS, OWNER, url))
    assert (seal.unseal_url(session_id), seal.unseal(sealed)) == (None, None)
    clock.now += 1
    assert seal.unseal_url(sealed) is None


@pytest.mark.parametrize("apart_s", [-300, 300])
def test_clocks_may_be_minutes_apart(apart_s):
    ahead = Clock()
    ahead.now += apart_s
    session_id = SessionSeal([NEW], Clock()).seal(SealedSession(PARAMS, OWNER, None))
    assert SessionSeal([NEW], ahead).unseal(session_id) is not None


def test_a_changed_id_opens_nothing():
    seal = SessionSeal([NEW])
    session_id = seal.seal(SealedSession(PARAMS, OWNER, None))
    for place in range(len(session_id)):
        changed = "A" if session_id[place] != "A" else "B"
        text = session_id[:place] + changed + session_id[place + 1 :]
        # The last character of base64 has bits that mean nothing.
        assert seal.unseal(text) is None or place == len(session_id) - 1
    for text in ("", "v1.", "v1.AAAA", session_id[:-8], session_id * 20, "é", "0" * 32):
        assert seal.unseal(text) is None


def test_what_is_too_long_for_a_header_is_not_sealed():
    seal = SessionSeal([NEW])
    noise = {str(number): {"x": hash((number, "x"))} for number in range(MAX_SESSION_ID)}
    assert seal.seal(SealedSession({**PARAMS, "capabilities": noise}, None, None)) is None


def test_what_is_too_long_is_not_opened(monkeypatch):
    """Ours: a body has room for megabytes in place of a tag, which took 60 ms of the event loop."""
    seal, opened = SessionSeal([NEW]), []
    for codec in (seal._codec, seal._url_codec):
        monkeypatch.setattr(codec, "unseal", opened.append)
    assert (seal.unseal("v1." + MAX_SESSION_ID * "A"), seal.unseal_url("v1." + MAX_SESSION_ID * "A")) == (None, None)
    assert opened == []
