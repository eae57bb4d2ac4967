"""The pages of the documentation, taken apart into their fenced blocks.

`CONTRIBUTING.md` says how a block is written; in short::

    ```python            a file if its first line is `# name.py`, else run
    ```json [word] [name.json]
                         JSON; checked against `schemas/<word>.schema.json`, written to the file
    ```console           `$ command`, then its output
    ```text              for reading only
"""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RESULTS = ROOT / "benchmarks" / "README.md"
PAGES = sorted([ROOT / "README.md", RESULTS, *DOCS.rglob("*.md")])
# The root's `docs` cannot be imported by name: these tests are a package `docs` too.
_SPEC = importlib.util.spec_from_file_location("docs_site", DOCS / "site.py")
site = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(site)

LANGUAGES = ("python", "json", "console", "text")

_FENCE = re.compile(r"^(?P<fence>`{3,}) *(?P<info>[^`]*)$")
_FILE = re.compile(r"# (?P<name>[\w.-]+\.py)$")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: the words after the fence, its first line's number in the page, and its text."""

    language: str
    words: tuple[str, ...]
    line: int
    text: str

    @property
    def file(self):
        """The name of the file that the block is written to, if it is."""
        if self.language == "python" and (found := _FILE.match(self.text.split("\n", 1)[0])):
            return found["name"]
        if self.language == "json":
            return next((word for word in self.words if "." in word), None)
        return None

    @property
    def schema(self):
        """The name of the schema that a JSON block is held against, if it is."""
        return next((word for word in self.words if "." not in word), None)


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a console block, and the lines that it must print."""

    line: int
    text: str
    output: tuple[str, ...]


def name_of(page):
    """A page as people call it."""
    return page.relative_to(ROOT).as_posix()


def numbered(page):
    """The lines of a page, with their numbers."""
    return enumerate(page.read_text(encoding="utf-8").split("\n"), 1)


def blocks(page):
    """The fenced blocks of a page, in order."""
    found, opened, lines = [], None, []
    for number, line in numbered(page):
        if opened is None:
            if fence := _FENCE.match(line):
                opened, lines = (fence["fence"], fence["info"].split(), number + 1), []
        elif line.rstrip() == opened[0]:
            _, info, first = opened
            language, words = (info[0], tuple(info[1:])) if info else ("", ())
            found.append(Block(language, words, first, "\n".join(lines) + "\n"))
            opened = None
        else:
            lines.append(line)
    assert opened is None, f"{name_of(page)}:{opened[2]}: a fence without its end"
    return found


def prose(page):
    """The lines of a page that stand in no block, with their numbers."""
    found, fence = [], None
    for number, line in numbered(page):
        if fence is None and (start := _FENCE.match(line)):
            fence = start["fence"]
        elif fence is None:
            found.append((number, line))
        elif line.rstrip() == fence:
            fence = None
    return found


def placed(pages, lines=prose):
    """The lines of pages, each with its place before it, and alone."""
    return [(f"{name_of(page)}:{number}: {line}", line) for page in pages for number, line in lines(page)]


def commands(block):
    """The commands of a console block."""
    found = []
    for number, line in enumerate(block.text.rstrip("\n").split("\n"), block.line):
        if line.startswith("$ "):
            found.append((number, line.removeprefix("$ "), []))
        else:
            assert found, f"line {number}: output without a command"
            found[-1][2].append(line)
    return [Command(number, text, tuple(output)) for number, text, output in found]
