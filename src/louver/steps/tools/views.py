"""The views of a server's tools: from their authors' hints, from files, and shipped for public servers.

A view that names a field which its tool cannot have is an error. Before a server serves, the error stops it; later,
when a file changes or a lowlevel server is first listed, it is logged and the last good views stay.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from louver.catalogue.entry import Entry
from louver.catalogue.files.output_schemas import SchemaFiles
from louver.catalogue.files.views import ViewFile, ViewFolder, find_mismatch, find_mismatches
from louver.catalogue.plan_cache import Plans
from louver.core.projection.view import Views
from louver.errors import InvalidView
from louver.wire.hint import read_hint

if TYPE_CHECKING:
    from louver.catalogue.files.output_schemas import SchemaFile
    from louver.core.paths.path import FieldPath

logger = logging.getLogger(__name__)

_MAX_NAMED_VIEWS = 8  # views that an error names


class ToolViews:
    """Makes entries of tools, with their views."""

    def __init__(
        self,
        views: str | os.PathLike[str] | Mapping[str, Mapping[str, Any]] | None,
        defaults: Mapping[str, str],
        folders: Mapping[str, Path] | None = None,  # prefix of tool names -> folder; its files omit the prefix
        shipped: Mapping[str, Callable[[str], ViewFile | None]] | None = None,  # prefix -> finds a tool's shipped file
        hides: Callable[[str, FieldPath], bool] | None = None,  # whether the caller may not know a tool's path
        schemas: SchemaFiles | None = None,
        learned: Callable[[str], tuple[str, ...]] | None = None,  # fields in earlier answers of a tool
    ) -> None:
        self.schemas = SchemaFiles({}) if schemas is None else schemas
        self._hides = hides
        self._learned = learned
        self._folders = {prefix: ViewFolder(folder) for prefix, folder in (folders or {}).items()}
        if isinstance(views, str | os.PathLike):
            self._folders[""] = ViewFolder(Path(views))
        configured: Mapping[str, Mapping[str, Any]] = views if isinstance(views, Mapping) else {}
        self._configured = {tool: Views.read(by_name) for tool, by_name in configured.items()}
        self._defaults = defaults
        self._shipped = shipped or {}
        self.plans = Plans()
        self.have_files = bool(self.schemas or self._folders or self._shipped)

    def refresh(self) -> None:
        self.schemas.refresh()
        for folder in self._folders.values():
            folder.refresh()

    def are_current(self, entry: Entry) -> bool:
        return self._file(entry.name) is entry.file and (
            entry.has_listed_schema or self.schemas.find(entry.name) is entry.declared
        )

    def entry(self, tool: dict[str, Any], previous: Entry | None) -> Entry:
        """The entry of a listed tool; views that do not fit are logged and left out."""
        # Looked up once: during the check files may be reloaded.
        file, declared = self._file(tool["name"]), self.schemas.declaring(tool)
        try:
            return self._build_entry(tool, file, declared)
        except InvalidView as error:
            logger.error("the views of tool %r are not used: %s", tool["name"], error)
            is_known = previous is not None and previous.is_of(tool) and previous.declared is declared
            views, default = Views(), self._default(tool["name"], file)
            if previous is not None and is_known:
                views, default = previous.views, previous.default_view
            elif file is not None and file is self._shipped_file(tool["name"]):
                default = None
            learned = self._learned_fields(tool["name"])
            return Entry(
                tool, views, file=file, plans=self.plans, default_view=default, declared=declared, learned=learned
            )

    def check(self, tool: dict[str, Any]) -> Entry:
        """As `entry`, but views that do not fit raise InvalidView."""
        return self._build_entry(tool, self._file(tool["name"]), self.schemas.declaring(tool))

    def _build_entry(self, tool: dict[str, Any], file: ViewFile | None, declared: SchemaFile | None) -> Entry:
        name: str = tool["name"]
        schema = tool.get("outputSchema") if declared is None else declared.schema
        hinted, content = read_hint(tool.get("_meta"))
        sources = [hinted, self._configured.get(name, Views()), file.views if file is not None else Views()]
        default = self._default(name, file)
        if self._hides is not None:
            # Where the whole tool is visible, views were checked already.
            views = self._visible(tool, sources)
            return Entry(tool, views, content, file, self.plans, default, hides_views=True)
        if file is not None and schema is not None:
            file.check(schema)
        for views in sources[:2]:
            if schema is not None and (problem := find_mismatch(views, schema)) is not None:
                raise InvalidView(f"tool {name!r}: {problem.message}")
        merged = sources[0].joined(sources[1]).joined(sources[2])
        if default is not None and default not in merged.named:
            available = _list_views(sorted(merged.named))
            raise InvalidView(f"tool {name!r} has no view {default!r} to be its default: {available}")
        return Entry(
            tool, merged, content, file, self.plans, default, declared=declared, learned=self._learned_fields(name)
        )

    def _learned_fields(self, tool: str) -> tuple[str, ...]:
        return () if self._learned is None else self._learned(tool)

    def _default(self, tool: str, file: ViewFile | None) -> str | None:
        return self._defaults.get(tool, None if file is None else file.default)

    def check_names(self, tools: set[str]) -> None:
        """Raise InvalidView if views are given for a tool that does not exist; for files, only log it."""
        for name in (*self._configured, *self._defaults):
            if name not in tools:
                raise InvalidView(f"views are given for a tool {name!r}, which the server does not have")
        for name in self.tools_in_files():
            if name not in tools:
                logger.warning("a file holds views of a tool %r, which the server does not have", name)

    def tools_in_files(self) -> list[str]:
        return [prefix + name for prefix, folder in self._folders.items() for name in folder.tools()]

    def _visible(self, tool: dict[str, Any], sources: list[Views]) -> Views:
        """The views without paths hidden from the caller, as far as they fit the schema that it sees."""
        hides: Any = self._hides
        visible = sources[0].joined(sources[1]).joined(sources[2]).without(partial(hides, tool["name"]))
        schema = tool.get("outputSchema")
        if schema is None:
            return visible
        always = visible.always if find_mismatch(Views({}, visible.always), schema) is None else ()
        mismatched = {mismatch.place for mismatch in find_mismatches(Views(visible.named, always), schema)}
        return Views({name: view for name, view in visible.named.items() if ("views", name) not in mismatched}, always)

    def _file(self, tool: str) -> ViewFile | None:
        for prefix, folder in self._folders.items():
            if tool.startswith(prefix) and (file := folder.find(tool.removeprefix(prefix))) is not None:
                return file
        return self._shipped_file(tool)

    def _shipped_file(self, tool: str) -> ViewFile | None:
        for prefix, find in self._shipped.items():
            if tool.startswith(prefix) and (file := find(tool.removeprefix(prefix))) is not None:
                return file
        return None


def _list_views(names: list[str]) -> str:
    listed = ", ".join(map(repr, names[:_MAX_NAMED_VIEWS])) or "none"
    return f"its views are {listed}" + (
        f" and {len(names) - _MAX_NAMED_VIEWS} more" if len(names) > _MAX_NAMED_VIEWS else ""
    )
