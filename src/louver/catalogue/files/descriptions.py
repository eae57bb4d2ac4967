"""Tool descriptions in two stages: the summary in `tools/list`, and the full description that a client reads.

    {"summary": "Get one issue of the tracker.", "description": "Get one issue with its text, people, labels ...",
     "examples": [{"description": "The newest", "input": {"number": 120}}],
     "usage_guidance": {"numbers": "list_issues tells which there are"}, "error_guidance": {...},
     "searchTerms": ["ticket", "bug report"]}

Every member of a file is optional; name and schemas come from the server, and an example, if its input schema gives
values for all that is required. Search terms are ours, and never shown to clients. Source: 000 sections 3, 4.4 and 7.
"""

from __future__ import annotations

import logging
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from louver.catalogue.files.folder import Folder, read_json
from louver.catalogue.files.line_numbers import line_of
from louver.catalogue.search.words import words
from louver.catalogue.summary import summary
from louver.core.cached import cached_property
from louver.core.json import digest, is_array, is_object, members, strings
from louver.core.nearest import did_you_mean
from louver.core.schema.outline import examples_of_required
from louver.core.schema.validate import validator
from louver.errors import InvalidDescription
from louver.wire.headers import HEADER_ANNOTATION, header_names
from louver.wire.names import GRANT_ARGUMENT, HINT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from louver.core.json import Json
    from louver.core.schema.validate import Validator

MAX_SEARCH_TERMS = 50
"""Search terms in the description file of a tool: more describe the tool, not what it is searched by."""

MAX_SEARCH_TERM_CHARACTERS = 100
"""Length of one of them, in code points: a phrase."""


logger = logging.getLogger(__name__)

SUFFIX = ".json"
_TEXTS = ("summary", "description")
_GUIDANCE = ("usage_guidance", "error_guidance")
_TERMS = "searchTerms"
ADDED = ("examples", *_GUIDANCE)  # to a full description
_KEYS = ("$schema", *_TEXTS, *ADDED, _TERMS)

_GRANT_SCHEMA = {
    "type": "string",
    "description": "Shows that this description was read. Copy it as it stands; it is good for an hour.",
}


@dataclass(frozen=True, slots=True)
class DescriptionFile:
    tool: str
    content: Mapping[str, Any]
    path: Path

    @classmethod
    def read(cls, path: Path) -> DescriptionFile:
        content, text = read_json(path, "descriptions", InvalidDescription)
        if not is_object(content):
            message = f"a file of descriptions is an object with some of {', '.join(map(repr, _KEYS))}"
            raise InvalidDescription(message, file=str(path), line=1)
        for key, value in content.items():
            if (problem := _problem(key, value)) is not None:
                raise InvalidDescription(problem, file=str(path), line=line_of(text, (key,)))
        return cls(path.name.removesuffix(SUFFIX), content, path)

    @property
    def search_terms(self) -> list[str]:
        return self.content.get(_TERMS, [])


class DescriptionFiles:
    def __init__(self, folders: Mapping[str, Path]) -> None:  # by the prefix of their tools' names
        self._folders = {
            prefix: Folder(folder, SUFFIX, DescriptionFile.read, "descriptions", InvalidDescription, logger)
            for prefix, folder in folders.items()
        }
        self._seen: Callable[[str, DescriptionFile], DescriptionFile | None] = _whole

    def seen_by(self, seen: Callable[[str, DescriptionFile], DescriptionFile | None]) -> DescriptionFiles:
        """The same files for a caller who may see less; `seen` redacts the file of a tool."""
        files = copy(self)
        files._seen = seen
        return files

    def refresh(self) -> None:
        for folder in self._folders.values():
            folder.refresh()

    def find(self, tool: str) -> DescriptionFile | None:
        for prefix, folder in self._folders.items():
            if tool.startswith(prefix) and (file := folder.find(tool.removeprefix(prefix))) is not None:
                return self._seen(tool, file)
        return None

    def search_terms(self) -> dict[str, list[str]]:
        """Tool name -> search terms, of the tools whose files have some."""
        files = {tool: self.find(tool) for tool in self.tools()}
        return {tool: file.search_terms for tool, file in files.items() if file is not None and file.search_terms}

    def check_names(self, tools: set[str]) -> None:
        for name in self.tools():
            if name not in tools:
                logger.warning("a file describes a tool %r, which the server does not have", name)

    def tools(self) -> list[str]:
        return [prefix + name for prefix, folder in self._folders.items() for name in folder.tools()]


