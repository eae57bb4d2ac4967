"""The pages that configure hosts and libraries have the lines with which these are tried."""

from __future__ import annotations

import json
import re
from pathlib import Path

from . import stacks

DOCS = Path(__file__).parents[2] / "docs"
HOSTS = (DOCS / "reference" / "hosts.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^### (.+)\n((?:(?!^##).*\n)*)", HOSTS, re.MULTILINE))
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
PROGRAMS = {
    "claude-code": "mcp.json",
    "codex": ".codex/config.toml",
    "gemini-cli": ".gemini/settings.json",
    "qwen-code": ".qwen/settings.json",
    "opencode": "work/opencode.json",
}
"""Stack -> the file that the lab writes."""


def blocks_of(text):
    return re.findall(r"```(?:text|json)\n(.*?)```", text, re.DOTALL)


def test_each_stack_has_its_lines():
    """Ours."""
    assert {*LIBRARIES.values(), *PROGRAMS} == set(stacks.STACKS)
    assert SECTIONS.keys() == LIBRARIES.keys()


def test_the_lines_of_a_library_are_those_of_its_driver(subtests):
    """HOSTS.md: the snippet that the lab runs."""
    for section, stack in LIBRARIES.items():
        with subtests.test(section):
            (driver,) = (stacks.HERE / "drivers").glob(f"drive_{stack.replace('-', '_')}.*")
            known = {line.strip().removeprefix(": ") for line in driver.read_text("utf-8").split("\n")}
            lines = {line.strip() for block in blocks_of(SECTIONS[section]) for line in block.split("\n") if line}
            assert lines - known == set()


def test_the_file_of_a_program_is_the_one_that_it_is_tried_with(tmp_path, monkeypatch, subtests):
    """HOSTS.md: the entry that the lab writes, under the name that `louver doctor --apply` gives it."""
    monkeypatch.setattr(stacks, "_installed", lambda *_: ("node", __file__))
    monkeypatch.setattr(stacks, "SERVER", "louver")
    for stack, file in PROGRAMS.items():
        with subtests.test(stack):
            (folder := tmp_path / stack).mkdir()
            stacks._CONFIGURED[stack](folder, TARGET, "http://127.0.0.1:1")
            written = (folder / file).read_text("utf-8")
            found = blocks_of((DOCS / "how-to" / "save-tokens.md").read_text("utf-8"))
            if file.endswith(".toml"):
                assert any(block in written for block in found)
            else:
                entries = [json.loads(block) for block in found if block.startswith("{")]
                assert any(entry.items() <= json.loads(written).items() for entry in entries)
