"""The stacks: how each is installed, configured and run, and what its model saw.

Programs are given a configuration in a home of their own, a fake key, and nothing of the environment outside. Libraries
are driven by a script of `drivers/`, in an environment of its own. Each version stands in `versions.json`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from stock.run import node_packages, python_with

from .model import played

HERE = Path(__file__).parent
VERSIONS = json.loads((HERE / "versions.json").read_text("utf-8"))
PROGRAMS = ("claude-code", "codex", "gemini-cli", "qwen-code", "opencode")
AGENTS = ("openai-agents", "pydantic-ai", "langchain", "google-adk")
"""Libraries whose own loop asks the model; of the others the tools are called."""

STACKS = tuple(VERSIONS)
RUN_S = 60
PROMPT = "Do the thing with the tools."
SERVER = "people"


@dataclass
class Run:
    """What is run: a server, and what the model does with it.

    Attributes:
        target: `{"command", "args"}` or `{"url"}`.
        steps: `{"tool": name, "arguments": {...}}` each.
    """

    target: dict
    steps: list


@dataclass
class Seen:
    """What a model saw.

    Attributes:
        tools: By name: `{"description", "parameters"}`.
        results: A text for each step.
        found: What came of looking for tools, in hosts that load them when they are looked for.
        failed: Why the stack came to nothing, if it did.
    """

    tools: dict = field(default_factory=dict)
    results: list = field(default_factory=list)
    found: str = ""
    failed: str = ""


def run_all(stack, runs, folder):
    """What a stack's model saw in each run.

    Args:
        stack: Its name.
        runs: The runs.
        folder: A folder for homes.

    Raises:
        StockError: The stack cannot be installed.
    """
    if stack in PROGRAMS:
        return [_program(stack, run, folder / f"{stack}-{number}") for number, run in enumerate(runs)]
    with ExitStack() as block:
        models = [block.enter_context(played(run.steps)) for run in runs] if stack in AGENTS else []
        asked = [{**run.target, "steps": run.steps} for run in runs]
        for each, model in zip(asked, models, strict=False):
            each["model"] = model.url
        said, failed = _driven(stack, {"runs": asked}, folder / stack)
        answers = said or [{"failed": failed}] * len(runs)
        if models:
            found = zip(models, answers, strict=True)
            return [Seen(model.tools, model.seen, failed=answer.get("failed", "")) for model, answer in found]
        return [Seen(each.get("tools", {}), each.get("seen", []), failed=each.get("failed", "")) for each in answers]


def _driven(stack, request, home):
    node = "npm" in VERSIONS[stack]
    if node:
        found, packages = node_packages(json.dumps({"private": True, "dependencies": VERSIONS[stack]["npm"]}))
        script = packages / "driver.mjs"
        script.write_text((HERE / "drivers" / f"drive_{stack.replace('-', '_')}.mjs").read_text("utf-8"), "utf-8")
        command = [str(found), str(script)]
    else:
        command = [
            str(python_with(*VERSIONS[stack]["pypi"])),
            str(HERE / "drivers" / f"drive_{stack.replace('-', '_')}.py"),
        ]
    out, err = _ended(command, home, {}, json.dumps(request), RUN_S * max(1, len(request["runs"]) // 2))
    try:
        return json.loads(out), ""
    except ValueError:
        return None, err[-800:] or "it has said nothing"


def _program(stack, run, folder):
    steps = _found_first(stack, run.steps)
    with played(steps) as model:
        command, environment = _CONFIGURED[stack](folder, run.target, model.url)
        _, err = _ended(command, folder, environment, "", RUN_S)
        looked = len(steps) - len(run.steps)
        found = " ".join(model.seen[:looked])
        return Seen(model.tools, model.seen[looked:], found, "" if model.tools else err[-800:])


def _found_first(stack, steps):
    """The steps of a model whose host loads tools when they are searched for."""
    names = list(dict.fromkeys(f"mcp__{SERVER}__{step['tool']}" for step in steps))
    query = {"query": f"select:{','.join(names)}", "max_results": 10}
    if stack == "claude-code":
        named = [{**step, "tool": f"mcp__{SERVER}__{step['tool']}"} for step in steps]
        return [{"tool": "ToolSearch", "arguments": query}, *named]
    if stack == "qwen-code":
        calls = [
            {
                "tool": "tool_call",
                "arguments": {"name": f"mcp__{SERVER}__{step['tool']}", "arguments": step.get("arguments", {})},
            }
            for step in steps
        ]
        return [{"tool": "tool_search", "arguments": query}, *calls]
    return steps


def _ended(command, home, environment, text, seconds):
    """What a command prints on both streams, with all that it has started ended after it."""
    work = home / "work"
    work.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(Path(command[0]).parent), "/usr/bin", "/bin"])
    own = {"PATH": path, "HOME": str(home), "TERM": "dumb", "NO_COLOR": "1", "PYTHONPATH": "", **environment}
    with subprocess.Popen(
        command,
        cwd=work,
        env=own,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(text, timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            return out, f"{err}\nnot done after {seconds} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _installed(stack, program):
    """Node, and the program of a stack."""
    node, packages = node_packages(json.dumps({"private": True, "dependencies": VERSIONS[stack]["npm"]}))
    return str(node), str((packages / "node_modules" / ".bin" / program).resolve())


def _written(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


def _command(node, program):
    """A script of Node is run by the Node that it was installed for; else it is a program itself."""
    with open(program, "rb") as file:
        is_script = file.read(2) == b"#!"
    return [node, program] if is_script else [program]


def _claude_code(home, target, model):
    node, program = _installed("claude-code", "claude")
    server = target if "command" in target else {"type": "http", "url": target["url"]}
    _written(home / "mcp.json", {"mcpServers": {SERVER: server}})
    options = [
        "--mcp-config",
        str(home / "mcp.json"),
        "--strict-mcp-config",
        "--output-format",
        "stream-json",
        "--verbose",
    ]
    environment = {
        "ANTHROPIC_BASE_URL": model,
        "ANTHROPIC_API_KEY": f"sk-ant-fake-{'0' * 24}",
        "DISABLE_TELEMETRY": "1",
    }
    environment |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    command = [*_command(node, program), "-p", PROMPT, *options, "--allowedTools", "mcp__*", f"mcp__{SERVER}"]
    return command, {**environment, "PATH": f"{Path(node).parent}{os.pathsep}/usr/bin:/bin"}


def _codex(home, target, model):
    node, program = _installed("codex", "codex")
    reached = (
        f"command = {json.dumps(target['command'])}\nargs = {json.dumps(target['args'])}\n"
        if "command" in target
        else f"url = {json.dumps(target['url'])}\n"
    )
    _written(
        home / ".codex" / "config.toml",
        'model = "gpt-5.1"\nmodel_provider = "fake"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
        f'[model_providers.fake]\nname = "fake"\nbase_url = "{model}/v1"\n'
        'env_key = "FAKE_KEY"\nwire_api = "responses"\n'
        "request_max_retries = 0\nstream_max_retries = 0\n"
        f"[mcp_servers.{SERVER}]\n{reached}startup_timeout_sec = 30\nrequired = true\n",
    )
    return [*_command(node, program), "exec", "--skip-git-repo-check", "--json", PROMPT], {"FAKE_KEY": "fake"}


def _settings(home, folder, target, kind):
    server = {**target, "trust": True} if "command" in target else {"httpUrl": target["url"], "trust": True}
    _written(
        home / folder / "settings.json",
        {
            "mcpServers": {SERVER: server},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"disableAutoUpdate": True},
            "security": {"auth": {"selectedType": kind}},
        },
    )


def _gemini_cli(home, target, model):
    node, program = _installed("gemini-cli", "gemini")
    _settings(home, ".gemini", target, "gemini-api-key")
    environment = {"GEMINI_API_KEY": "fake", "GOOGLE_GEMINI_BASE_URL": model, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    command = [*_command(node, program), "-p", PROMPT, "--yolo", "-m", "gemini-2.5-flash", "--output-format", "json"]
    return command, environment


def _qwen_code(home, target, model):
    node, program = _installed("qwen-code", "qwen")
    _settings(home, ".qwen", target, "openai")
    environment = {"OPENAI_API_KEY": "fake", "OPENAI_BASE_URL": f"{model}/v1", "OPENAI_MODEL": "fake"}
    return [*_command(node, program), "-p", PROMPT, "--yolo", "--auth-type", "openai"], environment


def _opencode(home, target, model):
    node, program = _installed("opencode", "opencode")
    if "command" in target:
        server = {"type": "local", "command": [target["command"], *target["args"]], "enabled": True, "timeout": 30000}
    else:
        server = {"type": "remote", "url": target["url"], "enabled": True}
    models = {"fake": {"name": "fake", "tool_call": True, "limit": {"context": 200000, "output": 8000}}}
    options = {"baseURL": f"{model}/v1", "apiKey": "fake"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": options, "models": models}
    _written(
        home / "work" / "opencode.json",
        {
            "autoupdate": False,
            "share": "disabled",
            "model": "fake/fake",
            "small_model": "fake/fake",
            "provider": {"fake": provider},
            "mcp": {SERVER: server},
            "permission": {"*": "allow"},
        },
    )
    environment = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    environment |= {"OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    return [*_command(node, program), "run", "--print-logs", PROMPT], environment


_CONFIGURED = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    "qwen-code": _qwen_code,
    "opencode": _opencode,
}
