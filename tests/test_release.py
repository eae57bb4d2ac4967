"""`.ci/release.py`, run in clones of this repository."""

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from benchmarks.scenarios.sessions import site_of

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {
    **os.environ,
    **{f"GIT_{who}_{what}": "tests@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


@pytest.fixture
def clone(tmp_path):
    """A clone with a release's changelog, as this tree has it."""
    folder = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, folder], check=True)
    (folder / ".ci" / "release.py").write_text((ROOT / ".ci" / "release.py").read_text("utf-8"), "utf-8")
    changelog = folder / "CHANGELOG.md"
    changelog.write_text(changelog.read_text("utf-8").replace("## Unreleased", "## 0.1.0 - 2026-12-01", 1), "utf-8")
    commit(folder)
    return folder


def commit(folder):
    subprocess.run(["git", "commit", "--quiet", "--all", "--message", "x"], cwd=folder, env=ENVIRONMENT, check=True)


def release(folder, out):
    command = [sys.executable, ".ci/release.py", str(out)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_release_of_what_nobody_has_committed_is_refused(clone, tmp_path):
    """Ours: the provenance names a commit."""
    (clone / "README.md").write_text("changed")
    done = release(clone, tmp_path / "dist")
    assert (done.returncode, (tmp_path / "dist").exists()) == (2, False)
    assert "not committed" in done.stderr


def test_a_release_without_its_changes_is_refused(clone, tmp_path):
    """Ours."""
    changelog = clone / "CHANGELOG.md"
    changelog.write_text(changelog.read_text("utf-8").replace("## 0.1.0", "## Unreleased", 1), "utf-8")
    commit(clone)
    done = release(clone, tmp_path / "dist")
    assert done.returncode == 2
    assert "expected a section '## 0.1.0'" in done.stderr


def test_distributions_of_two_versions_are_refused(clone, tmp_path):
    """Ours."""
    project = clone / "conformance" / "pyproject.toml"
    project.write_text(project.read_text("utf-8").replace('version = "0.1.0"', 'version = "0.2.0"', 1), "utf-8")
    commit(clone)
    done = release(clone, tmp_path / "dist")
    assert done.returncode == 2
    assert "expected one version of all distributions, not 0.1.0, 0.2.0" in done.stderr


def test_a_folder_with_other_files_is_refused(clone, tmp_path):
    """Ours: they would be published with the release."""
    (tmp_path / "louver-0.0.1.tar.gz").write_text("old")
    done = release(clone, tmp_path)
    assert done.returncode == 2
    assert "is not empty" in done.stderr


@pytest.mark.deep
def test_a_release_is_built_checked_listed_and_stated(clone, tmp_path):
    """SECURITY.md: a bill of materials of each wheel, and a provenance with the digests of all files."""
    out = tmp_path / "dist"
    done = release(clone, out)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("### ")
    assert "## 0.1.0" not in done.stdout

    built = {
        f"{name}-0.1.0{end}"
        for name in ("louver", "louver_conformance", "louver_meaning")
        for end in (".tar.gz", "-py3-none-any.whl")
    }
    bills = {f"{name}-0.1.0.cdx.json" for name in ("louver", "louver-conformance", "louver-meaning")}
    statement = json.loads((out / "provenance.intoto.json").read_text())
    assert {file.name for file in out.glob("[!.]*")} == built | bills | {"provenance.intoto.json"}
    assert {each["name"]: each["digest"]["sha256"] for each in statement["subject"]} == {
        name: digest(out / name) for name in built | bills
    }
    definition = statement["predicate"]["buildDefinition"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, check=True, capture_output=True, text=True)
    assert definition["resolvedDependencies"][0]["digest"] == {"gitCommit": head.stdout.strip()}
    assert definition["externalParameters"]["command"][:2] == ["python", ".ci/release.py"]

    for name, direct in (
        ("louver", {"anyio", "louver-meaning", "lupa", "mcp"}),
        ("louver-conformance", {"louver", "mcp"}),
    ):
        text = (out / f"{name}-0.1.0.cdx.json").read_text()
        assert str(tmp_path) not in text
        assert "file://" not in text
        bill = json.loads(text)
        assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", name)
        listed = {component["name"]: component for component in bill["components"]}
        assert listed.keys() >= direct
        assert all(component["purl"].startswith("pkg:pypi/") for component in listed.values())
        assert {"pytest", "ruff", "pip"}.isdisjoint(listed)

    with zipfile.ZipFile(out / "louver-0.1.0-py3-none-any.whl") as wheel:
        assert "louver/_data/schemas/config.schema.json" in wheel.namelist()
    epoch = {**os.environ, "SOURCE_DATE_EPOCH": definition["internalParameters"]["SOURCE_DATE_EPOCH"]}
    command = ["uv", "build", "--quiet", "--all-packages", "--out-dir", tmp_path / "again"]
    subprocess.run(command, cwd=clone, env=epoch, check=True)
    assert {name: digest(tmp_path / "again" / name) for name in built} == {name: digest(out / name) for name in built}


@pytest.mark.deep
def test_what_is_built_installs_by_its_name(tmp_path):
    """Step 24: from an index, on a machine that has nothing but uv and pip."""
    command = ["uv", "build", "--quiet", "--all-packages", "--out-dir", tmp_path / "dist"]
    subprocess.run(command, cwd=ROOT, check=True)
    for file in (tmp_path / "dist").glob("*-0.1.0*"):
        project = tmp_path / "index" / file.name.partition("-")[0].replace("_", "-")
        project.mkdir(parents=True, exist_ok=True)
        file.rename(project / file.name)
    kept = {
        name: value for name, value in os.environ.items() if name == "PATH" or name.endswith(("_CERT", "_CERT_FILE"))
    }
    with site_of(tmp_path / "index") as url:
        index = {"UV_INDEX": url, "PIP_EXTRA_INDEX_URL": url, "PIP_TRUSTED_HOST": "127.0.0.1"}
        empty = {**kept, **index, "HOME": str(tmp_path / "home"), "UV_NO_CONFIG": "1"}

        def run(*command):
            return subprocess.run(command, cwd=tmp_path, env=empty, check=True, capture_output=True, text=True).stdout

        assert "saved" in run("uvx", "louver", "demo")
        assert "louver-conformance" in run("uvx", "louver-conformance", "--help")
        run("uv", "tool", "install", "--quiet", "louver")
        tool = tmp_path / "home" / ".local" / "share" / "uv" / "tools" / "louver" / "bin" / "python"
        told = "from louver.shipped import with_extra; print(with_extra('toon'))"
        assert run(tool, "-c", told) == "uv tool install 'louver[toon]'\n"
        run(sys.executable, "-m", "venv", "venv")
        run("venv/bin/pip", "install", "--quiet", "louver[toon]")
        run("venv/bin/python", "-c", "import toon_format, louver")
        assert run("venv/bin/python", "-c", told) == "pip install 'louver[toon]'\n"
