"""`louver login`, `louver logout`, and what `louver check` and a gateway say of logins."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from fixtures.command import louver
from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from gateway.served import at, config, serving, stateless
from louver.team.login.stores.folder import LoginFolder
from team.login.servers import Browser, upstream

LOGIN = [PYTHON, "-m", "louver", "login"]
PAGE = "open this page to log in: "


@pytest.fixture
def options(server, tmp_path):
    return [*config(tmp_path, {"tracker": at(server.url)}), "--server", "tracker"]


@contextmanager
def logging_in(*arguments, **environ):
    """A command that waits for somebody, and the page that it names."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([*LOGIN, *arguments], text=True, **pipes, env={**os.environ, **environ}) as process:
        try:
            page = process.stdout.readline().removeprefix(PAGE).strip()
            assert page.startswith("http"), process.stderr.read()
            yield process, page
            process.stdin.close()
        finally:
            process.kill()


def visit(page):
    """Log in, and return where the browser is sent back to."""
    return Browser(parse_qs(urlsplit(page).query)["redirect_uri"][0]).log_in(page)


def logged_in(process):
    """What the command says when it is done."""
    out = process.stdout.read()
    assert process.wait(FAILSAFE_S) == 0, process.stderr.read()
    return out


def files(folder):
    return [path for path in Path(folder).rglob("*") if path.is_file()]


def test_a_login_by_the_browser_of_this_machine(options, issuer, tmp_path):
    """Step 17: on loopback, by the user's browser, whose arguments others can see."""
    script = tmp_path / "browser.py"
    script.write_text("import sys; open(sys.argv[1], 'w').write(sys.argv[2] + '\\n' + open(sys.argv[2][7:]).read())")
    with logging_in(*options, BROWSER=f"{sys.executable} {script} {tmp_path / 'seen'} %s") as (process, page):
        address = visit(page)
        foreign = httpx2.get(re.sub("state=[^&]+", "state=foreign", address), trust_env=False)
        elsewhere = httpx2.get(address.replace("/callback", "/"), trust_env=False)
        assert (foreign.status_code, elsewhere.status_code) == (400, 400)
        assert httpx2.get(address, trust_env=False).text == "You can close this page, and go back to the terminal."
        assert f"logged in to 'tracker' at {issuer} until " in logged_in(process)
        opened, _, content = (tmp_path / "seen").read_text().partition("\n")
    assert opened.startswith("file://")
    assert page.replace("&", "&amp;") in content
    status, out, err = louver("check", *options)
    assert (status, err) == (0, "")
    assert f"tracker: logged in at {issuer} until " in out


def test_a_login_by_the_browser_of_another_machine(options):
    """Step 17: its address is pasted. The code alone could be of another login."""
    with logging_in(*options, "--no-browser") as (process, page):
        assert "paste the address" in process.stdout.readline()
        address = visit(page)
        code = parse_qs(urlsplit(address).query)["code"][0]
        for line in ("", code, f"http://127.0.0.1/callback?code={code}&state=foreign", address):
            process.stdin.write(f"{line}\n")
        process.stdin.flush()
        assert "logged in to 'tracker'" in logged_in(process)
        assert process.stderr.read().count("not the answer to this login") == 3


def test_a_login_whose_input_ends(options):
    """Ours: as in a container without `-i`, where nobody could answer for ten minutes."""
    with logging_in(*options, "--no-browser") as (process, _):
        process.stdin.close()
        assert process.wait(FAILSAFE_S) == 2
        assert "standard input ended before the address was pasted" in process.stderr.read()


def test_a_login_that_is_denied(options):
    """Ours."""
    with logging_in(*options, "--no-browser") as (process, page):
        query = parse_qs(urlsplit(page).query)
        address = f"{query['redirect_uri'][0]}?error=access_denied&state={query['state'][0]}"
        httpx2.get(address, trust_env=False)
        assert process.wait(FAILSAFE_S) == 2
        assert "does not grant the login: access_denied" in process.stderr.read()


