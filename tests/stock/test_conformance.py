"""The conformance suite before servers that it was not made for: nothing that is right is called wrong."""

import pytest

from conformance.suite import LOUVER, found
from louver_conformance.fixture import Fixture
from louver_conformance.run import run
from louver_conformance.session import Target

from .run import REQUIREMENTS, python_with
from .servers import npm, pypi

pytestmark = [pytest.mark.deep, pytest.mark.anyio]

FASTMCP = """
from fastmcp import FastMCP

server = FastMCP("shop")

@server.tool(annotations={"readOnlyHint": True})
def get_order(number: int = 7) -> dict:
    return {"number": number, "lines": [{"sku": "a", "price": 1.5}, {"sku": "b", "price": 2}], "note": None}

@server.tool(annotations={"readOnlyHint": True})
def greet() -> str:
    return "Hello, Ann"

server.run(show_banner=False)
"""

SERVERS = {
    "everything": lambda _: [*npm("everything"), "stdio"],
    "fastmcp": lambda _: [str(python_with(REQUIREMENTS["fastmcp_v4"])), "-c", FASTMCP],
    "fetch": lambda _: pypi("fetch"),
    "filesystem": lambda folder: [*npm("filesystem"), str(folder)],
    "git": lambda _: pypi("git"),
    "memory": lambda _: npm("memory"),
    "sequential-thinking": lambda _: npm("sequential-thinking"),
    "time": lambda _: [*pypi("time"), "--local-timezone", "UTC"],
}


FIXTURES = {
    "filesystem": lambda folder: {"directory_tree": [{"path": str(folder)}]},
    "time": lambda _: {
        "convert_time": [{"source_timezone": "UTC", "time": "12:00", "target_timezone": zone} for zone in ZONES]
    },
}
ZONES = ("Asia/Tokyo", "America/Lima")


async def wrong(name, folder, *before):
    """The checks that the server fails, behind what the command line starts before it."""
    (folder / "docs").mkdir()
    (folder / "docs" / "a.txt").write_text("a")
    fixture = Fixture(FIXTURES.get(name, lambda _: {})(folder))
    report = await run(Target(command=(*before, *SERVERS[name](folder))), fixture=fixture)
    assert report.is_decided
    return found(report, "fail", "warn")


@pytest.mark.parametrize("name", SERVERS)
async def test_a_foreign_server_lacks_only_the_capability(name, tmp_path):
    """Issue 60: false failures on eight foreign servers: 0."""
    assert await wrong(name, tmp_path) == {"capability-declared"}


@pytest.mark.parametrize("name", SERVERS)
async def test_behind_the_gateway_it_passes(name, tmp_path):
    assert await wrong(name, tmp_path, *LOUVER, "serve", "--") == set()
