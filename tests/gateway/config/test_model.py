"""The gateway's configuration: what a file, or a command line, says."""

import dataclasses
import json
from pathlib import Path

import pytest

from gateway.configs import ENVIRON, GOOD, SECRET, of, write
from louver.errors import InvalidConfig, LouverError
from louver.gateway.config.env import UnresolvedVariable, expand_variables, variables
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.config.read import read_config
from louver.gateway.config.validate import schema
from louver.gateway.gateway import Gateway
from louver.wire.uris import is_url

HOSTS = {path.stem: path for path in sorted((Path(__file__).parents[2] / "fixtures" / "hosts").glob("*.json"))}
"""Files as hosts have them."""


def read(folder, content):
    return read_config(write(folder, content), ENVIRON)


def only(folder, **server):
    """The one server of a file."""
    (upstream,) = read(folder, of(it=server)).upstreams
    return upstream


def test_a_file_says_which_servers_there_are_and_how_they_are_shown(tmp_path):
    """GATEWAY, Start: the `mcpServers` file that hosts already use, plus an optional `louver` key."""
    (tmp_path / "views").mkdir()
    (tmp_path / "schemas").mkdir()
    memory = UpstreamConfig(
        "memory",
        "stdio",
        command=("npx", "-y", "@modelcontextprotocol/server-memory"),
        env={"MEMORY": "memory.json"},
        cwd=tmp_path / "data",
    )
    tracker = UpstreamConfig(
        "tracker",
        "http",
        url="http://127.0.0.1:9000/mcp",
        headers={"Authorization": f"Bearer {SECRET}"},
        views=tmp_path / "views",
        schemas=tmp_path / "schemas",
        isolation="session",
        on_change="block",
        timeout_seconds=2.5,
    )
    assert read(tmp_path, GOOD) == Config((memory, tracker), argument="all", listing="omit")


def test_a_byte_order_mark_is_taken(tmp_path):
    """Ours: Windows' editors write it."""
    assert read(
        tmp_path, b"\xef\xbb\xbf" + GOOD.encode().replace(b'"views": "views", "schemas": "schemas",', b"")
    ).upstreams


def test_what_a_file_does_not_say_is_as_the_schema_says(tmp_path):
    """Ours: the defaults stand in the schema, and are those of the code."""
    config = read(tmp_path, of(a={"command": "a"}, b={"url": "http://127.0.0.1/"}))
    assert config == Config(
        (UpstreamConfig("a", "stdio", command=("a",)), UpstreamConfig("b", "http", url="http://127.0.0.1/"))
    )
    gateway, upstream = (schema()["$defs"][name]["properties"] for name in ("gateway", "upstream"))
    assert (config.argument, config.listing) == (gateway["argument"]["default"], gateway["listing"]["default"])
    assert (config.exposure, list(config.keys)) == (
        gateway["exposure"]["default"],
        gateway["keys"]["default"],
    )
    for one in config.upstreams:
        assert one.timeout_seconds == upstream["timeoutSeconds"]["default"]
        assert one.ready_views is upstream["readyViews"]["default"]
        assert one.on_change == upstream["onChange"]["default"]
        assert one.isolation is None
        assert "default" not in upstream["isolation"]


def test_every_setting_of_ours_becomes_a_field():
    """Ours: nothing can be written that nothing reads."""
    fields = {field.name.replace("_", "") for field in dataclasses.fields(UpstreamConfig)}
    assert {name.lower() for name in schema()["$defs"]["upstream"]["properties"]} <= fields
    of_the_file = ("upstreams", "version")
    fields = {field.name.replace("_", "") for field in dataclasses.fields(Config) if field.name not in of_the_file}
    # Policies have the key that they make pseudonyms with; two settings are one field.
    fields = fields - {"limits"} | {"pseudonymkey", "callsperminute", "toolsperminute"}
    assert {name.lower() for name in schema()["$defs"]["gateway"]["properties"]} == fields


def test_what_is_said_of_descriptions_on_demand(tmp_path):
    """DISCLOSURE: keys come from the configuration."""
    (tmp_path / "told").mkdir()
    louver = {"exposure": "minimal", "keys": ["${SECRET}" + 32 * "k"]}
    server = {"command": "a", "louver": {"descriptions": "told"}}
    config = read_config(write(tmp_path, json.dumps({"mcpServers": {"a": server}, "louver": louver})), {"SECRET": "s"})
    assert (config.exposure, config.keys) == ("minimal", ("s" + 32 * "k",))
    assert config.upstreams[0].descriptions == tmp_path / "told"
    assert "kkk" not in repr(config)


