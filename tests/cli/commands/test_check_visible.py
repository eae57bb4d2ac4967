"""`louver check --as`, before a file and before a real server."""

from __future__ import annotations

import json

import pytest

from fixtures.command import louver
from gateway.served import fixture
from louver.errors import InvalidInput
from louver.policy.policy import Policy
from louver.policy.principal import NOBODY, Principal, read_principal
from louver.steps.policy.visible_tools import VisibleTools

SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "ssn": {"type": "string"}, "email": {"type": "string"}},
    "required": ["id"],
}
POLICY = {
    "version": "1",
    "tools": {
        "get_user": {
            "rules": [
                {"name": "admins", "who": {"roles": ["admin"]}, "allow": ["*"]},
                {"name": "support", "who": {"scopes": ["a:b"]}, "allow": ["id", "ssn"], "mask": ["ssn"]},
            ]
        },
        "all": {"rules": [{"name": "one", "deny": ["ssn"], "hash": ["email"]}]},
        "finds": {"rules": [{"name": "one", "deny": ["ssn"]}]},
        "get_label": {"rules": [{"name": "one", "deny": ["**.ssn"]}]},
        "get_order": {"rules": [{"name": "one", "deny": ["number"]}]},
    },
}


@pytest.fixture
def explain(tmp_path):
    """Run the command: what it returns, prints and tells."""
    policy, schema = tmp_path / "it.policy.json", tmp_path / "schema.json"
    policy.write_text(json.dumps(POLICY))
    schema.write_text(json.dumps(SCHEMA))

    def run(who, tool, *more):
        options = [each.format(schema=schema) for each in more or ("--schema", "{schema}")]
        return louver("check", "--policy", policy, "--as", who, "--tool", tool, *options)

    return run


def row(out, field):
    """What is said of a field."""
    line = next(line for line in out.splitlines() if line.startswith(f"│ {field} "))
    return [cell.strip() for cell in line.strip("│").split("│")][1:]


def schema_in(out):
    return json.loads(out[out.index("\n{") :])


def test_fields_are_told_with_their_rule(explain):
    """PRIVACY.md, "Policy file": what is seen, and why."""
    status, out, err = explain("scope:a:b", "get_user")
    assert (status, err) == (0, "")
    assert out.startswith("By rule 'support'.\n")
    assert row(out, "id") == ["seen", ""]
    assert row(out, "ssn") == ["masked", "support"]
    assert row(out, "email") == ["dropped", "support"]
    assert schema_in(out)["properties"] == {"id": {"type": "integer"}, "ssn": {"const": "[masked]"}}


def test_the_notes_of_a_louver_behind_the_server_are_no_field(explain, tmp_path):
    """Ours: only what has exactly their schema."""
    file = tmp_path / "notes.json"
    for notes, is_field in ({"type": "array", "items": {"type": "string"}}, False), ({"type": "string"}, True):
        file.write_text(json.dumps({**SCHEMA, "properties": {"louver": notes, **SCHEMA["properties"]}}))
        _, out, _ = explain("scope:a:b", "get_user", "--schema", str(file))
        assert ("│ louver " in out) == is_field
        assert row(out, "id") == ["seen", ""]


def test_the_same_as_json(explain):
    """Ours."""
    status, out, err = explain("scope:a:b", "get_user", "--schema", "{schema}", "--json")
    assert (status, err) == (0, "")
    told = json.loads(out)
    listed = told.pop("schema")
    assert listed["properties"] == {"id": {"type": "integer"}, "ssn": {"const": "[masked]"}}
    assert told == {
        "tool": "get_user",
        "as": "scope:a:b",
        "rule": "support",
        "digest": None,
        "fields": [{"path": "id", "is": "seen"}, {"path": "ssn", "is": "masked"}, {"path": "email", "is": "dropped"}],
    }
    status, out, _ = explain("nobody", "get_user", "--schema", "{schema}", "--json")
    assert status == 1
    assert json.loads(out)["rule"] is None
    assert {field["is"] for field in json.loads(out)["fields"]} == {"hidden"}


