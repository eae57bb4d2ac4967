"""`louver logout --principal`: one caller is logged out alone, while the gateway goes on."""

from __future__ import annotations

import asyncio
import os

import pytest

from fixtures import stores
from fixtures.command import louver
from fixtures.failsafe import until
from fixtures.forking import PYTHON
from gateway.front.auth.guarded import bearing
from gateway.served import at, at_a_url, config
from louver.team.login.stores.folder import LoginFolder
from team.login.principals import PRINCIPAL, Visitor, gateway_of
from team.login.servers import upstream
from team.login.test_principals import link_of, whose
from team.login.test_store import LOGIN

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def url():
    with at_a_url("sdk_authorization") as found:
        yield found


async def logout(folder, name):
    """What the command prints, in the place of the gateway's logins."""
    options = ["--config", folder / "mcp.json", "--server", "tracker", "--principal", name]
    process = await asyncio.create_subprocess_exec(
        *(PYTHON, "-m", "louver", "logout", *options),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")},
    )
    out, _ = await process.communicate()
    return process.returncode, out.decode()


@pytest.mark.parametrize("is_shared", [False, True])
async def test_one_caller_is_logged_out_and_the_others_go_on(url, tmp_path, is_shared):
    """Ours: a person leaves, or has planted another account; also where replicas share logins."""
    with stores.redis() as store:
        shared = {"state": store.url, "keys": ["k" * 32]} if is_shared else {}
        with gateway_of(tmp_path, {"tracker": url}, **shared) as served:
            async with bearing(served.url, "t-ann") as ann, bearing(served.url, "t-bob") as bob:
                for each in (ann, bob):
                    async with Visitor() as visitor:
                        await visitor.log_in(await link_of(each))
                of_bob = await whose(bob)
                assert await whose(ann)
                status, out = await logout(tmp_path, "subject:ann,client:phone")
                assert (status, out.count("nobody is logged in to 'tracker' as")) == (0, 1)
                status, out = await logout(tmp_path, "subject:ann,client:desk")
                assert (status, out) == (0, "logged out of 'tracker' as subject:ann,client:desk\n")

                async def refused():
                    return (await ann.call("whose")).get("isError")

                await until(refused)
                await link_of(ann)
                assert await whose(bob) == of_bob


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("ann", ("", None, "ann")),
        ("subject:ann,client:desk", ("desk", "https://id.example", "ann")),
        ("subject:ann,client:desk", ("desk", None, "ann")),
        ("subject:https://other.example#ann,client:desk", ("desk", "https://other.example", "ann")),
        ("client:desk", ("desk", "https://id.example", None)),
    ],
)
async def test_a_caller_is_named_as_in_reports(tmp_path, monkeypatch, name, key):
    """Ours: by subject and client, as `louver report` does. The issuer is that of the configuration."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    url = "https://mcp.example/mcp"
    store = LoginFolder(tmp_path / "state" / "louver" / "logins")
    kept, other = [upstream(url, principal=each).login_id for each in (key, ("other", *key[1:]))]
    for each in (kept, other):
        await store.write(each, LOGIN.model_copy(update={"metadata": None}))
    auth = {"jwks": "https://id.example/jwks", "issuer": "https://id.example", "resource": "https://a.example/mcp"}
    options = config(tmp_path, {"tracker": at(url, **PRINCIPAL)}, auth=auth)
    status, out, err = await asyncio.to_thread(louver, "logout", *options, "--principal", name)
    assert (status, out) == (1, f"logged out of 'tracker' as {name}\n")
    assert "the authorization server revokes no tokens" in err
    assert await store.stamp(kept) is None
    assert await store.stamp(other) is not None


@pytest.mark.parametrize(
    ("server", "name", "message"),
    [
        (at("https://a.example"), "ann", "no caller has a login of their own at 'a': leave out --principal"),
        (at("https://a.example", **PRINCIPAL), "role:x", "--principal takes no role or scope"),
    ],
)
def test_a_caller_that_cannot_be_is_told(tmp_path, server, name, message):
    """Ours."""
    auth = {"jwks": "https://id.example/jwks", "resource": "https://a.example/mcp"}
    status, out, err = louver("logout", *config(tmp_path, {"a": server}, auth=auth), "--principal", name)
    assert (status, out) == (2, "")
    assert message in err
