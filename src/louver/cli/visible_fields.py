"""`louver check --as WHO --tool TOOL`: which fields of the tool's output a policy shows to a caller, and by which rule.

    louver check --policy crm.policy.json --as role:support --tool get_customer --schema output.schema.json
    louver check --config mcp.json --server crm --as nobody --tool get_customer

It prints each field with its visibility, then the schema that the principal is listed; with `--against`, the fields
that two principals see differently.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from louver.catalogue.entry import definition_digest
from louver.catalogue.files.folder import read_json
from louver.cli import process, servers, terminal, upstreams
from louver.cli.json_streams import write
from louver.cli.upstreams import unknown_tool_error
from louver.core.nearest import did_you_mean
from louver.errors import InvalidInput, InvalidPolicy
from louver.policy.policy import Policy
from louver.policy.principal import read_principal
from louver.steps.policy.explain import PLACEHOLDER_KEY, explain

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from louver.core.json import Schema
    from louver.gateway.config.model import Config
    from louver.policy.principal import Principal
    from louver.steps.policy.explain import Explanation


@dataclass(frozen=True, slots=True)
class _Tool:
    """What the options say of the tool."""

    name: str
    definition: dict[str, Any]
    digest: str | None = None  # by which a policy pins the definition of a server

    @property
    def schema(self) -> Schema | None:
        return self.definition.get("outputSchema")


def show(arguments: Namespace) -> int:
    """Print the visible fields and the schema, or the differences; return 1 if the policy hides the tool."""
    principals = {arguments.who: read_principal("--as", arguments.who)}
    if arguments.against is not None:
        principals[arguments.against] = read_principal("--against", arguments.against)
    config = None if arguments.schema is not None else servers.read(arguments)
    if arguments.policy is not None:
        policy = Policy.read(Path(arguments.policy), PLACEHOLDER_KEY)
    else:
        config, policy = _with_policy(config)
    name = _name_at_server(arguments.tool, config, principals)
    if policy.of(name) is None:
        suggestion = did_you_mean(name, policy.tools)
        terminal.print_stderr(f"{name} is hidden from everybody: the policy does not name it{suggestion}")
        return 1
    tool = _tool(name, arguments, config)
    callers = {who: explain(policy, tool.name, tool.definition, principal) for who, principal in principals.items()}
    if arguments.against is None:
        _show(arguments.who, callers[arguments.who], tool, as_json=arguments.json)
    else:
        _compare(callers, arguments.who, arguments.against, tool, as_json=arguments.json)
    return 1 if all(caller.rule is None for caller in callers.values()) else 0


def _with_policy(config: Config | None) -> tuple[Config, Policy]:
    """The configuration with just the one server that has a policy, and that policy."""
    with_policy = (
        [] if config is None else [(each, each.policy) for each in config.upstreams if each.policy is not None]
    )
    if config is None or not with_policy:
        raise InvalidInput(
            "name the file of policy by --policy, or by --config a file with a server that has a 'policy'"
        )
    if len(with_policy) > 1:
        names = ", ".join(repr(each.name) for each, _ in with_policy)
        raise InvalidInput(f"several servers are under a policy: name one by --server: {names}")
    [(upstream, policy)] = with_policy
    return replace(config, upstreams=(upstream,)), policy


def _name_at_server(name: str, config: Config | None, principals: Mapping[str, Principal]) -> str:
    """The server's name of a tool, by the name that all of these callers know."""
    rules = None if config is None or len(config.upstreams) > 1 else next(iter(config.upstreams)).tools
    if rules is None:
        return name
    for who, principal in principals.items():
        if rules.tool_for(rule := rules.rule_for(principal), name) is None:
            known_as = f": its name is {rule.rename[name]!r}" if name in rule.rename else ""
            raise InvalidInput(f"'tools' of the server hides {name[:80]!r} from {who}{known_as}")
    return rules.tool_of(name)


def _tool(name: str, arguments: Namespace, config: Config | None) -> _Tool:
    if arguments.schema is not None:
        schema, _ = read_json(Path(arguments.schema), "schema", InvalidPolicy)
        return _Tool(name, {"name": name, "inputSchema": {}, "outputSchema": schema})
    assert config is not None, "either it or a schema is named"
    definition = process.run(_fetch_definition(name, config))
    return _Tool(name, definition, definition_digest(definition))


async def _fetch_definition(tool: str, config: Config) -> dict[str, Any]:
    async with upstreams.open_gateway(config) as (_, states):
        for state in states:
            if state.problem is not None:
                raise InvalidInput(f"server {state.name!r}: {state.problem}")
        found = {each["name"]: each for state in reversed(states) for each in state.own_tools}
    if tool not in found:
        raise unknown_tool_error(tool, found)
    return found[tool]


def _show(who: str, caller: Explanation, tool: _Tool, *, as_json: bool) -> None:
    fates = {} if tool.schema is None else _fates(caller, tool.schema)
    if as_json:
        rule = None if caller.rule is None else caller.rule.name
        fields = None if tool.schema is None else [{"path": path, "is": fate} for path, fate in fates.items()]
        answer = {"tool": tool.name, "as": who, "rule": rule, "digest": tool.digest}
        write({**answer, "fields": fields, "schema": caller.listed_schema})
        return
    if tool.digest is not None:
        _print(f"The definition of {tool.name} is {tool.digest}, for 'digest'.")
    if caller.rule is None:
        _print(f"{tool.name} is hidden from this caller: no rule matches. A last rule without 'who' is for all.")
        return
    _print(f"By rule {caller.rule.name!r}.")
    if tool.schema is None:
        _print("The tool declares no output schema: of its JSON the same fields are seen, of its text nothing.")
    else:
        rows = [(path, fate, "" if fate == "seen" else caller.rule.name) for path, fate in fates.items()]
        terminal.console().print(_table(("field", "is", "by rule"), rows))
    if caller.listed_schema is not None:
        write(caller.listed_schema)


def _compare(callers: Mapping[str, Explanation], who: str, against: str, tool: _Tool, *, as_json: bool) -> None:
    if tool.schema is None:
        raise InvalidInput("--against compares fields: name a server whose tool has an output schema, or --schema")
    first, second = _fates(callers[who], tool.schema), _fates(callers[against], tool.schema)
    rows = [(path, fate, second[path]) for path, fate in first.items() if fate != second[path]]
    if as_json:
        differences = [{"path": path, "as": fate, "against": other} for path, fate, other in rows]
        write({"tool": tool.name, "as": who, "against": against, "differences": differences})
        return
    for name in (who, against):
        rule = callers[name].rule
        by = "no rule, which hides the tool" if rule is None else f"rule {rule.name!r}"
        _print(f"{name}: by {by}.")
    if rows:
        terminal.console().print(_table(("field", who, against), rows))
    else:
        _print("Both see the same fields.")


def _fates(caller: Explanation, schema: Schema) -> dict[str, str]:
    return {str(path): fate for path, fate in caller.fates(schema).items()}


def _print(text: str) -> None:
    terminal.console().print(terminal.literal_text(text))


def _table(headings: tuple[str, str, str], rows: list[tuple[str, str, str]]) -> Table:
    table = Table()
    for heading in headings:
        table.add_column(terminal.literal_text(heading), overflow="fold")
    for row in rows:
        table.add_row(*map(terminal.literal_text, row))
    return table