def test_ready_views_are_asked_for_server_by_server(tmp_path):
    """Ours: nobody gets them unasked."""
    assert only(tmp_path, command="a", louver={"readyViews": True}).ready_views is True
    assert only(tmp_path, command="a", louver={"readyViews": False}).ready_views is False


def test_one_server_can_be_named_on_the_command_line():
    """GATEWAY, Start."""
    environ = {"MEMORY_FILE_PATH": "memory.json"}
    command = Config.from_command(["npx", "-y", "@modelcontextprotocol/server-memory"], environ)
    assert command == Config(
        (UpstreamConfig("upstream", "stdio", ("npx", "-y", "@modelcontextprotocol/server-memory"), environ),)
    )
    url = Config.from_url("http://127.0.0.1:9000/mcp", {"X-Tenant": "secret"})
    headers = {"X-Tenant": "secret"}
    assert url == Config((UpstreamConfig("upstream", "http", url="http://127.0.0.1:9000/mcp", headers=headers),))
    assert "secret" not in repr(url)
    assert url.only(None) is url


@pytest.mark.parametrize("command", [[], [""], ["", "x"]])
def test_an_empty_command_is_refused(command):
    """Ours."""
    with pytest.raises(InvalidConfig, match="expected the command that starts a server"):
        Config.from_command(command)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:9000",
        "ftp://127.0.0.1/",
        "http://",
        "http:///mcp",
        "http://[::1/mcp",
        "http://a..b/mcp",
        "http://a:99999/",
        "http://a:0/",
        "http://a/ b",
        "http://a/\n",
    ],
)
def test_what_is_no_url_of_http_is_refused_without_being_repeated(url):
    """Ours: a URL may hold a secret."""
    assert not is_url(url)
    with pytest.raises(InvalidConfig) as raised:
        Config.from_url(url)
    assert raised.value.to_json() == {
        "code": "INVALID_CONFIG",
        "message": "expected a URL that begins with http:// or https://",
    }


@pytest.mark.parametrize("host", HOSTS)
def test_the_files_of_hosts_are_read(tmp_path, host):
    """GATEWAY, Start; with the keys that matter only to the host."""
    text = HOSTS[host].read_text(encoding="utf-8")
    servers = json.loads(text)["mcpServers"]
    enabled = [name for name, server in servers.items() if not server.get("disabled")]
    assert [upstream.name for upstream in read(tmp_path, text).upstreams] == enabled


@pytest.mark.parametrize(
    "server", [{"type": "ws", "url": "http://a/ws"}, {"comand": "a"}, {"command": "a", "envFile": ".env"}, {}]
)
def test_of_a_disabled_server_nothing_else_is_read(tmp_path, server):
    """CONFIGURATION: it is left out."""
    config = read(tmp_path, of(off={**server, "disabled": True}, on={"command": "a"}))
    assert [upstream.name for upstream in config.upstreams] == ["on"]
    with pytest.raises(InvalidConfig):
        read(tmp_path, of(off={**server, "disabled": False}, on={"command": "a"}))


def test_every_key_of_a_host_is_accepted_or_refused_for_a_reason(tmp_path):
    """Ours: one that is accepted stands in a file above."""
    seen = "".join(path.read_text(encoding="utf-8") for path in HOSTS.values())
    for key, rules in schema()["$defs"]["server"]["properties"].items():
        if "not" in rules:
            with pytest.raises(InvalidConfig, match=f"'{key}': not possible here. {rules['description']}"):
                read(tmp_path, of(a={"command": "a", key: "x"}))
        elif "x-of" in rules:
            assert f'"{key}"' in seen


