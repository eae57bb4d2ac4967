"""Many principals at several servers at once, with hang-ups: nothing of one reaches another."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from functools import partial

import httpx2
import pytest

from fixtures.failsafe import A_WHILE_S, until
from gateway.front.auth.guarded import bearing
from gateway.served import FIXTURES, stateless
from louver.team.login.stores.folder import LoginFolder
from team.login.principals import gateway_of
from team.login.servers import upstream
from team.login.test_store import LOGIN

pytestmark = pytest.mark.anyio

SERVERS = ("tracker", "wiki", "mail")


@pytest.mark.parametrize(
    ("principals", "calls"),
    [
        (8, 120),
        pytest.param(200, int(os.environ.get("LOUVER_CROSSING_CALLS", "2000")), marks=pytest.mark.deep),
    ],
)
async def test_no_token_and_no_answer_crosses_between_principals(tmp_path, principals, calls):
    """Step 17, "Show": clients leave in the middle, sessions are opened again, and servers restart."""
    with ExitStack() as servers:
        listeners = {name: servers.enter_context(socket.create_server(("127.0.0.1", 0))) for name in SERVERS}
        running = {name: servers.enter_context(ExitStack()) for name in SERVERS}
        urls = {name: running[name].enter_context(tenants(name, listeners[name])) for name in SERVERS}
        names = [f"p{number}" for number in range(principals)]
        await keep_logins(tmp_path, urls, names)
        tokens = {f"t-{name}": {"subject": name, "client": "desk"} for name in names}
        with gateway_of(tmp_path, urls, tokens=tokens) as gateway:
            run = Run(gateway.url, names, random.Random(17))
            for name in SERVERS:
                half = asyncio.Event()
                calling = asyncio.create_task(run.calls(calls // 3, half))
                await half.wait()
                running[name].close()
                await asyncio.to_thread(running[name].enter_context, tenants(name, listeners[name]))
                await calling
            await run.all_are_served()
        assert run.crossed == []
        assert run.left > 0
        assert run.answered > 0.7 * calls


@contextmanager
def tenants(name, listener):
    """The URL of a server at a socket that outlives it: nobody else gets the port meanwhile."""
    number = listener.fileno()
    command = [sys.executable, str(FIXTURES / "tenants.py"), str(number), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pass_fds=[number]) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def keep_logins(folder, urls, names):
    """What each principal would have after logging in at each server."""
    store = LoginFolder(folder / "state" / "louver" / "logins")
    for server, url in urls.items():
        for name in names:
            of = upstream(url, server, principal=("desk", None, name))
            tokens = LOGIN.tokens.model_copy(
                update={"access_token": f"token.{server}.{name}", "refresh_token": None, "expires_in": None}
            )
            await store.write(of.login_id, LOGIN.model_copy(update={"tokens": tokens}))


class Run:
    def __init__(self, url, names, chance):
        self.url, self.names, self.chance = url, names, chance
        self.answered, self.failed, self.left, self.crossed = 0, 0, 0, []
        self.places = asyncio.Semaphore(24)
        self.number = 0

    async def calls(self, count, half):
        async with httpx2.AsyncClient(trust_env=False) as client, asyncio.TaskGroup() as group:
            for each in range(count):
                if each == count // 2:
                    half.set()
                await self.places.acquire()
                self.number += 1
                work = self.call(client, self.chance.choice(self.names), self.chance.choice(SERVERS), self.number)
                group.create_task(work).add_done_callback(lambda _: self.places.release())

    async def call(self, client, name, server, number):
        leaves = self.chance.random() < 0.05
        seconds = 0.2 if leaves else self.chance.choice((0, 0, 0.01))
        kind = self.chance.choice(("call", "call", "call", "read", "list", "session"))
        if kind == "session":
            await self.session(name, server, number)
            return
        sent = self.request(client, kind, name, server, number, seconds)
        if leaves:
            try:
                await asyncio.wait_for(sent, A_WHILE_S)
            except TimeoutError:
                self.left += 1
                return
        self.check(kind, await sent if not leaves else None, name, server, number)

    async def session(self, name, server, number):
        try:
            async with bearing(self.url, f"t-{name}") as session:
                result = await session.call(f"{server}__whoami", number=number)
                # Some clients leave without a word.
                if number % 10:
                    await session.end()
        except TimeoutError:
            self.failed += 1
        else:
            self.check("call", {"result": result}, name, server, number)

    async def request(self, client, kind, name, server, number, seconds):
        method, params = {
            "call": ("tools/call", {"name": f"{server}__whoami", "arguments": {"number": number, "seconds": seconds}}),
            "read": ("resources/read", {"uri": "account://me"}),
            "list": ("tools/list", {}),
        }[kind]
        request = stateless(method, **params)
        request["headers"]["authorization"] = f"Bearer t-{name}"
        if kind == "read":
            request["headers"]["mcp-name"] = params["uri"]
        try:
            response = await client.post(self.url, **request)
        except httpx2.TransportError:
            # The gateway closes connections that were idle, and the request may come just then.
            return {"error": {}}
        lines = [line for line in response.text.splitlines() if line.startswith("data:")]
        return json.loads(lines[-1].removeprefix("data:") if lines else response.text)

    def check(self, kind, answer, name, server, number):
        if answer is None:
            return
        text = json.dumps(answer)
        foreign = [other for other in self.names if other != name and f'"{other}"' in text]
        foreign += [other for other in self.names if other != name and f' {other}"' in text]
        if foreign or "token." in text:
            self.crossed.append((name, server, text))
        result = answer.get("result", {})
        if "error" in answer or result.get("isError"):
            self.failed += 1
            return
        if kind == "call" and result["structuredContent"] != {"server": server, "account": name, "number": number}:
            self.crossed.append((name, server, text))
        if kind == "read" and result["contents"][0]["text"].split()[1] != name:
            self.crossed.append((name, server, text))
        self.answered += 1

    async def all_are_served(self):
        """Each principal gets its own answer of each server again, once servers that were down are tried again."""
        async with httpx2.AsyncClient(trust_env=False) as client:
            for name in self.names:
                for server in SERVERS:
                    await until(partial(self.is_served, client, name, server))

    async def is_served(self, client, name, server):
        answer = await self.request(client, "call", name, server, 0, 0)
        self.check("call", answer, name, server, 0)
        return "result" in answer and not answer["result"].get("isError")
