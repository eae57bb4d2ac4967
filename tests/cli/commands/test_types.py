"""`louver types`: which files it writes for which caller."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fixtures.command import louver
from gateway.served import fixture
from louver.catalogue.learned import LearnedFields, learned_file
from louver.gateway.config.read import read_config
from louver.limits import LEARNT_AFTER

USER = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "ssn": {"type": "string"}},
    "required": ["id", "ssn"],
}
TAKES = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
TOOLS = [
    {"name": "get_user", "description": "Get a user.", "inputSchema": TAKES, "outputSchema": USER},
    {"name": "drop_user", "inputSchema": TAKES},
]
RULES = {"get_user": {"rules": [{"name": "admins", "who": {"roles": ["admin"]}, "allow": ["*"]}]}}
RULES["get_user"]["rules"].append({"name": "others", "allow": ["*"], "deny": ["ssn"]})

PYTHON = """\
# Written by 'louver types', which replaces this file.
# Server '..My-CRM', for the default caller.

from typing import Any as Any, Literal as Literal, NotRequired as NotRequired, TypedDict as TypedDict, Unpack as Unpack

class GetUserArguments(TypedDict):
    id: int

class GetUserResult(TypedDict):
    id: int
    ssn: str

async def get_user(**arguments: Unpack[GetUserArguments]) -> GetUserResult:
    \"\"\"Get a user.\"\"\"

class DropUserArguments(TypedDict):
    id: int

async def drop_user(**arguments: Unpack[DropUserArguments]) -> Any:
    \"\"\"Drop user.\"\"\"
"""
TYPESCRIPT = """\
// Written by 'louver types', which replaces this file.
// Server '..My-CRM', for the default caller.

export {};

export interface GetUserArguments {
  id: number;
}

export interface GetUserResult {
  id: number;
  ssn: string;
}

/** Get a user. */
export function get_user(args: GetUserArguments): Promise<GetUserResult>;

export interface DropUserArguments {
  id: number;
}

/** Drop user. */
export function drop_user(args: DropUserArguments): Promise<unknown>;
"""


def saying(*tools, **louver):
    return fixture("saying", json.dumps({"tools/list": {"tools": tools}}), **louver)


@pytest.fixture
def types(tmp_path, monkeypatch):
    """Run the command in a folder with a configuration: its status, what it tells, and the files."""
    monkeypatch.chdir(tmp_path)

    def run(*options, servers=None, **settings):
        if servers is not None:
            Path("mcp.json").write_text(json.dumps({"mcpServers": servers, "louver": settings}))
        status, out, err = louver("types", "--out", "stubs/new", "--config", "mcp.json", *options)
        assert out == ""
        found = (file for file in tmp_path.rglob("stubs/**/*") if file.is_file())
        files = {str(file.relative_to(tmp_path)): file.read_text() for file in found}
        return status, err, files

    return run


def test_the_tools_of_each_server_are_written_in_both_languages(types, tmp_path):
    """Step 23, item 5: in the folder alone, whatever a server is called; own files are replaced."""
    (tmp_path / "stubs" / "new").mkdir(parents=True)
    (tmp_path / "stubs" / "new" / "my_crm.pyi").write_text(PYTHON.replace("get_user", "get_person"))
    without_tools = fixture("saying", json.dumps({"initialize": {"capabilities": {}}, "tools/list": None}))
    servers = {"..My-CRM": saying(*TOOLS), "..": without_tools, "gone": {"command": "no-such-program-anywhere"}}
    status, err, files = types(servers=servers)
    assert status == 1
    assert "louver: server 'gone' is not there: " in err
    assert "louver: stubs/new/my_crm.pyi is written\n" in err
    assert sorted(files) == [f"stubs/new/{name}" for name in ("my_crm.d.ts", "my_crm.pyi", "server.d.ts", "server.pyi")]
    assert files["stubs/new/my_crm.pyi"] == PYTHON
    assert files["stubs/new/my_crm.d.ts"] == TYPESCRIPT
    assert files["stubs/new/server.d.ts"].endswith("\n\nexport {};\n")


def test_a_stub_has_what_its_caller_sees(types, tmp_path):
    """PRIVACY.md, P6: denied fields, hidden tools and new names; the principal of the configuration by default."""
    (tmp_path / "crm.policy.json").write_text(json.dumps({"version": "1", "tools": {**RULES, "drop_user": {**ALL}}}))
    rules = [{"who": {"roles": ["admin"]}}, {"hide": ["drop_*"], "rename": {"get_user": "user"}}]
    servers = {"crm": saying(*TOOLS, policy="crm.policy.json", tools=rules)}
    settings = {"principal": {"subject": "ann", "roles": ["admin"]}, "audit": {"file": "audit.db"}}
    status, _, files = types(servers=servers, **settings)
    assert status == 0
    assert all("ssn" in text and "drop_user(" in text and " get_user(" in text for text in files.values())
    status, _, files = types("--as", "role:support")
    assert status == 0
    assert all(", for role:support." in text and " user(" in text for text in files.values())
    assert not any("ssn" in text or "drop" in text or "get_user" in text for text in files.values())


ALL = {"rules": [{"name": "all", "allow": ["*"]}]}


def test_what_no_server_declares_is_of_a_file_or_learnt(types, tmp_path):
    """Step 23, item 5: a comment says so."""
    untyped = [{"name": name, "inputSchema": {"type": "object"}} for name in ("find", "read")]
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "read.output.schema.json").write_text(json.dumps(USER))
    servers = {"crm": saying(*untyped, schemas="schemas")}
    Path("mcp.json").write_text(json.dumps({"mcpServers": servers, "louver": {"learn": "learnt"}}))
    [upstream] = read_config(Path("mcp.json")).upstreams
    learned = LearnedFields(learned_file(tmp_path / "learnt", upstream.server_id))
    for _ in range(LEARNT_AFTER + 1):
        learned.learn("find", {"items": [{"id": 1}]})
    status, _, files = types()
    text = files["stubs/new/crm.pyi"]
    assert status == 0
    assert "# Its result is learnt from answers: where it is an object, it may be an array of them.\n" in text
    assert "async def find() -> FindResult | list[FindResult]:" in text
    assert "# Its result is declared in a file.\nasync def read() -> ReadResult:" in text


def test_files_of_others_are_not_replaced(types, tmp_path):
    """Ours: it is told before a server starts, and nothing is written."""
    folder = tmp_path / "stubs" / "new"
    folder.mkdir(parents=True)
    servers = {"a": {"command": "no-such-program-anywhere"}, "b": {"command": "no-such-program-anywhere"}}
    (folder / "b.d.ts").write_text("export const mine = 1;\n")
    status, err, files = types(servers=servers)
    assert (status, list(files)) == (2, ["stubs/new/b.d.ts"])
    expected = "stubs/new/b.d.ts is not of 'louver types', and is not replaced: name another folder by --out"
    assert err == f"louver: {expected}\n"
    (folder / "a.pyi").mkdir()
    assert types()[1] == "louver: stubs/new/a.pyi cannot be replaced: it is no regular file\n"


def test_a_folder_that_cannot_be_is_told(types, tmp_path):
    """Ours."""
    (tmp_path / "stubs").write_text("")
    status, err, _ = types(servers={"a": saying()})
    assert (status, err) == (2, "louver: stubs/new cannot be written: Not a directory\n")


def test_a_caller_that_is_none_is_refused(types):
    """Ours: before a server starts."""
    status, err, files = types("--as", "support", servers={"a": {"command": "no-such-program-anywhere"}})
    assert (status, files) == (2, {})
    assert err.startswith("louver: --as takes 'nobody', or for example role:support")
