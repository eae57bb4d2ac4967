"""A recorded session of an agent with eight stock servers, and the folder that it works in.

    filesystem, memory, everything, thinking, playwright    npm
    git, time, fetch                                        PyPI

A small project about a garden, in a repository with fixed dates; 18 calls use 10 of the 81 tools. Arguments stand as
the model wrote them; `{folder}` is the project's folder, `{site}` the URL of a site with one page.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.stock.run import node_packages, python_with
from tests.stock.servers import npm, pypi

NODE_PACKAGES = {"@modelcontextprotocol/server-sequential-thinking": "2026.8.31", "@playwright/mcp": "0.0.83"}
FETCH = "mcp-server-fetch==2026.10.24"
"""Servers that only this session has, with pinned versions."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call of the session.

    Args:
        server: The tool's server.
        tool: The tool's name at that server.
        arguments: The tool's arguments.
    """

    server: str
    tool: str
    arguments: dict[str, Any]

    @property
    def listed(self) -> str:
        """The tool's name behind the gateway."""
        return f"{self.server}__{self.tool}"

    def within(self, folder: Path, site: str) -> Step:
        """The call with a folder and a site in its arguments."""
        text = json.dumps(self.arguments).replace("{folder}", str(folder)).replace("{site}", site)
        return Step(self.server, self.tool, json.loads(text))


PEOPLE = [
    {
        "name": "Ada Keller",
        "entityType": "person",
        "observations": [
            "Waters the beds on weekdays before work, mostly between six and seven in the morning, and has asked that "
            "nobody changes the schedule without telling her, because in May the pump ran dry twice and the seedlings "
            "in the third bed had to be sown again.",
            "Has the key to the shed",
        ],
    },
    {
        "name": "Ben Osei",
        "entityType": "person",
        "observations": ["Wrote water.py and the tests", "Is away until the 12th"],
    },
    {
        "name": "Carla Ruiz",
        "entityType": "person",
        "observations": [
            "Pays for seeds and keeps the receipts in the grey folder",
            "Wants the sensors to be read every half hour instead of every hour, so that a dry bed is seen before "
            "noon; agreed to pay for a second sensor in the third bed if the first one turns out to be right for a "
            "month, which is to be looked at again at the meeting in July.",
        ],
    },
    {"name": "Third bed", "entityType": "place", "observations": ["Peas and beans", "Dry since the weekend"]},
]
TASKS = [
    {
        "name": "Second sensor",
        "entityType": "task",
        "observations": ["For the third bed", "Carla pays, Ben builds it in", "Decided at the meeting in July"],
    },
    {"name": "New schedule", "entityType": "task", "observations": ["Ada must agree", "Not before the 12th"]},
]

SESSION = (
    Step("filesystem", "directory_tree", {"path": "{folder}", "excludePatterns": [".git"]}),
    Step("filesystem", "read_text_file", {"path": "{folder}/README.md"}),
    Step("git", "git_log", {"repo_path": "{folder}", "max_count": 5}),
    Step("git", "git_show", {"repo_path": "{folder}", "revision": "HEAD"}),
    Step("filesystem", "read_text_file", {"path": "{folder}/notes/meeting.md"}),
    Step("memory", "create_entities", {"entities": PEOPLE}),
    Step("memory", "search_nodes", {"query": "third bed"}),
    Step("time", "convert_time", {"source_timezone": "UTC", "time": "09:30", "target_timezone": "Asia/Kolkata"}),
    Step("time", "convert_time", {"source_timezone": "UTC", "time": "16:00", "target_timezone": "Asia/Kolkata"}),
    Step("everything", "get-structured-content", {"location": "Chicago"}),
    Step("everything", "get-structured-content", {"location": "New York"}),
    Step("filesystem", "read_text_file", {"path": "{folder}/src/water.py"}),
    Step("fetch", "fetch", {"url": "{site}/watering.html"}),
    Step(
        "thinking",
        "sequentialthinking",
        {
            "thought": "The page says that clay wants longer and rarer watering; our third bed is clay.",
            "thoughtNumber": 1,
            "totalThoughts": 1,
            "nextThoughtNeeded": False,
        },
    ),
    Step("memory", "create_entities", {"entities": TASKS}),
    Step("memory", "search_nodes", {"query": "sensor"}),
    Step("memory", "search_nodes", {"query": "Ada"}),
    Step("git", "git_show", {"repo_path": "{folder}", "revision": "HEAD~1"}),
)

QUERIES = {
    "directory_tree": "tree of files in a folder",
    "read_text_file": "read a text file",
    "git_log": "git commits",
    "git_show": "show one git commit",
    "create_entities": "remember entities",
    "search_nodes": "search what is remembered",
    "convert_time": "convert time between timezones",
    "get-structured-content": "weather of a city as structured content",
    "fetch": "fetch a web page",
    "sequentialthinking": "think about a problem step by step",
}
"""Tool -> the query by which a model finds it."""

EARLIER = 12
"""Calls of an earlier session, from the first: it used 8 of the 10 tools."""

FIELDS = {
    "directory_tree": ["name", "children.name"],
    "create_entities": ["entities.name"],
    "search_nodes": ["entities.name", "entities.observations"],
    "convert_time": ["target.datetime"],
    "get-structured-content": ["temperature"],
}
"""Tool -> the fields of its answers that the session goes on with, where a model names them."""

