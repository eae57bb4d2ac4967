"""Tokens that an issuer has signed: which are taken, and as whose."""

import base64
import hashlib
import hmac
import json

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.front.auth.issuer import (
    ISSUER,
    RESOURCE,
    claims,
    ec_key,
    ed_key,
    issuer,
    key_set,
    now,
    other_key,
    public,
    rsa_key,
    signed,
)
from louver.errors import AuthUnavailable
from louver.gateway.config.auth import Auth, Jwks
from louver.gateway.front.auth.signed import ALGORITHMS, JwtVerifier
from louver.limits import CLOCK_SKEW_S

pytestmark = pytest.mark.anyio


@pytest.fixture
def keys(tmp_path):
    """The issuer's keys, in a file."""
    path = tmp_path / "jwks.json"
    path.write_text(
        key_set(
            public(rsa_key()),
            public(ec_key(), "two"),
            public(ec_key(ec.SECP384R1), "three"),
            public(ed_key(), "four"),
            {"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA", "kid": "shared"},
            public(rsa_key(), "for encryption", use="enc"),
            public(rsa_key(), "for PS256", alg="PS256"),
        )
    )
    return path


def verifier(keys, **said):
    auth = {"issuer": ISSUER, "resource": RESOURCE, "audience": RESOURCE, **said}
    return JwtVerifier(Jwks(keys), Auth(Jwks(keys), **auth))


GOOD = {
    "RSA": {},
    "RSA with PSS": {"algorithm": "PS384"},
    "EC": {"key": ec_key, "algorithm": "ES256", "kid": "two"},
    "EC of another curve": {"key": lambda: ec_key(ec.SECP384R1), "algorithm": "ES384", "kid": "three"},
    "Ed25519": {"key": ed_key, "algorithm": "EdDSA", "kid": "four"},
    "a key of one algorithm": {"algorithm": "PS256", "kid": "for PS256"},
    "no name of a key, where one fits": {"key": ed_key, "algorithm": "EdDSA", "kid": None},
    "several audiences": {"aud": ["https://other.example", RESOURCE]},
    "expired just now": {"exp": now(-1)},
    "an access token by its type": {"headers": {"typ": "at+jwt"}, "nonce": "n"},
    "an access token by its type in full": {"headers": {"typ": "application/at+JWT"}},
    "an access token of Keycloak": {"typ": "Bearer", "nonce": "n"},
    "an access token of Cognito": {"token_use": "access"},
    "from a clock that is ahead": {"iat": now(10), "nbf": now(10)},
}


@pytest.mark.whole
@pytest.mark.parametrize("said", GOOD.values(), ids=GOOD)
async def test_a_good_token_says_whose_it_is(keys, said):
    """RFC 9068 section 4."""
    made = {name: value() if name == "key" else value for name, value in said.items()}
    found = await verifier(keys).verify_token(token := signed(**made))
    assert (found.subject, found.client_id, found.scopes) == ("ann", "desk", ["read", "write"])
    assert found.claims == {"iss": ISSUER, "roles": []}
    assert found.token == ""
    assert found.expires_at == jwt.decode(token, options={"verify_signature": False})["exp"] + CLOCK_SKEW_S


def as_secret(key):
    """A token signed with the public key, as if that were a shared secret."""
    pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return by_hand({"alg": "HS256", "kid": "one"}, lambda text: hmac.digest(pem, text, hashlib.sha256))


def by_hand(header, sign, payload=None):
    parts = [json.dumps(header).encode(), json.dumps(payload or claims()).encode()]
    text = b".".join(map(encoded, parts))
    return b".".join([text, encoded(sign(text))]).decode()


def encoded(part):
    return base64.urlsafe_b64encode(part).rstrip(b"=")


def changed(token):
    """Somebody else's name in a token that was signed."""
    header, _, signature = token.split(".")
    return f"{header}.{encoded(json.dumps(claims(sub='root')).encode()).decode()}.{signature}"


