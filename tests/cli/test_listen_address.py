"""Where `louver serve --http` listens, for whom, and by which hosts. All is reached by the loopback here."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager

import httpx2
import pytest

from gateway.auth.guarded import token_file
from gateway.gateways import LOUVER
from gateway.served import Served, config, fixture, stateless
from louver.cli.listen_address import ListenAddress
from louver.errors import InvalidInput

ANYWHERE = ("0.0.0.0:0", "[::]:0", "192.0.2.1:80")


@contextmanager
def serving_everywhere(*arguments, at="0.0.0.0:0"):
    """A server that listens at all addresses; it is reached by the loopback's: its port."""
    served = Served([*LOUVER, "--http", at, *arguments])
    try:
        yield int(served.says(r"serving at http://\S+:([0-9]+)/mcp").group(1))
    finally:
        served.close()


def status(port, *, token=None, at="127.0.0.1", **headers):
    """That of a list of tools."""
    asked = stateless("tools/list")
    bearer = {} if token is None else {"authorization": f"Bearer {token}"}
    asked["headers"] |= {**headers, **bearer}
    return httpx2.post(f"http://{at}:{port}/mcp", trust_env=False, timeout=30, **asked).status_code


def refused(*arguments):
    """What a command tells that is refused; one that serves instead is ended."""
    done = subprocess.run([*LOUVER, *arguments], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    return done.stderr


@pytest.mark.parametrize("address", ANYWHERE)
@pytest.mark.parametrize("server", [["--example"], ["--url", "http://127.0.0.1:9/mcp"]])
def test_nobody_else_is_served_unless_that_was_said(server, address):
    """GATEWAY.md: listening on anything but loopback without authentication is refused unless a flag says so."""
    err = refused(*server, "--http", address)
    assert "ask for tokens by 'auth' in the configuration, or say --anyone" in err


def test_where_tokens_are_asked_for_anyone_may_reach_it(tmp_path):
    """GATEWAY.md: ... without authentication is refused; with it, no token is no answer there either."""
    options = config(tmp_path, {"records": fixture("records")}, auth={"tokens": token_file(tmp_path)})
    with serving_everywhere(*options) as port:
        assert (status(port), status(port, token="t-ann")) == (401, 200)
        assert status(port, token="t-ann", host="evil.example") == 421


def test_who_asks_for_tokens_does_not_serve_anyone(tmp_path):
    """Ours: two words that cannot both be meant; the stricter one is not dropped without a word."""
    options = config(tmp_path, {"records": fixture("records")}, auth={"tokens": token_file(tmp_path)})
    for address in ("0.0.0.0:0", "127.0.0.1:0"):
        assert "leave out one of the two" in refused(*options, "--http", address, "--anyone")


@pytest.mark.parametrize("server", ["example", "gateway"])
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "localhost:7"}, 200),
        ({"host": "mcp.lan"}, 200),
        ({"host": "mcp.lan:7"}, 200),
        ({"host": "[2001:db8::1]:80"}, 200),
        ({"host": "[2001:db8::1]:81"}, 421),
        ({"host": "evil.example"}, 421),
        ({"host": "mcp.lan.evil.example"}, 421),
        ({"host": "0.0.0.0:80"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"host": "mcp.lan", "origin": "http://mcp.lan"}, 403),
    ],
    ids=str,
)
def test_just_the_hosts_that_were_named_are_answered(everywhere, server, headers, expected):
    """GATEWAY.md: Host and Origin are checked; ours: against DNS rebinding, which makes any other name lead here."""
    assert status(everywhere[server], **headers) == expected


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory):
    """The ports of the example and of a gateway, which serve anyone."""
    known = ["--anyone", "--allowed-host", "MCP.lan", "--allowed-host", "[2001:db8::1]:80"]
    options = config(tmp_path_factory.mktemp("everywhere"), {"records": fixture("records")})
    with serving_everywhere("--example", *known) as example, serving_everywhere(*options, *known) as gateway:
        yield {"example": example, "gateway": gateway}


def test_all_addresses_of_both_kinds_are_one_of_ipv6():
    """Ours: IPv6 works, and by its loopback."""
    with serving_everywhere("--example", "--anyone", at="[::]:0") as port:
        assert status(port, at="[::1]") == 200
        assert status(port, host="evil.example") == 421


@pytest.mark.parametrize(
    ("address", "hosts"),
    [
        ("192.0.2.1:80", ["192.0.2.1", "192.0.2.1:*"]),
        ("[2001:DB8:0::1]:80", ["[2001:db8::1]", "[2001:db8::1]:*"]),
        ("[fe80::1%eth0]:80", ["[fe80::1]", "[fe80::1]:*"]),
        ("127.0.0.2:80", ["127.0.0.2", "127.0.0.2:*"]),
        ("0.0.0.0:80", []),
        ("[::]:80", []),
    ],
)
def test_an_address_is_known_as_itself_unless_it_stands_for_all(address, hosts):
    """Ours: clients name it as it is in a URL."""
    assert ListenAddress.read(address).allowed_hosts([]) == hosts


@pytest.mark.parametrize("name", ["", "*", "*:80", "http://mcp.lan", "mcp.lan/mcp", "mcp.lan:*", "2001:db8::1", "a b"])
def test_a_name_that_is_no_host_is_refused(name):
    """Ours: what would never match, or would match anything, is told at once."""
    with pytest.raises(InvalidInput, match=r"--allowed-host takes a host, such as mcp.example"):
        ListenAddress.read("127.0.0.1:0").allowed_hosts([name])


@pytest.mark.parametrize("option", [["--anyone"], ["--allowed-host", "mcp.lan"]])
def test_over_stdio_there_is_nobody_to_be_let_in(option):
    """Ours: an option that does nothing is told."""
    assert "--anyone and --allowed-host need --http" in refused("--example", *option)


def test_a_refusal_does_not_open_the_servers(tmp_path):
    """Ours: who is served is settled before anything is started."""
    path = tmp_path / "mcp.json"
    command = [sys.executable, "-c", f"open({str(tmp_path / 'started')!r}, 'w')"]
    path.write_text(json.dumps({"mcpServers": {"a": {"command": command[0], "args": command[1:]}}}))
    refused("--config", str(path), "--http", "0.0.0.0:0")
    assert not (tmp_path / "started").exists()
