"""What the tests of both links share: who listens, and calls of one tool."""

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from louver.gateway.back.transports.transport import Call

FIXTURES = Path(__file__).parent.parent / "fixtures"
FAULTY = [sys.executable, str(FIXTURES / "faulty.py")]
"""Not forked: its process, its children and its signals are what the tests are about."""

EVERYTHING = [PYTHON, str(FIXTURES / "everything.py")]


def there(name):
    """An upstream that is there for everybody."""

    async def session(client, within_s=None):
        pass

    there = SimpleNamespace(name=name, session=session, open_session=lambda _: session, is_watched=lambda *_: False)
    there.of = lambda _: there
    return there


class Ears:
    """A listener that keeps what it hears; `answers` is what it says to questions by their method."""

    def __init__(self, **answers):
        self.notes = []
        self.questions = []
        self.open = []
        self.answers = answers
        self.gone_for = asyncio.get_running_loop().create_future()
        self._noted = asyncio.Condition()

    async def on_notification(self, method, params):
        async with self._noted:
            self.notes.append((method, params))
            self._noted.notify_all()

    async def on_request(self, method, params):
        self.questions.append((method, params))
        answer = self.answers[method]
        return await answer(params) if callable(answer) else answer

    def on_listening(self, is_open):
        self.open.append(is_open)

    def on_closed(self, reason):
        assert not self.gone_for.done(), "it was told twice"
        self.gone_for.set_result(reason)

    async def hears(self, number):
        """Wait for so many notifications."""
        async with asyncio.timeout(FAILSAFE_S), self._noted:
            await self._noted.wait_for(lambda: len(self.notes) >= number)

    @property
    def methods(self):
        return [method for method, _ in self.notes]


async def call(link, tool, /, *, meta=None, ears=None, method="tools/call", peer=None, **arguments):
    """The result of a tool."""
    ears = ears or Ears()
    params = {"name": tool, "arguments": arguments, **({} if meta is None else {"_meta": meta})}
    async with asyncio.timeout(FAILSAFE_S):
        return await link.call(Call(method, params, ears.on_notification, ears.on_request, peer=peer))


@asynccontextmanager
async def opened(link):
    await link.open()
    try:
        yield link
    finally:
        await link.close()


async def fails(waiting, kind):
    """The error of that kind with which something fails soon."""
    try:
        async with asyncio.timeout(FAILSAFE_S):
            await waiting
    except kind as error:
        return error
    raise AssertionError("it does not fail")


async def begun(waiting):
    """A task for it that has begun: what it sends has been sent."""
    task = asyncio.create_task(waiting)
    await asyncio.sleep(0)
    return task


async def turns(count=100):
    """Let all go on that can."""
    for _ in range(count):
        await asyncio.sleep(0)
