"""The database of the example company: made when needed, always the same, read only, for any thread."""

import hashlib
import json
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from mcp import Client

from examples.company import build_server, data
from examples.company.data import Database
from examples.company.queries.nest import nest
from examples.company.rows import content, counts

DIGEST = "8175a65eb90b3fb66a6412e9ffa51d721ab0d57eecd47b93f93324d79cab34e9"
"""Of all rows."""


def dump():
    """The whole content as SQL text."""
    with closing(data.connect()) as connection:
        return "\n".join(connection.iterdump())


def test_two_fresh_databases_hold_the_same_bytes():
    """Ours."""
    first, second = (hashlib.sha256(dump().encode()).hexdigest() for _ in range(2))
    assert first == second


def test_the_rows_are_the_same_on_every_machine():
    """Ours: random numbers, dates and floats do not depend on the version of Python."""
    assert hashlib.sha256(json.dumps(list(content())).encode()).hexdigest() == DIGEST


def test_ids_run_from_one_to_the_count(subtests):
    """Ours."""
    for table, key, last in (
        ("users", "id", counts.USERS),
        ("issues", "number", counts.ISSUES),
        ("customers", "id", counts.CUSTOMERS),
        ("orders", "id", counts.ORDERS),
    ):
        with subtests.test(table):
            rows = Database().read(f"SELECT {key} AS id FROM {table} ORDER BY {key}")
            assert [row["id"] for row in rows] == list(range(1, last + 1))


def test_every_reference_leads_to_a_row():
    """Ours: SQLite checks foreign keys only when asked."""
    assert Database().read("PRAGMA foreign_key_check") == []


def test_all_addresses_are_reserved_for_examples():
    """Ours; RFC 2606 for mail, 555-01xx for telephones, RFC 5737 for hosts."""
    text = dump()
    assert set(re.findall(r"@([\w.-]+)", text)) <= {
        "example.com",
        "example.org",
        "shop.example.com",
    }
    assert all(re.fullmatch(r"\d{3}-555-01\d\d", number) for number in re.findall(r"\+1-([\d-]+)", text))
    assert all(ip.startswith("203.0.113.") for ip in re.findall(r"\d+\.\d+\.\d+\.\d+", text))


@pytest.mark.anyio
async def test_nothing_is_made_before_the_first_query(monkeypatch):
    """Ours: neither the import, nor the server, nor a listing opens a database."""
    opened = []
    connect = data.connect
    monkeypatch.setattr(data, "connect", lambda: opened.append(1) or connect())
    async with Client(build_server(database=Database())) as client:
        await client.list_tools()
        assert opened == []
        await client.call_tool("list_labels")
        await client.call_tool("list_labels")
    assert opened == [1]


def test_servers_share_the_database_of_the_process():
    """Ours."""
    assert data.shared() is data.shared()


def test_many_threads_share_one_connection(monkeypatch):
    """Ours: the first query of several threads makes the database once."""
    opened = []
    connect = data.connect
    monkeypatch.setattr(data, "connect", lambda: opened.append(1) or connect())
    database = Database()
    with ThreadPoolExecutor(16) as pool:
        answers = list(
            pool.map(lambda user_id: database.read("SELECT id FROM users WHERE id = ?", (user_id,)), range(1, 201))
        )
    assert answers == [[{"id": user_id}] for user_id in range(1, 201)]
    assert len(opened) == 1


def test_a_statement_that_writes_is_refused():
    """Ours: what the tools' `readOnlyHint` says, the connection keeps."""
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        Database().read("DELETE FROM users")


def test_a_join_that_found_nothing_is_null():
    """Ours: an object whose columns are all NULL is absent, one NULL among others is a null."""
    row = {"id": 1, "a.x": None, "a.b.y": None, "c.x": None, "c.y": 2}
    assert nest(row) == {"id": 1, "a": None, "c": {"x": None, "y": 2}}
