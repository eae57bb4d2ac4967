"""`docs/reference/hosts.md` says what the code and the runs say."""

from __future__ import annotations

import re
from pathlib import Path

from louver.catalogue.hosts import HOSTS

from . import stacks
from .known import KNOWN

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "hosts.md").read_text("utf-8")
SHOWN = {"structured": "structured content only", "text": "text", "both": "both", "whole": "the whole result"}
TITLES = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini-cli": "Gemini CLI",
    "qwen-code": "Qwen Code",
    "opencode": "OpenCode",
    "ai-sdk": "AI SDK",
    "openai-agents": "OpenAI Agents",
    "pydantic-ai": "pydantic-ai",
    "langchain": "LangChain's adapters",
    "google-adk": "Google ADK",
    "smolagents": "smolagents",
    "llama-index": "LlamaIndex's MCP tools",
    "autogen": "AutoGen",
    "mcp-use": "mcp-use",
    "mcpadapt": "mcpadapt",
    "fastmcp": "FastMCP's client",
}
"""Stack -> the name that the tables give it."""


def table(first):
    """The rows of the table with these first heads: the heads, and the cells of each host."""
    lines = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("|")]
    heads = next(number for number, line in enumerate(lines) if line[: len(first)] == list(first))
    return lines[heads], lines[heads + 2 : heads + 2 + len(TITLES)]


def version_of(stack):
    """The version of a stack's first package, as it is installed for the runs."""
    versions = stacks.VERSIONS[stack]
    return next(iter(versions["npm"].values())) if "npm" in versions else versions["pypi"][0].partition("==")[2]


def test_each_stack_stands_in_both_tables_with_the_version_that_was_tried():
    """HOSTS.md."""
    assert TITLES.keys() == set(stacks.STACKS)
    assert sorted(row[0] for row in table(("host", "`clientInfo.name`"))[1]) == sorted(TITLES.values())
    tried = [row[0] for row in table(("host", "list"))[1]]
    missing = [
        stack
        for stack, title in TITLES.items()
        if not any(re.match(rf"{re.escape(title)} .*{re.escape(version_of(stack))}\b", host) for host in tried)
    ]
    assert missing == []


def test_the_page_says_what_the_gateway_assumes(subtests):
    """HOSTS.md: what is shown, and whether the host searches tools itself."""
    rows = table(("host", "`clientInfo.name`"))[1]
    for name, host in HOSTS.items():
        with subtests.test(name):
            ((_, _, shown, note),) = (row for row in rows if re.match(rf"`{name}[`-]", row[1]))
            assert shown.startswith(SHOWN[host.shown])
            assert ("searches tools itself" in note) == host.defers


def test_the_page_names_what_does_not_work():
    """HOSTS.md: the cells of `known.py`, and no others."""
    heads, rows = table(("host", "list"))
    stacks_of = {
        row[0]: next(stack for stack, title in TITLES.items() if row[0].startswith(f"{title} ")) for row in rows
    }
    fails = {
        (stacks_of[row[0]], cell) for row in rows for cell, said in zip(heads, row, strict=True) if said[:2] == "no"
    }
    assert fails == set(KNOWN)
