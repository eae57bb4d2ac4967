"""Output schemas as files, for tools that declare none: `<tool>.output.schema.json`.

The schema is that of structured content, so of an object; a list is its member `result` (`louver.core.wrapper`).
File names are percent-encoded: `a%2Fb.output.schema.json` is of `a/b`. A schema that the server declares wins.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from louver.catalogue.files.folder import Folder, read_json
from louver.catalogue.files.line_numbers import nearest_line
from louver.core.json import is_object
from louver.core.schema.infer import infer, unsettled
from louver.core.schema.references import UnknownDialect, document
from louver.core.wrapper import as_object
from louver.errors import InvalidSchema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from louver.catalogue.files.line_numbers import Place
    from louver.core.json import Json

logger = logging.getLogger(__name__)

SUFFIX: Final = ".output.schema.json"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class SchemaFile:
    tool: str
    schema: dict[str, Any]
    path: Path

    @classmethod
    def read(cls, path: Path) -> SchemaFile:
        content, text = read_json(path, "output schemas", InvalidSchema)
        if (problem := _problem(content)) is not None:
            place, message = problem
            raise InvalidSchema(message, file=str(path), line=nearest_line(text, place))
        assert is_object(content), "a schema of an object is one"
        return cls(unquote(path.name.removesuffix(SUFFIX), errors="surrogatepass"), content, path)


class SchemaFiles:
    def __init__(self, folders: Mapping[str, Path]) -> None:  # by the prefix of their tools' names
        self._folders = {
            prefix: Folder(folder, SUFFIX, SchemaFile.read, "output schemas", InvalidSchema, logger)
            for prefix, folder in folders.items()
        }

    def __bool__(self) -> bool:
        return bool(self._folders)

    def refresh(self) -> None:
        for folder in self._folders.values():
            folder.refresh()

    def find(self, tool: str) -> SchemaFile | None:
        for prefix, folder in self._folders.items():
            if tool.startswith(prefix) and (file := folder.find(tool.removeprefix(prefix))) is not None:
                return file
        return None

    def declaring(self, tool: dict[str, Any]) -> SchemaFile | None:
        """The file of a listed tool; `None` if the server declares an output schema."""
        return self.find(tool["name"]) if tool.get("outputSchema") is None else None

    def tools(self) -> list[str]:
        return [prefix + name for prefix, folder in self._folders.items() for name in folder.tools()]


def file_name(tool: str) -> str:
    return quote(tool, safe="", errors="surrogatepass") + SUFFIX


def suggested(values: Iterable[Json]) -> dict[str, Any]:
    """The content of a file, inferred from results; it contains none of their values."""
    return {"$schema": _DIALECT, **unsettled(infer(map(as_object, values)))}


def _problem(content: Json) -> tuple[Place, str] | None:
    if not is_object(content) or content.get("type") != "object":
        wrapped = '{"type": "object", "required": ["result"], "properties": {"result": {"type": "array"}}}'
        return ("type",), f'expected the schema of an object, with "type": "object"; that of a list is {wrapped}'
    try:
        document(content)
    except UnknownDialect:
        return ("$schema",), f"'$schema': expected draft 2020-12, 2019-09 or 7, for example {_DIALECT!r}"
    place = _misplaced(content)
    if place is None:
        return None
    return place, f"not a JSON Schema: what stands at {'/'.join(map(str, place))!r} is not as its draft has it"


def _misplaced(schema: dict[str, Any]) -> Place | None:
    # Imported late: most gateways have no such files.
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for  # pyright: ignore[reportUnknownVariableType]

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        return tuple(error.absolute_path)
    return None
