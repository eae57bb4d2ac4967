"""Secrets in files, wherever a variable can stand."""

import json
import os

import pytest

from gateway.configs import SECRET, mount, write
from louver.errors import InvalidConfig
from louver.gateway.config.read import read_config

KEY = f"{SECRET}-of-32-bytes-or-more-here"


def test_a_file_stands_for_its_content_wherever_a_variable_can(tmp_path, monkeypatch):
    """TEAM.md, "Second look", row 5: it did in headers alone."""
    monkeypatch.setenv("HOME", str(tmp_path))
    rules = {"rules": [{"name": "all", "hash": ["author"]}]}
    (tmp_path / "policy.json").write_text(json.dumps({"version": "1", "tools": {"t": rules}}))
    mount(tmp_path / "secret", key=f"{KEY}\n", word=f"{SECRET}\r\n", place="shipped.jsonl")
    word = "${file:secret/word}"
    servers = {
        "process": {
            "command": "a",
            "args": [f"--token={word}"],
            "env": {"TOKEN": f"{word}-${{TOKEN}}", "NO": f"${word}"},
        },
        "policed": {"command": "a", "louver": {"policy": "policy.json"}},
        "http": {
            "url": f"https://a.example/{word}/mcp",
            "louver": {"oauth": {"clientId": "a", "clientSecret": word, "issuer": "https://b.example"}},
        },
    }
    louver = {
        "keys": ["${file:~/secret/key}", KEY],
        "state": f"redis://:{word}@127.0.0.1:6379/0",
        "pseudonymKey": "${file:secret/key}",
        "audit": {"file": "audit.db", "shipTo": "${file:secret/place}"},
    }
    content = json.dumps({"mcpServers": servers, "louver": louver})
    config = read_config(write(tmp_path, content), {"TOKEN": "variable"})
    process, policed, http = config.upstreams
    assert process.command == ("a", f"--token={SECRET}")
    assert process.env == {"TOKEN": f"{SECRET}-variable", "NO": "${file:secret/word}"}
    assert policed.policy.key == KEY.encode()
    assert (http.url, http.oauth.client_secret) == (f"https://a.example/{SECRET}/mcp", SECRET)
    assert config.keys == (KEY, KEY)
    assert config.state.text == f"redis://:{SECRET}@127.0.0.1:6379/0"
    assert config.audit.ship_to == tmp_path / "shipped.jsonl"
    assert SECRET not in repr(config)


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [
        (None, 0o600, "No such file or directory"),
        ("\r\n", 0o600, "it is empty"),
        (KEY.encode() + b"\xff", 0o600, "it is not UTF-8"),
        (KEY * 2000, 0o600, "it has over 65,536 bytes"),
        (KEY, 0o606, "others than its owner can write it (mode 606)"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_setting_and_without_its_content(tmp_path, content, mode, reason):
    """Ours."""
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.chmod(file, mode)
    path = write(tmp_path, '{"mcpServers": {"a": {"command": "a"}}, "louver": {\n"keys": ["${file:key}"]}}')
    with pytest.raises(InvalidConfig) as refused:
        read_config(path)
    assert str(refused.value).startswith(f"{path}:2: 'keys': the file '{file}' cannot be read: {reason}")
    assert SECRET not in str(refused.value)
