"""Real servers behind the gateway: a client gets what it gets without it, and projections besides.

Each server is asked directly, then through the gateway, each time with a folder that is as new::

    memory       npm     output schemas; what was created is what is read: state
    everything   npm     hardly an output schema: JSON text, other content, errors
    filesystem   npm     output schemas that hold but a string, which can be JSON text
    time         PyPI    output schemas, both protocol revisions
    git          PyPI    plain text only

Their versions are pinned in `servers.py` and `package.json`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import louver
from gateway.gateways import gateway
from louver.gateway.back.transports.stdio import inherited_environment
from louver.wire.names import ARGUMENT

from .comparing import takes_argument, with_relaxed_output, without_louver, without_whitespace
from .run import CLIENTS, HANDSHAKE, STATELESS, run_driver
from .servers import npm, pypi

pytestmark = pytest.mark.deep

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
"""What a result of 2026-07-28 has in its `_meta`, and one of 2025-11-25 has not."""

ASKING = {"get-roots-list", "trigger-elicitation-request", "trigger-sampling-request", "trigger-url-elicitation"}
"""The tools that `everything` lists for a client that can be asked what they ask."""

TAKING = {
    "memory": {"read_graph", "search_nodes", "open_nodes"},
    "filesystem": {"read_media_file"},
    "everything": {"get-structured-content"},
    "time": {"get_current_time", "convert_time"},
}
"""The tools that list the argument for fields: those with the most, as far as the list has room."""

DAY = re.compile(r"\d{4}-\d\d-\d\d|[A-Z][a-z]+day")


def nothing(_folder: Path) -> None:
    pass


def some_files(folder: Path) -> None:
    (folder / "notes").mkdir()
    (folder / "notes" / "ada.txt").write_text("Ada likes green.\n")
    (folder / "todo.txt").write_text("1\n2\n3\n")


def a_repository(folder: Path) -> None:
    """With two commits that are the same ones each time."""
    some_files(folder)
    who = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": "2026-01-02T03:04:05Z"}
    said = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    ours_alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for arguments in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "notes"],
        ["commit", "--quiet", "--message=notes"],
        ["add", "todo.txt"],
        ["commit", "--quiet", "--message=todo"],
    ):
        subprocess.run(["git", *arguments], cwd=folder, env={**os.environ, **said, **ours_alone}, check=True)


@dataclass(frozen=True)
class Server:
    """A real server, and what is asked of it; `{folder}` in a text is the folder that it gets.

    Args:
        command: starts it.
        calls: tool and arguments.
        projected: tool, arguments of one of `calls`, and the projection.
        revision: the newest protocol revision that it speaks.
        prepare: fills its folder.
    """

    command: Callable[[], list[str]]
    calls: list[tuple[str, dict]]
    projected: list[tuple[str, dict, dict]]
    more: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    revision: str = HANDSHAKE
    prepare: Callable[[Path], None] = nothing


def include(*fields):
    return {"mode": "include", "fields": list(fields)}


def exclude(*fields):
    return {"mode": "exclude", "fields": list(fields)}


ENTITIES = [
    {"name": "Ada", "entityType": "person", "observations": ["likes green", "lives in Lyon"]},
    {"name": "Lyon", "entityType": "city", "observations": []},
]
RELATIONS = [{"from": "Ada", "to": "Lyon", "relationType": "lives in"}]
CONVERTED = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
SERVERS = {
    "memory": Server(
        command=lambda: npm("memory"),
        env={"MEMORY_FILE_PATH": "{folder}/memory.jsonl"},
        calls=[
            ("create_entities", {"entities": ENTITIES}),
            ("create_relations", {"relations": RELATIONS}),
            ("read_graph", {}),
            ("search_nodes", {"query": "green"}),
        ],
        projected=[
            ("read_graph", {}, include("entities.name")),
            ("read_graph", {}, exclude("relations", "entities.observations")),
            ("search_nodes", {"query": "green"}, include("entities.observations")),
        ],
    ),
    "everything": Server(
        command=lambda: [*npm("everything"), "stdio"],
        calls=[
            ("get-structured-content", {"location": "Chicago"}),
            ("get-env", {}),
            ("get-tiny-image", {}),
            ("get-annotated-message", {"messageType": "error", "includeImage": True}),
            ("get-sum", {"a": "one", "b": 2}),
        ],
        projected=[
            ("get-structured-content", {"location": "Chicago"}, include("humidity")),
            ("get-env", {}, include("HOME")),
            ("get-env", {}, exclude("PATH")),
        ],
    ),
    "filesystem": Server(
        command=lambda: npm("filesystem"),
        more=["{folder}"],
        calls=[
            ("write_file", {"path": "{folder}/new.txt", "content": "new"}),
            ("directory_tree", {"path": "{folder}"}),
            ("list_directory", {"path": "{folder}"}),
            ("read_text_file", {"path": "{folder}/notes/ada.txt"}),
            ("read_text_file", {"path": "{folder}/../secret.txt"}),
            ("search_files", {"path": "{folder}", "pattern": "**/*.txt"}),
        ],
        projected=[
            ("directory_tree", {"path": "{folder}"}, include("name", "children.name")),
            ("list_directory", {"path": "{folder}"}, include("content")),
        ],
        prepare=some_files,
    ),
    "time": Server(
        command=lambda: pypi("time"),
        calls=[("convert_time", CONVERTED), ("convert_time", {**CONVERTED, "source_timezone": "Nowhere"})],
        projected=[
            ("convert_time", CONVERTED, include("target.datetime", "time_difference")),
            ("convert_time", CONVERTED, exclude("*.timezone")),
        ],
        revision=STATELESS,
    ),
    "git": Server(
        command=lambda: pypi("git"),
        calls=[
            ("git_log", {"repo_path": "{folder}"}),
            ("git_show", {"repo_path": "{folder}", "revision": "HEAD~1"}),
            ("git_show", {"repo_path": "{folder}", "revision": "nowhere"}),
        ],
        projected=[("git_log", {"repo_path": "{folder}"}, include("message"))],
        revision=STATELESS,
        prepare=a_repository,
    ),
}


def with_folder(value, folder):
    return json.loads(json.dumps(value).replace("{folder}", str(folder)))


def started(name: str, folder: Path) -> dict:
    """How a server is started, with a folder that is as new: an entry of `mcpServers`, and a driver's target."""
    server, own = SERVERS[name], folder / name
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    server.prepare(own)
    command, *arguments = server.command()
    return {
        "command": command,
        "args": [*arguments, *with_folder(server.more, own)],
        "env": with_folder(server.env, own),
    }


