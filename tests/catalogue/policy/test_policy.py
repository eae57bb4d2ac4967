"""Field policy, as a file says it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from louver.catalogue.entry import definition_digest
from louver.errors import InvalidPolicy
from louver.limits import MAX_URI_BYTES
from louver.policy.policy import Policy
from louver.policy.principal import NOBODY, Principal

KEY = b"k" * 32
GOOD = """{
  "$schema": "https://louver.dev/schemas/policy.schema.json",
  "version": "2026-11-20",
  "tools": {
    "get_user": {
      "rules": [
        {"name": "admins", "who": {"roles": ["admin", "owner"]}, "allow": ["*"]},
        {"name": "support", "who": {"scopes": ["support", "read"], "clients": ["desk"]},
         "allow": ["id", "contact"], "deny": ["contact.phone"], "hash": ["contact.email"]},
        {"name": "others", "who": {"roles": ["staff"]}, "allow": ["name", "id"]}
      ]
    },
    "*": {"rules": [{"name": "all", "deny": ["**.ssn"]}]}
  },
  "let": ["progress"],
  "meta": ["com.example/cost"],
  "resources": ["file:///public/*", "file:///one"]
}"""
TOOL: dict[str, Any] = {
    "name": "get_user",
    "description": "Gives one.",
    "inputSchema": {"type": "object"},
    "outputSchema": {
        "type": "object",
        "properties": {
            "id": {},
            "name": {},
            "contact": {"type": "object", "properties": {"phone": {}, "email": {}}, "additionalProperties": False},
        },
        "additionalProperties": False,
    },
}


def write(folder, content):
    path = folder / "it.policy.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.fixture
def policy(tmp_path):
    return Policy.read(write(tmp_path, GOOD), KEY)


def rule(**said):
    return {"name": "r", "allow": ["id"], **said}


def of(rules=None, **more):
    """A policy of one tool."""
    return {"version": "1", "tools": {"t": {"rules": [rule()] if rules is None else rules}}, **more}


@pytest.mark.parametrize(
    ("principal", "name"),
    [
        (Principal(roles=frozenset({"admin", "staff"})), "admins"),
        (Principal(client="desk", scopes=frozenset({"support", "read", "more"})), "support"),
        (Principal(client="desk", scopes=frozenset({"support"})), None),
        (Principal(client="other", scopes=frozenset({"support", "read"})), None),
        (Principal("ann", roles=frozenset({"staff"})), "others"),
        (Principal("admin", "admin", frozenset({"admin"})), None),
        (NOBODY, None),
    ],
)
def test_the_first_rule_counts_that_the_caller_meets_and_there_is_no_other(policy, principal, name):
    """PRIVACY.md, "Policy file": by scope, role or client; TRUST.md, "Deny by default"."""
    rule = policy.of("get_user").rule_for(principal)
    assert (rule.name if rule else None) == name


def test_a_tool_is_for_everybody_by_a_rule_for_everybody(policy):
    """Ours: the others are hidden from those who meet no rule."""
    assert not policy.of("get_user").is_for_everybody
    assert policy.of("get_order").is_for_everybody


def test_a_tool_that_is_not_named_is_one_of_the_others_or_not_there(policy, tmp_path):
    """Ours: what nobody has looked at nobody gets."""
    assert policy.of("get_order").is_for_others
    assert not policy.of("get_user").is_for_others
    assert Policy.read(write(tmp_path, of())).of("get_order") is None


def test_callers_that_see_the_same_are_one_audience(policy):
    """PRIVACY.md, P16: caches are keyed by the caller's policy."""
    ann, bob = (Principal(name, roles=frozenset({"admin"})) for name in ("ann", "bob"))
    assert policy.audience(ann) == policy.audience(bob) == ("admins", "all")
    assert policy.audience(NOBODY) == (None, "all")