def test_a_logout_forgets_and_revokes(options):
    """Step 17."""
    with logging_in(*options, "--no-browser") as (process, page):
        httpx2.get(visit(page), trust_env=False)
        logged_in(process)
    assert louver("logout", *options) == (0, "logged out of 'tracker'\n", "")
    assert louver("logout", *options) == (0, "nobody is logged in to 'tracker'\n", "")
    status, out, _ = louver("check", *options)
    assert status == 1
    assert "louver login" in re.sub(r"\s*│\s*\n\s*│[ │]*", " ", out)


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        ({"a": {"command": "a"}}, "a command that starts a server has no login"),
        ({"a": at("https://a.example"), "b": at("https://b.example")}, "name one by --server: 'a', 'b'"),
        (
            {"a": {**at("https://a.example"), "headers": {"authorization": "x"}}},
            "'a': the configuration has the credentials",
        ),
        (
            {"a": at("https://u:p@a.example"), "b": at("https://u:p@b.example"), "c": {"command": "c"}},
            "'a', 'b': the configuration has the credentials",
        ),
        ({"a": at("https://u:p@a.example")}, "'a': the configuration has the credentials"),
        (
            {
                "a": at(
                    "https://a.example",
                    oauth={
                        "grant": "client_credentials",
                        "clientId": "c",
                        "clientSecret": "s",
                        "issuer": "https://i.example",
                    },
                )
            },
            "nobody logs in to 'a': the gateway does by itself",
        ),
    ],
)
def test_what_cannot_be_logged_in_to_is_told(servers, message, tmp_path):
    """Ours."""
    status, out, err = louver("login", *config(tmp_path, servers))
    assert (status, out) == (2, "")
    assert message in err


@pytest.mark.anyio
async def test_no_secret_is_anywhere_but_in_the_sealed_file(server, tmp_path):
    """Step 17: canaries in all files, logs, errors and process lists: 0."""
    await assert_no_secret_is_left(server.url, tmp_path, calls=1, seconds=0)


async def assert_no_secret_is_left(url, folder, *, calls, seconds):
    """Log in, call, let tokens be renewed between calls, have the last one refused, and look everywhere."""
    (folder / "home").mkdir()
    (folder / "client").mkdir()
    environ = {**os.environ, "HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "home" / "state")}
    options = config(folder / "client", {"tracker": at(url)})
    seen = []
    with logging_in(*options, "--no-browser", **environ) as (process, page):
        address = visit(page)
        httpx2.get(address, trust_env=False)
        seen.append(logged_in(process).replace(page, "") + process.stderr.read())
    secrets = {parse_qs(urlsplit(address).query)["code"][0]}
    logins = Path(environ["XDG_STATE_HOME"]) / "louver" / "logins"
    store, key = LoginFolder(logins), upstream(url).login_id
    with serving(*options, "--log", "json", "--access-log", env=environ, stdout=subprocess.PIPE) as gateway:
        seen.append(command_lines())
        assert "serve" in seen[-1]
        for _ in range(calls):
            tokens = (await store.read(key)).tokens
            secrets |= {tokens.access_token, tokens.refresh_token}
            seen.append(post(gateway, "tools/call", name="find", arguments={}).text)
            assert '"isError":true' not in seen[-1]
            await asyncio.sleep(seconds)  # tokens expire by the clock
        assert len(secrets) == 1 + 2 * calls
        login = await store.read(key)
        revoked = login.tokens.model_copy(update={"refresh_token": "revoked-canary", "access_token": "a.canary.b"})
        secrets |= {"revoked-canary", "a.canary.b"}
        await store.write(key, login.model_copy(update={"tokens": revoked, "obtained_at": 1.0}))
        seen.append(post(gateway, "tools/call", name="find", arguments={}).text)
        assert "louver login --config mcp.json --server tracker" in seen[-1]
        assert str(folder) not in seen[-1]
    seen += [gateway.process.stdout.read(), *gateway.said]
    gateway.process.stdout.close()
    secrets.add((logins / "key").read_text().strip())
    found = [path for path in files(folder) if path != logins / "key" and holds(path.read_bytes(), secrets)]
    assert found == []
    assert not any(holds(text.encode(), secrets) for text in seen)


def command_lines():
    """What `ps` shows of every process."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found.append(file.read_text(errors="replace"))
    return "\n".join(found)


def post(gateway, method, **params):
    return httpx2.post(gateway.url, **stateless(method, **params), trust_env=False)


def holds(data, secrets):
    return any(secret.encode() in data for secret in secrets)