@contextmanager
def behind(front: str, names: list[str], folder: Path):
    """What a driver connects to: a gateway before these servers."""
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {name: started(name, folder) for name in names}}))
    if front == "stdio":
        arguments = ["-m", "louver", "serve", "--config", str(config)]
        yield {"command": sys.executable, "args": arguments, "env": inherited_environment()}
    else:
        with gateway("--config", str(config)) as url:
            yield {"url": url}


def plain_calls(name, folder):
    return [
        {"tool": tool, "arguments": arguments} for tool, arguments in with_folder(SERVERS[name].calls, folder / name)
    ]


def projected_calls(name, folder):
    return with_folder(SERVERS[name].projected, folder / name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("real")


@pytest.fixture(scope="module", params=SERVERS)
def name(request):
    return request.param


@pytest.fixture(scope="module", params=[HANDSHAKE, STATELESS])
def era(request):
    return request.param


@pytest.fixture(scope="module")
def direct(name, era, folder):
    """What the server itself answers, with the gateway's variables; in the other revision if it has not this one."""
    target = started(name, folder)
    target["env"] = inherited_environment() | target["env"]
    request = {"target": target, "era": min(era, SERVERS[name].revision), "calls": plain_calls(name, folder)}
    return run_driver("python_v2", request)


@pytest.fixture(scope="module", params=["stdio", "http"])
def front(request):
    return request.param


@pytest.fixture(scope="module")
def through(name, era, front, folder, direct):
    """What the gateway answers: to the same calls, then to projected ones, by `_meta` and by the argument."""
    projected = projected_calls(name, folder)
    by_meta = [{"tool": tool, "arguments": given, "meta": {"projection": asked}} for tool, given, asked in projected]
    by_argument = [{"tool": tool, "arguments": {**given, ARGUMENT: asked}} for tool, given, asked in projected]
    with behind(front, [name], folder) as target:
        calls = [*plain_calls(name, folder), *by_meta, *by_argument]
        return run_driver("python_v2", {"target": target, "era": era, "calls": calls})


def undated(value):
    return json.loads(DAY.sub("DAY", json.dumps(value)))


def answer_of(call):
    """An answer in either revision, without what only one of them has, nor white space of JSON."""
    meta = {key: value for key, value in (call["meta"] or {}).items() if key != SERVER_INFO}
    return undated({**without_whitespace(call), "meta": meta or None})


def test_the_tools_are_the_servers(name, direct, through):
    """GATEWAY.md, "Transparency first": but for the with_relaxed_output schema, the hint and the argument."""
    names = {tool["name"] for tool in direct["listed"]}
    listed = [tool for tool in through["listed"] if tool["name"] in names]
    assert list(map(without_louver, listed)) == list(map(with_relaxed_output, direct["listed"]))
    assert {tool["name"] for tool in listed if takes_argument(tool)} == TAKING.get(name, set())


def test_a_shared_session_can_be_asked_everything(name, era, front, direct, through):
    """Gap, pinned: over HTTP all clients of 2026-07-28 share one session, which declares all capabilities.

    So a server of 2025-11-25 that lists tools by them lists what this client alone would not see.
    """
    names = {tool["name"] for tool in direct["listed"]}
    more = {tool["name"] for tool in through["listed"]} - names
    assert more == (ASKING if (name, era, front) == ("everything", STATELESS, "http") else set())


def test_the_answers_are_the_servers(direct, through):
    """GATEWAY.md, "Transparency first": where nothing is asked for, only the white space of JSON differs."""
    same = through["calls"][: len(direct["calls"])]
    assert all(call["ok"] for call in same)
    assert [answer_of(without_whitespace(call)) for call in same] == [
        answer_of(without_whitespace(call)) for call in direct["calls"]
    ]


def parsed(text):
    """The JSON in a text; `None` where it is another text."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def kept(tool, wanted, answer):
    """What a plan keeps of an answer: the structured content, the value, and its schema if one is declared."""
    schema = tool.get("outputSchema")
    within = None
    if schema is None or schema["properties"].keys() == {"content"}:
        [text] = (block["text"] for block in answer["content"] if block["type"] == "text")
        within = parsed(text)
    plan = louver.compile_projection(louver.Projection.from_wire(wanted), schema if within is None else None)
    if within is None:
        value = plan(answer["structuredContent"])
        return value, value, plan.schema
    value = plan(within)
    wrapped = None if schema is None else {"content": json.dumps(value, separators=(",", ":"))}
    return wrapped, value, None


def outcomes(name, folder, direct, calls):
    """Each projected call: its tool, what it asked for, the direct answer, and the projected one."""
    tools = {tool["name"]: tool for tool in direct["listed"]}
    answers = {
        json.dumps(call, sort_keys=True): answer
        for call, answer in zip(plain_calls(name, folder), direct["calls"], strict=True)
    }
    for (tool, given, wanted), got in zip(projected_calls(name, folder), calls, strict=True):
        yield tools[tool], wanted, answers[json.dumps({"tool": tool, "arguments": given}, sort_keys=True)], got


def assert_projected(tool, wanted, answer, got, *, by_meta):
    assert got["ok"], got
    structured, value, schema = kept(tool, wanted, answer)
    [block] = got["content"]
    assert undated(got["structuredContent"]) == undated(structured)
    assert undated(json.loads(block["text"])) == undated(value)
    receipt = got["meta"]["projection"]
    assert receipt["applied"] is True
    if not by_meta:
        assert not receipt.keys() & {"schemaSource", "projectedSchema"}
    elif schema is None:
        assert receipt["schemaSource"] == "inferred"
    else:
        assert receipt["projectedSchema"] == schema


def test_a_client_gets_the_fields_that_it_names(name, folder, direct, through):
    """Ours: by `_meta`, also of tools without an output schema; plain text stays, and the receipt says why."""
    start = len(direct["calls"])
    calls = through["calls"][start : start + len(SERVERS[name].projected)]
    for tool, wanted, answer, got in outcomes(name, folder, direct, calls):
        if name == "git":
            assert got["meta"]["projection"] == {"applied": False, "reason": "no_structured_output"}
            assert got["content"] == answer["content"]
        else:
            assert_projected(tool, wanted, answer, got, by_meta=True)


def test_a_model_gets_the_fields_that_it_names(name, folder, direct, through):
    """Ours: by the argument, also where the list had no room for it; others get it as an argument unknown to them."""
    calls = through["calls"][-len(SERVERS[name].projected) :]
    for tool, wanted, answer, got in outcomes(name, folder, direct, calls):
        if "outputSchema" in tool:
            assert_projected(tool, wanted, answer, got, by_meta=False)
        else:
            assert "projection" not in (got["meta"] or {})


@pytest.fixture(scope="module")
def all_of_them(folder):
    with behind("http", list(SERVERS), folder) as target:
        yield target


@pytest.mark.parametrize(("client", "revision"), CLIENTS)
def test_every_client_uses_all_of_them_at_once(client, revision, all_of_them, folder):
    """GATEWAY.md: five servers of both revisions behind one address, for every stock client in each of its own."""
    asked = {name: SERVERS[name].projected[0] for name in ("everything", "filesystem", "time")}
    calls = [
        {"tool": f"{name}__{tool}", "arguments": with_folder(given, folder / name), "meta": {"projection": wanted}}
        for name, (tool, given, wanted) in asked.items()
    ]
    got = run_driver(client, {"target": all_of_them, "era": revision, "calls": calls})
    assert {tool["name"].partition("__")[0] for tool in got["listed"]} == SERVERS.keys()
    assert all(call["ok"] and call["meta"]["projection"]["applied"] for call in got["calls"]), got["calls"]
    everything, filesystem, time = (call["structuredContent"] for call in got["calls"])
    assert everything.keys() == {"humidity"}
    assert set().union(*json.loads(filesystem["content"])) == {"name", "children"}
    assert (time["target"].keys(), time["time_difference"]) == ({"datetime"}, "+9.0h")