@pytest.mark.parametrize(
    ("uri", "covered"),
    [
        ("file:///one", True),
        ("file:///one/more", False),
        ("file:///public/a/b", True),
        ("file:///public/", True),
        ("file:///private", False),
        ("file:///public/../private", False),
        ("file:///public/%2e%2e/private", False),
        ("file:///public/%252E%252e%252fprivate", False),
        ("file:///public/a\\..\\b", False),
        ("file:///public/%25252525252e%25252525252e/private", False),
        (f"file:///public/%{'25' * 1000}2e./private", False),
        ("file:///public/%2e%2e%5cprivate", False),
        ("file:///public/.\t./private", False),
        ("file:///public/.\r\n./private", False),
        ("file:///public/.%0a./private", False),
        ("file:///public/a\x00", False),
        ("file:///public/a\x85b", False),
        ("file:///public/a b", False),
        ("file:///public/a\u2003", False),
        ("file:///public/a%20b%25", True),
        ("file:///public/a..b", True),
        ("file:///public/..;/private", False),
        ("file:///public/%2e%2e%3bx=1/private", False),
        ("file:///public/\uff0e\uff0e/private", False),
        ("file:///public/%EF%BC%8E%EF%BC%8E/private", False),
        ("file:///public/\u2025\uff0fprivate", False),
        ("file:///public/.%E2%80%8B./private", False),
        ("file:///public/a;b/\u00e9\uff0e", True),
        (f"file:///public/{'a' * MAX_URI_BYTES}", False),
        ("", False),
    ],
)
def test_a_resource_is_read_that_is_listed_or_begins_so(policy, uri, covered):
    """PRIVACY.md, P2: nor does an address lead out again."""
    assert policy.covers(uri) is covered


def test_what_a_server_may_say_is_listed(policy):
    """PRIVACY.md, P3 to P5: off unless allowed."""
    assert (policy.allowed_features, policy.meta, policy.errors) == ({"progress"}, {"com.example/cost"}, "constant")
    assert policy.version == "2026-11-20"
    assert policy.file.name == "it.policy.json"


def test_a_key_is_not_shown(policy):
    assert "kkkk" not in repr(policy)


def test_a_tool_must_be_the_one_that_the_rules_were_written_for(tmp_path):
    """PRIVACY.md, "Policy file" and P18: paths that the schema cannot have, and a pinned digest."""
    policy = Policy.read(write(tmp_path, GOOD), KEY)
    assert policy.of("get_user").mismatch_reason(TOOL) is None
    renamed = json.loads(json.dumps(TOOL).replace("phone", "fone"))
    assert policy.of("get_user").mismatch_reason(renamed) == (
        "rule 'support' names 'contact.phone', which the output cannot have; did you mean 'contact.fone'?"
    )
    assert policy.of("get_user").mismatch_reason({**TOOL, "outputSchema": None}) is None
    assert (
        policy.of("x").mismatch_reason({"name": "x", "inputSchema": {}, "outputSchema": TOOL["outputSchema"]}) is None
    )
    said = {"rules": [rule(deny=["**.ssn"])], "digest": definition_digest(TOOL)}
    pinned = Policy.read(write(tmp_path, {"version": "1", "tools": {"get_user": said}})).of("get_user")
    assert pinned.mismatch_reason(TOOL) is None
    for key, other in (("description", "Gives one!"), ("inputSchema", {}), ("outputSchema", None)):
        assert (
            pinned.mismatch_reason({**TOOL, key: other})
            == "its definition is not the one that the policy was written for"
        )
    assert pinned.mismatch_reason({**TOOL, "annotations": {"readOnlyHint": True}}) is None


def test_a_text_that_may_be_json_can_have_any_field(tmp_path):
    """Ours: its schema says nothing of them."""
    text = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
    assert (
        Policy.read(write(tmp_path, of([rule(deny=["a.b"])]))).of("t").mismatch_reason({**TOOL, "outputSchema": text})
        is None
    )


