"""Stubs of eight stock servers, and of one with names and texts that are no code, pass pyright and tsc.

A program that uses a field which the policy denies, or an argument that no tool has, is found by both; the right one
beside it is not.
"""

import json
import subprocess
import sys

import pytest

from cli.stubs.test_stubs import HOSTILE, of
from fixtures.command import louver
from gateway.served import fixture

from .run import node_packages
from .test_more_servers import server_entry
from .test_real_servers import SERVERS, started

pytestmark = pytest.mark.deep

COMPILER = {"name": "compiler", "private": True, "dependencies": {"typescript": "5.9.3"}}
MORE = ("@cyanheads/git-mcp-server", "@modelcontextprotocol/server-sequential-thinking", "excel-mcp-server")
NAMES = ("from", "str", "items", "keys", "x-y", "__proto__", "constructor", "type", HOSTILE)
NODE = {"$ref": "#/$defs/n", "$defs": {"n": of(**{"in": {"type": "array", "items": {"$ref": "#/$defs/n"}}})}}
HOSTILE_TOOLS = [
    {
        "name": name,
        "description": HOSTILE,
        "inputSchema": of(**{name: {"enum": [HOSTILE, name, 1, None, True], "description": HOSTILE} for name in NAMES}),
        "outputSchema": {**of(node=NODE["$defs"]["n"], **{name: of(a={}) for name in NAMES}), **NODE},
    }
    for name in ("list", "class", "default", "Any", "Promise", "type", "x-y", "x_y", "__getattr__", HOSTILE)
]
POLICY = {
    "version": "1",
    "tools": {
        "read_graph": {"rules": [{"name": "all", "allow": ["*"], "deny": ["entities.observations"]}]},
        "*": {"rules": [{"name": "all", "allow": ["*"]}]},
    },
}
PROGRAMS = {
    "right": {
        "py": """\
from stubs import memory

async def names() -> list[str]:
    graph = await memory.read_graph()
    await memory.search_nodes(query="Ada")
    return [entity["name"] for entity in graph["entities"]]
""",
        "ts": """\
import * as memory from "./stubs/memory";

export async function names(): Promise<string[]> {
  const graph = await memory.read_graph();
  await memory.search_nodes({ query: "Ada" });
  return graph.entities.map((entity) => entity.name);
}
""",
    },
}
PROGRAMS["denied"] = {
    "py": PROGRAMS["right"]["py"].replace('entity["name"]', 'entity["observations"][0]'),
    "ts": PROGRAMS["right"]["ts"].replace("entity.name", "entity.observations[0]"),
}
PROGRAMS["mistaken"] = {
    "py": PROGRAMS["right"]["py"].replace("query=", "words="),
    "ts": PROGRAMS["right"]["ts"].replace("query:", "words:"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The stubs and the programs."""
    folder = tmp_path_factory.mktemp("types")
    servers = {name: started(name, folder) for name in SERVERS}
    more = {name.rpartition("/")[2]: name for name in MORE}
    servers |= {name: server_entry(package, folder / f"{name}-server") for name, package in more.items()}
    servers["hostile"] = fixture("saying", json.dumps({"tools/list": {"tools": HOSTILE_TOOLS}}))
    (folder / "memory.policy.json").write_text(json.dumps(POLICY))
    servers["memory"]["louver"] = {"policy": "memory.policy.json"}
    settings = {"audit": {"file": "audit.db"}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers, "louver": settings}))
    done = louver("types", "--out", folder / "programs" / "stubs", "--config", folder / "mcp.json")
    assert done.returncode == 0, done.stderr
    assert len(list((folder / "programs" / "stubs").iterdir())) == 2 * len(servers)
    for name, texts in PROGRAMS.items():
        for suffix, text in texts.items():
            (folder / "programs" / f"{name}.{suffix}").write_text(text)
    return folder / "programs"


def pyright(folder):
    """Names of files with a finding."""
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", "pythonVersion": "3.11"}))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run([*command, "."], cwd=folder, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    # That the stubs have no source is a warning.
    return {each["file"].rpartition("/")[2] for each in found if each["severity"] == "error"}


def tsc(folder):
    """The same of TypeScript."""
    options = {"strict": True, "noEmit": True, "target": "es2022", "module": "es2022", "moduleResolution": "bundler"}
    config = {"compilerOptions": {**options, "types": []}, "include": ["*.ts", "stubs/*.d.ts"]}
    (folder / "tsconfig.json").write_text(json.dumps(config))
    node, home = node_packages(json.dumps(COMPILER))
    command = [node, home / "node_modules" / "typescript" / "bin" / "tsc", "--pretty", "false"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return {line.partition("(")[0] for line in done.stdout.splitlines() if not line.startswith(" ")}


@pytest.mark.parametrize(("checker", "suffix"), [(pyright, "py"), (tsc, "ts")])
def test_a_program_that_uses_a_denied_field_is_found(folder, checker, suffix):
    """Step 23, item 5: and nothing else is."""
    assert checker(folder) == {f"denied.{suffix}", f"mistaken.{suffix}"}