def test_a_command_gets_the_variables_of_the_environment(tmp_path):
    """GATEWAY, Start: `${ENV}` in strings; the forms are those of hosts."""
    upstream = only(
        tmp_path,
        command="${EMPTY}npx",
        args=["${TOKEN}${env:TOKEN}", "$${TOKEN}", "$TOKEN", "${NOT_SET:-a:b}", "${NOT_SET:-}", "${DOLLAR}"],
        env={"T": "x ${TOKEN:-none} y"},
    )
    assert upstream.command == ("npx", SECRET * 2, "${TOKEN}", "$TOKEN", "a:b", "", "${TOKEN}")
    assert upstream.env == {"T": f"x {SECRET} y"}


def test_variables_of_a_text_are_named_in_order():
    """Ours: `louver doctor --apply` tells those that must be set."""
    assert variables("${B} ${env:A} ${C:-d} $${D} ${") == ["B", "A"]


@pytest.mark.parametrize("text", ["${", "${}", "${A", "${1}", "${input:x}", "${A:+b}", "a ${A B}", "${Ä}"])
def test_a_mark_that_begins_no_variable_is_refused(text):
    """Ours: else a typing error would reach the server as it stands."""
    with pytest.raises(UnresolvedVariable, match=r"a '\$\{' that begins no variable"):
        expand_variables(text, ENVIRON)


def test_what_may_be_a_secret_is_not_in_what_is_printed_of_a_server(tmp_path):
    """Ours: values are logged sooner or later."""
    command = only(tmp_path, command="${TOKEN}", args=["${TOKEN}"], env={"T": "${TOKEN}"})
    url = only(tmp_path, url="http://${TOKEN}@a/?t=${TOKEN}", headers={"T": "${TOKEN}"})
    assert SECRET in f"{command.command} {url.url}"
    assert SECRET not in f"{command!r} {url!r} {Config((command, url))!r}"


def test_the_examples_of_the_schema_are_read(tmp_path):
    """Ours."""
    (tmp_path / "views").mkdir()
    (tmp_path / "descriptions").mkdir()
    (tmp_path / "tokens.json").touch()
    rules = {"rules": [{"name": "all", "hash": ["author"]}]}
    (tmp_path / "tracker.policy.json").write_text(json.dumps({"version": "1", "tools": {"list_issues": rules}}))
    environ = {"TRACKER_TOKEN": "t", "LOUVER_KEY": 32 * "k", "LOUVER_PSEUDONYM_KEY": 32 * "p"}
    environ["LOUVER_STATE"] = "redis://:secret@127.0.0.1:6379/0"
    for example in schema()["examples"]:
        assert read_config(write(tmp_path, json.dumps(example)), environ).upstreams


def louver(folder, **settings):
    return read(folder, json.dumps({"mcpServers": {"it": {"command": "it"}}, "louver": settings}))


def test_a_state_shows_no_secret(tmp_path):
    shared = louver(tmp_path, state="redis://:${TOKEN}@127.0.0.1:6379/0", keepResults=True)
    assert shared.state.text == f"redis://:{SECRET}@127.0.0.1:6379/0"
    assert SECRET not in repr(shared)


def test_limits_are_on_calls_of_all_tools_and_of_single_ones(tmp_path):
    limits = louver(tmp_path, callsPerMinute=9, toolsPerMinute={"t": 2}).limits
    assert (limits.calls_per_minute, limits.tools_per_minute) == (9, {"t": 2})


WRONG_WORDS = {
    "listing": ({"listing": "relax"}, "'listing' is one of 'relaxed', 'omit', 'strict', not 'relax'"),
    "exposure": (
        {"exposure": "min"},
        "'exposure' is one of 'full', 'deferred', 'minimal', 'discovery', 'gateway', not 'min'",
    ),
    "execute": ({"execute": "on"}, "'execute' is one of 'strict', 'process', 'off', not 'on'"),
    "argument": ({"argument": "some"}, "'argument' is one of 'projectable', 'all', 'off', not 'some'"),
}


@pytest.mark.parametrize(("options", "message"), WRONG_WORDS.values(), ids=WRONG_WORDS)
def test_a_wrong_word_is_refused_from_python_too(options, message):
    """Ours: where no file was held against the schema."""
    with pytest.raises(LouverError) as refused:
        Gateway(Config((), **options), single_client=False)
    assert refused.value.message == message


def test_a_wrong_exposure_is_refused_whatever_the_configuration_says():
    """Likewise."""
    with pytest.raises(LouverError, match="'exposure' is one of"):
        Gateway(Config(()), single_client=False, exposure="one")
