"""What waits for one client: in order, bounded, and waited for by nobody who need not."""

from __future__ import annotations

import asyncio
import logging

import pytest

from fixtures.failsafe import FAILSAFE_S
from louver.gateway.clients.outbox import MAX_UNREAD, MAX_UNREAD_CHARACTERS, Outbox

pytestmark = pytest.mark.anyio

CHANGED = "notifications/tools/list_changed"


class Reader:
    """A client that takes what it is told once it is let."""

    def __init__(self):
        self.outbox = Outbox()
        self.reads = asyncio.Event()
        self.heard = []

    def tell(self, method, params=None):
        async def send():
            await self.reads.wait()
            if params == "fails":
                raise OSError("a secret")
            self.heard.append((method, params))

        self.outbox.put(method, params, send)


@pytest.fixture
async def reader():
    reader = Reader()
    yield reader
    reader.outbox.close()


async def test_it_is_told_in_order_and_can_be_waited_for(reader):
    """Ours: what is put later is not waited for."""
    for number in range(100):
        reader.tell("x", number)
    waiting = asyncio.create_task(reader.outbox.flush())
    await asyncio.sleep(0)
    reader.tell("x", "later")
    assert not waiting.done()
    reader.reads.set()
    await waiting
    assert reader.heard[:100] == [("x", number) for number in range(100)]
    await reader.outbox.flush()
    assert reader.heard[100:] == [("x", "later")]
    await reader.outbox.flush()


@pytest.mark.parametrize(
    ("params", "fits"), [(0, MAX_UNREAD), ("a" * (MAX_UNREAD_CHARACTERS // 4), 3)], ids=["number", "size"]
)
async def test_what_is_over_the_bound_is_dropped_and_counted(reader, caplog, params, fits):
    """Ours: the first ones stay, the log says how many do not at 1, 2, 4, 8, ... of them."""
    reader.tell("first")
    await asyncio.sleep(0)
    for _ in range(fits + 5):
        reader.tell("x", params)
    assert [record.getMessage() for record in caplog.records] == [
        f"{number} notifications were dropped: a client does not read" for number in (1, 2, 4)
    ]
    reader.reads.set()
    await reader.outbox.flush()
    assert reader.heard == [("first", None), *[("x", params)] * fits]
    reader.tell("x", "again")
    await reader.outbox.flush()
    assert reader.heard[-1] == ("x", "again")


async def test_one_of_any_size_may_wait_alone(reader):
    """Ours: a bound on what waits is none on what is said."""
    reader.tell("x", "a" * 2 * MAX_UNREAD_CHARACTERS)
    reader.reads.set()
    await reader.outbox.flush()
    assert len(reader.heard) == 1


async def test_a_change_of_a_list_waits_once_whatever_else_waits(reader, caplog):
    """Ours: one says all, and is never dropped."""
    reader.tell("first")
    await asyncio.sleep(0)
    for _ in range(MAX_UNREAD):
        reader.tell("x")
    for _ in range(3):
        reader.tell(CHANGED)
    assert caplog.records == []
    reader.reads.set()
    await reader.outbox.flush()
    assert reader.heard[-2:] == [("x", None), (CHANGED, None)]
    reader.tell(CHANGED)
    await reader.outbox.flush()
    assert reader.heard[-2:] == [(CHANGED, None)] * 2


async def test_what_cannot_be_delivered_keeps_nothing_else_back(reader, caplog):
    """Ours: and the log says what kind of failure it was, no more."""
    caplog.set_level(logging.ERROR)
    reader.tell("x", "fails")
    reader.tell("x", "arrives")
    reader.reads.set()
    await reader.outbox.flush()
    assert reader.heard == [("x", "arrives")]
    assert [record.getMessage() for record in caplog.records] == ["a notification could not be delivered: OSError"]


async def test_nothing_is_told_to_a_client_that_has_gone(reader):
    """Ours: and nobody waits for it any more."""
    reader.tell("x")
    waiting = asyncio.create_task(reader.outbox.flush())
    await asyncio.sleep(0)
    reader.outbox.close()
    reader.reads.set()
    await waiting
    reader.tell("x")
    reader.outbox.close()
    await reader.outbox.flush()
    assert reader.heard == []


async def test_a_stream_that_is_not_read_delays_no_other_stream():
    """Ours: the calls of a session share an outbox; one whose stream nobody read held up the answers of the others."""
    outbox, heard, never = Outbox(), [], asyncio.Event()

    async def send():
        heard.append("other")

    outbox.put("x", None, never.wait, 1)
    outbox.put("x", None, send, 2)
    async with asyncio.timeout(FAILSAFE_S):
        await outbox.flush(2)
        await outbox.flush()
    assert heard == ["other"]
    outbox.close()
