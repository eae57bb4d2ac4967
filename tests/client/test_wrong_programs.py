"""Programs that are wrong: type checkers find each before it runs. The right one above them has no finding."""

import json
import subprocess
import sys

import pytest

from stock.run import python_with

pytestmark = pytest.mark.deep

HEAD = """\
from pydantic import BaseModel

import louver
from louver import Client, Gateway, KeptResults, Projection, compile_projection


class User(BaseModel):
    name: str


async def run(client: Client) -> None:
"""
RIGHT = """\
    plan = compile_projection(Projection(include=["id"], strict=True), {"type": "object"})
    plan({"id": 1})
    found = await client.call_tool("get_user", {"id": 7}, include=("id", "name"))
    print(found.data, found.applied)
    user: User = (await client.call_tool("get_user", into=User)).data
    print(user.name)
"""
WRONG = {
    "a string in place of a list": 'Projection(include="name")',
    "a string in place of a list, in a call": 'await client.call_tool("get_user", include="name")',
    "a list in place of a view": 'await client.call_tool("get_user", view=["public"])',
    "a field as a positional": 'Projection("name")',
    "an option that there is not": 'Projection(include=["id"], stict=True)',
    "an option of a call that there is not": 'await client.call_tool("get_user", only=["id"])',
    "a schema form that there is not": 'Projection(view="public", schema="digest")',
    "numbers as fields": "Projection(exclude=[1, 2])",
    "a call without its name": 'await client.call_tool({"id": 7})',
    "a call that is not awaited": 'client.call_tool("get_user").data',
    "a member that another type has": 'print((await client.call_tool("get_user", into=User)).data.nmae)',
    "a class of errors that is not there": "louver.UnknownField",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    (folder / "right.py").write_text(HEAD + RIGHT)
    for number, line in enumerate(WRONG.values()):
        (folder / f"wrong_{number}.py").write_text(f"{HEAD}    {line}\n")
    return folder


def pyright(folder):
    """Names of files with a finding."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(folder)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    findings = json.loads(done.stdout)["generalDiagnostics"]
    return {each["file"].rpartition("/")[2] for each in findings if each["severity"] == "error"}


def mypy(folder):
    command = [str(python_with("mypy>=1.18,<2")), "-m", "mypy", "--python-executable", sys.executable, "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return {line.partition(":")[0] for line in done.stdout.splitlines() if ": error:" in line}


@pytest.mark.parametrize("checker", [pyright, mypy])
def test_a_wrong_program_is_found_before_it_runs(folder, checker):
    """Step 24: twelve of twelve; nothing in the right one."""
    assert checker(folder) == {f"wrong_{number}.py" for number in range(len(WRONG))}