def test_the_difference_of_two_callers(explain):
    """Ours: which fields one of them sees, and what the other gets instead."""
    status, out, err = explain("role:admin", "get_user", "--schema", "{schema}", "--against", "scope:a:b")
    assert (status, err) == (0, "")
    assert out.startswith("role:admin: by rule 'admins'.\nscope:a:b: by rule 'support'.\n")
    assert row(out, "ssn") == ["seen", "masked"]
    assert row(out, "email") == ["seen", "dropped"]
    assert "│ id " not in out
    status, out, _ = explain("nobody", "get_user", "--schema", "{schema}", "--against", "role:admin", "--json")
    assert status == 0
    assert json.loads(out) == {
        "tool": "get_user",
        "as": "nobody",
        "against": "role:admin",
        "differences": [{"path": name, "as": "hidden", "against": "seen"} for name in ("id", "ssn", "email")],
    }
    status, out, _ = explain("nobody", "get_user", "--schema", "{schema}", "--against", "scope:x")
    assert (status, out.splitlines()[-1]) == (1, "Both see the same fields.")


@pytest.mark.parametrize(
    ("against", "told"),
    [
        ("nobody", "--against compares fields: name a server whose tool has an output schema, or"),
        ("admin", "--against takes 'nobody', or for example role:support"),
    ],
)
def test_callers_that_cannot_be_compared(tmp_path, against, told):
    """Ours."""
    policy, server = tmp_path / "p.json", fixture("records")
    policy.write_text(
        json.dumps({"version": "1", "tools": {"find_prose": {"rules": [{"name": "one", "deny": ["ssn"]}]}}})
    )
    options = ["--policy", policy, "--as", "nobody", "--tool", "find_prose", "--against", against]
    status, out, err = louver("check", *options, "--", server["command"], *server["args"])
    assert (status, out) == (2, "")
    assert told in err


@pytest.mark.parametrize(
    ("options", "given"), [(["--as", "nobody"], "--as"), (["--tool", "t"], "--tool"), (["--json"], "--json")]
)
def test_half_of_a_question_is_refused(options, given):
    """Ours: before a server is started."""
    status, out, err = louver("check", *options, "--", "no-such-command")
    assert (status, out) == (2, "")
    assert err == f"louver: {given} is of what a caller sees, which takes --as WHO and --tool TOOL\n"


def test_who_meets_no_rule_is_told_so(explain):
    """TRUST.md, "Deny by default"."""
    status, out, err = explain("nobody", "get_user")
    assert (status, err) == (1, "")
    assert out == "get_user is hidden from this caller: no rule matches. A last rule without 'who' is for all.\n"


def test_who_sees_everything_gets_the_schema_as_it_is(explain):
    _, out, _ = explain("role:admin", "get_user")
    assert schema_in(out) == SCHEMA
    assert row(out, "ssn") == ["seen", ""]


@pytest.mark.parametrize(
    ("declared", "listed"),
    [
        ({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}, {"type": ["null", "string"]}),
        ({"type": "string", "maxLength": 3}, {"type": "string"}),
    ],
)
def test_the_schema_is_the_one_that_is_listed(explain, tmp_path, declared, listed):
    """Ours: with room for the text that comes to stand where one is pruned."""
    source = {"type": "object", "properties": {"result": declared}, "required": ["result"]}
    (tmp_path / "label.json").write_text(json.dumps(source))
    status, out, _ = explain("nobody", "get_label", "--schema", str(tmp_path / "label.json"))
    tool = {"name": "get_label", "inputSchema": {}, "outputSchema": source}
    shown = VisibleTools("it", Policy.read(tmp_path / "it.policy.json", bytes(32))).listed_definition(tool, NOBODY)
    assert status == 0
    assert schema_in(out) == shown["outputSchema"]
    assert schema_in(out)["properties"]["result"] == listed


def test_a_pseudonym_is_told_without_a_key(explain):
    """Ours: no value is looked at."""
    _, out, _ = explain("nobody", "all")
    assert row(out, "email") == ["hashed", "one"]
    assert row(out, "ssn") == ["dropped", "one"]


def test_a_tool_that_the_policy_does_not_name_is_there_for_nobody(explain):
    status, out, err = explain("role:admin", "purge")
    assert (status, out) == (1, "")
    assert err == "louver: purge is hidden from everybody: the policy does not name it\n"


def test_a_policy_that_does_not_fit_is_told(explain):
    """PRIVACY.md, "Policy file": a path that the schema cannot have is an error."""
    status, out, err = explain("nobody", "get_order")
    assert (status, out) == (2, "")
    assert "served to nobody: rule 'one' names 'number', which the output cannot have" in err.replace("\n", " ")


def test_a_tool_of_a_server_is_explained(explain):
    """Ours: with the digest by which a policy pins it."""
    server = fixture("records")
    status, out, err = explain("nobody", "find", "--", server["command"], *server["args"])
    assert (status, out) == (1, "")
    assert err == "louver: find is hidden from everybody: the policy does not name it; did you mean 'finds'?\n"
    status, _, err = explain("nobody", "all", "--", server["command"], *server["args"])
    assert status == 2
    assert "there is no tool 'all'" in err
    status, _, err = explain("nobody", "finds", "--", server["command"], *server["args"])
    assert (status, err) == (
        2,
        f"louver: there is no tool 'finds': did you mean 'find' or 'find_prose'? There are {TOOLS}\n",
    )


