"""Guidance, warnings and kept results before any server."""

import json
import os
import re
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from mcp import Client, MCPError
from mcp.client import advertise

from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from gateway.configs import ENVIRON, write
from gateway.served import FIXTURES, config, fixture, serving
from louver.catalogue.guidance import GuidanceRule
from louver.errors import InvalidConfig, LouverError
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.config.read import read_config
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.policy.policy import Policy
from louver.steps.policy.enforcer import PolicyEnforcer
from louver.steps.results.results import KeptResults
from louver.wire.names import PROJECTION
from steps.kept import KEY, Clock, read, uri_of
from steps.wire import NEW, OLD, connect

pytestmark = pytest.mark.anyio

LARGE = (PYTHON, str(FIXTURES / "large.py"))
NOTE = "Rows are numbered from 0."
PROGRAM = [advertise(PROJECTION, {})]
RULE = {"tool": "rows", "when": {"path": "rows.id", "matches": "^0$"}, "note": NOTE}
GUIDANCE, WARNINGS = "dev.louver/guidance", "dev.louver/warnings"


@asynccontextmanager
async def large(era, *names, **options):
    """A connection to a gateway before that many servers; the rule is of the first one."""
    upstreams = [UpstreamConfig(name, "stdio", command=LARGE) for name in names]
    upstreams[0] = replace(upstreams[0], guidance=(GuidanceRule.read(RULE),))
    gateway = Gateway(Config(tuple(upstreams), **options), single_client=False)
    try:
        async with connect(sdk_server(gateway.answer), era) as wire:
            yield wire, gateway
    finally:
        await gateway.close()


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_two_megabytes_are_kept_and_read_without_a_second_call(era):
    """GATEWAY.md: the upstream counts."""
    clock = Clock()
    async with large(era, "large", keep_results=KeptResults(clock=clock)) as (wire, _):
        answer = await wire.call("rows")
        assert len(json.dumps(answer)) < 2_000
        assert answer["_meta"][GUIDANCE] == [{"note": NOTE}]
        assert answer["structuredContent"] == {"call": 1}
        uri = uri_of(answer)
        ids, said = await read(wire, f"{uri}?fields=rows.id")
        assert [row["id"] for row in ids["rows"]] == [*range(1000)]
        assert said["_meta"]["projection"]["projectedSchema"]["properties"].keys() == {"rows"}
        page, _ = await read(wire, f"{uri}?page=10&fields=call,rows.name")
        assert (page["call"], page["rows"][-1]) == (1, {"name": "n999"})
        clock.now += 600
        with pytest.raises(MCPError) as expired:
            await read(wire, uri)
        assert expired.value.error.data["error"]["code"] == "UNKNOWN_RESULT"
        assert (await wire.call("rows", {"output_fields": ["call"]}))["structuredContent"] == {"call": 2}


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_by_default_nothing_is_said_and_nothing_is_kept(era):
    """GATEWAY.md, "Transparency first"."""
    async with large(era, "one", "two") as (wire, _):
        answer = await wire.call("two__rows")
        assert len(answer["structuredContent"]["rows"]) == 1000
        assert not answer.get("_meta", {}).keys() & {KEY, WARNINGS, GUIDANCE}
        assert len(answer["content"]) == 1


async def test_rules_of_one_server_are_not_those_of_another():
    """GATEWAY.md: tools are called by their server's name."""
    async with large(NEW, "one", "two", warnings=True) as (wire, _):
        one, two = await wire.call("one__rows", {"number": 101}), await wire.call("two__rows", {"number": 101})
    assert one["_meta"][GUIDANCE] == [{"note": NOTE}]
    assert GUIDANCE not in two["_meta"]
    assert two["_meta"][WARNINGS][0]["items"] == 101


async def test_another_configuration_leaves_results_where_they_are():
    """Ours: unless it keeps them elsewhere."""
    kept = KeptResults()
    async with large(NEW, "large", keep_results=kept) as (wire, gateway):
        uri = uri_of(await wire.call("rows"))
        await gateway.reconfigure(replace(gateway._config, warnings=True, exposure="minimal"))
        assert (await read(wire, f"{uri}?fields=call"))[0] == {"call": 1}
        await gateway.reconfigure(replace(gateway._config, keep_results=KeptResults(minutes=1)))
        with pytest.raises(MCPError):
            await read(wire, uri)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"exposure": "minimal", "keys": ("k" * 32, "short")}, "at least 32 bytes"),
    ],
)
async def test_a_configuration_that_cannot_be_stood_by_changes_nothing(wrong, told):
    """GATEWAY.md, Start: a bad one keeps the last good configuration."""
    async with large(NEW, "large", keep_results=KeptResults()) as (wire, gateway):
        uri = uri_of(await wire.call("rows"))
        with pytest.raises(LouverError, match=told):
            await gateway.reconfigure(replace(gateway._config, upstreams=(), **wrong))
        assert list(gateway.upstreams) == ["large"]
        assert (await read(wire, f"{uri}?fields=call"))[0] == {"call": 1}