class Described:
    def __init__(self, tool: dict[str, Any], file: DescriptionFile | None = None) -> None:
        self.name: str = tool["name"]
        self.tool = tool
        self.file = file
        self._added: Mapping[str, Any] = {} if file is None else file.content
        hint = members(members(tool.get("_meta")).get(HINT))
        self._output_schema = hint.get("outputSchema", tool.get("outputSchema"))

    @cached_property
    def listed(self) -> dict[str, Any]:
        """Stage 1: a summary and a minimal input schema; annotations and `_meta` stay."""
        listed = {key: value for key, value in self.tool.items() if key != "outputSchema"}
        text = self._added.get("description", self.tool.get("description"))
        listed["description"] = self._added.get("summary") or summary(text, self.name)
        listed["inputSchema"] = _minimal(self.tool["inputSchema"])
        if is_object(meta := self.tool.get("_meta")) and is_object(hint := meta.get(HINT)):
            without = {key: value for key, value in hint.items() if key != "outputSchema"}
            listed["_meta"] = {**meta, HINT: without}
        return listed

    @cached_property
    def full(self) -> dict[str, Any]:
        """Stage 2, a `louver.wire.descriptions.Description` on the wire."""
        description = self.tool.get("description")
        full: dict[str, Any] = {
            "name": self.name,
            "description": self._added.get("description") or description or self.listed["description"],
            "inputSchema": self.tool["inputSchema"],
        }
        if self._output_schema is not None:
            full["outputSchema"] = self._output_schema
        return {**full, **self._example(), **{key: self._added[key] for key in ADDED if key in self._added}}

    def _example(self) -> dict[str, Any]:
        """An example of values that the input schema itself gives, if it gives some for all that is required."""
        given = examples_of_required(self.tool["inputSchema"])
        arguments = {name: values[0] for name, values in given.items() if values}
        return {"examples": [{"input": arguments}]} if arguments and len(arguments) == len(given) else {}

    @cached_property
    def version(self) -> str:
        """Digest of the full description: a client that read another version has not read this one."""
        return digest(self.full)

    @cached_property
    def takes_grant(self) -> bool:
        """Whether the argument `grant` is ours, not the tool's own."""
        return GRANT_ARGUMENT not in members(self.tool["inputSchema"].get("properties"))

    @cached_property
    def _validators(self) -> tuple[Validator, Validator]:
        """The validator of arguments, and one that accepts anything unless the schema cannot be applied."""
        schema: dict[str, Any] = self.tool["inputSchema"]
        known = {name: schema[name] for name in ("$schema", "$defs", "definitions") if name in schema}
        return validator(schema), validator({**known, "anyOf": [True, schema]})

    def mismatch(self, arguments: Json) -> str | None:
        """Why arguments do not satisfy the input schema; `None` if they do, or if it cannot be applied."""
        fitting, anything = self._validators
        if fitting.is_valid(arguments) or not anything.is_valid(arguments):
            return None
        found = [": ".join(filter(None, (".".join(each.names), each.reason))) for each in fitting.mismatches(arguments)]
        return min(found, key=len, default="")

    def granting(self, grant: str) -> dict[str, Any]:
        """Stage 2 with the grant as a required argument, so that a model copies it like any other."""
        if not self.takes_grant:
            return self.full
        schema: dict[str, Any] = self.full["inputSchema"]
        properties = {**members(schema.get("properties")), GRANT_ARGUMENT: {**_GRANT_SCHEMA, "const": grant}}
        required = [*strings(schema.get("required")), GRANT_ARGUMENT]
        return {**self.full, "inputSchema": {**schema, "properties": properties, "required": required}}


def _minimal(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that accepts everything, in few tokens, with just the properties that 2026-07-28 sends as headers."""
    # Some hosts expect `properties` in every object schema.
    minimal: dict[str, Any] = {"type": "object", "properties": {}}
    for path, header in header_names(schema).items():
        place, full = minimal, schema
        for name in path:
            full = full["properties"][name]
            place = place.setdefault("properties", {}).setdefault(name, {})
            if "type" in full:
                place["type"] = full["type"]
        place[HEADER_ANNOTATION] = header
    return minimal


def _whole(_tool: str, file: DescriptionFile) -> DescriptionFile:
    return file


def _problem(key: str, value: Any) -> str | None:
    if key not in _KEYS:
        return f"unknown key {key!r}: expected one of {', '.join(map(repr, _KEYS))}{did_you_mean(key, _KEYS)}"
    if key in _TEXTS and not (isinstance(value, str) and value.strip()):
        return f"{key!r} is a text"
    if key == "examples" and not is_array(value):
        return "'examples' is a list"
    if key in _GUIDANCE and not (is_object(value) or (isinstance(value, str) and value.strip())):
        return f"{key!r} is a text, or an object of notes"
    return _problem_of_terms(value) if key == _TERMS else None


def _problem_of_terms(value: Any) -> str | None:
    if not is_array(value) or len(value) > MAX_SEARCH_TERMS:
        return f'{_TERMS!r} is a list of at most {MAX_SEARCH_TERMS} texts, for example ["ticket", "bug report"]'
    for place, term in enumerate(value, 1):
        if not isinstance(term, str) or not words(term) or len(term) > MAX_SEARCH_TERM_CHARACTERS:
            expected = f"a text with a word, of at most {MAX_SEARCH_TERM_CHARACTERS} characters"
            return f"number {place} of {_TERMS!r} is not {expected}"
    return None