README = """# Garden

Waters four beds by the sensors in them. `python src/water.py` reads the sensors once and opens the valves of the beds
that are dry; a timer starts it every hour.

- `src/beds.json`: the beds, with what grows there and how dry it may be
- `src/water.py`: what is done with it
- `notes/`: what was decided, and why
"""
MEETING = """# Meeting of 14 June

There: Ada, Ben, Carla.

1. The third bed was dry again. The sensor said 31 %, by hand it was 18 %. Ben thinks it sits too deep.
2. Carla would pay for a second sensor, if the first one is right for a month. Decided in July.
3. Ada does not want the schedule changed while the seedlings are small.
4. The pump has been cleaned. It now gives 11 litres a minute, before it was 7.
"""
BEDS = json.dumps(
    [
        {"bed": number, "grows": grows, "opensBelow": percent, "minutes": minutes}
        for number, grows, percent, minutes in (
            (1, "tomatoes", 35, 12),
            (2, "lettuce", 40, 8),
            (3, "peas, beans", 30, 10),
            (4, "herbs", 25, 5),
        )
    ],
    indent=2,
)
WATER = '''"""Reads the sensors once, and waters what is dry."""

import json
from pathlib import Path

from sensors import moisture
from valves import opened

BEDS = json.loads(Path(__file__).with_name("beds.json").read_text())


def dry(beds, read=moisture):
    """The beds whose soil is drier than they may be."""
    return [bed for bed in beds if read(bed["bed"]) < bed["opensBelow"]]


def main():
    for bed in dry(BEDS):
        with opened(bed["bed"], minutes=bed["minutes"]):
            print(f"bed {bed['bed']}: {bed['grows']}")


if __name__ == "__main__":
    main()
'''
SENSORS = '''"""The sensors in the beds."""


def moisture(bed):
    """How wet a bed is, in percent."""
    with open(f"/dev/moisture{bed}") as sensor:
        return int(sensor.read())
'''
VALVES = SENSORS.replace("sensors", "valves").replace("moisture", "valve")
WATERING = "".join(
    f"<h2>{soil.capitalize()}</h2><p>{text}</p>"
    for soil, text in (
        ("sand", "Water runs through it. Water every day in a hot week, for a short time, and mulch."),
        ("loam", "Holds what it gets for two or three days. Put a finger in: damp at the second joint is enough."),
        ("clay", "Takes water slowly and keeps it long. Water once or twice a week, for twice as long as sand."),
        ("pots", "Dry out by noon. Give water in the morning until it runs out below, and again in the evening."),
    )
)
SITE = {
    "watering.html": f"<html><head><title>Watering</title></head><body><article>{WATERING * 3}</article></body></html>"
}
"""File of the site -> its content."""

COMMITS = (
    ("The beds and what they need", {"README.md": README, "src/beds.json": BEDS}),
    ("Water what is dry", {"src/water.py": WATER, "src/sensors.py": SENSORS, "src/valves.py": VALVES}),
    ("The third bed may be drier", {"src/beds.json": BEDS.replace('"opensBelow": 30', '"opensBelow": 28')}),
    ("Notes of the meeting in June", {"notes/meeting.md": MEETING}),
)


def server_entries(folder: Path) -> dict[str, dict[str, Any]]:
    """The entries of `mcpServers`, for a folder that is created empty with a new project in it."""
    shutil.rmtree(folder, ignore_errors=True)
    project, home = folder / "garden", folder / "home"
    home.mkdir(parents=True)
    create_repository(project)
    node_path, node_home = node_packages(json.dumps({"private": True, "dependencies": NODE_PACKAGES}))
    node, packages = str(node_path), Path(node_home) / "node_modules"
    commands = {
        "filesystem": [*npm("filesystem"), str(project)],
        "memory": npm("memory"),
        "git": pypi("git"),
        "time": [*pypi("time"), "--local-timezone", "UTC"],
        "everything": [*npm("everything"), "stdio"],
        "fetch": [
            str(Path(python_with(FETCH)).with_name("mcp-server-fetch")),
            "--ignore-robots-txt",
            "--allow-private-ips",
        ],
        "thinking": [node, str(packages / "@modelcontextprotocol/server-sequential-thinking/dist/index.js")],
        # Listed, and never called: no browser is opened.
        "playwright": [node, str(packages / "@playwright/mcp/cli.js"), "--headless"],
    }
    env = {"HOME": str(home), "MEMORY_FILE_PATH": str(home / "memory.jsonl"), "GIT_CONFIG_NOSYSTEM": "1"}
    return {name: {"command": command, "args": args, "env": env} for name, (command, *args) in commands.items()}


def create_repository(project: Path) -> None:
    """Create the project's repository; its commits always have the same hashes."""
    project.mkdir(parents=True)
    for day, (message, files) in enumerate(COMMITS, start=14):
        for name, content in files.items():
            file = project / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(content, encoding="utf-8")
        if day == 14:
            _git(project, day, "init", "--quiet", "--initial-branch=main")
        _git(project, day, "add", ".")
        _git(project, day, "commit", "--quiet", f"--message={message}")


def _git(project: Path, day: int, *arguments: str) -> None:
    author = {"NAME": "Ada Keller", "EMAIL": "ada@example.org", "DATE": f"2026-06-{day:02}T07:00:00Z"}
    identity = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in author.items()}
    no_config = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *arguments], cwd=project, env={**os.environ, **identity, **no_config}, check=True)
