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
from louver.cli.samples import unknown
from louver.core.nearest import did_you_mean
from louver.core.policy.visibility import Sight
from louver.core.schema.outline import outline
from louver.errors import InvalidInput, InvalidPolicy
from louver.server.policy.visible_tools import SeenTools

if TYPE_CHECKING:
    from argparse import Namespace

    from louver.catalogue.policy.policy import Rule, ToolPolicy
    from louver.core.json import Schema
    from louver.gateway.config.model import Config

_EXPLAINED: Final = b"\0" * 32  # placeholder for the pseudonym key: no value is pruned here

_WORDS: Final = ("role", "scope", "client", "subject")


def run(arguments: Namespace) -> int:
    """Print the visible fields and the schema; return 1 if the policy does not name the tool."""
    principal, config = principal_of(arguments.who), _config(arguments)
    if arguments.policy is not None:
        policy = Policy.read(Path(arguments.policy), _EXPLAINED)
    else:
        config, policy = _under_policy(config)
    said = policy.of(arguments.tool)
    if said is None:
        near = did_you_mean(arguments.tool, policy.tools)
        print(f"{arguments.tool}: there for nobody, for the policy does not name it{near}")
        return 1
    definition = _definition(arguments, config)
    if (problem := None if definition is None else said.misfit(definition)) is not None:
        raise InvalidPolicy(f"tool {arguments.tool!r} is served to nobody: {problem}", file=str(policy.file))
    seen = None if definition is None else SeenTools(arguments.tool, policy).seen(definition, principal)
    _show(said, said.ruling(principal), definition)
    if seen is not None and seen.shown_schema is not None:
        write(seen.shown_schema)
    return 0


def principal_of(text: str) -> Principal:
    """The principal of `nobody`, or of a list such as `role:support,scope:orders:read,client:desk`."""
    found: dict[str, list[str]] = {word: [] for word in _WORDS}
    for part in [] if text == "nobody" else text.split(","):
        word, separator, value = part.strip().partition(":")
        if not separator or not value or word not in found:
            raise InvalidInput("--as takes 'nobody', or for example role:support,scope:orders:read,client:desk")
        found[word].append(value)
    last = {word: values[-1] if values else None for word, values in found.items()}
    return Principal(last["subject"], last["client"], frozenset(found["scope"]), frozenset(found["role"]))


def _config(arguments: Namespace) -> Config | None:
    """The configuration that the options name, if any."""
    if arguments.config is None and arguments.url is None and not arguments.command_line:
        return None
    return upstreams.only(upstreams.read(arguments), arguments.upstream)


def _under_policy(config: Config | None) -> tuple[Config, Policy]:
    """The configuration with just the one server that has a policy, and that policy."""
    under = [] if config is None else [(each, each.policy) for each in config.upstreams if each.policy is not None]
    if config is None or not under:
        raise InvalidInput(
            "name the file of policy by --policy, or by --config a file with a server that has a 'policy'"
        )
    if len(under) > 1:
        names = ", ".join(repr(each.name) for each, _ in under)
        raise InvalidInput(f"several servers are under a policy: name one by --upstream: {names}")
    [(upstream, policy)] = under
    return replace(config, upstreams=(upstream,)), policy


def _definition(arguments: Namespace, config: Config | None) -> dict[str, Any] | None:
    """The tool's definition, if the options name a schema or a server."""
    if arguments.schema is not None:
        schema, _ = read_json(Path(arguments.schema), "schema", InvalidPolicy)
        return {"name": arguments.tool, "inputSchema": {}, "outputSchema": schema}
    return None if config is None else signals.run(_listed(arguments.tool, config))


async def _listed(tool: str, config: Config) -> dict[str, Any]:
    async with upstreams.opened(config) as (_, states):
        for state in states:
            if state.problem is not None:
                raise InvalidInput(f"server {state.name!r}: {state.problem}")
        found = {each["name"]: each for state in reversed(states) for each in state.tools}
    if tool not in found:
        raise unknown(tool, found)
    print(f"The definition of {tool} is {definition_digest(found[tool])}, for 'digest'.")
    return found[tool]


def _show(said: ToolPolicy, rules: tuple[Rule, ...], definition: dict[str, Any] | None) -> None:
    console = terminal.console()
    names = ", ".join(repr(rule.name) for rule in rules)
    is_met = len(rules) == 1 and len(said.rules) > 1
    by = f"By rule {names}." if is_met or len(said.rules) == 1 else f"No rule is met, so all are: {names}."
    console.print(terminal.plain(by))
    if definition is None:
        console.print("To see the fields and the schema, name a server, or the output schema with --schema.")
        return
    schema: Schema | None = definition.get("outputSchema")
    if schema is None:
        console.print("The tool declares no output schema: of its JSON the same fields are seen, of its text nothing.")
        return
    console.print(_table(rules, schema))


def _table(rules: tuple[Rule, ...], schema: Schema) -> Table:
    table = Table()
    table.add_column("field", overflow="fold")
    table.add_column("is")
    table.add_column("by rule")
    apart = [(rule.name, Sight([rule.fields], schema, _EXPLAINED)) for rule in rules]
    for member in outline(schema):
        fates = [(sight.fate(member.path), name) for name, sight in apart]
        fate = next((each for each in fates if each[0] == "dropped"), None) or next(
            (each for each in reversed(fates) if each[0] != "seen"), ("seen", "")
        )
        table.add_row(*map(terminal.plain, (str(member.path), *fate)))
    return table
