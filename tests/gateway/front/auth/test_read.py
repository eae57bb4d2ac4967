"""What a configuration says of tokens, of the client over stdio, and of audit."""

import json

import pytest

from gateway.configs import write
from louver.errors import InvalidConfig
from louver.gateway.config.auth import Auth, Jwks, Tokens
from louver.gateway.config.model import AuditSettings
from louver.gateway.config.read import read_config
from louver.gateway.config.validate import schema
from louver.limits import AUDIT_DAYS
from louver.policy.principal import Principal

RESOURCE = "https://mcp.example/mcp"


def read(folder, **louver):
    content = json.dumps({"mcpServers": {"a": {"command": "a"}}, "louver": louver}, indent=1)
    return read_config(write(folder, content), {"SECRET": "s3cr3t", "ID": "id.example"})


def test_keys_stand_at_a_url(tmp_path):
    """Ours; the audience is the resource, unless it is said."""
    auth = {"jwks": "https://${ID}/jwks", "issuer": "https://id.example", "resource": RESOURCE}
    by = Jwks("https://id.example/jwks")
    expected = Auth(by, resource=RESOURCE, issuer="https://id.example", audience=RESOURCE)
    assert read(tmp_path, auth=auth).auth == expected
    assert read(tmp_path, auth={**auth, "audience": "louver"}).auth.audience == "louver"


def test_keys_stand_in_a_file(tmp_path):
    """Ours."""
    (tmp_path / "jwks.json").touch()
    auth = {"jwks": "jwks.json", "audience": "louver", "requiredScopes": ["a", "b"]}
    expected = Auth(Jwks(tmp_path / "jwks.json"), ("a", "b"), audience="louver")
    assert read(tmp_path, auth=auth).auth == expected


def test_tokens_stand_in_a_file(tmp_path):
    """Ours; they are for this server alone, so no audience is needed."""
    (tmp_path / "tokens.json").touch()
    assert read(tmp_path, auth={"tokens": "tokens.json"}).auth == Auth(Tokens(tmp_path / "tokens.json"))


def test_the_client_over_stdio_is_somebody(tmp_path):
    """Ours."""
    said = {"subject": "ann", "client": "${ID}", "scopes": ["a"], "roles": ["support"]}
    expected = Principal("ann", "id.example", frozenset({"a"}), frozenset({"support"}))
    assert read(tmp_path, principal=said).principal == expected
    assert read(tmp_path).principal is None


def test_a_policy_needs_an_audit(tmp_path):
    """PRIVACY.md, "Audit": no audit record, no answer."""
    rules = {"rules": [{"name": "all", "allow": ["*"]}]}
    (tmp_path / "a.policy.json").write_text(json.dumps({"version": "1", "tools": {"*": rules}}))
    server = {"command": "a", "louver": {"policy": "a.policy.json"}}
    with pytest.raises(InvalidConfig, match="server 'a': 'policy' needs 'audit' under 'louver' at the top"):
        read_config(write(tmp_path, json.dumps({"mcpServers": {"a": server}})))


def test_audit_has_a_file(tmp_path):
    """PRIVACY.md, "Audit", which needs no policy; retention in days."""
    assert read(tmp_path, audit={"file": "audit.db"}).audit == AuditSettings(tmp_path / "audit.db", AUDIT_DAYS)
    assert read(tmp_path, audit={"file": "audit.db", "retentionDays": 7}).audit.retention_days == 7
    assert schema()["$defs"]["audit"]["properties"]["retentionDays"]["default"] == AUDIT_DAYS


def test_records_are_shipped_to_a_file(tmp_path):
    """Ours: under a key by which all replicas name principals alike, which is not the secret itself."""
    found = read(tmp_path, audit={"file": "audit.db", "shipTo": "audit.jsonl"}, pseudonymKey="k" * 32).audit
    assert found.ship_to == tmp_path / "audit.jsonl"
    assert b"k" * 32 not in found.shipping_key
    assert repr(found.shipping_key) not in repr(found)


WRONG = {
    "no way": ({"auth": {"resource": RESOURCE}}, "'auth': expected either 'jwks' or 'tokens'"),
    "two ways": ({"auth": {"jwks": "a", "tokens": "b"}}, "expected either 'jwks' or 'tokens'"),
    "no audience": (
        {"auth": {"jwks": "https://id.example/jwks"}},
        "expected 'audience' or 'resource': without them tokens for other servers would be taken",
    ),
    "keys that anybody on the way can change": (
        {"auth": {"jwks": "http://id.example/jwks", "audience": "a"}},
        "'jwks': expected a URL that begins with https://",
    ),
    "keys that are not there": ({"auth": {"jwks": "jwks.json", "audience": "a"}}, "'jwks': there is no such file"),
    "tokens in a folder that is not there": (
        {"auth": {"tokens": "no/t.json"}},
        "'tokens': there is no such folder: 'no'",
    ),
    "algorithms that were named": (
        {"auth": {"jwks": "a", "audience": "a", "algorithms": ["ES256"]}},
        "each algorithm is accepted that the issuer's public keys are for: leave out 'algorithms'",
    ),
    "an issuer with a fragment": (
        {"auth": {"tokens": "a", "issuer": "https://id.example/#a"}},
        "'issuer': expected a URL that begins with https://, without '#'",
    ),
    "opaque tokens": ({"auth": {"introspection": {}}}, "tokens are not introspected any more: 'jwks', or a proxy"),
    "nobody": (
        {"principal": {"roles": ["admin"]}},
        "'principal': expected a principal with a subject, a client, or both",
    ),
    "two roles in one": ({"principal": {"subject": "a", "roles": ["a b"]}}, "expected a word without white space"),
    "no audit file": ({"audit": {}}, "'file' is missing"),
    "an audit file in no folder": ({"audit": {"file": "no/a.db"}}, "'file': there is no such folder: 'no'"),
    "shipped under no key": ({"audit": {"file": "a.db", "shipTo": "a.jsonl"}}, "'shipTo' needs 'pseudonymKey'"),
    "shipped to a database": (
        {"audit": {"file": "a.db", "shipTo": "postgres://:s3cr3t@10.0.0.7/louver"}, "pseudonymKey": "k" * 32},
        "'shipTo': records are shipped to no database any more: expected the path of a file",
    ),
    "shipped to no folder": (
        {"audit": {"file": "a.db", "shipTo": "no/a.jsonl"}, "pseudonymKey": "k" * 32},
        "'shipTo': there is no such folder: 'no'",
    ),
    "records for no time": ({"audit": {"file": "a.db", "retentionDays": 0}}, "expected a number over 0"),
}


@pytest.mark.parametrize(("louver", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_used_is_told(tmp_path, louver, message):
    """Ours: by file and line, without a secret."""
    with pytest.raises(InvalidConfig) as raised:
        read(tmp_path, **louver)
    assert message in raised.value.message
    assert raised.value.fields["line"] > 1
    assert "s3cr3t" not in raised.value.message


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_what_never_leaves_the_machine_needs_no_encryption(tmp_path, host):
    """Ours: as in RFC 8252 section 8.3."""
    assert read(tmp_path, auth={"jwks": f"http://{host}:1/jwks", "audience": "a"}).auth is not None
