"""`louver completion`."""

import subprocess

import pytest

from fixtures.command import louver
from fixtures.failsafe import FAILSAFE_S
from louver.cli.options import build_parser

COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_shtab_louver louver "${COMP_WORDS[$COMP_CWORD]}" "${COMP_WORDS[$COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The script for bash, in a file."""
    done = louver("completion", "bash")
    assert (done.returncode, done.stderr) == (0, "")
    path = tmp_path_factory.mktemp("completion") / "louver.bash"
    path.write_text(done.stdout)
    return path


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("louver s", {"saved", "serve", "suggest"}),
        ("louver serve --exposure ", {"full", "deferred", "minimal", "discovery", "gateway"}),
        ("louver call tool --inc", {"--include"}),
        ("louver tools --config m", {"mcp.json"}),
        ("louver suggest --out m", {"more"}),
    ],
)
def test_bash_completes_commands_options_choices_and_files(script, tmp_path, line, offered):
    """Ours."""
    (tmp_path / "mcp.json").touch()
    (tmp_path / "more").mkdir()
    command = ["bash", "-c", COMPLETE, "bash", script, *line.split(" ")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=FAILSAFE_S, cwd=tmp_path)
    found = set(done.stdout.split())
    assert found == offered or (line.endswith("m") and offered <= found)


def test_zsh_gets_a_function_that_knows_every_command():
    """Ours."""
    out = louver("completion", "zsh").stdout
    assert out.startswith("#compdef louver\n")
    _, commands = build_parser()
    assert all(f"{name}:" in out for name in commands)


def test_another_shell_is_refused():
    """Ours."""
    done = louver("completion", "bsh")
    assert done.returncode == 2
    assert "there is no 'bsh': did you mean 'bash'" in done.stderr
