"""Where `louver serve --http` listens, for whom, and by which hosts. All is reached by the loopback here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from fixtures.failsafe import FAILSAFE_S
from fixtures.tables import in_turn
from gateway.front.auth.guarded import token_file
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
    return httpx2.post(f"http://{at}:{port}/mcp", trust_env=False, **asked).status_code


def kept_token(*others):
    """The one that a gateway has made, which has said where it serves."""
    (token,) = {
        file.read_text().strip() for file in (Path(os.environ["XDG_STATE_HOME"]) / "louver" / "tokens").iterdir()
    } - {*others}
    return token


def refused(*arguments):
    """What a command tells that is refused; one that serves instead is ended."""
    done = subprocess.run(
        [*LOUVER, *arguments], capture_output=True, text=True, timeout=FAILSAFE_S, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 2
    return done.stderr


@pytest.mark.parametrize("address", ANYWHERE)
@pytest.mark.parametrize("server", [["--example"], ["--url", "http://127.0.0.1:9/mcp"]])
def test_other_machines_are_never_served_without_a_token(server, address):
    """TRUST.md: `--no-auth` for loopback; GATEWAY.md: listening elsewhere without authentication is refused."""
    err = refused(*server, "--http", address, "--no-auth")
    assert "--no-auth is for a loopback address, for example 127.0.0.1" in err
    assert "leave it out, so that clients need a token, or set 'auth' in the configuration" in err


@pytest.mark.parametrize("at", ["127.0.0.1:0", "127.0.0.2:0", "[::1]:0", "localhost:0"])
def test_every_loopback_address_can_be_served_without_a_token(at):
    """TRUST.md."""
    with serving_everywhere("--example", "--no-auth", at=at) as port:
        assert status(port, at=str(ListenAddress.read(at).url_host)) == 200


def test_the_tokens_of_the_configuration_count_at_every_address(tmp_path):
    """GATEWAY.md: ... without authentication is refused; with it, no token is no answer there either."""
    options = config(tmp_path, {"records": fixture("records")}, auth={"tokens": token_file(tmp_path)})
    with serving_everywhere(*options) as port:
        assert (status(port), status(port, token="t-ann")) == (401, 200)
        assert status(port, token="t-ann", host="evil.example") == 421


def test_no_auth_and_auth_are_refused_together(tmp_path):
    """Ours: two words that cannot both be meant; the stricter one is not dropped without a word."""
    options = config(tmp_path, {"records": fixture("records")}, auth={"tokens": token_file(tmp_path)})
    for address in ("0.0.0.0:0", "127.0.0.1:0"):
        assert "leave out one of the two" in refused(*options, "--http", address, "--no-auth")


@pytest.mark.parametrize(
    ("headers", "expected", "server"),
    in_turn(
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
        ["example", "gateway"],
    ),
    ids=str,
)
def test_just_the_hosts_that_were_named_are_answered(everywhere, server, headers, expected):
    """GATEWAY.md: Host and Origin are checked; ours: against DNS rebinding, which makes any other name lead here."""
    port, token = everywhere[server]
    assert status(port, token=token, **headers) == expected


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory):
    """The ports of the example and of a gateway, and their tokens."""
    known = ["--allowed-host", "MCP.lan", "--allowed-host", "[2001:db8::1]:80"]
    options = config(tmp_path_factory.mktemp("everywhere"), {"records": fixture("records")})
    with serving_everywhere("--example", *known) as example:
        example = example, kept_token()
        with serving_everywhere(*options, *known) as gateway:
            yield {"example": example, "gateway": (gateway, kept_token(example[1]))}


def test_all_addresses_of_both_kinds_are_one_of_ipv6():
    """Ours: IPv6 works, and by its loopback."""
    with serving_everywhere("--example", at="[::]:0") as port:
        assert status(port, token=kept_token(), at="[::1]") == 200
        assert status(port, token=kept_token(), host="evil.example") == 421


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


@pytest.mark.parametrize("option", [["--no-auth"], ["--allowed-host", "mcp.lan"]])
def test_over_stdio_there_is_nobody_to_be_let_in(option):
    """Ours: an option that does nothing is told."""
    assert "--no-auth, --allowed-host and --access-log need --http" in refused("--example", *option)


def test_a_refusal_does_not_open_the_servers(tmp_path):
    """Ours: who is served is settled before anything is started."""
    path = tmp_path / "mcp.json"
    command = [sys.executable, "-c", f"open({str(tmp_path / 'started')!r}, 'w')"]
    path.write_text(json.dumps({"mcpServers": {"a": {"command": command[0], "args": command[1:]}}}))
    refused("--config", str(path), "--http", "0.0.0.0:0", "--no-auth")
    assert not (tmp_path / "started").exists()
