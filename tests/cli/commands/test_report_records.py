"""`louver report` of a file of audit records."""

import asyncio
import json
import sqlite3
from contextlib import closing

import pytest
from rich.console import Console

from fixtures.command import louver
from louver.cli import terminal
from louver.policy.principal import NOBODY, Principal
from louver.steps.audit.writer import AuditWriter
from steps.audited import ANN, BOB, DAY_S, NOW, record


def audit(*arguments):
    return louver("report", *arguments)


@pytest.fixture
def more(file):
    """Records of a caller without a client, and of an unauthenticated one."""

    async def write():
        with closing(AuditWriter(file, clock=lambda: NOW)) as kept:
            for principal, field in ((Principal("https://id.example#eve"), "id"), (NOBODY, "status")):
                digest = kept.principal_digest(principal)
                await kept.write(record(principal=digest, fields=(field,)))

    asyncio.run(write())


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Two records of today, and one of ten days ago."""
    path = tmp_path / "audit.db"
    monkeypatch.setattr("time.time", lambda: NOW)

    async def write():
        with closing(AuditWriter(path, clock=lambda: NOW)) as kept:
            ann, bob = kept.principal_digest(ANN), kept.principal_digest(BOB)
            await kept.write(record(principal=ann, fields=("name", "[b]mail[/b]")))
            await kept.write(record(principal=bob, fields=("name",)))
            await kept.write(record(time=NOW - 10 * DAY_S, principal=bob, fields=("phone",), tool="list"))

    asyncio.run(write())
    return path


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("tool", [("get_customer", 2), ("list", 1)]),
        ("principal", [(2,), (1,)]),
        ("field", [("get_customer", "name", 2), ("get_customer", "[b]mail[/b]", 1), ("list", "phone", 1)]),
    ],
)
def test_sums_are_printed_as_json(file, by, expected):
    """PRIVACY.md, "Audit": table or JSON."""
    rows = json.loads(audit(file, "--by", by, "--json").stdout)
    keys = ("tool", "field", "calls")
    assert [tuple(row[key] for key in keys if key in row) for row in rows] == expected


def test_callers_and_their_fields_are_shown_unless_told_otherwise(file):
    """Step 24; a name is no markup."""
    done = audit(file)
    assert done.returncode == 0
    callers, fields = done.stdout.split("\n\n")
    assert callers.split()[:2] == ["principal", "calls"]
    assert {"phone", "[b]mail[/b]"} < {*fields.split()}
    found = json.loads(audit(file, "--json").stdout)
    assert found == {by: json.loads(audit(file, "--by", by, "--json").stdout) for by in ("principal", "field")}


@pytest.mark.parametrize("by", ["tool", "principal", "field"])
def test_a_table_fits_a_narrow_terminal(file, monkeypatch, by):
    """Ours: no heading and no name is folded; outcomes that never were are left out."""
    monkeypatch.setattr(terminal, "console", lambda: Console(width=80))
    heading, _, *rows = audit(file, "--by", by).stdout.splitlines()
    columns = list(json.loads(audit(file, "--by", by, "--json").stdout)[0])
    absent = {"refused", "withheld", "error"}
    assert heading.split() == [name for name in columns if name not in absent]
    assert len(rows) == {"tool": 2, "principal": 2, "field": 3}[by]


@pytest.mark.parametrize("since", ["7d", "168h", "10080m", "2001-05-01", "2001-05-01T12:00:00+02:00"])
def test_a_time_leaves_older_records_out(file, since):
    """Ours: so long ago, or ISO 8601."""
    found = audit(file, "--by", "tool", "--since", since, "--json")
    expected = ["get_customer"] if since[-1] in "dhm" else ["get_customer", "list"]
    assert [row["tool"] for row in json.loads(found.stdout)] == expected


def test_all_records_are_exported_as_lines(file):
    """PRIVACY.md, "Audit": the oldest first."""
    lines = [json.loads(line) for line in audit(file, "--export").stdout.splitlines()]
    assert [line["fields"] for line in lines] == [["phone"], ["[b]mail[/b]", "name"], ["name"]]
    assert lines[0].keys() == record().to_json().keys()


@pytest.mark.usefixtures("more")
def test_records_of_one_principal(file):
    """Ours: by its subject and client, by its subject alone, or by the digest that reports show."""

    def fields(name):
        rows = json.loads(audit(file, "--principal", name, "--by", "field", "--json").stdout)
        return {row["field"] for row in rows}

    assert fields("subject:ann,client:desk") == {"name", "[b]mail[/b]"}
    (row,) = json.loads(audit(file, "--principal", "subject:bob,client:desk", "--by", "principal", "--json").stdout)
    assert row["calls"] == 2
    assert fields(row["principal"]) == {"name", "phone"}
    assert fields("https://id.example#eve") == {"id"}
    assert fields("nobody") == {"status"}
    lines = audit(file, "--principal", "subject:bob,client:desk", "--export", "--since", "7d").stdout.splitlines()
    assert [json.loads(line)["fields"] for line in lines] == [["name"]]
    done = audit(file, "--principal", "ann")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "no records of this principal, whose client counts too: subject:ann,client:desk\n"


def test_no_records_are_told(file):
    """Ours."""
    done = audit(file, "--since", "2999-01-01")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "no records\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.db"], "'nowhere.db' cannot be read: No such file or directory"),
        (["{file}", "--by", "view"], "audit records are not told by 'view': there are 'tool', 'principal'"),
        (["{file}", "--since", "yesterday"], "--since takes 7d, 12h or 30m, or a time like"),
        (["{file}", "--since", "0000-00-00"], "--since takes"),
        (["{file}", "--principal", "role:support"], "--principal takes no role or scope"),
        (["{file}", "--principal", "subject:"], "--principal takes 'nobody', or for example"),
    ],
)
def test_what_cannot_be_read_is_told(file, arguments, said):
    """Ours: 2 where the input is refused."""
    done = audit(*(argument.format(file=file) for argument in arguments))
    assert done.returncode == 2
    assert said in done.stderr


def test_a_file_without_a_key_is_told(tmp_path):
    """Ours: it says that it holds records, and holds nothing."""
    with closing(sqlite3.connect(tmp_path / "audit.db")) as database:
        database.execute(f"PRAGMA application_id = {0x4C565242}")
        database.commit()
    done = audit(tmp_path / "audit.db", "--principal", "ann")
    assert done.returncode == 2
    assert "audit records cannot be read: " in done.stderr
