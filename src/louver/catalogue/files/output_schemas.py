"""Output schemas as files, for tools whose servers declare none: `<tool>.output.schema.json`, one a tool.

::

    {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}

It is the schema of the tool's structured content, and so that of an object: a list stands in the member `result` of
one, as SDKs have it (`louver.core.wrapper`). In the file's name stands the tool's; what files are rarely called is
written as in a URL, so that each file is of one tool: `a%2Fb.output.schema.json` is of `a/b`. Of a tool that
declares a schema itself the server knows more than a file. When files are read, and read again, says
`louver.catalogue.files.folder`.
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
    """The output schema of one tool as a file says it.

    Args:
        tool: The tool's name.
        schema: The schema.
        path: The file.
    """

    tool: str
    schema: dict[str, Any]
    path: Path

    @classmethod
    def read(cls, path: Path) -> SchemaFile:
        """The schema in the file at `path`.

        Raises:
            InvalidSchema: The file cannot be read, or holds no schema of an object; with file and line.
        """
        content, text = read_json(path, "output schemas", InvalidSchema)
        if (problem := _problem(content)) is not None:
            place, message = problem
            raise InvalidSchema(message, file=str(path), line=nearest_line(text, place))
        assert is_object(content), "a schema of an object is one"
        return cls(unquote(path.name.removesuffix(SUFFIX), errors="surrogatepass"), content, path)


class SchemaFiles:
    """The output schemas in folders, by the names of tools that clients know.

    Args:
        folders: What the names of tools begin with -> a folder of files, of tools named without that.

    Raises:
        InvalidSchema: A file is wrong, or two are of one tool.
    """

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = {
            prefix: Folder(folder, SUFFIX, SchemaFile.read, "output schemas", InvalidSchema, logger)
            for prefix, folder in folders.items()
        }

    def __bool__(self) -> bool:
        """Whether there can be any."""
        return bool(self._folders)

    def refresh(self) -> None:
        """Read files again that have changed."""
        for folder in self._folders.values():
            folder.refresh()

    def find(self, tool: str) -> SchemaFile | None:
        """The file of a tool."""
        for prefix, folder in self._folders.items():
            if tool.startswith(prefix) and (file := folder.find(tool.removeprefix(prefix))) is not None:
                return file
        return None

    def declaring(self, tool: dict[str, Any]) -> SchemaFile | None:
        """The file that declares the output of a tool: none, where its server does so.

        Args:
            tool: As the server lists it.
        """
        return self.find(tool["name"]) if tool.get("outputSchema") is None else None

    def tools(self) -> list[str]:
        """The tools that have a file."""
        return [prefix + name for prefix, folder in self._folders.items() for name in folder.tools()]


def file_name(tool: str) -> str:
    """What the file of a tool is called."""
    return quote(tool, safe="", errors="surrogatepass") + SUFFIX


def suggested(values: Iterable[Json]) -> dict[str, Any]:
    """The content of a file: what answers of a tool have shown, of which no value is in it.

    Args:
        values: The answers, each an object or an array.
    """
    return {"$schema": _DIALECT, **unsettled(infer(map(as_object, values)))}


def _problem(content: Json) -> tuple[Place, str] | None:
    """Where and why something is no schema that a tool can be declared by."""
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
    """The way to something in a schema that cannot stand there."""
    # Imported here: most gateways have no such files.
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for  # pyright: ignore[reportUnknownVariableType]

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        return tuple(error.absolute_path)
    return None