async def test_guidance_for_a_tool_that_is_not_there_is_told():
    """Ours: `louver check`."""
    async with large(NEW, "one", "two") as (_, gateway):
        assert [problem for state in await gateway.open() for problem in gateway.problems_of(state)] == []
        rule = replace(GuidanceRule.read(RULE), tool="row")
        upstreams = (replace(gateway._config.upstreams[0], guidance=(rule,)), gateway._config.upstreams[1])
        await gateway.reconfigure(replace(gateway._config, upstreams=upstreams))
        problems = [problem for state in await gateway.open() for problem in gateway.problems_of(state)]
    assert problems == ["one: guidance is given for a tool 'row', which it does not have; did you mean 'rows'?"]


async def test_scripts_get_data_and_what_they_give_is_kept(tmp_path):
    """Ours: a preview is for who can read on; so is a look at an answer that of the answer itself."""
    louver = {"exposure": "discovery", "keepResults": 10_000, "warnings": True}
    server = fixture("large", guidance=[RULE])
    with serving(*config(tmp_path, {"large": server}, **louver)) as served:
        async with Client(served.url, extensions=PROGRAM) as client:
            script = "local found = large.rows({number = 200}):await() result({n = #found.rows, call = found.call})"
            answer = await client.call_tool("execute", {"script": script})
            assert answer.structured_content == {"n": 200, "call": 1}
            look = {"luaServerName": "large", "luaToolName": "rows", "sampleArgs": {"number": 200}}
            shape = (await client.call_tool("inspect-tool-response", look)).structured_content
            assert shape["bytes"] > 400_000
            script = "result({rows = large.rows({number = 100}):await().rows})"
            answer = await client.call_tool("execute", {"script": script})
            uri = answer.meta[KEY]["uri"]
            content = (await client.read_resource(f"{uri}?fields=rows.id&page=1")).contents[0]
            assert json.loads(content.text)["rows"][-1] == {"id": 99}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_two_clients_and_an_end(tmp_path, mode):
    """P17, in processes of their own: guessed and foreign are one answer."""
    options = config(tmp_path, {"large": fixture("large")}, keepResults=True)
    with serving(*options) as served:
        options = {"mode": mode, "extensions": PROGRAM}
        async with Client(served.url, **options) as one, Client(served.url, **options) as other:
            uri = (await one.call_tool("rows", {})).meta[KEY]["uri"]
            assert json.loads((await one.read_resource(f"{uri}?fields=call")).contents[0].text) == {"call": 1}
            refused = [await error_of(one, re.sub(".$", "0", uri) + "x")]
            if mode == "legacy":
                refused.append(await error_of(other, uri))
            else:
                await other.read_resource(f"{uri}?fields=call")
    assert len({json.dumps(error) for error in refused}) == 1
    assert refused[0]["data"]["error"]["code"] == "UNKNOWN_RESULT"
    assert "xxx" not in "".join(served.said)
    assert uri.rpartition("/")[2] not in "".join(served.said)


async def error_of(client, uri):
    with pytest.raises(MCPError) as refused:
        await client.read_resource(uri)
    return refused.value.error.model_dump(exclude_none=True)


def read_louver(folder, louver=None, **upstream):
    server = {"command": "a", "louver": upstream}
    return read_config(write(folder, json.dumps({"mcpServers": {"a": server}, "louver": louver or {}})), ENVIRON)


def test_a_file_says_what_is_said_and_kept(tmp_path):
    """GATEWAY.md: per tool, in the configuration; off by default."""
    assert read_louver(tmp_path, {"warnings": True}).warnings
    assert read_louver(tmp_path, {"keepResults": True}).keep_results == KeptResults()
    assert read_louver(tmp_path, {"keepResults": 5}).keep_results == KeptResults(5)
    assert read_louver(tmp_path, {"keepResults": False}).keep_results is False
    assert read_louver(tmp_path, guidance=[RULE]).upstreams[0].guidance == (GuidanceRule.read(RULE),)
    for louver in ({}, {"warnings": False}):
        assert (read_louver(tmp_path, louver).warnings, read_louver(tmp_path).keep_results) == (False, None)


