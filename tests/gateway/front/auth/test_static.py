"""Tokens that are listed in a file."""

import json
import os

import pytest

from louver.errors import InvalidConfig
from louver.gateway.front.auth.static import StaticTokenVerifier, digest_of

pytestmark = pytest.mark.anyio

ANN = {
    "subject": "ann",
    "client": "desk",
    "scopes": ["orders:read"],
    "roles": ["support"],
    "expires": "2027-01-01T00:00:00Z",
}


@pytest.fixture
def write(tmp_path):
    """Writes the file, with a time of its own."""
    path, stamps = tmp_path / "tokens.json", iter(range(1, 100))

    def written(content, mode=0o600):
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        path.chmod(mode)
        stamp = next(stamps)
        os.utime(path, ns=(stamp, stamp))
        return path

    return written


def listed(**tokens):
    return {"tokens": {digest_of(token): said for token, said in tokens.items()}}


async def test_a_listed_token_says_whose_it_is(write):
    """Ours."""
    static = StaticTokenVerifier(write(listed(t=ANN, u={"client": "job"})))
    found = await static.verify_token("t")
    assert (found.subject, found.client_id, found.scopes) == ("ann", "desk", ["orders:read"])
    assert (found.claims, found.expires_at, found.token) == ({"roles": ["support"]}, 1798761600, "")
    found = await static.verify_token("u")
    assert (found.subject, found.client_id, found.scopes, found.expires_at) == (None, "job", [], None)


async def test_what_is_not_listed_is_not_taken(write):
    """Ours: neither is the digest, which who reads the file has."""
    static = StaticTokenVerifier(write(listed(t=ANN)))
    for token in ("", "T", digest_of("t"), "\ud83d", "é"):
        assert await static.verify_token(token) is None


async def test_a_changed_file_counts_at_once(write):
    """Ours: who takes a token back does not want to wait."""
    static = StaticTokenVerifier(write(listed(t=ANN)))
    write(listed(u=ANN))
    assert await static.verify_token("t") is None
    assert await static.verify_token("u") is not None


async def test_while_the_file_is_wrong_no_token_counts(write, caplog):
    """Ours: what was meant to be taken back must not count."""
    path = write(listed(t=ANN))
    static = StaticTokenVerifier(path)
    write("{")
    assert await static.verify_token("t") is None
    path.unlink()
    assert await static.verify_token("t") is None
    write(listed(t=ANN), 0o644)
    assert await static.verify_token("t") is None
    write(listed(t=ANN))
    assert await static.verify_token("t") is not None
    assert [record.message.partition(":")[0] for record in caplog.records] == 3 * [
        "no token counts until this is right"
    ]


WRONG = {
    "not JSON": ("{", 1, "not JSON"),
    "no tokens": ("{}", 1, "'tokens' is missing"),
    "a token itself": ('{"tokens": {\n"s3cr3t": {"subject": "a"}}}', 2, "expected the SHA-256 of a token, in 64 hex"),
    "nobody": ('{"tokens": {\n"%s": {"scopes": []}}}', 2, "expected a principal with a subject, a client, or both"),
    "an unknown key": ('{"tokens": {"%s": {\n"subject": "a", "scope": "x"}}}', 2, "unknown key 'scope'"),
    "scopes in words": ('{"tokens": {"%s": {"subject": "a",\n"scopes": "x y"}}}', 2, "'scopes': expected a list"),
    "two scopes in one": (
        '{"tokens": {"%s": {"subject": "a", "scopes": [\n"x y"]}}}',
        2,
        "'scopes', element 0: expected a word without white space",
    ),
    "no time": (
        '{"tokens": {"%s": {"subject": "a",\n"expires": "soon"}}}',
        2,
        "'expires': expected a time with its zone",
    ),
    "a time without a zone": ('{"tokens": {"%s": {"subject": "a",\n"expires": "2027-01-01T00:00:00"}}}', 2, "its zone"),
}


@pytest.mark.parametrize(("content", "line", "message"), WRONG.values(), ids=WRONG)
async def test_a_wrong_file_is_told_by_line(write, content, line, message):
    """Ours; never a token."""
    path = write(content.replace("%s", digest_of("t")))
    with pytest.raises(InvalidConfig) as raised:
        StaticTokenVerifier(path)
    assert message in raised.value.message
    assert raised.value.message.startswith(f"{path}:{line}: ")
    assert "s3cr3t" not in raised.value.message


@pytest.mark.parametrize("mode", [0o660, 0o604, 0o620, 0o777])
async def test_a_file_that_others_can_read_or_write_is_refused(write, mode):
    """Ours."""
    with pytest.raises(InvalidConfig, match=f"mode {mode:o}.: expected 600, by chmod 600"):
        StaticTokenVerifier(write(listed(t=ANN), mode))


async def test_a_file_that_is_not_there_is_refused(tmp_path):
    """Ours."""
    with pytest.raises(InvalidConfig, match="the tokens cannot be read: No such file"):
        StaticTokenVerifier(tmp_path / "tokens.json")