WRONG = {
    "no object": ([], "expected an object with 'version', 'tools'"),
    "no version": ({"tools": {}}, "'version' is missing"),
    "no tools": ({"version": "1"}, "'tools' is missing"),
    "tools that are none": (of() | {"tools": []}, "'tools' is an object of tools, with one or more"),
    "tools without one": (of() | {"tools": {}}, "'tools' is an object of tools, with one or more"),
    "an unknown key": (of(deny=[]), "unknown key 'deny': expected one of '$schema', 'version', 'tools', "),
    "a version that is no text": (of() | {"version": 1}, "expected a text that is not empty"),
    "a tool that is no object": (of() | {"tools": {"t": []}}, "expected an object with 'rules'"),
    "a tool without rules": (of() | {"tools": {"t": {}}}, "'rules' is missing"),
    "a tool with an unknown key": (of() | {"tools": {"t": {"rules": [], "x": 1}}}, "unknown key 'x'"),
    "a digest that is no text": (
        of() | {"tools": {"t": {"rules": [rule()], "digest": 7}}},
        "'digest' is 16 hex digits, as 'louver check --as WHO' prints them",
    ),
    "rules that are no list": (of({}), "'rules' is a list"),
    "no rule": (of([]), "'rules' is a list of one rule or more"),
    "a rule that is none": (of(["all"]), "expected an object with 'name'"),
    "a rule without a name": (of([{"allow": ["id"]}]), "'name' is missing"),
    "an empty name": (of([rule(name="")]), "expected a text that is not empty"),
    "two rules of one name": (of([rule(), rule()]), "there is a rule 'r' already"),
    "a rule that says nothing": (
        of([{"name": "r"}]),
        "a rule has 'allow', 'deny', 'mask' or 'hash'; to show everything, 'allow': [\"*\"]",
    ),
    "a word that is nearly one": (of([rule(alow=["id"])]), "'hash', 'text'; did you mean 'allow'?"),
    "an unknown word": (of([rule(drop=["id"])]), "unknown key 'drop': expected one of 'name', 'who', 'allow'"),
    "who is no object": (of([rule(who="admin")]), "expected an object with 'scopes', 'roles', 'clients'"),
    "an unknown kind of caller": (of([rule(who={"role": ["a"]})]), "unknown key 'role'"),
    "roles that are no list": (of([rule(who={"roles": "admin"})]), "'roles' is a list"),
    "roles of which there are none": (of([rule(who={"roles": []})]), "'roles' names one or more"),
    "a role that is no text": (of([rule(who={"roles": [7]})]), "expected a text that is not empty"),
    "paths that are no list": (of([rule(deny="id")]), "'deny' is a list"),
    "no path": (of([rule(deny=[])]), "'deny' names one field or more"),
    "a path that is no text": (of([rule(deny=[1])]), "expected a text that is not empty"),
    "a path that is none": (of([rule(deny=["a..b"])]), "field path 'a..b': expected a name"),
    "a filter": (of([rule(deny=["a[?b]"])]), "field path 'a[?b]': "),
    "any depth where it is allowed": (of([rule(allow=["**.id"])]), "field path '**.id': "),
    "everything masked": (of([rule(mask=["*"])]), "'mask' names fields: something else cannot stand instead"),
    "everything hashed": (of([rule(hash=["*"])]), "'hash' names fields: something else cannot stand instead"),
    "a pseudonym without a key": (of([rule(hash=["id"])]), "tool 't': 'hash' needs a secret key: 'pseudonymKey' under"),
    "text of another kind": (of([rule(text="drop")]), "expected one of 'withhold', 'pass'"),
    "errors of another kind": (of(errors="pass"), "expected one of 'constant', 'passthrough'"),
    "an unknown word that is let": (of(let=["tools"]), "expected one of 'progress', 'logging', 'elicitation'"),
    "let that is no list": (of(let="progress"), "'let' is a list"),
    "meta that is no list": (of(meta={}), "'meta' is a list"),
    "a resource that is no text": (of(resources=[None]), "expected a text that is not empty"),
}


@pytest.mark.whole
@pytest.mark.parametrize("said", WRONG)
def test_what_is_no_policy_is_told_with_its_line(tmp_path, said):
    """PRIVACY.md, "Policy file": validated at start."""
    content, message = WRONG[said]
    with pytest.raises(InvalidPolicy) as wrong:
        Policy.read(write(tmp_path, content))
    assert message in wrong.value.message
    assert str(wrong.value).startswith(f"{tmp_path / 'it.policy.json'}:1: ")


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ('"roles": ["admin", "owner"]', '"roles": ["admin", 7]', 7),
        ('"deny": ["contact.phone"]', '"deny": ["contact..phone"]', 9),
        ('"name": "others"', '"name": "support"', 10),
        ('"let": ["progress"]', '"let": ["tools"]', 15),
        ('"let": ["progress"]', '"lets": ["progress"]', 15),
        ('"file:///one"', "7", 17),
        ('"all", "deny": ["**.ssn"]', '"all"', 13),
        ('"rules": [{"name": "all"', '"rules": [{"name": "all", "name": "one"', 13),
        ('"let"', '"let" "let"', 15),
    ],
)
def test_the_line_is_that_of_what_is_wrong(tmp_path, before, after, line):
    assert before in GOOD
    with pytest.raises(InvalidPolicy) as wrong:
        Policy.read(write(tmp_path, GOOD.replace(before, after, 1)), KEY)
    assert str(wrong.value).startswith(f"{tmp_path / 'it.policy.json'}:{line}: ")


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(InvalidPolicy, match=r"nowhere\.json: the file of policy cannot be read: "):
        Policy.read(tmp_path / "nowhere.json")
    (tmp_path / "it.json").write_bytes(b"\xff")
    with pytest.raises(InvalidPolicy, match="it is not UTF-8"):
        Policy.read(tmp_path / "it.json")


def test_an_address_with_a_character_that_readers_skip_is_read_as_it_is_listed():
    """Ours: an exact entry is what its author has written."""
    assert Policy("1", {}, resources=("file:///a\tb",)).covers("file:///a\tb")
