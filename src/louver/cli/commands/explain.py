"""`louver explain`: which fields of a tool's output a policy shows to a principal, and by which rule.

    louver explain --policy crm.policy.json --as role:support --tool get_customer --schema output.schema.json
    louver explain --config mcp.json --upstream crm --as nobody --tool get_customer

It prints each field with its visibility, then the schema that the principal is listed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from louver.catalogue.files.folder import read_json
from louver.catalogue.policy.policy import Policy, definition_digest
from louver.catalogue.policy.principal import Principal
from louver.cli import signals, terminal, upstreams
from louver.cli.request import write
from louver.cli.samples import unknown_tool_error
from louver.core.nearest import did_you_mean
from louver.core.policy.visibility import Visibility
from louver.core.schema.outline import outline
from louver.errors import InvalidInput, InvalidPolicy
from louver.server.policy.visible_tools import VisibleTools

if TYPE_CHECKING:
    from argparse import Namespace

    from louver.catalogue.policy.policy import Rule
    from louver.core.json import Schema
    from louver.gateway.config.model import Config

_PLACEHOLDER_KEY: Final = b"\0" * 32  # placeholder for the pseudonym key: no value is pruned here

_PRINCIPAL_PARTS: Final = ("role", "scope", "client", "subject")


def run(arguments: Namespace) -> int:
    """Print the visible fields and the schema; return 1 if the policy hides the tool."""
    principal, config = parse_principal(arguments.who), _config(arguments)
    if arguments.policy is not None:
        policy = Policy.read(Path(arguments.policy), _PLACEHOLDER_KEY)
    else:
        config, policy = _with_policy(config)
    tool_policy = policy.of(arguments.tool)
    if tool_policy is None:
        suggestion = did_you_mean(arguments.tool, policy.tools)
        print(f"{arguments.tool}: there for nobody, for the policy does not name it{suggestion}")
        return 1
    definition = _definition(arguments, config)
    if (problem := None if definition is None else tool_policy.mismatch_reason(definition)) is not None:
        raise InvalidPolicy(f"tool {arguments.tool!r} is served to nobody: {problem}", file=str(policy.file))
    rule = tool_policy.rule_for(principal)
    if rule is None:
        print(f"{arguments.tool}: not there for this caller: no rule matches. A last rule without 'who' is for all.")
        return 1
    visible = None if definition is None else VisibleTools(arguments.tool, policy).visible_tool(definition, principal)
    _show(rule, definition)
    if visible is not None and visible.listed_schema is not None:
        write(visible.listed_schema)
    return 0


def parse_principal(text: str) -> Principal:
    """The principal of `nobody`, or of a list such as `role:support,scope:orders:read,client:desk`."""
    parts: dict[str, list[str]] = {kind: [] for kind in _PRINCIPAL_PARTS}
    for part in [] if text == "nobody" else text.split(","):
        word, separator, value = part.strip().partition(":")
        if not separator or not value or word not in parts:
            raise InvalidInput("--as takes 'nobody', or for example role:support,scope:orders:read,client:desk")
        parts[word].append(value)
    last = {word: values[-1] if values else None for word, values in parts.items()}
    return Principal(last["subject"], last["client"], frozenset(parts["scope"]), frozenset(parts["role"]))


def _config(arguments: Namespace) -> Config | None:
    """The configuration that the options name, if any."""
    if arguments.config is None and arguments.url is None and not arguments.command_line:
        return None
    return upstreams.only(upstreams.read(arguments), arguments.upstream)


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
        raise InvalidInput(f"several servers are under a policy: name one by --upstream: {names}")
    [(upstream, policy)] = with_policy
    return replace(config, upstreams=(upstream,)), policy


def _definition(arguments: Namespace, config: Config | None) -> dict[str, Any] | None:
    """The tool's definition, if the options name a schema or a server."""
    if arguments.schema is not None:
        schema, _ = read_json(Path(arguments.schema), "schema", InvalidPolicy)
        return {"name": arguments.tool, "inputSchema": {}, "outputSchema": schema}
    return None if config is None else signals.run(_fetch_definition(arguments.tool, config))


async def _fetch_definition(tool: str, config: Config) -> dict[str, Any]:
    async with upstreams.open_gateway(config) as (_, states):
        for state in states:
            if state.problem is not None:
                raise InvalidInput(f"server {state.name!r}: {state.problem}")
        found = {each["name"]: each for state in reversed(states) for each in state.tools}
    if tool not in found:
        raise unknown_tool_error(tool, found)
    print(f"The definition of {tool} is {definition_digest(found[tool])}, for 'digest'.")
    return found[tool]


def _show(rule: Rule, definition: dict[str, Any] | None) -> None:
    console = terminal.console()
    console.print(terminal.literal_text(f"By rule {rule.name!r}."))
    if definition is None:
        console.print("To see the fields and the schema, name a server, or the output schema with --schema.")
        return
    schema: Schema | None = definition.get("outputSchema")
    if schema is None:
        console.print("The tool declares no output schema: of its JSON the same fields are seen, of its text nothing.")
        return
    console.print(_table(rule, schema))


def _table(rule: Rule, schema: Schema) -> Table:
    table = Table()
    table.add_column("field", overflow="fold")
    table.add_column("is")
    table.add_column("by rule")
    visibility = Visibility(rule.fields, schema, _PLACEHOLDER_KEY)
    for member in outline(schema):
        fate = visibility.fate(member.path)
        table.add_row(*map(terminal.literal_text, (str(member.path), fate, "" if fate == "seen" else rule.name)))
    return table