TOOLS = "'find', 'find_text', 'find_prose', 'own', 'slow'"


@pytest.fixture
def configured(tmp_path):
    """Run the command with a configuration alone, of servers each under a policy of the tools that are named."""

    def run(tool, *more, **policies):
        servers = {"free": {"command": "no-such-command-anywhere"}}
        for name, tools in policies.items():
            rules = {each: {"rules": [{"name": name, "deny": ["total"]}]} for each in tools}
            (tmp_path / f"{name}.json").write_text(json.dumps({"version": "1", "tools": rules}))
            servers[name] = fixture("records", policy=f"{name}.json")
        audit = {"louver": {"audit": {"file": "audit.db"}}} if policies else {}
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers, **audit}))
        config = ["--config", tmp_path / "mcp.json", *more]
        return louver("check", *config, "--as", "nobody", "--tool", tool)

    return run


def test_the_policy_that_a_configuration_names_is_taken(configured):
    """Ours: of the one server that has one, or of that which is named."""
    status, out, err = configured("find", one=["find"])
    assert (status, err) == (0, "")
    assert "By rule 'one'.\n" in out
    assert row(out, "total") == ["dropped", "one"]
    status, out, _ = configured("find", "--server", "two", one=["find"], two=["find"])
    assert (status, "By rule 'two'.\n" in out) == (0, True)
    status, out, err = configured("find", one=["find"], two=["find"])
    assert (status, out) == (2, "")
    assert err == "louver: several servers are under a policy: name one by --server: 'one', 'two'\n"


def test_beside_a_schema_alone_the_policy_is_asked_for_too(tmp_path):
    """Ours."""
    (tmp_path / "schema.json").write_text("{}")
    done = louver("check", "--as", "nobody", "--tool", "find", "--schema", tmp_path / "schema.json")
    assert done.returncode == 2
    assert done.stderr.startswith("louver: name the file of policy by --policy, or by --config")


@pytest.mark.parametrize("options", [[], ["--server", "free"]])
def test_where_no_policy_is_named_it_is_asked_for(configured, options):
    """Ours."""
    status, out, err = configured("find", *options, **({"one": ["find"]} if options else {}))
    assert (status, out) == (2, "")
    assert err == (
        "louver: name the file of policy by --policy, or by --config a file with a server that has a 'policy'\n"
    )


@pytest.mark.parametrize(
    ("text", "principal"),
    [
        ("nobody", NOBODY),
        ("role:a, role:b,scope:x:y", Principal(roles=frozenset({"a", "b"}), scopes=frozenset({"x:y"}))),
        ("client:desk,subject:https://id.example#ann", Principal("https://id.example#ann", "desk")),
    ],
)
def test_a_principal_is_described_in_words(text, principal):
    assert read_principal("--as", text) == principal


@pytest.mark.parametrize("text", ["", "admin", "role:", "team:a", "role:a,"])
def test_what_describes_nobody_is_refused(text):
    with pytest.raises(InvalidInput, match="--as takes 'nobody', or for example"):
        read_principal("--as", text)


def test_a_tool_is_explained_by_the_name_that_the_caller_knows(tmp_path):
    """*Ours*: rules for tools; the policy names it as the server does."""
    rules = [{"who": {"roles": ["admin"]}, "rename": {"get_user": "user"}}, {"allow": ["list_*"]}]
    server = fixture("users", tools=rules, policy="it.policy.json")
    policy = {"version": "1", "tools": {"get_user": {"rules": [{"name": "all", "deny": ["email"]}]}}}
    (tmp_path / "it.policy.json").write_text(json.dumps(policy))
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"it": server}, "louver": {"audit": {"file": "audit.db"}}}))

    def run(who, tool):
        return louver("check", "--config", config, "--as", who, "--tool", tool)

    status, out, _ = run("role:admin", "user")
    assert status == 0
    assert row(out, "email") == ["dropped", "all"]
    status, out, err = run("role:admin", "get_user")
    assert (status, out) == (2, "")
    assert err.endswith("'tools' of the server hides 'get_user' from role:admin: its name is 'user'\n")
    assert run("nobody", "user")[2].endswith("'tools' of the server hides 'user' from nobody\n")
