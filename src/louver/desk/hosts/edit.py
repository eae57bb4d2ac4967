"""Louver in the place of servers in a host's file, and back: only bytes of the servers' object change.

    "files": {...}, // docs      "louver": {...}, // docs
    "keep": {...},          ->   "keep": {...}
    "memory": {...}

The result is parsed again: it must be the old value with just these servers exchanged, or the file is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from difflib import unified_diff
from itertools import dropwhile, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import tomlkit

from louver.core.json import is_array, is_object, members
from louver.desk.hosts.members import after_space, members_at, span
from louver.desk.hosts.read import comments, is_toml, parse, strip_comments
from louver.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from louver.catalogue.files.line_numbers import Place
    from louver.core.json import Json
    from louver.desk.hosts.members import TextMember
    from louver.desk.hosts.read import HostServers

_SHOWN: Final = ("command", "type")  # of a server, where it is a text; all else may hold secrets
_MASK: Final = "***"
_REST_OF_LINE: Final = re.compile(r"[^\S\n]*+,?[^\S\n]*+$", re.MULTILINE)  # after a member: a comma at most


def replace_servers(found: HostServers, names: Sequence[str], name: str, entry: dict[str, Any]) -> str:
    """The text of the file with `entry` in place of the named servers."""
    path, place = found.source.path, found.source.place
    edit = _replace_toml if is_toml(path) else _replace_json
    text = edit(found.text, place, names, name, entry)
    wanted = parse(found.text, path)
    servers = _at(wanted, place)
    for removed in names:
        del servers[removed]
    servers[name] = entry
    if not _is_text_of(text, path, wanted):
        expected = f"[{place[0]}.NAME] for each server" if is_toml(path) else "one object with the servers"
        raise InvalidConfig(f"its servers cannot be replaced alone: expected {expected}", file=str(path))
    return text


def restore_servers(before: str, after: str, current: str, path: Path, place: Place) -> str | None:
    """The current text with the servers of `before` in place of those of `after`; `None` if it has others.

    What is new in a comment among them would be lost, so `None` then, too.
    """
    try:
        wanted: Any = parse(current, path)
        if _at(wanted, place) != _at(parse(after, path), place):
            return None
        if _comments(current, path, place) - _comments(after, path, place):
            return None
        _at(wanted, place[:-1])[place[-1]] = _at(parse(before, path), place)
    except (InvalidConfig, KeyError, TypeError):
        return None
    text = (_restored_toml if is_toml(path) else _restored_json)(before, current, place)
    return text if _is_text_of(text, path, wanted) else None


def _at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def _comments(text: str, path: Path, place: Place) -> set[str]:
    """Those among the servers; of TOML, their lines."""
    if is_toml(path):
        lines = [line for server, lines, _ in _sections(text, place)[1] if server is not None for line in lines]
        return {line.strip() for line in lines if "#" in line}
    return comments(text, *span(strip_comments(text), place))


def _is_text_of(text: str, path: Path, wanted: Json) -> bool:
    try:
        return parse(text, path) == wanted
    except InvalidConfig:
        return False


def masked_servers(text: str, place: Place, shown: str, *, as_toml: bool) -> list[str]:
    """The lines of the part that an edit changes; possible secrets are masked, except in the server that is shown."""
    return (_masked_toml(text, place, shown) if as_toml else _masked_json(text, place, shown)).splitlines()


def _replace_json(text: str, place: Place, names: Sequence[str], name: str, entry: dict[str, Any]) -> str:
    plain = strip_comments(text)
    commas = strip_comments(text, commas=False)
    every = list(members_at(plain, span(plain, place)[0]))
    first, *others = [member for member in every if member.key in names]
    edits = [(first.start, first.end, f"{json.dumps(name)}: {_written(text, first.start, len(place) + 1, entry)}")]
    for member in others:
        line = text.rfind("\n", 0, member.start) + 1
        # Without the end of the line above, a comment there would take in what else stands on this one.
        is_alone = not text[line : member.start].strip() and _REST_OF_LINE.match(text, member.end)
        edits.append((max(line - 1, 0) if is_alone else member.start, member.end, ""))
    # A comma goes with each removed member; with the last one, that of the last member that stays.
    ends = [member.end for member in (*others, *[each for each in every if each not in others][-1:])]
    separators = [comma for end in ends if commas[comma := after_space(commas, end)] == ","]
    edits += [(comma, comma + 1, "") for comma in separators[: len(others)]]
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _restored_json(before: str, current: str, place: Place) -> str:
    (first, last), (start, end) = (span(strip_comments(text), place) for text in (before, current))
    return current[:start] + before[first:last] + current[end:]


def _written(text: str, at: int, depth: int, entry: dict[str, Any]) -> str:
    """The JSON text of an entry, indented as the file is, or in one line."""
    indent = text[text.rfind("\n", 0, at) + 1 : at]
    if indent.strip() or not indent:
        return json.dumps(entry, ensure_ascii=False)
    unit = indent[: max(1, len(indent) // depth)]
    return json.dumps(entry, indent=unit, ensure_ascii=False).replace("\n", _newline(text) + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _masked_json(text: str, place: Place, shown: str) -> str:
    # Comments may hold secrets, too.
    text = strip_comments(text, commas=False)
    plain = strip_comments(text)
    start, end = span(plain, place)
    secrets = [
        secret
        for server in members_at(plain, start)
        if server.key != shown
        for secret in (_secrets(plain, server) if plain[server.value] == "{" else [server])
    ]
    for secret in reversed(secrets):
        text = text[: secret.value] + f'"{_MASK}"' + text[secret.end :]
        end += len(_MASK) + 2 - (secret.end - secret.value)
    return "\n".join(map(str.rstrip, text[start:end].splitlines()))


def _secrets(plain: str, server: TextMember) -> Iterator[TextMember]:
    """The members of a server that may hold secrets, or theirs."""
    for member in members_at(plain, server.value):
        if plain[member.value] == "{":
            yield from members_at(plain, member.value)
        elif plain[member.value] in '["' and not (member.key in _SHOWN and plain[member.value] == '"'):
            yield member


def _replace_toml(text: str, place: Place, names: Sequence[str], name: str, entry: dict[str, Any]) -> str:
    """Exchange whole tables: `tomlkit` would remove the comment above the next one with them."""
    kept, sections = _sections(text, place)
    new = tomlkit.dumps({str(place[0]): {name: entry}})
    for server, lines, after in sections:
        if server not in names:
            kept += [*lines, *after]
            continue
        kept += [new.replace("\n", _newline(text))] if new else []
        kept += after if kept and kept[-1].strip() else dropwhile(str.isspace, after)
        new = ""
    return "".join(kept)


class _Section(NamedTuple):
    """A table of a TOML file."""

    server: str | None
    lines: list[str]
    after: list[str]  # what stands before the next one


def _restored_toml(before: str, current: str, place: Place) -> str:
    sections = [*_sections(before, place)[1], _Section(None, [], [])]
    servers: list[str] = []
    for (server, lines, after), (following, _, _) in pairwise(sections):
        # What stands before a table of others is still there.
        servers += [] if server is None else lines if following is None else [*lines, *after]
    if servers and not servers[-1].endswith("\n"):
        servers[-1] += _newline(current)  # what follows now may have been added
    kept, sections = _sections(current, place)
    inserted = servers
    for server, lines, after in sections:
        if server is None:
            kept += [*lines, *after]
        else:
            kept += [*inserted, *(line for line in after if line.isspace() or line not in servers)]
            inserted = []
    return "".join(kept)


def _sections(text: str, place: Place) -> tuple[list[str], list[_Section]]:
    """The lines before the first table, and the tables."""
    lines = text.splitlines(keepends=True)
    headers = [number for number, line in enumerate(lines) if line.lstrip().startswith("[")]
    found: list[_Section] = []
    for start, end in pairwise([*headers, len(lines)]):
        last = next(number for number in range(end, start, -1) if _is_content(lines[number - 1]))
        found.append(_Section(_server_of(lines[start], place), lines[start:last], lines[last:end]))
    return (lines[: headers[0]] if headers else lines), found


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _server_of(header: str, place: Place) -> str | None:
    """The server to whose table a header leads."""
    try:
        tables = tomllib.loads(header).get(str(place[0]))
    except tomllib.TOMLDecodeError:
        return None
    return next(iter(members(tables)), None)


def _masked_toml(text: str, place: Place, shown: str) -> str:
    servers = members(_at(tomllib.loads(text), place))
    masked = {name: server if name == shown else _masked(server) for name, server in servers.items()}
    return tomlkit.dumps({str(place[0]): masked})


def _masked(server: Json) -> Json:
    return {
        key: dict.fromkeys(value, _MASK)
        if is_object(value)
        else _MASK
        if is_array(value) or (isinstance(value, str) and key not in _SHOWN)
        else value
        for key, value in members(server).items()
    }


def difference(before: list[str], after: list[str], file: str) -> list[str]:
    """A unified diff of two texts, without the lines around changes."""
    return [*unified_diff(before, after, file, f"{file} with Louver", n=0, lineterm="")]
