"""How each host writes a server, and the same server as Louver's configuration has it.

    OpenCode  {"type": "local", "command": ["npx", "fs"], "environment": {"T": "{env:T}"}, "enabled": false}
    Louver    {"command": "npx", "args": ["fs"], "env": {"T": "${T}"}, "disabled": true}

A key that has no counterpart stays, and the schema of configurations refuses it with the reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from louver.core.json import Json

Server = dict[str, Any]

_BARE: Final = re.compile(r"(?<!\$)\$([A-Za-z_]\w*)", re.ASCII)
_IN_BRACES: Final = re.compile(r"\{env:([A-Za-z_]\w*)\}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Form:
    read: Callable[[Server], Server]  # in the form of a configuration; references to the host stay
    write: Callable[[str, Sequence[str], Sequence[str]], Server]  # of a command, its arguments, variables it needs
    has_references: bool = True  # whether `${...}` refers to something, or is just text
    host_only: re.Pattern[str] | None = None  # references that only the host can resolve, besides


def _common(variable: str) -> Callable[[str, Sequence[str], Sequence[str]], Server]:
    def write(command: str, args: Sequence[str], variables: Sequence[str]) -> Server:
        env = {"env": {name: variable % name for name in variables}} if variables else {}
        return {"command": command, "args": [*args], **env}

    return write


def _renamed(server: Server, names: Mapping[str, str]) -> Server:
    return {names.get(key, key): value for key, value in server.items()}


def _texts(value: Json, change: Callable[[str], str]) -> Json:
    """The value with its texts changed, keys excepted."""
    if is_object(value):
        return {key: _texts(member, change) for key, member in value.items()}
    if is_array(value):
        return [_texts(element, change) for element in value]
    return change(value) if isinstance(value, str) else value


def _literal(text: str) -> str:
    return text.replace("${", "$${")


def _enabled(server: Server) -> Server:
    """`enabled: false` becomes `disabled: true`."""
    disabled = {"disabled": True} if server.get("enabled") is False else {}
    return {**{key: value for key, value in server.items() if key != "enabled"}, **disabled}


def _read_literal(server: Server) -> Server:
    # Zed: servers of settings can name themselves so.
    without_source = {key: value for key, value in server.items() if (key, value) != ("source", "custom")}
    return _texts(_enabled(without_source), _literal)


def _read_gemini(server: Server) -> Server:
    return _texts(_renamed(server, {"httpUrl": "url"}), lambda text: _BARE.sub(r"${\1}", text))


def _read_opencode(server: Server) -> Server:
    found = _texts(_enabled(server), lambda text: _IN_BRACES.sub(r"${\1}", _literal(text)))
    if is_array(words := found.get("command")) and words:
        found["command"], found["args"] = words[0], words[1:]
    if found.get("type") == "remote":
        found["type"] = "http"
    return _renamed(found, {"environment": "env"})


def _write_opencode(command: str, args: Sequence[str], variables: Sequence[str]) -> Server:
    environment = {"environment": {name: f"{{env:{name}}}" for name in variables}} if variables else {}
    return {"type": "local", "command": [command, *args], **environment, "enabled": True}


_OF_CODEX: Final = (
    "startup_timeout_sec",
    "startup_timeout_ms",
    "tool_timeout_sec",
    "required",
    "default_tools_approval_mode",
)


def _read_codex(server: Server) -> Server:
    found = _texts(_enabled({key: value for key, value in server.items() if key not in _OF_CODEX}), _literal)
    names = {"http_headers": "headers", "enabled_tools": "includeTools", "disabled_tools": "excludeTools"}
    found = _renamed(found, names)
    if is_array(names := found.get("env_vars")) and all(isinstance(name, str) for name in names):
        del found["env_vars"]
        found["env"] = _joined({name: f"${{{name}}}" for name in names}, found.get("env", {}))
    headers: dict[str, str] = {}
    if isinstance(name := found.pop("bearer_token_env_var", None), str):
        headers["Authorization"] = f"Bearer ${{{name}}}"
    if is_object(names := found.pop("env_http_headers", None)):
        headers |= {header: f"${{{name}}}" for header, name in names.items()}
    if headers:
        found["headers"] = _joined(found.get("headers", {}), headers)
    return found


def _joined(first: Json, second: Json) -> Json:
    """Both objects in one; a value that is no object stays, and is refused by the schema."""
    if is_object(first) and is_object(second):
        return {**first, **second}
    return second if is_object(first) else first


def _write_codex(command: str, args: Sequence[str], variables: Sequence[str]) -> Server:
    # Without the last two, the first run of `codex exec` does not wait for the tools.
    waits = {"startup_timeout_sec": 30, "required": True}
    return {"command": command, "args": [*args], **({"env_vars": [*variables]} if variables else {}), **waits}


def _write_vs_code(command: str, args: Sequence[str], variables: Sequence[str]) -> Server:
    return {"type": "stdio", **COMMON.write(command, args, variables)}


def _as_it_is(server: Server) -> Server:
    return server


COMMON: Final = Form(_as_it_is, _common("${env:%s}"))
VS_CODE: Final = Form(_as_it_is, _write_vs_code)
CLAUDE_CODE: Final = Form(_as_it_is, _common("${%s}"))
GEMINI: Final = Form(_read_gemini, _common("${%s}"))
WINDSURF: Final = Form(lambda server: _renamed(server, {"serverUrl": "url"}), _common("${env:%s}"))
OPENCODE: Final = Form(_read_opencode, _write_opencode, has_references=False, host_only=re.compile(r"\{file:[^{}]*+\}"))
CODEX: Final = Form(_read_codex, _write_codex, has_references=False)
# These hosts resolve no variables, so no server of theirs needs one.
LITERAL: Final = Form(_read_literal, _common("%s"), has_references=False)
