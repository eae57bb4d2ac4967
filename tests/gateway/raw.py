"""Clients that read and write JSON themselves: no model stands between a test and what is on the wire."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from itertools import count

import httpx2

from fixtures.failsafe import A_WHILE_S, FAILSAFE_S

HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
INFO = {"name": "raw", "version": "1"}
PROGRAM = {"extensions": {"dev.louver/projection": {}}}
"""The capabilities of a client that reads receipts and `_meta`; one without is taken for the host of a model."""


def loads(text):
    """The value of a text; an integer that Python does not read is kept as its digits."""
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 4300 else digits)


class Raw:
    """A client of either era; what it is asked is answered from `answers`, by the method."""

    def __init__(self, era=HANDSHAKE, capabilities=None, answers=None):
        self.era = era
        self.capabilities = PROGRAM if capabilities is None else capabilities
        self.answers = answers or {}
        self.notes = []
        self.questions = []
        self.opening = {}
        self._ids = count(1)
        self._noted = asyncio.Condition()
        self._tasks = set()

    async def open(self):
        if self.era >= STATELESS:
            self.opening = await self.result("server/discover")
        else:
            said = {"protocolVersion": self.era, "capabilities": self.capabilities, "clientInfo": INFO}
            self.opening = await self.result("initialize", **said)
            await self.notify("notifications/initialized")
            self.listen()

    async def request(self, method, /, **params):
        """The whole answer."""
        return await self._ask(
            {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": self._said(params)}
        )

    async def result(self, method, /, **params):
        async with asyncio.timeout(FAILSAFE_S):
            answer = await self.request(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    async def error(self, method, /, **params):
        async with asyncio.timeout(FAILSAFE_S):
            answer = await self.request(method, **params)
        assert "error" in answer, answer
        return answer["error"]

    async def call(self, tool, /, _meta=None, **arguments):
        """The result of a tool."""
        meta = {} if _meta is None else {"_meta": _meta}
        return await self.result("tools/call", name=tool, arguments=arguments, **meta)

    async def notify(self, method, /, **params):
        await self._tell({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def begin(self, waiting):
        """A task that ends with the client."""
        task = asyncio.create_task(waiting)
        self._tasks.add(task)
        return task

    async def reaches(self, tool, server="", **arguments):
        """A call of that tool that a server of `faulty.py` has got, as it came, once there is one."""
        calls = []
        async with asyncio.timeout(FAILSAFE_S):
            while not calls:
                seen = (await self.call(f"{server}wait_for", seen="tools/call"))["seen"]
                calls = [call for call in seen if call["params"]["name"] == tool]
                calls = [call for call in calls if arguments.items() <= call["params"]["arguments"].items()]
        return calls[-1]

    async def hears(self, method, number=1):
        """The notifications of that method, once there are so many."""
        async with asyncio.timeout(FAILSAFE_S), self._noted:
            await self._noted.wait_for(lambda: len(self.heard(method)) >= number)
        return self.heard(method)

    def heard(self, method):
        return [note.get("params", {}) for note in self.notes if note["method"] == method]

    def listen(self):
        """Hear also what belongs to no request."""

    async def close(self):
        # Again and again: oldest versions of the HTTP client do not always heed a cancellation while they connect.
        while running := [task for task in self._tasks if not task.done()]:
            for task in running:
                task.cancel()
            await asyncio.wait(running, timeout=A_WHILE_S)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _said(self, params):
        if self.era < STATELESS:
            return params
        envelope = {
            "io.modelcontextprotocol/protocolVersion": self.era,
            "io.modelcontextprotocol/clientInfo": INFO,
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        }
        return {**params, "_meta": {**params.get("_meta", {}), **envelope}}

    async def _came(self, message):
        """What is not an answer."""
        if "id" not in message:
            async with self._noted:
                self.notes.append(message)
                self._noted.notify_all()
            return
        self.questions.append(message)
        answer = self.answers.get(message["method"])
        if callable(answer):
            answer = await answer(message)
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        said = unknown if answer is None else {"result": answer}
        await self._tell({"jsonrpc": "2.0", "id": message["id"], **said})


class Http(Raw):
    """Over Streamable HTTP."""

    def __init__(self, url, *arguments, **options):
        super().__init__(*arguments, **options)
        self.url = url
        self.client = httpx2.AsyncClient(timeout=FAILSAFE_S, trust_env=False)
        self.session = None

    def listen(self):
        self.begin(self._hear())

    async def end(self):
        """End the session."""
        response = await self.client.delete(self.url, headers=self.headers())
        assert response.status_code == 200

    async def close(self):
        await self.client.aclose()
        await super().close()

    def headers(self, message=None):
        headers = {"accept": "application/json, text/event-stream"}
        if self.session is not None:
            headers |= {"mcp-session-id": self.session, "mcp-protocol-version": self.era}
        if self.era >= STATELESS and message is not None:
            headers |= {"mcp-protocol-version": self.era, "mcp-method": message["method"]}
            params = message.get("params", {})
            if isinstance(name := params.get("name", params.get("uri")), str):
                headers["mcp-name"] = name
        return headers

    async def _hear(self):
        async with self.client.stream("GET", self.url, headers=self.headers()) as response:
            await self._answer(response, None)

    async def _ask(self, message):
        async with self.client.stream("POST", self.url, json=message, headers=self.headers(message)) as response:
            self.session = response.headers.get("mcp-session-id", self.session)
            if not response.headers["content-type"].startswith("text/event-stream"):
                return loads(await response.aread())
            answer, last = await self._answer(response, message["id"])
        while answer is None and last is not None:
            headers = {**self.headers(), "last-event-id": last}
            async with self.client.stream("GET", self.url, headers=headers) as response:
                answer, last = await self._answer(response, message["id"])
        assert answer is not None, "the stream has ended without an answer"
        return answer

    async def _answer(self, response, number):
        last = None
        async for line in response.aiter_lines():
            if line.startswith("id:"):
                last = line.removeprefix("id:").strip()
            data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
            if not data:
                continue
            message = loads(data)
            if "method" not in message and message["id"] == number:
                return message, None
            self.begin(self._came(message)) if "id" in message else await self._came(message)
        return None, last

    async def _tell(self, message):
        response = await self.client.post(self.url, json=message, headers=self.headers(None))
        assert response.status_code == 202, response.text


class Stdio(Raw):
    """A process of its own."""

    def __init__(self, command, *arguments, **options):
        super().__init__(*arguments, **options)
        self.command = command
        self.stray = []
        self._open = {}

    async def open(self):
        await self.start()
        await super().open()

    async def start(self):
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=pipe, stdout=pipe, stderr=pipe, limit=2**26
        )
        self.said = []
        self.begin(self._read())
        self.begin(self._log())

    async def line(self, line):
        """Send a line as it is."""
        self.process.stdin.write(line + b"\n")
        await self.process.stdin.drain()

    async def ends(self):
        """The exit status, once it has ended."""
        async with asyncio.timeout(FAILSAFE_S):
            return await self.process.wait()

    async def close(self):
        if self.process.returncode is None:
            self.process.stdin.close()
            try:
                await self.ends()
            except TimeoutError:
                self.process.kill()
                await self.process.wait()
        await super().close()
        self.process._transport.close()

    async def _ask(self, message):
        number = message["id"]
        self._open[number] = asyncio.get_running_loop().create_future()
        await self._tell(message)
        try:
            return await self._open[number]
        except asyncio.CancelledError:
            await self.notify("notifications/cancelled", requestId=number)
            raise

    async def _tell(self, message):
        await self.line(json.dumps(message).encode())

    async def _read(self):
        async for line in self.process.stdout:
            message = loads(line)
            if "method" in message:
                self.begin(self._came(message)) if "id" in message else await self._came(message)
            elif message["id"] in self._open and not self._open[message["id"]].done():
                self._open[message["id"]].set_result(message)
            else:
                self.stray.append(message)
        for waiting in self._open.values():
            if not waiting.done():
                waiting.set_exception(EOFError("the process says no more"))

    async def _log(self):
        async for line in self.process.stderr:
            self.said.append(line.decode())


@asynccontextmanager
async def raw(target, era=HANDSHAKE, **options):
    """A client that is open, of a URL or of a command."""
    client = (Http if isinstance(target, str) else Stdio)(target, era, **options)
    try:
        await client.open()
        yield client
    finally:
        await client.close()
