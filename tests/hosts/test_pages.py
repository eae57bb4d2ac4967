"""The page that tells how each host is configured has the lines with which it is tried."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from . import stacks

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "connect-your-host.md"
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", PAGE.read_text("utf-8"), re.MULTILINE))
TARGET = {"command": "louver", "args": ["serve", "--config", "mcp.json"]}
LIBRARIES = {
    "OpenAI Agents": "openai-agents",
    "pydantic-ai": "pydantic-ai",
    "LangChain": "langchain",
    "Google ADK": "google-adk",
    "smolagents": "smolagents",
    "LlamaIndex": "llama-index",
    "AutoGen": "autogen",
    "mcp-use": "mcp-use",
    "mcpadapt": "mcpadapt",
    "FastMCP": "fastmcp",
    "AI SDK": "ai-sdk",
}
FILES = {
    "Claude Code": ("claude-code", "mcp.json"),
    "Codex": ("codex", ".codex/config.toml"),
    "Gemini CLI and Qwen Code": ("gemini-cli", ".gemini/settings.json"),
    "OpenCode": ("opencode", "work/opencode.json"),
}


def blocks_of(section):
    return re.findall(r"```(?:text|json)\n(.*?)```", SECTIONS[section], re.DOTALL)


def test_each_stack_has_its_lines():
    """Ours."""
    told = {*LIBRARIES.values(), *(stack for stack, _ in FILES.values()), "qwen-code"}
    assert told == set(stacks.STACKS)
    assert {*LIBRARIES, *FILES} == SECTIONS.keys()


@pytest.mark.parametrize(("section", "stack"), LIBRARIES.items(), ids=LIBRARIES.values())
def test_the_lines_of_a_library_are_those_of_its_driver(section, stack):
    """HOSTS.md: the snippet that the lab runs."""
    (driver,) = (stacks.HERE / "drivers").glob(f"drive_{stack.replace('-', '_')}.*")
    known = {line.strip().removeprefix(": ") for line in driver.read_text("utf-8").split("\n")}
    for block in blocks_of(section):
        assert {line.strip() for line in block.split("\n") if line} <= known


@pytest.mark.parametrize(("section", "stack", "file"), [(key, *said) for key, said in FILES.items()], ids=FILES)
def test_the_file_of_a_program_is_the_one_that_it_is_tried_with(section, stack, file, tmp_path, monkeypatch):
    """Likewise."""
    monkeypatch.setattr(stacks, "_installed", lambda *_: ("node", __file__))
    stacks._CONFIGURED[stack](tmp_path, TARGET, "http://127.0.0.1:1")
    written = (tmp_path / file).read_text("utf-8")
    (block,) = blocks_of(section)
    if file.endswith(".toml"):
        assert block in written
    else:
        assert json.loads(block).items() <= json.loads(written).items()
