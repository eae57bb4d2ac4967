"""What a server was in its last run is what clients get while it starts: never more, and not if anything differs."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from fixtures.command import louver
from fixtures.failsafe import until
from gateway.front.auth.guarded import bearing, token_file
from gateway.gateways import LOUVER
from gateway.raw import HANDSHAKE, PROGRAM, STATELESS, raw
from gateway.served import config, fixture, serving
from louver.gateway.back.lists import kept_catalogue as module
from louver.gateway.back.lists.kept_catalogue import CATALOGUE_KEPT_S, Catalogue, CatalogueFolder, KeptAnswers
from louver.gateway.back.lists.tool_pins import ToolPins
from louver.gateway.back.negotiation import Negotiation
from louver.gateway.clients.client import GatewayClient
from louver.gateway.clients.revisions import GATEWAY_IDENTITY, ClientIdentity
from louver.limits import MAX_CATALOGUE_BYTES

pytestmark = pytest.mark.anyio

CHANGED = "notifications/tools/list_changed"
SECRET = "s3cr3t-v4lu3"

every_era = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
every_front = pytest.mark.parametrize("front", ["stdio", "http"])
every_server = pytest.mark.parametrize("spoken", ["handshake", "modern"])


class Starting:
    """The fixture server `starting`, from outside of its process."""

    def __init__(self, folder, spoken="handshake", name="server"):
        self.folder = folder / name
        self.folder.mkdir()
        self.entry = fixture("starting", self.folder, spoken)
        self.lists(read="Read.")
        self.says("old")
        self.go()

    def lists(self, **tools):
        (self.folder / "tools").write_text(json.dumps(tools))

    def says(self, text):
        (self.folder / "text").write_text(text)

    def go(self):
        (self.folder / "go").touch()

    def waits(self):
        for name in ("go", "answering"):
            (self.folder / name).unlink(missing_ok=True)

    @property
    def is_up(self):
        return (self.folder / "answering").exists()


def kept():
    """The files that are kept for a client: name -> inode, which a new content changes."""
    folder = Path(os.environ["XDG_STATE_HOME"]) / "louver" / "catalogue"
    return {file: file.stat().st_ino for file in folder.glob("*.json") if "-" not in file.stem}


@asynccontextmanager
async def opened(options, era=HANDSHAKE, front="stdio", **client_options):
    """A client of a gateway that listens to changes."""
    with ExitStack() as gateway:
        target = [*LOUVER, *options]
        if front == "http":
            target = gateway.enter_context(serving(*options)).url
        async with raw(target, era, **client_options) as client:
            if era == STATELESS:
                client.begin(client.request("subscriptions/listen", notifications={"toolsListChanged": True}))
                await client.hears("notifications/subscriptions/acknowledged")
            yield client


async def tools(client):
    return {tool["name"]: tool["description"] for tool in (await client.result("tools/list"))["tools"]}


async def run_before(options, era=HANDSHAKE, files=1, front="stdio"):
    """A first run, until everything is kept; returns the opening."""
    async with opened(options, era, front) as client:
        await tools(client)
        await until(lambda: len(kept()) == files)
    return client.opening


async def is_live(server, options, era=HANDSHAKE, **client_options):
    """Whether a new run waits for the server, which says something else by now."""
    server.says("new")
    async with opened(options, era, **client_options) as client:
        assert ("new" in client.opening["instructions"]) != ("old" in client.opening["instructions"])
        return "new" in client.opening["instructions"]


@every_server
@every_era
async def test_a_client_has_the_tools_before_the_server_answers(tmp_path, era, spoken):
    """Step 12: a host has the tools in its first request; a call waits. An unchanged list is announced to nobody."""
    server = Starting(tmp_path, spoken)
    options = config(tmp_path, {"it": server.entry})
    opening = await run_before(options, era)
    before = kept()
    server.waits()
    async with opened(options, era) as client:
        assert client.opening == {**opening, **({"ttlMs": 0} if "ttlMs" in opening else {})}
        listed = await client.result("tools/list")
        assert [tool["name"] for tool in listed["tools"]] == ["read"]
        assert listed.get("ttlMs", 0) == 0
        call = client.begin(client.call("read"))
        assert await tools(client) == {"read": "Read."}
        assert not call.done()
        assert not server.is_up
        server.go()
        assert (await call)["content"][0]["text"] == "read"
        assert server.is_up
        await until(lambda: kept().keys() == before.keys() and kept() != before)
        assert await tools(client) == {"read": "Read."}
        assert client.heard(CHANGED) == []


@every_server
@every_era
async def test_a_list_that_has_changed_is_announced_and_kept(tmp_path, era, spoken):
    """Step 12: clients list again. A tool that has become another is reported, as in one run."""
    server = Starting(tmp_path, spoken)
    options = config(tmp_path, {"it": server.entry})
    await run_before(options, era)
    server.waits()
    server.lists(read="Read, and send it.", write="Write.")
    async with opened(options, era) as client:
        assert await tools(client) == {"read": "Read."}
        server.go()
        await client.hears(CHANGED)
        assert await tools(client) == {"read": "Read, and send it.", "write": "Write."}
        await until(lambda: any("tool 'read' is defined otherwise than before" in line for line in client.said))
        await until(lambda: all("send it" in file.read_text() for file in kept()))
    server.waits()
    async with opened(options, era) as client:
        assert await tools(client) == {"read": "Read, and send it.", "write": "Write."}
        assert not server.is_up


async def test_a_client_that_has_not_listed_yet_is_told_of_no_change(tmp_path):
    """Ours: it has nothing that could be outdated."""
    server = Starting(tmp_path)
    options = config(tmp_path, {"it": server.entry})
    await run_before(options)
    before = kept()
    server.waits()
    server.lists(write="Write.")
    async with opened(options) as client:
        server.go()
        await until(lambda: kept().keys() == before.keys() and kept() != before)
        assert await tools(client) == {"write": "Write."}
        assert client.heard(CHANGED) == []


DAMAGED = {
    "no JSON": b'{"version": "2025-11-25", "opening": {',
    "no UTF-8": b"\xff",
    "nothing": b"",
    "a list": b"[]",
    "no opening": b'{"version": "2025-11-25", "tools": []}',
    "an unknown revision": b'{"version": "1999-01-01", "opening": {"capabilities": {}}, "tools": []}',
    "other tools": b'{"version": "2025-11-25", "opening": {"capabilities": {}}, "tools": 7}',
    "other capabilities": b'{"version": "2025-11-25", "opening": {"capabilities": 7}, "tools": []}',
    "too much": b'{"version": "2025-11-25", "opening": {"a": "' + MAX_CATALOGUE_BYTES * b"a" + b'"}, "tools": []}',
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
async def test_a_damaged_file_counts_as_absent(tmp_path, content):
    """Ours: it stops nothing, and is replaced."""
    server = Starting(tmp_path)
    options = config(tmp_path, {"it": server.entry})
    await run_before(options)
    (file,) = kept()
    file.write_bytes(content)
    assert await is_live(server, options)


@pytest.mark.parametrize("age_s", [CATALOGUE_KEPT_S + 60, -3600], ids=["older than a week", "of the future"])
async def test_an_outdated_file_counts_as_absent(tmp_path, age_s):
    """Step 12: not older than a week."""
    server = Starting(tmp_path)
    options = config(tmp_path, {"it": server.entry})
    await run_before(options)
    (file,) = kept()
    time = file.stat().st_mtime - age_s
    os.utime(file, (time, time))
    assert await is_live(server, options)


async def test_a_file_that_others_can_write_counts_as_absent(tmp_path):
    """Ours: its definitions would reach a model."""
    server = Starting(tmp_path)
    options = config(tmp_path, {"it": server.entry})
    await run_before(options)
    (file,) = kept()
    file.chmod(0o620)
    assert await is_live(server, options)


async def test_a_file_as_it_was_written_counts(tmp_path):
    """Ours: else the tests around this one would prove nothing."""
    server = Starting(tmp_path)
    options = config(tmp_path, {"it": server.entry})
    await run_before(options)
    assert not await is_live(server, options)


OTHERS = {
    "arguments": lambda entry, folder: {**entry, "args": [*entry["args"], "handshake"]},
    "environment": lambda entry, folder: {**entry, "env": {"TOKEN": "other"}},
    "folder": lambda entry, folder: {**entry, "cwd": str(folder)},
    "isolation": lambda entry, folder: {**entry, "louver": {"isolation": "session"}},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
async def test_another_configuration_of_the_server_waits_for_it(tmp_path, other):
    """Step 12: the digest is of all of it."""
    server = Starting(tmp_path)
    await run_before(config(tmp_path, {"it": server.entry}))
    assert await is_live(server, config(tmp_path, {"it": other(server.entry, tmp_path)}))


@every_era
async def test_another_client_waits_for_the_server(tmp_path, era):
    """Step 12: the digest is of the identity with which the server is opened."""
    server = Starting(tmp_path)
    options = config(tmp_path, {"it": server.entry})
    await run_before(options, era)
    assert await is_live(server, options, era, capabilities={**PROGRAM, "roots": {}})
    assert await is_live(server, options, STATELESS if era == HANDSHAKE else HANDSHAKE)


async def test_a_server_whose_changes_are_blocked_is_waited_for(tmp_path):
    """Ours: a kept definition would count as the first one, so a new start would not let a changed tool in."""
    server = Starting(tmp_path)
    await run_before(config(tmp_path, {"it": server.entry}))
    before = kept()
    assert await is_live(server, config(tmp_path, {"it": {**server.entry, "louver": {"onChange": "block"}}}))
    assert kept() == before


async def test_a_server_under_a_policy_is_waited_for_and_not_kept(tmp_path):
    """Step 12: its visible definitions come from itself."""
    rules = {"version": "1", "tools": {"*": {"rules": [{"name": "all", "deny": ["ssn"]}]}}}
    (tmp_path / "it.policy.json").write_text(json.dumps(rules))
    policed, free = Starting(tmp_path, name="policed"), Starting(tmp_path, name="free")
    entry = {**policed.entry, "louver": {"policy": "it.policy.json"}}
    options = config(tmp_path, {"policed": entry, "free": free.entry})
    await run_before(options)
    policed.lists(write="Write.")
    async with opened(options) as client:
        assert "policed__read" not in await tools(client)
    (file,) = kept()
    assert str(free.folder) not in file.read_text()


@every_front
@every_era
async def test_of_several_servers_the_slow_one_is_listed_at_once(tmp_path, era, front):
    """Step 12: no server has to be waited for, nor to come later, in a new start."""
    good, slow = Starting(tmp_path, name="good"), Starting(tmp_path, name="slow")
    shared = {"louver": {"isolation": "shared"}}
    options = config(tmp_path, {"good": {**good.entry, **shared}, "slow": {**slow.entry, **shared}})
    await run_before(options, era, files=2, front=front)
    slow.waits()
    slow.lists(write="Write.")
    async with opened(options, era, front) as client:
        assert set(await tools(client)) == {"good__read", "slow__read"}
        assert client.opening["instructions"].count("old") == 2
        assert (await client.call("good__read"))["content"][0]["text"] == "read"
        assert not slow.is_up
        slow.go()
        await client.hears(CHANGED)
        assert set(await tools(client)) == {"good__read", "slow__write"}


@every_era
async def test_a_server_that_does_not_open_after_all_is_told_as_one_that_has_ended(tmp_path, era):
    """Step 12: once opening has failed, all is as without what is kept."""
    server = Starting(tmp_path)
    options = config(tmp_path, {"it": server.entry})
    await run_before(options, era)
    server.waits()
    (server.folder / "broken").touch()
    async with opened(options, era) as client:
        assert await tools(client) == {"read": "Read."}
        call = client.begin(client.call("read"))
        server.go()
        assert (await call)["isError"] is True
        await client.hears(CHANGED)
        assert (await client.error("tools/list"))["data"]["error"]["code"] == "UPSTREAM_UNAVAILABLE"


@every_era
async def test_of_several_servers_one_that_does_not_open_after_all_goes_and_comes(tmp_path, era):
    """Step 12: the list lacks it then, until it can be opened."""
    good, slow = Starting(tmp_path, name="good"), Starting(tmp_path, name="slow")
    options = config(tmp_path, {"good": good.entry, "slow": slow.entry})
    await run_before(options, era, files=2)
    slow.waits()
    (slow.folder / "broken").touch()
    async with opened(options, era) as client:
        assert set(await tools(client)) == {"good__read", "slow__read"}
        slow.go()
        await client.hears(CHANGED)
        assert set(await tools(client)) == {"good__read"}
        (slow.folder / "broken").unlink()
        await client.hears(CHANGED, 2)
        assert set(await tools(client)) == {"good__read", "slow__read"}


@pytest.mark.parametrize("exposure", ["discovery", "gateway", "minimal"])
async def test_built_in_tools_that_tell_of_servers_wait_for_them(tmp_path, exposure):
    """Step 12: a call waits, and what it tells is as the server is now."""
    server = Starting(tmp_path)
    options = config(tmp_path, {"it": server.entry}, exposure=exposure, execute="off")
    await run_before(options)
    server.waits()
    server.lists(write="Write.")
    arguments = {
        "discovery": ("list-server-tools", {"luaServerName": "it"}),
        "gateway": ("gateway", {"action": "list"}),
        "minimal": ("get_tool_descriptions", {"tools": ["write"]}),
    }
    async with opened(options) as client:
        assert await tools(client)
        name, said = arguments[exposure]
        call = client.begin(client.call(name, **said))
        assert await tools(client)
        assert not call.done()
        assert not server.is_up
        server.go()
        assert "Write." in json.dumps(await call)


async def test_with_tokens_nothing_is_kept(tmp_path):
    """Step 12: nothing goes from one principal to another."""
    server = Starting(tmp_path)
    entry = {**server.entry, "louver": {"isolation": "shared"}}
    await run_before(config(tmp_path, {"it": entry}), STATELESS, front="http")
    before = kept()
    server.says("new")
    with serving(*config(tmp_path, {"it": entry}, auth={"tokens": token_file(tmp_path)}), no_auth=False) as served:
        async with bearing(served.url, "t-ann", STATELESS) as client:
            assert client.opening["instructions"].startswith("new")
            assert await tools(client) == {"read": "Read."}
        served.says("it .* ready")
    assert kept() == before


async def test_files_are_private_and_hold_no_value_of_the_environment(tmp_path):
    """Step 12: definitions and openings only; all else is in a digest."""
    server = Starting(tmp_path)
    await run_before(config(tmp_path, {"it": {**server.entry, "env": {"TOKEN": SECRET}}}))
    (file,) = kept()
    assert file.stat().st_mode & 0o777 == 0o600
    for folder in (file.parent, file.parent.parent):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in file.parent.iterdir()} == {0o600}
    assert all(SECRET not in path.name + path.read_text() for path in file.parent.iterdir())
    assert json.loads(file.read_text()).keys() == {"version", "opening", "tools"}


async def test_a_state_folder_that_cannot_be_written_stops_nothing(tmp_path, monkeypatch):
    """Ours: that is logged once, by the name of the error."""
    (tmp_path / "state").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    servers = {name: Starting(tmp_path, name=name).entry for name in ("one", "two")}
    async with opened(config(tmp_path, servers)) as client:
        assert set(await tools(client)) == {"one__read", "two__read"}
        await until(lambda: any("are not kept: " in line for line in client.said))
    assert len([line for line in client.said if "are not kept: " in line]) == 1


def test_commands_that_report_on_servers_keep_nothing(tmp_path):
    """Ours: they want to know what is there now."""
    server = Starting(tmp_path)
    assert louver("check", *config(tmp_path, {"it": server.entry}))[0] == 0
    assert kept() == {}


def test_outdated_and_surplus_files_are_removed(tmp_path, monkeypatch):
    """Ours: every identity of a client is another file."""
    monkeypatch.setattr(module, "MAX_CATALOGUES", 3)
    folder = CatalogueFolder(tmp_path)
    catalogue = Catalogue(Negotiation(HANDSHAKE, {"capabilities": {}}), [])
    for number in range(4):
        folder.write(str(number), catalogue)
        now = (tmp_path / f"{number}.json").stat().st_mtime
        age_s = 0 if number else CATALOGUE_KEPT_S
        os.utime(tmp_path / f"{number}.json", (now - age_s - 10 + number, now - age_s - 10 + number))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["1.json", "2.json", "3.json"]
    folder.write("4", catalogue)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["2.json", "3.json", "4.json"]
    assert folder.read("4") == catalogue


def test_a_catalogue_that_is_too_large_is_not_kept(tmp_path):
    """Ours: nor is the one of before, which it replaces."""
    folder = CatalogueFolder(tmp_path)
    small = Catalogue(Negotiation(HANDSHAKE, {"capabilities": {}}), [])
    folder.write("it", small)
    folder.write("it", Catalogue(small.negotiation, [{"name": MAX_CATALOGUE_BYTES * "a"}]))
    assert folder.read("it") is None


@pytest.mark.parametrize(("version", "expected"), [(HANDSHAKE, True), (STATELESS, False)])
def test_what_a_server_lists_by_each_request_is_not_for_another_client(version, expected):
    """Ours: in 2026-07-28 a server that several clients share can list by what each of them can do."""
    catalogue = Catalogue(Negotiation(version, {"capabilities": {}}), [])
    answers = KeptAnswers(catalogue, GATEWAY_IDENTITY, ToolPins("it", "warn"))
    other = ClientIdentity(STATELESS, {"name": "other"}, {})
    assert answers.is_for(GatewayClient(STATELESS, other)) is expected
    assert answers.is_for(GatewayClient(STATELESS, GATEWAY_IDENTITY))
