"""Each command as a process of its own: what other tests try in their own process is the same there."""

import asyncio
import json
import shutil
import subprocess
import sys
from contextlib import closing

import pytest

from fixtures.command import louver
from fixtures.failsafe import FAILSAFE_S
from gateway.served import fixture
from louver.cli.options import build_parser
from louver.steps.audit.writer import AuditWriter
from louver.steps.savings.database import SavingsKey, add
from steps.audited import ANN, record

READS = {"name": "t", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
SAYING = fixture("saying", json.dumps({"tools/list": {"tools": [READS]}}))
SERVER = [SAYING["command"], *SAYING["args"]]
RULES = {"t": {"rules": [{"name": "one", "allow": ["é"]}]}}
FILES = {
    "it.policy.json": {"version": "1", "tools": RULES},
    "schema.json": {"type": "object", "properties": {"é": {"type": "string"}, "ssn": {"type": "string"}}},
}
COMMANDS = {
    "call": ["t", "--", *SERVER],
    "check": ["--", *SERVER],
    "demo": ["--json"],
    "doctor": ["cursor"],
    "login": ["--config", "none.json"],
    "logout": ["--config", "none.json"],
    "report": ["audit.db", "--by", "field"],
    "serve": ["--example", "--no-auth", "--http", "0.0.0.0:0"],
    "suggest": ["--call", "t", "{}", "--out", "views", "--", *SERVER],
    "token": ["--subject", "ann", "--scopes", "two,words"],
    "tools": ["--json", "--", *SERVER],
    "types": ["--out", "stubs", "--", *SERVER],
    "undo": ["cursor"],
    "ui": ["--no-open", "--config", "none.json"],
}
"""Arguments with which it tells the same each time."""


async def prepare(folder):
    """Have in a folder what commands read, and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_text(json.dumps(content))
    with closing(AuditWriter(folder / "audit.db")) as audit:
        await audit.write(record(time=0.0, principal=audit.principal_digest(ANN)))
    add(folder / "savings.db", {SavingsKey("2026-11-01", "one", "t", "é"): [1, 0, 2, 1, 2, 1]}, "2026-11-01")


def in_a_process(folder, arguments, stdin):
    command = [sys.executable, "-m", "louver", *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=FAILSAFE_S, cwd=folder)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def written(folder):
    found = (path for suffix in ("json", "pyi", "ts") for path in folder.rglob(f"*.{suffix}"))
    return {path.relative_to(folder): path.read_text() for path in found}


@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=pytest.mark.deep if each == "demo" else ()) for each in COMMANDS]
)
def test_a_process_of_its_own_returns_prints_tells_and_writes_the_same(command, tmp_path, monkeypatch):
    """Ours: `python -m louver`."""
    folder = tmp_path / "folder"
    monkeypatch.setenv("HOME", str(tmp_path))
    stdin = json.dumps(FILES["schema.json"], ensure_ascii=False).encode()
    asyncio.run(prepare(folder))
    done, files = in_a_process(folder, [command, *COMMANDS[command]], stdin), written(folder)
    asyncio.run(prepare(folder))
    monkeypatch.chdir(folder)
    assert louver(command, *COMMANDS[command], stdin=stdin) == done
    assert written(folder) == files


def test_every_command_is_tried():
    """Ours."""
    _, commands = build_parser()
    assert COMMANDS.keys() == commands.keys()
