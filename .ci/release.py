#!/usr/bin/env python3
"""Build a release of the commit that is checked out: `uv run python .ci/release.py [FOLDER]`, by default `dist`.

    louver-0.1.0.tar.gz, louver-0.1.0-py3-none-any.whl    and those of louver-conformance, louver-meaning
    louver-0.1.0.cdx.json, ...                            what each wheel brings with all extras (CycloneDX)
    provenance.intoto.json                                digests, commit and command (in-toto, SLSA), unsigned

It prints the section of the changelog. To sign the provenance, and to upload, is left to the publishing workflow.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PROJECTS = (ROOT / "meaning", ROOT, ROOT / "conformance")
CHECK = ("uv", "tool", "run", "--from", "twine>=7,<8", "twine", "check", "--strict")
BILL = ("uv", "tool", "run", "--from", "cyclonedx-bom>=7,<8", "cyclonedx-py", "environment")


def main(arguments: list[str]) -> int:
    started = datetime.now(UTC)
    folder = Path(arguments[0] if arguments else ROOT / "dist").absolute()
    if folder.is_dir() and any(folder.iterdir()):
        return _refuse(f"{folder} is not empty: expected a new folder, so that it holds this release alone")
    if _git("status", "--porcelain"):
        return _refuse("there are changes that are not committed: the provenance would name another content")
    projects = {path: tomllib.loads((path / "pyproject.toml").read_text("utf-8"))["project"] for path in PROJECTS}
    versions = {project["version"] for project in projects.values()}
    if len(versions) != 1:
        return _refuse(f"expected one version of all distributions, not {', '.join(sorted(versions))}")
    changes = _changes(version := versions.pop())
    if not changes:
        return _refuse(f"CHANGELOG.md: expected a section '## {version}', with what is now under '## Unreleased'")

    # The same commit gives the same bytes.
    epoch = _git("log", "-1", "--format=%ct")
    _run("uv", "build", "--quiet", "--all-packages", "--out-dir", folder, SOURCE_DATE_EPOCH=epoch)
    built = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    _run(*CHECK, *built)
    bills = list(_bills_of_materials(projects, folder))
    statement = _provenance([*built, *bills], arguments, epoch, started)
    (folder / "provenance.intoto.json").write_text(json.dumps(statement, indent=2) + "\n", "utf-8")
    print(changes)
    return 0


def _changes(version: str) -> str:
    """The text of a version's section in the changelog; empty if there is none."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    found = re.search(rf"^## \[?{re.escape(version)}\]?(?: [^\n]*)?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return "" if found is None else found[1].strip()


def _bills_of_materials(projects: dict[Path, dict[str, Any]], folder: Path) -> Iterator[Path]:
    """Write for each wheel what its installation with all extras consists of, beside itself."""
    wheels: list[str] = []
    for path, project in projects.items():
        # A distribution needs those before it: of this release, whatever a registry has of that name.
        (wheel,) = folder.glob(f"{project['name'].replace('-', '_')}-*.whl")
        wheels.append(f"{wheel}[{','.join(project.get('optional-dependencies', ()))}]")
        bill = folder / f"{project['name']}-{project['version']}.cdx.json"
        with tempfile.TemporaryDirectory() as environment:
            python = Path(environment, "bin", "python")
            _run("uv", "venv", "--quiet", "--clear", "--python", sys.executable, environment)
            _run("uv", "pip", "install", "--quiet", "--python", python, *wheels)
            # Our wheels are listed by name and version, as they are published, and not as files of this machine.
            for source in Path(environment).rglob("direct_url.json"):
                source.unlink()
            options = ("--mc-type", "library", "--output-reproducible", "--of", "JSON", "--output-file", bill)
            _run(*BILL, "--pyproject", path / "pyproject.toml", *options, python)
        yield bill


def _provenance(files: list[Path], arguments: list[str], epoch: str, started: datetime) -> dict[str, Any]:
    """The statement on files. Source: in-toto Statement v1, SLSA Provenance v1."""
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": file.name, "digest": {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}} for file in files
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://louver.dev/release/v1",
                "externalParameters": {"command": ["python", ".ci/release.py", *arguments]},
                "internalParameters": {
                    "python": sys.version.partition(" ")[0],
                    "uv": _output("uv", "--version"),
                    "SOURCE_DATE_EPOCH": epoch,
                },
                "resolvedDependencies": [{"name": "louver", "digest": {"gitCommit": _git("rev-parse", "HEAD")}}],
            },
            "runDetails": {
                "builder": {"id": "https://louver.dev/release/checkout"},
                "metadata": {
                    "startedOn": started.isoformat(timespec="seconds"),
                    "finishedOn": datetime.now(UTC).isoformat(timespec="seconds"),
                },
            },
        },
    }


def _git(*arguments: str) -> str:
    return _output("git", "-C", str(ROOT), *arguments)


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _run(*command: str | Path, **variables: str) -> None:
    # Standard output is for the changelog.
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **variables}, stdout=sys.stderr)


def _refuse(message: str) -> int:
    print(f"release: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
