"""The token that `louver serve --http` makes where the configuration has no `auth`."""

import json
import os
import re
import stat
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from gateway.front.auth.guarded import WHO, bearing, who
from gateway.gateways import LOUVER
from gateway.raw import HANDSHAKE, STATELESS
from gateway.served import Served, config, fixture, serving, stateless

pytestmark = pytest.mark.anyio

every_era = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
every_server = pytest.mark.parametrize("server", ["example", "gateway"])
FILE = re.compile(r"token\b.* (/[^\s\"]+)")
BEARER = re.compile(r'"Bearer ([A-Za-z0-9_-]+)"')


def options(server, folder):
    return ["--example"] if server == "example" else config(folder, {"records": fixture("records")})


@contextmanager
def guarded(*arguments, command=LOUVER, **how):
    """A gateway with the token that it has made, or keeps; once it has said so."""
    with serving(*arguments, command=command, no_auth=False, **how) as served:
        served.file = Path(served.says(FILE.pattern).group(1))
        served.token = served.file.read_text().strip()
        yield served


def status(url, token=None, **headers):
    """That of a list of tools."""
    request = stateless("tools/list")
    bearer = {} if token is None else {"authorization": f"Bearer {token}"}
    request["headers"] |= {**bearer, **headers}
    return httpx2.post(url, trust_env=False, **request).status_code


def refused(*arguments):
    """The message of a gateway that does not start."""
    served = Served([*LOUVER, "--http", "127.0.0.1:0", *arguments])
    try:
        assert served.ends() == 2
    finally:
        served.close()
    assert "Traceback" not in "".join(served.said)
    return "".join(served.said)


@every_server
async def test_a_stock_client_gets_in_by_the_printed_lines_and_nobody_without_them(tmp_path, server):
    """TRUST.md: a token by default over HTTP, shown at the start in a terminal."""
    with guarded(*options(server, tmp_path), at_terminal=True) as served:
        entry = json.loads(served.says(r"^\{.*\}$").group())["mcpServers"]["louver"]
        assert (entry["type"], entry["url"]) == ("http", served.url)
        async with (
            httpx2.AsyncClient(headers=entry["headers"], trust_env=False) as http,
            streamable_http_client(entry["url"], http_client=http) as (read, write),
            ClientSession(read, write) as client,
        ):
            await client.initialize()
            assert (await client.list_tools()).tools
        for token in (None, "wrong", served.token[:-1], served.token + "x", served.token.swapcase()):
            assert status(served.url, token) == 401
        for header in (
            "Bearer",
            served.token,
            f"Basic {served.token}",
            f"Bearer{served.token}",
            f"Bearer {served.token},x",
        ):
            assert status(served.url, authorization=header) == 401
        assert status(served.url, authorization=f"bearer  {served.token}") == 200


@every_server
def test_a_refusal_names_the_scheme_and_health_needs_no_token(tmp_path, server):
    """RFC 6750 section 3."""
    with guarded(*options(server, tmp_path)) as served:
        base = served.url.removesuffix("/mcp")
        for path in ("/mcp", "/", "/readyz/"):
            found = httpx2.get(base + path, trust_env=False)
            assert found.status_code == 401
            assert found.headers["www-authenticate"].startswith("Bearer ")
            assert found.json()["error"] == "invalid_token"
            assert served.token not in found.text
        for path in ("/healthz", "/readyz"):
            assert httpx2.get(base + path, trust_env=False).status_code == 200


def test_two_tokens_in_one_request_are_none(tmp_path):
    """RFC 6750 section 2: one method, and one token, a request."""
    with guarded("--example") as served:
        both = [("authorization", f"Bearer {served.token}"), ("authorization", "Bearer other")]
        assert httpx2.get(served.url, headers=both, trust_env=False).status_code == 401


@every_era
async def test_all_clients_with_the_token_are_one_principal(tmp_path, era):
    """Ours: whoever has the token is the user of the gateway; no configured rule gives it a scope or a role."""
    with guarded(*options("gateway", tmp_path), command=WHO) as served:
        async with bearing(served.url, served.token, era) as client:
            assert await who(client) == {"subject": "local", "client": None, "scopes": [], "roles": []}


def test_the_token_stays_with_the_file_and_the_address_and_is_printed_once(tmp_path):
    """Ours: a restart needs no change at a host."""
    here = options("gateway", tmp_path)
    with guarded(*here, at_terminal=True) as first:
        assert first.says(BEARER.pattern).group(1) == first.token
    with guarded(*here, at_terminal=True) as second:
        assert (second.file, second.token) == (first.file, first.token)
        assert status(second.url, first.token) == 200
        assert first.token not in "".join(second.said)
    (tmp_path / "other").mkdir()
    with guarded(*options("gateway", tmp_path / "other")) as other:
        assert other.token != first.token
        assert status(other.url, first.token) == 401
    first.file.unlink()
    with guarded(*here) as renewed:
        assert renewed.token != first.token
        assert status(renewed.url, first.token) == 401


