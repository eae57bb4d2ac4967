"""Replicas behind the proxies of deploy/, one fault after another, and what callers see: a line of JSON a fault.

python -m team.faults 5        with `tests` as working directory: each fault lasts some 5 seconds, or what it takes

Callers of both revisions, each another principal, call all the time; what they send names them and the call, and comes
back. A call that fails is made once more, over a new connection. Of twenty calls one has an answer that is kept, and
its caller reads a page of it.

A list changes again and again, by turns of a process at one replica and of a server that all have. It is heard once
every listener, of three of each revision, has got a notification, or a new subscription, since the change was made; the
next change comes after that. So each change is counted alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import httpx2

from fixtures import stores
from fixtures.failsafe import until
from fixtures.proxies import PROXIES, proxied
from fixtures.stores import free_port
from gateway.bad_peer import Resources
from gateway.gateways import LOUVER_ITSELF
from gateway.raw import HANDSHAKE, STATELESS, Http
from gateway.served import at, children, config, fixture, serving
from team.test_replica_faults import ERAS, REPLICAS, RESULT, Replica, Retried

CALLERS, LISTENERS, SESSIONS = 16, 6, 500
KEPT_EVERY = 20
ROWS = 300
RETRIED_AFTER_S = 0.5
HEARD_S = 60
"""After that a change is missed."""
TOKENS = [f"token-{number:02}" for number in range(CALLERS + LISTENERS + 1)]
FAILED = (httpx2.HTTPError, AssertionError, KeyError, ValueError)
"""No answer, or an error."""


@dataclass
class Seen:
    """By all callers, while one fault comes and goes; times in seconds."""

    calls: int = 0
    wrong: int = 0
    crossed: int = 0
    failed: int = 0
    lost: int = 0
    silence: float = 0
    wait: float = 0
    changes: int = 0
    missed: int = 0

    def __post_init__(self):
        self.answered = monotonic()

    def on_answer(self):
        now = monotonic()
        self.silence, self.answered = max(self.silence, now - self.answered), now


class Caller(Retried):
    """Tries once, and does not listen."""

    request = Http.request

    def listen(self):
        pass

    async def echoed(self, server, marker, *, is_kept):
        """Whatever comes back of what was sent, as one text."""
        if not is_kept:
            return (await self.call(f"{server}__echo", text=marker))["structuredContent"]["text"]
        answer = await self.call(f"{server}__echo", rows=[{"id": id, "text": marker * 3} for id in range(ROWS)])
        if RESULT not in answer.get("_meta", {}):
            rows = answer["structuredContent"]["rows"]
        else:
            page = f"{answer['_meta'][RESULT]['uri']}?page=3"
            read = await self.result("resources/read", uri=page)
            rows = json.loads(read["contents"][0]["text"])["rows"]
            assert len(rows) == ROWS // 3
        return " ".join({row["text"] for row in rows}).removesuffix(marker * 2)


class Lab:
    """What the faults are tried on."""

    def __init__(self, folder, stack):
        self.folder, self.stack = folder, stack
        self.ports = [free_port() for _ in range(REPLICAS)]
        self.store = stack.enter_context(stores.redis())
        (folder / "behind").mkdir()
        behind = config(folder / "behind", {"it": fixture("growing", python=sys.executable, isolation="shared")})
        self.behind = stack.enter_context(serving(*behind, command=LOUVER_ITSELF))
        self.put_keys("k" * 32, "o" * 32)
        self.options = [self.configure(number) for number in range(REPLICAS)]
        self.replicas = [Replica(*each, LOUVER_ITSELF) for each in zip(self.options, self.ports, strict=True)]
        for replica in self.replicas:
            stack.callback(replica.close)

    async def open(self):
        for replica in self.replicas:
            await replica.is_ready()
        self.urls = {}
        for name in PROXIES:
            self.urls[name] = self.stack.enter_context(proxied(name, self.folder, self.ports, free_port()))

    def configure(self, number, *more):
        """The options of a replica, whose configuration has these servers more."""
        (own := self.folder / str(number)).mkdir(exist_ok=True)
        growing = fixture("growing", python=sys.executable, isolation="shared")
        digests = {hashlib.sha256(token.encode()).hexdigest(): {"subject": token} for token in TOKENS}
        (own / "tokens.json").write_text(json.dumps({"tokens": digests}))
        (own / "tokens.json").chmod(0o600)
        return config(
            own,
            {"it": growing, "all": at(self.behind.url, isolation="shared"), **dict.fromkeys(more, growing)},
            keys=[f"${{file:{self.folder}/first}}", f"${{file:{self.folder}/second}}"],
            replicaUrl=f"http://127.0.0.1:{self.ports[number]}/mcp",
            state=self.store.url,
            auth={"tokens": str(own / "tokens.json")},
            keepResults=10_000,
        )

    def put_keys(self, *keys):
        for name, key in zip(("first", "second"), keys, strict=True):
            (self.folder / "new").write_text(key)
            (self.folder / "new").chmod(0o600)
            (self.folder / "new").replace(self.folder / name)

    def redis(self, *command):
        subprocess.run(["redis-cli", "-u", self.store.url, *command], check=True, capture_output=True)

    def take_over(self, haproxy):
        command = Path(f"/proc/{haproxy}/cmdline").read_text("utf-8").split("\0")[:-1]
        new = subprocess.Popen([*command, "-sf", str(haproxy)], stderr=subprocess.DEVNULL)
        self.stack.callback(new.wait)
        self.stack.callback(new.terminate)

    def memory_mb(self, number):
        return Resources.of(self.replicas[number].pid).memory / 1e6


async def no_fault(_, lasts):
    await asyncio.sleep(6 * lasts)


async def replicas_killed(lab, lasts):
    for replica in lab.replicas:
        replica.kill()
        await asyncio.sleep(lasts / 5)
        replica.start()
        await replica.is_ready()
        await asyncio.sleep(lasts / 5)


async def replicas_restarted(lab, lasts):
    for replica in lab.replicas:
        await asyncio.to_thread(replica.close)
        replica.start()
        await replica.is_ready()
        await asyncio.sleep(lasts / 5)


async def replica_hangs(lab, lasts):
    with lab.replicas[1].hanging():
        await asyncio.sleep(2 * lasts)


async def redis_hangs(lab, lasts):
    lab.store.pause()
    await asyncio.sleep(lasts)
    lab.store.resume()


async def redis_killed(lab, lasts):
    lab.store.end()
    await asyncio.sleep(lasts)
    await asyncio.to_thread(lab.store.start)


async def redis_emptied(lab, lasts):
    lab.redis("FLUSHALL")
    await asyncio.sleep(lasts)


async def redis_full(lab, lasts):
    lab.redis("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "1mb")
    await asyncio.sleep(lasts)
    lab.redis("CONFIG", "SET", "maxmemory", "0")


async def servers_killed(lab, lasts):
    for replica in lab.replicas:
        for pid in children(replica.pid):
            os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(lasts / 3)


async def server_hangs(lab, lasts):
    """The one of all replicas, which two callers call."""
    os.kill(lab.behind.pid, signal.SIGSTOP)
    await asyncio.sleep(lasts)
    os.kill(lab.behind.pid, signal.SIGCONT)


async def other_configuration(lab, lasts):
    """There is one more server, and then not."""
    for more in ("new",), ():
        for number in range(REPLICAS):
            lab.configure(number, *more)
        await asyncio.sleep(lasts)

        async def is_read(more=more):
            answers = [await lab.changer.request("tools/call", name="new__echo", arguments={}) for _ in lab.replicas]
            return all(("structuredContent" in answer.get("result", {})) is bool(more) for answer in answers)

        await until(is_read)


async def other_keys(lab, lasts):
    for keys in (("k" * 32, "n" * 32), ("n" * 32, "k" * 32)):
        lab.put_keys(*keys)
        await asyncio.sleep(lasts)


async def proxy_reloaded(lab, lasts):
    """Another process takes over from that of HAProxy; nginx reads its file again."""
    haproxy, nginx = (
        next(pid for pid, command in children(os.getpid()).items() if f"{name} -" in command)
        for name in ("haproxy", "nginx")
    )
    os.kill(nginx, signal.SIGHUP)
    lab.take_over(haproxy)
    await asyncio.sleep(lasts)


FAULTS = [
    (no_fault, "haproxy"),
    (replicas_killed, "haproxy", "nginx"),
    (replicas_restarted, "haproxy", "nginx"),
    (replica_hangs, "haproxy"),
    (redis_hangs, "haproxy"),
    (redis_killed, "haproxy"),
    (redis_emptied, "haproxy"),
    (redis_full, "haproxy"),
    (servers_killed, "haproxy"),
    (server_hangs, "haproxy"),
    (other_configuration, "haproxy"),
    (other_keys, "haproxy"),
    (proxy_reloaded, "haproxy", "nginx"),
]
"""Each with the proxies through which callers meet it."""


async def calls(caller, server, seen, ended):
    for number in count():
        if ended.is_set():
            return
        marker, begun = f"{caller.token} {number};", monotonic()
        for tried in range(2):
            try:
                echoed = await caller.echoed(server, marker, is_kept=number % KEPT_EVERY == 0)
            except FAILED:
                seen.failed += tried == 0
                seen.lost += tried == 1
                await asyncio.sleep(RETRIED_AFTER_S)
                continue
            seen.on_answer()
            seen.wrong += echoed != marker
            seen.crossed += bool({*re.findall(r"token-\d\d", echoed)} - {caller.token})
            break
        seen.calls += 1
        seen.wait = max(seen.wait, monotonic() - begun)


async def changes(caller, listeners, seen, ended):
    for number in count():
        if ended.is_set():
            return
        before = [listener.news for listener in listeners]
        try:
            await caller.call(f"{('it', 'all')[number % 2]}__grow")
        except FAILED:
            continue
        seen.changes += 1
        end = monotonic() + HEARD_S
        while missed := [each.era for each, news in zip(listeners, before, strict=True) if each.news == news]:
            if monotonic() > end:
                seen.missed += len(missed)
                break
            await asyncio.sleep(0.01)
        # What is heard late is not heard of the next one.
        await asyncio.sleep(0.2)


async def seen_of(lab, proxy, fault, lasts):
    """What callers see through that proxy while a fault comes and goes."""
    async with opened(lab.urls[proxy]) as (callers, listeners, lab.changer):
        seen, ended = Seen(), asyncio.Event()
        servers = ["it"] * (CALLERS - 2) + ["all"] * 2
        working = [calls(caller, server, seen, ended) for caller, server in zip(callers, servers, strict=True)]
        working = asyncio.gather(*working, changes(lab.changer, listeners, seen, ended))
        await asyncio.sleep(lasts / 5)
        await fault(lab, lasts)
        await asyncio.sleep(lasts / 5)
        seen.silence = max(seen.silence, monotonic() - seen.answered)
        ended.set()
        await working
    return {"of": f"{fault.__name__.replace('_', ' ')}, {proxy}", **asdict(seen)}


@asynccontextmanager
async def opened(url):
    """Clients that call, clients that listen, and one more."""
    clients = []
    try:
        for number, token in enumerate(TOKENS):
            is_listener = CALLERS <= number < CALLERS + LISTENERS
            clients.append((Retried if is_listener else Caller)(url, ERAS[number % 2], token))
            await clients[-1].open()
        listeners = clients[CALLERS:-1]
        for listener in listeners:
            if listener.era == STATELESS:
                listener.listen()
        # The first change is heard by all of them: they listen.
        await until(lambda: all(each.news for each in listeners if each.era == STATELESS))
        yield clients[:CALLERS], listeners, clients[-1]
    finally:
        for client in clients:
            await client.close()


async def kb_a_session(lab):
    """What MCP sessions that have each made a call add to the first replica."""
    client, before = Caller(f"http://127.0.0.1:{lab.ports[0]}/mcp", HANDSHAKE, TOKENS[0]), 0.0
    for _ in range(SESSIONS + 1):
        client.session = None
        await client.open()
        await client.call("it__echo", text="")
        before = before or lab.memory_mb(0)
    await client.close()
    return 1e3 * (lab.memory_mb(0) - before) / SESSIONS


async def main(lasts):
    with TemporaryDirectory() as folder, ExitStack() as stack:
        # Processes of nginx, which are of another user, write bodies there.
        (folder := Path(folder)).chmod(0o755)
        lab = Lab(folder, stack)
        await lab.open()
        held = {"of": "a replica", "start": lab.memory_mb(1), "session": await kb_a_session(lab)}
        for fault, *proxies in FAULTS:
            for proxy in proxies:
                print(json.dumps(await seen_of(lab, proxy, fault, lasts)), flush=True)
            held.setdefault("calls", lab.memory_mb(1))
        print(json.dumps({**held, "faults": max(map(lab.memory_mb, range(REPLICAS)))}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