BAD = {
    "nothing": lambda: "",
    "no token": lambda: "a.b.c",
    "not ASCII": lambda: "é.é.é",
    "half of a pair": lambda: "\ud83d",
    "expired": lambda: signed(exp=now(-5 - CLOCK_SKEW_S)),
    "not yet good": lambda: signed(nbf=now(60 + CLOCK_SKEW_S)),
    "never expires": lambda: signed(exp=None),
    "expires in words": lambda: signed(exp="tomorrow"),
    "for another audience": lambda: signed(aud="https://other.example/mcp"),
    "for a part of the audience": lambda: signed(aud=RESOURCE[:-1]),
    "for nobody": lambda: signed(aud=None),
    "of another issuer": lambda: signed(iss="https://evil.example"),
    "of no issuer": lambda: signed(iss=None),
    "signed by another key": lambda: signed(other_key()),
    "of an unknown key": lambda: signed(kid="nine"),
    "a key whose name is no text": lambda: by_hand({"alg": "RS256", "kid": ["one"]}, lambda _: b"x"),
    "no name of a key, where several fit": lambda: signed(algorithm="PS256", kid=None),
    "changed": lambda: changed(signed()),
    "no algorithm": lambda: jwt.encode(claims(), None, "none", {"kid": "one"}),
    "no algorithm at all": lambda: by_hand({"kid": "one"}, lambda _: b""),
    "an algorithm that is a list": lambda: by_hand({"alg": ["RS256"], "kid": "one"}, lambda _: b"x"),
    "the public key as a secret": lambda: as_secret(rsa_key()),
    "a shared secret": lambda: jwt.encode(claims(), b"secret-secret-secret-secret-secret", "HS256", {"kid": "shared"}),
    "a key of another kind": lambda: signed(ec_key(), "ES256", "one"),
    "a curve of another algorithm": lambda: signed(ec_key(), "ES256", "three"),
    "a key for encryption": lambda: signed(kid="for encryption"),
    "a key of another algorithm": lambda: signed(algorithm="RS256", kid="for PS256"),
    "its own key": lambda: signed(other_key(), headers={"jwk": public(other_key())}),
    "a key elsewhere": lambda: signed(other_key(), headers={"jku": "http://127.0.0.1:1/jwks.json"}),
    "what must be understood and is not": lambda: signed(headers={"crit": ["x"], "x": 1}),
    "an abyss": lambda: by_hand({"alg": "RS256", "kid": "one"}, lambda _: b"x").replace("eyJ", "W1tb" * 3000, 1),
    "too long": lambda: signed(padding="x" * 20_000),
    "an ID token with the nonce of its client": lambda: signed(nonce="n"),
    "an ID token with the digest of another": lambda: signed(at_hash="x"),
    "an ID token with the digest of a code": lambda: signed(c_hash="x"),
    "an ID token of Keycloak": lambda: signed(typ="ID"),
    "an ID token of Cognito": lambda: signed(token_use="id"),
    "a token to end sessions": lambda: signed(headers={"typ": "logout+jwt"}),
    "a token to refresh": lambda: signed(typ="Refresh"),
    "of nobody": lambda: signed(sub=None, client_id=None),
    "of a subject that is no text": lambda: by_hand({"alg": "RS256"}, lambda _: b"x", claims(sub=7)),
}


@pytest.mark.whole
@pytest.mark.parametrize("make", BAD.values(), ids=BAD)
async def test_a_token_that_is_not_good_is_not_taken(keys, make):
    """RFC 8725: algorithm, key, issuer, audience and times are all looked at, and nothing in the token chooses how."""
    assert await verifier(keys).verify_token(make()) is None


async def test_the_issuer_may_be_any_but_none_that_reads_as_another(keys):
    """RFC 8414 section 2: no fragment; so `issuer#subject` is one name."""
    by = verifier(keys, issuer=None)
    assert await by.verify_token(signed(iss="https://other.example")) is not None
    assert await by.verify_token(signed(iss=None)) is not None
    assert await by.verify_token(signed(iss=f"{ISSUER}#ann")) is None