WRONG_SETTINGS = {
    "a number for warnings": ({"warnings": 5}, "'warnings': expected true or false, not a number"),
    "half a byte": ({"keepResults": 1.5}, "'keepResults': expected true or false or a whole number, not a number"),
    "results of any size": ({"keepResults": 0}, "'keepResults': expected `true`, `false`, or a whole number from 1"),
}
WRONG_RULES = {
    "no note": ({"when": {"path": "a"}}, "'note' is missing"),
    "no condition": ({"when": {}, "note": "n"}, "'when': expected one condition or more"),
    "an unknown condition": (
        {"when": {"matche": "a"}, "note": "n"},
        "unknown key 'matche': expected one of 'path'",
    ),
    "a slow pattern": (
        {"when": {"matches": "(a+)+$"}, "note": "n"},
        "server 'a': guidance: 'matches': expected",
    ),
    "no path": ({"when": {"path": "a["}, "note": "n"}, "server 'a': guidance: field path 'a['"),
    "a step that is none": (
        {"when": {"path": "a"}, "note": "n", "workflow": [1]},
        "'workflow', element 0: expected",
    ),
}


@pytest.mark.parametrize(("louver", "message"), WRONG_SETTINGS.values(), ids=WRONG_SETTINGS)
def test_a_wrong_setting_is_told(tmp_path, louver, message):
    """GATEWAY.md, Start: what would be right."""
    with pytest.raises(InvalidConfig, match=re.escape(message)):
        read_louver(tmp_path, louver)


@pytest.mark.parametrize(("rule", "message"), WRONG_RULES.values(), ids=WRONG_RULES)
def test_a_wrong_rule_is_told(tmp_path, rule, message):
    """Likewise."""
    with pytest.raises(InvalidConfig, match=re.escape(message)):
        read_louver(tmp_path, guidance=[rule])


def ruled(folder, *, allow="*", key=b"k" * 32):
    """A policy of two sets of names, whose order is another in each process."""
    who = {"roles": ["admin", "staff", "guest"], "scopes": ["read", "write"]}
    rules = [{"name": "staff", "who": who, "allow": ["*"]}, {"name": "all", "allow": [allow]}]
    (folder / "it.policy.json").write_text(json.dumps({"version": "1", "tools": {"*": {"rules": rules}}}))
    return Policy.read(folder / "it.policy.json", key)


async def test_results_are_kept_under_a_policy_for_as_long_as_that_is_the_same(tmp_path):
    """Ours: nothing that was kept under another policy is read under this one."""
    upstream = UpstreamConfig("large", "stdio", command=LARGE, policy=ruled(tmp_path))
    config = Config((upstream,), keep_results=KeptResults(over_bytes=1_000))
    gateway = Gateway(config, single_client=False)
    try:
        async with connect(sdk_server(gateway.answer), NEW) as wire:
            uri = uri_of(await wire.call("rows", {"number": 5}))

            async def policed(policy):
                await gateway.reconfigure(replace(config, upstreams=(replace(upstream, policy=policy),)))

            for other in (ruled(tmp_path, allow="call"), ruled(tmp_path, key=b"l" * 32), None):
                await policed(other)
                with pytest.raises(MCPError):
                    await read(wire, uri)
            unpruned = uri_of(await wire.call("rows", {"number": 5}))
            await policed(ruled(tmp_path))
            with pytest.raises(MCPError):
                await read(wire, unpruned)
            assert (await read(wire, f"{uri}?fields=call"))[0] == {"call": 1}
    finally:
        await gateway.close()


def test_a_policy_has_one_name_in_all_processes(tmp_path):
    """Ours: by its content; and by the secret of its pseudonyms, which it does not tell."""
    policy = ruled(tmp_path)
    script = (
        "import sys; from pathlib import Path; from louver.policy.policy import Policy\n"
        "from louver.steps.policy.enforcer import PolicyEnforcer\n"
        "print(PolicyEnforcer('it', Policy.read(Path(sys.argv[1]), b'k' * 32)).id)"
    )
    for seed in ("1", "2"):
        made = subprocess.run(
            [sys.executable, "-c", script, policy.file],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=FAILSAFE_S,
        )
        assert made.stdout.strip() == PolicyEnforcer("it", policy).id
    others = [
        replace(policy, **{name: value})
        for name, value in {
            "version": "2",
            "errors": "passthrough",
            "meta": frozenset({"a/b"}),
            "allowed_features": frozenset({"logging"}),
            "resources": ("file:///a",),
            "key": b"l" * 32,
            "tools": {"rows": policy.tools["*"]},
        }.items()
    ]
    assert (
        len({PolicyEnforcer("it", each).id for each in (policy, *others)} | {PolicyEnforcer("that", policy).id})
        == len(others) + 2
    )
    assert PolicyEnforcer("it", replace(policy, file=None)).id == PolicyEnforcer("it", policy).id
