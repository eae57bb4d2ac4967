"""Files of views, policies, descriptions, schemas and configurations: read, or refused by their own error and line.

The first byte is the kind of file. White space and escapes never change what a file means.
"""

from __future__ import annotations

import atexit
import json
import re
import shutil
import tempfile
from functools import cache, partial
from pathlib import Path

from louver.catalogue.files.descriptions import DescriptionFile
from louver.catalogue.files.output_schemas import SchemaFile
from louver.catalogue.files.views import ViewFile
from louver.errors import InvalidConfig, InvalidDescription, InvalidPolicy, InvalidSchema, InvalidView
from louver.gateway.config.read import read_config
from louver.policy.policy import Policy

from . import second_reader
from .second_reader import Refused

_SECRET = "a secret that no message may quote"
_SCHEMA = {"type": "object", "properties": {"a": {}, "b": {"type": "object", "properties": {"c": {}}}}}


def _views(path: Path) -> None:
    ViewFile.read(path).check(_SCHEMA)


_READERS = {
    b"v": (_views, InvalidView),
    b"p": (partial(Policy.read, key=b"k" * 32), InvalidPolicy),
    b"d": (DescriptionFile.read, InvalidDescription),
    b"s": (SchemaFile.read, InvalidSchema),
    b"c": (partial(read_config, environ={"KEY": _SECRET}), (InvalidConfig, InvalidPolicy)),
}


def check(data: bytes) -> None:
    kind, text = data[:1], data[1:]
    if kind not in _READERS:
        return
    problem = _problem(kind, text)
    try:
        content = second_reader.read(text)
    except Refused:
        return
    if second_reader.depth(content) < 100 and second_reader.is_text(content):
        laid_out, plain = (
            _problem(kind, json.dumps(content, indent=1, ensure_ascii=escaped).encode()) for escaped in (True, False)
        )
        # The first of several problems is that of the first line.
        assert laid_out == plain
        assert (laid_out is None) is (problem is None)


def _problem(kind: bytes, text: bytes) -> str | None:
    """The message of the error, without its place."""
    read, declared = _READERS[kind]
    path = _folder() / "t.json"
    path.write_bytes(text)
    error = None
    try:
        read(path)
    except declared as refused:
        error = refused
    if error is None:
        return None
    assert 1 <= error.fields.get("line", 1) <= len(re.split(rb"\r\n|\r|\n", text)), "a line is one of the file"
    assert _SECRET not in error.message
    return error.message.removeprefix(f"{error.fields['file']}:").removeprefix(f"{error.fields.get('line')}:")


@cache
def _folder() -> Path:
    folder = tempfile.mkdtemp(prefix="louver-fuzz-")
    atexit.register(shutil.rmtree, folder)
    return Path(folder)