async def test_why_a_token_is_not_taken_is_logged_without_the_token(keys, caplog):
    """Ours: who sets the gateway up has to know, and nobody else learns a claim."""
    caplog.set_level("INFO", "louver")
    token = signed(aud="https://canary.example")
    assert await verifier(keys).verify_token(token) is None
    assert [record.message for record in caplog.records] == ["a token is rejected: InvalidAudienceError"]
    assert token not in caplog.text


def test_algorithms_are_those_with_public_keys():
    """RFC 8725 section 3.2: none of them takes a shared secret, and `none` is not among them."""
    assert all(name.startswith(("RS", "PS", "ES", "Ed")) for name in ALGORITHMS)


async def test_a_short_key_signs_nothing(tmp_path):
    """RFC 7518 section 3.3: 2048 bits or more."""
    path = tmp_path / "jwks.json"
    path.write_text(key_set(public(rsa_key(1024))))
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        token = signed(rsa_key(1024))
    assert await verifier(path).verify_token(token) is None


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"scope": None}, []),
        ({"scope": None, "scp": "a b"}, ["a", "b"]),
        ({"scope": None, "scp": ["b", "a"]}, ["a", "b"]),
        ({"scope": "a", "scp": ["admin"]}, ["a"]),
        ({"scope": 7}, []),
    ],
)
async def test_scopes_are_read_in_both_forms(keys, said, expected):
    """RFC 9068 section 2.2.3; `scp` as two large issuers write it."""
    assert (await verifier(keys).verify_token(signed(**said))).scopes == expected


@pytest.mark.parametrize("name", ["client_id", "azp", "cid", "appid"])
async def test_the_client_has_several_names(keys, name):
    """RFC 9068, OpenID Connect, and two large issuers."""
    found = await verifier(keys).verify_token(signed(**{"client_id": None, name: "desk", "sub": None}))
    assert (found.client_id, found.subject) == ("desk", None)


async def test_keys_come_from_a_url_once(keys):
    """Ours: not with every token."""
    with issuer() as (served, url):
        served.answers["/jwks"] = (200, keys.read_bytes(), {})
        by = verifier(f"{url}/jwks")
        for _ in range(3):
            assert await by.verify_token(signed()) is not None
    assert served.asked == ["/jwks"]


ANSWERS = {
    "an error": (500, b"", {}, "HTTP 500"),
    "a redirect": (302, b"", {"location": "/jwks"}, "HTTP 302"),
    "a redirect to another host": (307, b"", {"location": "http://localhost:1/"}, "without a redirect"),
    "no JSON": (200, b"{", {}, "Expecting"),
    "not UTF-8": (200, b"\xff", {}, "UnicodeDecodeError"),
    "no keys": (200, b"{}", {}, "expected an object"),
    "too many keys": (200, json.dumps({"keys": [{}] * 101}).encode(), {}, "at most 100 'keys'"),
    "too much": (200, b" " * 300_000, {}, "more than 262,144 bytes"),
    "compressed": (200, b"x", {"content-encoding": "gzip"}, "in an encoding"),
}


@pytest.mark.parametrize(("status", "body", "headers", "why"), ANSWERS.values(), ids=ANSWERS)
async def test_keys_that_cannot_be_read_are_told_and_no_token_is_taken(status, body, headers, why, caplog):
    """Ours: the client is told that it is not its token."""
    with issuer() as (served, url):
        served.answers["/jwks"] = (status, body, headers)
        served.answers["/"] = (200, key_set(public(rsa_key())).encode(), {})
        with pytest.raises(AuthUnavailable):
            await verifier(f"{url}/jwks").verify_token(signed())
    assert served.asked == ["/jwks"]
    assert why in caplog.text


async def test_an_issuer_that_is_not_there_is_told(caplog):
    """Ours."""
    with issuer() as (_, url):
        pass
    with pytest.raises(AuthUnavailable):
        await verifier(f"{url}/jwks").verify_token(signed())
    assert "cannot be asked: ConnectError" in caplog.text
