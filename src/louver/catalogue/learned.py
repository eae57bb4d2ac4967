"""Output fields learned from results, for tools that declare no output schema.

    {"tools": {"find": {"samples": 5, "steady": 3, "fields": {"items.id": [5, 690], "total": [5, 45]}}}}

Per field: how many results had it, and its total bytes; never a value. After `LEARNT_AFTER` results without a new
field, the fields are offered from the next start on, since a list must not change during a session.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from louver.core.json import NotJson, is_array, is_object, members, parse
from louver.core.paths.find import FIELD_NAME
from louver.core.preview.field_sizes import weigh
from louver.errors import LouverError
from louver.limits import LEARNT_AFTER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.core.json import Json
    from louver.core.paths.path import FieldPath

MAX_LEARNT_SAMPLES = 20
MAX_LEARNT_FIELDS = 500
"""Answers of one tool that are learnt from after each start, and fields. A tool with more fields has data for names."""


@dataclass(slots=True)
class _Shape:
    samples: int = 0
    steady: int = 0  # results in a row without a new field
    # Path -> number of results with it, bytes of it in all of them.
    fields: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    @classmethod
    def read(cls, data: dict[str, Any]) -> _Shape:
        fields = {path: (seen, weight) for path, (seen, weight) in data["fields"].items()}
        return cls(int(data["samples"]), int(data["steady"]), fields)

    def to_json(self) -> dict[str, Any]:
        fields = {path: list(known) for path, known in self.fields.items()}
        return {"samples": self.samples, "steady": self.steady, "fields": fields}

    def add(self, value: Json) -> None:
        found = {str(each.path): each.bytes for each in weigh(value) if each.is_leaf and _is_named(each.path)}
        is_new = not found.keys() <= self.fields.keys()
        for path, weight in found.items():
            seen, before = self.fields.get(path, (0, 0))
            if seen or len(self.fields) < MAX_LEARNT_FIELDS:
                self.fields[path] = (seen + 1, before + weight)
        self.samples += 1
        # Once the fields are known, a new field does not reset the count.
        is_known = self.steady >= LEARNT_AFTER
        self.steady = self.steady if is_known else 0 if is_new else self.steady + 1

    def offered(self) -> tuple[str, ...]:
        if self.steady < LEARNT_AFTER:
            return ()
        usual = [path for path, (seen, _) in self.fields.items() if 2 * seen >= self.samples]
        return tuple(sorted(usual, key=lambda path: -self.fields[path][1] / self.fields[path][0]))


class LearnedFields:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._offered = {tool: shape.offered() for tool, shape in self._read().items()}
        self._looked_at: dict[str, int] = {}

    def find(self, tool: str) -> tuple[str, ...]:
        return self._offered.get(tool, ())

    def wants(self, tool: str) -> bool:
        """Whether to learn from another result: only from `MAX_LEARNT_SAMPLES` a tool after each start."""
        return self._looked_at.get(tool, 0) < MAX_LEARNT_SAMPLES

    def learn(self, tool: str, value: Json) -> None:
        self._looked_at[tool] = self._looked_at.get(tool, 0) + 1
        if not (is_object(value) or is_array(value)):
            return
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(f"{self._file}.lock", "w", opener=_private) as lock:
                # Other processes write the file too.
                fcntl.flock(lock, fcntl.LOCK_EX)
                shapes = self._read()
                shapes.setdefault(tool, _Shape()).add(value)
                self._write(shapes)
        except OSError as error:
            raise LouverError(f"{self._file} cannot be written: {error.strerror}") from None

    def _read(self) -> dict[str, _Shape]:
        try:
            tools = members(parse(self._file.read_text("utf-8"))).get("tools")
            return {tool: _Shape.read(shape) for tool, shape in members(tools).items()}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, NotJson, UnicodeDecodeError, KeyError, TypeError, ValueError):
            raise LouverError(f"{self._file} does not hold fields that were learnt: remove it") from None

    def _write(self, shapes: dict[str, _Shape]) -> None:
        part = self._file.with_name(f"{self._file.name}.part")
        with open(part, "w", encoding="utf-8", opener=_private) as out:
            json.dump({"tools": {tool: shape.to_json() for tool, shape in shapes.items()}}, out)
        part.replace(self._file)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _is_named(path: FieldPath) -> bool:
    return all(step is not None and FIELD_NAME.fullmatch(step) for step in path.names)


class Learned:
    def __init__(self, servers: Mapping[str, LearnedFields]) -> None:  # by the prefix of their tools' names
        self._servers = servers

    def find(self, tool: str) -> tuple[str, ...]:
        of = self._of(tool)
        return () if of is None else of[0].find(of[1])

    def wants(self, tool: str) -> bool:
        of = self._of(tool)
        return of is not None and of[0].wants(of[1])

    def learn(self, tool: str, value: Json) -> None:
        if (of := self._of(tool)) is not None:
            of[0].learn(of[1], value)

    def _of(self, tool: str) -> tuple[LearnedFields, str] | None:
        prefix = next((prefix for prefix in self._servers if tool.startswith(prefix)), None)
        return None if prefix is None else (self._servers[prefix], tool.removeprefix(prefix))


def learned_file(folder: Path, place: str) -> Path:
    return folder / f"{place}.learned.json"


def state_folder(environ: Mapping[str, str]) -> Path:
    state = environ.get("XDG_STATE_HOME")
    return Path(state) / "louver" if state else Path(environ.get("HOME") or Path.home()) / ".local" / "state" / "louver"
