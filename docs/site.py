"""Builds the site of the documentation: `uv run --group docs python docs/site.py [FOLDER]`.

`docs/README.md` is the index: the navigation and `llms.txt` follow it. FOLDER, by default `build`, gets a copy of
`docs`, the configuration, and the `site`. In the copy, links to other files of the repository point at `repo_url` of
`zensical.toml`, or are plain text without one.
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CONFIG = ROOT / "zensical.toml"

_ENTRY = re.compile(r"- \[(?P<title>.+?)\]\((?P<page>[^)]+\.md)\): (?P<line>.+)")
_LINK = re.compile(r"\[(?P<text>[^\[\]]*)\]\((?P<target>\.\.?/[^)\s]*)\)")


def index():
    """The entries of the index: part, group or an empty text, title, page, and one line about it."""
    part, group = "", ""
    for line in (DOCS / "README.md").read_text(encoding="utf-8").split("\n"):
        if line.startswith("## "):
            part, group = line.removeprefix("## "), ""
        elif line.startswith("### "):
            group = line.removeprefix("### ")
        elif found := _ENTRY.fullmatch(line):
            yield part, group, found["title"].replace("`", ""), found["page"], found["line"]


def build(folder):
    """Build the site; a broken link, anchor or reference is an error."""
    for part in ("docs", "site"):
        shutil.rmtree(folder / part, ignore_errors=True)
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("site.py", "__pycache__"))
    for page in (folder / "docs").rglob("*.md"):
        source = DOCS / page.relative_to(folder / "docs")
        page.write_text(_within_site(source), encoding="utf-8")
    config = folder / CONFIG.name
    config.write_text(_config(), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", str(config)]
    return subprocess.run(command, check=False).returncode


def _within_site(page):
    repository = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["project"].get("repo_url")

    def turned(link):
        path, _, _ = link["target"].partition("#")
        file = (page.parent / path).resolve()
        if file.is_relative_to(DOCS):
            return link[0]
        url = f"{repository}/blob/main/{file.relative_to(ROOT).as_posix()}"
        return f"[{link['text']}]({url})" if repository else link["text"]

    return _LINK.sub(turned, page.read_text(encoding="utf-8"))


def _config():
    """The configuration with the navigation and the sections of `llms.txt`."""
    tree, sections = {}, {}
    for part, group, title, page, line in index():
        tree.setdefault(part, {}).setdefault(group, []).append({title: page})
        sections.setdefault(part, []).append({page: line})
    navigation = []
    for part, groups in tree.items():
        pages = [] if navigation else [{"Overview": "README.md"}]
        pages += groups.pop("", [])
        navigation.append({part: [*pages, *({group: below} for group, below in groups.items())]})
    settings = CONFIG.read_text(encoding="utf-8").replace("[project]\n", f"[project]\nnav = {_toml(navigation)}\n", 1)
    return f"{settings}\n[project.plugins.llmstxt]\nsections = {_toml(sections)}\n"


def _toml(value):
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(key)} = {_toml(each)}' for key, each in value.items())} }}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build"))
