"""What each version has stored, as it wrote it: read, and written to, by this one.

`0.1.0/` and the like are never changed: a new version adds its own, by `PYTHONPATH=tests:src python` with this file. A
kind that is read no more loses its folder there, and gets a line in `CHANGELOG.md`.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from argparse import Namespace
from contextlib import asynccontextmanager, closing
from dataclasses import asdict
from datetime import date
from functools import partial
from pathlib import Path
from unittest.mock import patch

import anyio
import pytest
from redis import Redis

from fixtures import stores
from fixtures.stores import store as store
from louver import __version__
from louver.catalogue.files.views import ViewFile
from louver.catalogue.grants import Grants
from louver.catalogue.learned import LearnedFields, learned_file
from louver.cli.commands.report import run
from louver.core.projection.request import Projection
from louver.core.projection.view import Views
from louver.desk.hosts.swap import Swap, exchange, recorded, swap_for
from louver.desk.hosts.table import HOSTS, HostSource, Machine
from louver.desk.ui.view_change import view_change
from louver.errors import LoginFailed, LouverError, UnknownResult
from louver.gateway.back.lists.kept_catalogue import Catalogue, CatalogueFolder
from louver.gateway.back.lists.tool_pins import ToolPins
from louver.gateway.back.negotiation import Negotiation
from louver.gateway.config.read import as_config
from louver.gateway.front.auth.local_token import local_token
from louver.gateway.front.replicas import SealedSession
from louver.limits import CHARACTERS_A_TOKEN
from louver.steps.audit.database import principal_digest
from louver.steps.audit.report import AuditReport
from louver.steps.audit.writer import AuditWriter
from louver.steps.results import results as results_module
from louver.steps.results.results import KeptResults, ResultInfo, Results
from louver.steps.savings.database import SavingsKey, add
from louver.steps.savings.report import SavingsReport
from louver.steps.savings.tool_use import ToolUse, read_use
from louver.steps.shared_state import StateUrl
from louver.team.audit.line_file import LineFile
from louver.team.audit.spool import Spool, SpoolTable
from louver.team.login.notes import LoginNotes
from louver.team.login.stores.folder import LoginFolder
from louver.team.login.stores.shared import SharedLogins
from louver.team.replica_news import ReplicaNews
from louver.team.session_seal import SessionSeal
from louver.team.state import seal
from louver.team.state.shared import SharedState
from steps.audited import ANN, NOW, record
from steps.requests import asks
from team.login.test_store import LOGIN

STORED = Path(__file__).parent
MARKS = ("journal_mode", "application_id", "user_version")
KEY = "k" * 32
DAY = "2026-05-28"
OPTIONS = {"by": None, "principal": None, "export": False, "since": None, "json": True}
TOOL = {"name": "read", "description": "Read a user.", "inputSchema": {"type": "object"}}
OPENING = {"capabilities": {"tools": {}}, "serverInfo": {"name": "crm", "version": "1"}}
CATALOGUE = Catalogue(Negotiation("2025-11-25", OPENING), [TOOL])
INFO = ResultInfo("find", {"type": "object"}, "result", partial=True)
BEFORE, AFTER = b'{"mcpServers": {"a": {"command": "a"}}}', b'{"mcpServers": {"louver": {"command": "louver"}}}'
REPLICA = "http://10.0.0.7:8080/mcp"
PARAMS = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


def server(name):
    """Its ids name files and keys of the store."""
    return as_config({"mcpServers": {name: {"url": f"https://{name}.example/mcp"}}}).upstreams[0]


def token(name):
    """What is random elsewhere: no secret of anybody."""
    return f"{name:-<43}"


def write_audit(folder, name):
    with closing(AuditWriter(folder / "audit.db", clock=lambda: NOW, spool=SpoolTable(KEY.encode()))) as audit:
        anyio.run(audit.write, record(correlation=name, principal=audit.principal_digest(ANN)))
    with closing(Spool(folder / "audit.db")) as spool:
        anyio.run(LineFile(folder / "audit.jsonl").append, spool.id, spool.next_records)
        spool.mark_shipped()


def read_audit(folder, name):
    with closing(AuditReport(folder / "audit.db", principal=ANN)) as report:
        records = [each for each in report.records() if each.correlation == name]
    lines = map(json.loads, (folder / "audit.jsonl").read_text().splitlines())
    return records, [line["fields"] for line in lines if line["correlation"] == name]


def audit(name):
    return [record(correlation=name, principal=principal_digest(KEY.encode(), ANN))], [["name"]]


def write_savings(folder, name):
    add(folder / "savings.db", {SavingsKey(DAY, "crm", name, "brief"): [2, 1, 900, 100, 800, 80]}, DAY)


def read_savings(folder, name):
    (row,) = [row for row in SavingsReport(folder / "savings.db").totals("view") if row["tool"] == name]
    return [*row.values()], read_use(folder / "savings.db")["crm", name]


def savings(name):
    tokens = [round(characters / CHARACTERS_A_TOKEN) for characters in (800, 80)]
    row = ["crm", name, "brief", 2, 1, 900, 100, 800, *tokens, tokens[0] - tokens[1]]
    return row, ToolUse(2, 800, date.fromisoformat(DAY))


def write_learned(folder, name):
    learner = LearnedFields(learned_file(folder, server("crm").server_id))
    for _ in range(10):
        learner.learn(name, {"items": [{"id": 1, "text": "a text"}, {"id": 2, "text": "a text"}], "total": 1})


def write_logins(folder, name):
    anyio.run(LoginFolder(folder / "logins").write, server(name).login_id, LOGIN)


def read_logins(folder, name):
    return anyio.run(LoginFolder(folder / "logins").read, server(name).login_id)


def read_token(folder, name):
    found = local_token(folder / "tokens", [name])
    return found.token, found.is_new


def write_undo(folder, name):
    file = folder / f"{name}.json"
    file.write_bytes(BEFORE)
    swap = swap_for(_machine(folder), HostSource(HOSTS["cursor"], file, ("mcpServers",)))
    swap.write(BEFORE, AFTER)
    exchange(file, BEFORE, AFTER, swap.mode)


def read_undo(folder, name):
    file = folder / f"{name}.json"
    for swap in map(Swap.read, recorded(_machine(folder))):
        if swap.file == file:
            swap.undo()
    return file.read_bytes()


def _machine(folder):
    return Machine(folder, folder, "linux", {})


def write_view(folder, name):
    view_change(folder, "read", name, Projection(include=[name])).save()


def read_view(folder, name):
    return ViewFile.read(folder / "read.views.json").views.named[name]


def _seals(name):
    return SessionSeal([KEY], lambda: NOW), Grants([KEY], audience="crm", clock=lambda: NOW), ("client", None, name)


def write_ids(folder, name):
    sessions, grants, owner = _seals(name)
    session = sessions.seal(SealedSession(PARAMS, owner, REPLICA))
    ids = [session, sessions.seal_url(REPLICA), grants.seal(owner, {"read": "version"})]
    (folder / f"{name}.json").write_text(json.dumps(ids))


def read_ids(folder, name):
    sessions, grants, owner = _seals(name)
    session, url, grant = json.loads((folder / f"{name}.json").read_text())
    return sessions.unseal(session), sessions.unseal_url(url), grants.admits(grant, owner, "read", "version")


@asynccontextmanager
async def shared(url, name):
    state = SharedState(StateUrl.read(url), [KEY])
    pins = ToolPins(name, "block", ReplicaNews(state, dict).pins(server(name).server_id))
    try:
        yield SharedLogins(state), LoginNotes(state), Results(KeptResults(), state), pins
    finally:
        await state.close()


async def write_store(url, name):
    async with shared(url, name) as (logins, notes, results, pins):
        await logins.write(server(name).login_id, LOGIN)
        await notes.put("link", name, {"server": name})
        await results.keep('{"id": 1}', INFO, asks())
        await pins.learn([TOOL])


async def read_store(url, name):
    async with shared(url, name) as (logins, notes, results, pins):
        kept = await results.find(token(name), asks())
        blocked = [await pins.learn([each]) for each in (TOOL, {**TOOL, "description": "Read a user, and send it."})]
        return await logins.read(server(name).login_id), await notes.get("link", name), kept, blocked


KINDS = {
    "audit": (write_audit, read_audit, audit),
    "catalogue": (
        lambda folder, name: CatalogueFolder(folder).write(name, CATALOGUE),
        lambda folder, name: CatalogueFolder(folder).read(name),
        lambda _: CATALOGUE,
    ),
    "ids": (write_ids, read_ids, lambda name: (SealedSession(PARAMS, ("client", None, name), REPLICA), REPLICA, True)),
    "learned": (
        write_learned,
        lambda folder, name: LearnedFields(learned_file(folder, server("crm").server_id)).find(name),
        lambda _: ("items.text", "items.id", "total"),
    ),
    "logins": (write_logins, read_logins, lambda _: LOGIN),
    "savings": (write_savings, read_savings, savings),
    "store": (
        partial(anyio.run, write_store),
        partial(anyio.run, read_store),
        lambda name: (LOGIN, {"server": name}, (INFO, {"id": 1}), [set(), {"read"}]),
    ),
    "token": (read_token, read_token, lambda name: (token(name), False)),
    "undo": (write_undo, read_undo, lambda _: BEFORE),
    "views": (write_view, read_view, lambda name: Views.read({name: {"include": [name]}}).named[name]),
}
"""How each kind is written under a name, and read, and what that gives."""

CASES = sorted({*STORED.glob("[0-9]*/*"), *(STORED / __version__ / kind for kind in KINDS)})


def write(kind, place, name):
    # Nothing of it is a secret of somebody, and the key of logins stands in their folder.
    with patch("secrets.token_urlsafe", lambda _: token(name)), patch.dict("sys.modules", keyring=None):
        KINDS[kind][0](place, name)


def save(kind, place, to):
    """Databases as the statements that make them, a store as its values, all else as it is."""
    to.mkdir(parents=True)
    if kind == "store":
        with Redis.from_url(place) as redis:
            values = {key.decode(): redis.get(key).decode() for key in sorted(redis.keys())}
        (to / "values.json").write_text(json.dumps(values, indent=1) + "\n")
        return
    for file in [each for each in place.rglob("*") if each.is_file() and each.suffix != ".lock"]:
        out = to / file.relative_to(place)
        out.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".db":
            with closing(sqlite3.connect(file)) as database:
                marks = [f"PRAGMA {name} = {database.execute(f'PRAGMA {name}').fetchone()[0]};" for name in MARKS]
                out.with_suffix(".sql").write_text("\n".join([*marks, *database.iterdump(), ""]))
        else:
            out.write_text(file.read_text().replace(str(place), "{folder}"))


def restore(saved, place):
    """Databases are as a killed process leaves them: all that was written is in the log."""
    if saved.name == "store":
        with Redis.from_url(place) as redis:
            redis.flushall()
            redis.mset(json.loads((saved / "values.json").read_text()))
        return
    for file in [each for each in saved.rglob("*") if each.is_file()]:
        text, out = file.read_text().replace("{folder}", str(place)), place / file.relative_to(saved)
        out.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".sql":
            with closing(sqlite3.connect(out.with_suffix(".made"))) as database:
                database.executescript(text)
                for end in (".made", ".made-wal"):
                    shutil.copyfile(out.with_suffix(end), out.with_suffix(end.replace("made", "db")))
        else:
            out.touch(0o600)
            out.write_text(text)


@pytest.mark.whole
@pytest.mark.parametrize("saved", CASES, ids=lambda path: f"{path.parent.name} {path.name}")
def test_what_a_version_stored_is_read_and_written_to(saved, tmp_path, request):
    """Ours: an upgrade, and a backup that is gone back to."""
    assert saved.is_dir(), "run what the head of this file says"
    _, read, expected = KINDS[saved.name]
    place = request.getfixturevalue("store").url if saved.name == "store" else tmp_path
    restore(saved, place)
    assert read(place, "one") == expected("one")
    write(saved.name, place, "two")
    assert [read(place, name) for name in ("one", "two")] == [expected("one"), expected("two")]


@pytest.mark.parametrize("kind", ["audit", "savings"])
def test_a_database_of_a_later_version_is_refused_at_once(kind, tmp_path, caplog):
    """Ours: no call runs whose record could not be written; nothing is changed."""
    write(kind, tmp_path, "one")
    with closing(sqlite3.connect(tmp_path / f"{kind}.db")) as database:
        database.execute("PRAGMA user_version = 1")
    for use in (*KINDS[kind][:2], lambda folder, _: run(Namespace(file=folder / f"{kind}.db", **OPTIONS))):
        with pytest.raises((LouverError, OSError), match="a later version of Louver has made it"):
            use(tmp_path, "two")
    assert kind == "audit" or (read_use(tmp_path / "savings.db"), len(caplog.records)) == ({}, 1)


def test_what_a_later_version_sealed_otherwise_does_not_open(tmp_path, monkeypatch):
    """Ours."""
    with monkeypatch.context() as later:
        later.setattr(seal, "_FORMAT", b"2")
        write("logins", tmp_path, "one")
    with pytest.raises(LoginFailed, match="does not open"):
        read_logins(tmp_path, "one")


@pytest.mark.anyio
async def test_a_result_that_a_later_version_has_kept_is_unknown(monkeypatch):
    """Ours: replicas are replaced one after the other, and share the store meanwhile."""
    kept = Results(KeptResults())
    monkeypatch.setattr(results_module, "asdict", lambda info: {**asdict(info), "later": 1})
    uri = await kept.keep("1", INFO, asks())
    with pytest.raises(UnknownResult):
        await kept.find(uri.rpartition("/")[2], asks())


if __name__ == "__main__":
    with stores.redis() as store_:
        for each in KINDS:
            with tempfile.TemporaryDirectory() as folder_:
                place_ = store_.url if each == "store" else Path(folder_)
                write(each, place_, "one")
                save(each, place_, STORED / __version__ / each)
