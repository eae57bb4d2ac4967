"""JSON text that is an output is read once more, after the message that it came in."""

import json
import threading

import pytest

from louver.core.json import parse
from louver.limits import MAX_READ_ON_LOOP
from louver.steps.audit.step import AuditStep, ToolOwner
from steps.profiles import lowlevel, structured, text, tool
from steps.requests import asks
from steps.wire import attached, text_of

pytestmark = pytest.mark.anyio

ROWS = [{"id": number, "text": "x" * 100} for number in range(MAX_READ_ON_LOOP // 100)]
WRAPPED = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
SEATS = {
    "a block": lambda rows: tool(None, text(json.dumps(rows))),
    "wrapped": lambda rows: tool(WRAPPED, structured({"result": json.dumps(rows)})),
}


@pytest.fixture
def threads(monkeypatch):
    """Whether each text was read on the event loop."""
    found = []

    def noted(said, **options):
        found.append(threading.current_thread() is threading.main_thread())
        return parse(said, **options)

    monkeypatch.setattr("louver.core.json.parse", noted)
    return found


@pytest.mark.parametrize("seat", SEATS)
async def test_large_json_text_is_read_off_the_event_loop(era, threads, seat):
    """PRIVACY.md, "Hostile inputs": the event loop never stalls over 250 ms, and five megabytes took 360."""
    made = lowlevel(large=SEATS[seat](ROWS), small=SEATS[seat](ROWS[:2]))
    async with attached(made.server, era) as wire:
        for name, rows, is_on_loop in (("small", ROWS[:2], True), ("large", ROWS, False)):
            threads.clear()
            answer = await wire.call(name, projection={"mode": "include", "fields": ["id"]})
            assert text_of(answer) == [{"id": row["id"]} for row in rows]
            assert threads == [is_on_loop]


async def test_so_it_is_for_its_audit_record(threads):
    """Likewise."""
    records = []

    class Written:
        async def check_room(self): ...

        def principal_digest(self, _principal):
            return "p"

        async def write(self, record, **_):
            records.append(record)

    owned = ToolOwner("crm", "t", "1", frozenset({"id"}))
    audit = AuditStep(Written(), lambda *_: owned)
    for rows in (ROWS[:2], ROWS):

        async def answers(_request, rows=rows):
            return {"content": [{"type": "text", "text": json.dumps(rows)}]}

        await audit(asks(params={"name": "t"}), answers)
    assert [record.fields for record in records] == [("*.*", "*.id")] * 2
    assert threads == [True, False]
