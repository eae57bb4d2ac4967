"""What each stack does, and what its model must see of it."""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from pathlib import Path

from gateway.served import serving
from louver.gateway.builtin.deferred import MIN_DEFERRED_TOOLS
from louver.wire.names import ARGUMENT, DESCRIPTIONS_TOOL, GRANT_ARGUMENT, RESULT_TOOL

from .stacks import Run

SERVER = str(Path(__file__).with_name("server.py"))
OTHERS = MIN_DEFERRED_TOOLS
NOTE = "Ask Ada herself."
KEPT = "Too large to send"
PERSON = {"tool": "get_person", "arguments": {"id": 7}}


def fields(*names):
    return {"tool": "get_person", "arguments": {"id": 7, ARGUMENT: list(names)}}


SOME_ROWS = {
    "tool": "list_rows",
    "arguments": {"number": 150, ARGUMENT: ["$.rows[?@.id == 3 || @.id > 147].id"]},
}


def page(number):
    arguments = {"handle": "$handle", ARGUMENT: ["rows.id"], "page": number}
    return {"tool": RESULT_TOOL, "arguments": arguments}


LONG = {"tool": "list_rows", "arguments": {"number": 400}}


def whole_page(number):
    return {"tool": RESULT_TOOL, "arguments": {"handle": "$handle", "page": number}}


def ids(*texts):
    """How many rows a model has seen, be it as text and as structured content."""
    return len({*re.findall(r'"id": ?(\d+)', plain(" ".join(texts)))})


def found(**arguments):
    return {"tool": "search_tools", "arguments": {"tool": "get_person", "arguments": {"id": 7, **arguments}}}


SCENES = {
    "default": ({}, [PERSON]),
    "fields": ({"argument": "all"}, [PERSON, fields("name"), fields("nmae"), SOME_ROWS]),
    "beside": (
        {"keepResults": 20_000},
        [PERSON, {"tool": "list_rows", "arguments": {"number": 150}}, page(1), page(2)],
    ),
    "long": (
        {},
        [LONG, {**LONG, "arguments": {**LONG["arguments"], ARGUMENT: ["rows.id"]}}, *map(whole_page, range(1, 5))],
    ),
    "deferred": (
        {"exposure": "deferred", "pinned": ["list_rows"]},
        [{"tool": "search_tools", "arguments": {"query": "a person"}}, found(), found(**{ARGUMENT: ["nmae"]})],
    ),
    "enforce": (
        {"exposure": "minimal"},
        [
            {"tool": DESCRIPTIONS_TOOL, "arguments": {"tools": ["get_person"]}},
            {"tool": "get_person", "arguments": {"id": 7, GRANT_ARGUMENT: "$grant"}},
        ],
    ),
    "on-error": (
        {"exposure": "minimal", "disclosure": "on-error"},
        [{"tool": "get_person", "arguments": {}}, PERSON],
    ),
    "discovery": (
        {"exposure": "discovery"},
        [
            {"tool": "list-servers", "arguments": {}},
            {"tool": "execute", "arguments": {"script": "result(people.get_person({id = 7}):await())"}},
        ],
    ),
    "gateway": (
        {"exposure": "gateway"},
        [{"tool": "gateway", "arguments": {"action": "call", "id": "get_person", "arguments": {"id": 7}}}],
    ),
}
"""Name -> settings of the gateway, and what the model does."""

CELLS = {
    "list": ("default", lambda seen: "get_person" in " ".join([*seen.tools, seen.found])),
    "plain call": ("default", lambda seen: "London" in seen.results[0]),
    "fields": ("fields", lambda seen: "Ada" in seen.results[1] and "London" not in seen.results[1]),
    "wrong field": ("fields", lambda seen: "did you mean 'name'" in plain(seen.results[2])),
    "rows": ("fields", lambda seen: ids(seen.results[3]) == 3),
    "over HTTP": ("http", lambda seen: "London" in seen.results[0] and "London" not in seen.results[1]),
    "guidance": ("beside", lambda seen: NOTE in seen.results[0]),
    "kept result": ("beside", lambda seen: "page 2 of 2" in seen.results[3] and "149" in seen.results[3]),
    "long answer": (
        "long",
        lambda seen: ids(seen.results[0]) == 400 or (KEPT in seen.results[0] and ids(seen.results[1]) == 400),
    ),
    "its pages": ("long", lambda seen: ids(seen.results[0]) == 400 or ids(*seen.results[2:6]) == 400),
    "deferred": (
        "deferred",
        lambda seen: (
            "get_person{id: int" in seen.results[0]
            and "London" in seen.results[1]
            and "did you mean 'name'" in plain(seen.results[2])
        ),
    ),
    "enforce": ("enforce", lambda seen: "London" in seen.results[1]),
    "on-error": ("on-error", lambda seen: "London" in seen.results[1]),
    "discovery": ("discovery", lambda seen: "people" in seen.results[0] and "London" in seen.results[1]),
    "gateway": ("gateway", lambda seen: "London" in seen.results[0]),
}
"""What is looked at -> in which scene, and whether the model has seen it."""


def plain(text):
    """A text without the escapes of JSON within JSON."""
    return text.replace("\\", "")


def configured(folder, scene):
    """The file of a configuration."""
    settings, _ = SCENES[scene]
    guidance = [{"tool": "get_person", "when": {"path": "name"}, "note": NOTE}] if scene == "beside" else []
    others = [str(OTHERS)] if scene == "deferred" else []
    servers = {"people": {"command": sys.executable, "args": [SERVER, *others], "louver": {"guidance": guidance}}}
    file = folder / f"{scene}.json"
    file.write_text(json.dumps({"mcpServers": servers, "louver": settings}), "utf-8")
    return file


@contextmanager
def runs(folder):
    """The runs of all scenes, by name; the one over HTTP has a server while the block lasts."""
    found = {}
    for scene, (_, steps) in SCENES.items():
        arguments = ["-m", "louver", "serve", "--config", str(configured(folder, scene))]
        found[scene] = Run({"command": sys.executable, "args": arguments}, steps)
    with serving("--config", str(configured(folder, "fields"))) as served:
        found["http"] = Run({"url": served.url}, SCENES["fields"][1])
        yield found


def verdicts(seen):
    """Cell -> nothing where the model has seen what it should, else what it saw instead.

    Args:
        seen: By scene.
    """
    return {cell: _verdict(seen[scene], is_seen) for cell, (scene, is_seen) in CELLS.items()}


def _verdict(seen, is_seen):
    try:
        if is_seen(seen):
            return ""
    except IndexError:
        pass
    return (seen.failed or " | ".join(seen.results) or "the model saw no result")[:400]