def test_two_gateways_that_start_at_once_have_one_token(tmp_path):
    """Ours: neither replaces what the other has printed."""
    command = [*LOUVER, "--http", "127.0.0.1:0", *options("gateway", tmp_path)]
    all_served = [Served(command, at_terminal=True) for _ in range(4)]
    try:
        urls = [served.says(r"serving at (\S+)").group(1) for served in all_served]
        file = Path(all_served[0].says(FILE.pattern).group(1))
        assert [status(url, file.read_text().strip()) for url in urls] == 4 * [200]
    finally:
        for served in all_served:
            served.close()
    assert sum(served.find(BEARER.pattern) is not None for served in all_served) == 1
    assert list(file.parent.iterdir()) == [file]


def test_only_its_user_can_read_the_file(tmp_path):
    """Ours: mode 600, in a folder of mode 700; nor can others see the token in the list of processes."""
    with guarded(*options("gateway", tmp_path)) as served:
        assert stat.S_IMODE(served.file.stat().st_mode) == 0o600
        assert stat.S_IMODE(served.file.parent.stat().st_mode) == 0o700
        assert len(served.token) >= 43
        arguments = Path(f"/proc/{served.pid}/cmdline").read_text()
        assert served.token not in arguments + Path(f"/proc/{served.pid}/environ").read_text()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_file_that_others_can_read_or_write_is_refused(tmp_path, mode):
    """Ours: others may know the token, or have put it there."""
    here = options("gateway", tmp_path)
    with guarded(*here) as served:
        served.file.chmod(mode)
    err = refused(*here)
    assert f"others than its owner can read or write it (mode {mode:o})" in err
    assert f"remove it, and the next start makes another token: rm {served.file}" in err
    assert served.token not in err


@pytest.mark.parametrize("content", ["", "short\n", "not a token, since it has spaces and more than 43 characters\n"])
def test_a_file_without_a_token_is_refused(tmp_path, content):
    """Ours: fail closed."""
    here = options("gateway", tmp_path)
    with guarded(*here) as served:
        served.file.write_text(content)
    assert "it holds no token" in refused(*here)


def test_a_pipe_in_its_place_is_refused(tmp_path):
    """Ours: it would block."""
    here = options("gateway", tmp_path)
    with guarded(*here) as served:
        served.file.unlink()
        os.mkfifo(served.file, 0o600)
    assert "it is no regular file" in refused(*here)


def test_a_state_folder_that_cannot_be_written_is_refused_with_ways_out(tmp_path, monkeypatch):
    """Ours: without a kept token no start, rather than one without authentication."""
    (tmp_path / "state").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    err = refused("--example")
    assert "XDG_STATE_HOME" in err
    assert "'auth'" in err
    assert "--no-auth" in err


def test_a_start_that_fails_makes_no_token(tmp_path):
    """Ours: nobody would see it; the next start prints it."""
    with guarded("--example") as served:
        address = served.url.removeprefix("http://").removesuffix("/mcp")
        done = Served([*LOUVER, "--http", address, *options("gateway", tmp_path)])
        assert done.ends() == 2
        done.close()
        assert list(served.file.parent.iterdir()) == [served.file]


@pytest.mark.parametrize(
    ("how", "at_terminal"), [([], False), (["--log", "json"], False), (["--log", "json"], True)], ids=str
)
def test_no_log_holds_the_token(tmp_path, how, at_terminal):
    """Step 19, row 24: what is no terminal, a journal say, keeps it, as collectors of JSON do; the file is named."""
    with guarded(*options("gateway", tmp_path), *how, at_terminal=at_terminal) as served:
        assert status(served.url, served.token) == 200
        assert status(served.url, "wrong") == 401
    assert served.token not in "".join(served.said)


def test_the_printed_address_is_one_that_clients_reach():
    """Ours: nobody sends the unspecified address as `Host`."""
    served = Served([*LOUVER, "--example", "--http", "0.0.0.0:0"], at_terminal=True)
    try:
        entry = json.loads(served.says(r"^\{.*\}$").group())["mcpServers"]["louver"]
        assert status(entry["url"], entry["headers"]["Authorization"].removeprefix("Bearer ")) == 200
    finally:
        served.close()


def test_without_authentication_there_is_no_token(tmp_path):
    """TRUST.md: `--no-auth` for loopback."""
    with serving(*options("gateway", tmp_path), "--no-auth", no_auth=False) as served:
        assert status(served.url) == 200
    assert "token" not in "".join(served.said)
    assert not (Path(os.environ["XDG_STATE_HOME"]) / "louver" / "tokens").exists()
