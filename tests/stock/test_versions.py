"""Louver works with the oldest versions that it says it does; all other tests run with new ones."""

import os
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from stock.run import python_with

ROOT = Path(__file__).parents[2]

_NAMES = ("pytest", "pytest-xdist", "hypothesis", "blockbuster", "pyyaml", "lupa")
TOOLS = [f"{name}=={version(name)}" for name in _NAMES]
"""What the tests below need themselves, as it is here."""

TESTS = [
    *("tests/test_private_names.py", "tests/http1/test_server.py", "tests/gateway/front/test_endpoint.py"),
    *("tests/gateway/front/test_http.py", "tests/gateway/front/auth/test_authenticated.py"),
    *("tests/client/test_connections.py", "tests/steps/tools/test_listing.py", "tests/fuzz/readers/test_readers.py"),
]
"""What speaks HTTP, reaches into the SDK, or reads untrusted bytes."""

SLOW = (
    "cut_off or do_not_end or pipes_and_nothing or than_there_are_files or stalls or cancelled_is_the_last or signal "
    "or of_one_id or leaves_nothing_behind or given_up_may_be or stdio-http or http-stdio"
)
"""What takes long, and has little to do with versions: ends of processes, and each pair of transports."""

OPTIONS = [
    *("-n0", "-v", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""What old clients leave open is no fault of what is tested."""

MOST_SECONDS = 600

pytestmark = pytest.mark.deep


def test_what_speaks_http_passes_with_the_oldest_versions():
    """Ours: uvicorn, starlette, mcp and all the others; they are installed on first use, as stock clients are."""
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    python = python_with("--resolution", "lowest-direct", *dependencies, *TOOLS, "--editable", str(ROOT))
    command = [python, "-m", "pytest", *OPTIONS, "-k", f"not ({SLOW})", *TESTS]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV"))}
    # A parser in C that writes past its buffer is ended.
    environment["PYTHONMALLOC"] = "debug"
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=MOST_SECONDS, check=False
    )
    # Of a test that hangs, the stack begins with where it stands.
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[:4000]
    assert " passed" in done.stdout
