"""How long the path of one warm projected `tools/call` is, from its first byte to the sent answer.

    python -m benchmarks.path                a table, a line a row
    python -m benchmarks.path --files ROW    the files of one row, in the order in which they are first entered
    python -m benchmarks.path --modules      Louver's modules that a plain `louver serve` has imported after one call

A row is a pairing and a revision of the protocol, for example `http/2026-07-28`:

    attach     a server with `louver.attach`, called in memory by the SDK's client
    http       the gateway over HTTP, in front of a server over HTTP
    stdio      the gateway over HTTP, in front of a server over stdio
    policed    as `http`, with a policy, an audit and a bearer token

Only Louver's own functions count. The gateway's client and upstream are processes of their own. Of several calls the
shortest is taken, with the fewest files: in another a timer may fire, or a message may arrive in two parts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from itertools import pairwise
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mcp import Client

import louver
from benchmarks.conversation import HANDSHAKE, MODERN, Conversation
from benchmarks.gateway_server import SIZED, build
from benchmarks.proxies import STDIO_UPSTREAM, serving
from benchmarks.traced import Entry, recording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from benchmarks.proxies import Serving

VERSIONS = (HANDSHAKE, MODERN)
WARM_UP = 5
CALLS = 40

TOOL = SIZED[0]
FIELDS = {"number", "title"}
PROJECTION = {"mode": "include", "fields": [f"items.{name}" for name in sorted(FIELDS)]}
POLICY = {"version": "1", "tools": {TOOL: {"rules": [{"name": "all", "allow": ["items"], "deny": ["items.body"]}]}}}

IDENTIFYING = ("identity_of", "client_of", "recipient_of")
"""The functions that find out who calls. A test sees that they exist."""


Paths = dict[str, list[list[Entry]]]
"""The entries of each call, by the revision."""


@dataclass(frozen=True, slots=True)
class Length:
    """The length of a path.

    Args:
        files: Distinct files entered.
        functions: Distinct functions entered.
        hops: Entries of another file than the entry before.
        deepest: The most frames on one stack.
        identified: How often the caller is identified.
    """

    files: int
    functions: int
    hops: int
    deepest: int
    identified: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.path", description="The path of one projected call.")
    parser.add_argument("--files", metavar="ROW", choices=ROWS, help=f"list the files of one: {', '.join(ROWS)}")
    parser.add_argument("--modules", action="store_true", help="list the modules that a plain gateway imports")
    given = parser.parse_args(arguments)
    if given.modules:
        print(*served_modules(), sep="\n")
    elif given.files is None:
        _print_table()
    else:
        _print_files(traced(given.files))
    return 0


def traced(row: str) -> list[Entry]:
    """The path of a row, entry by entry."""
    pairing, _, version = row.partition("/")
    return traced_pairing(pairing, version)[row]


def traced_pairing(pairing: str, *versions: str) -> dict[str, list[Entry]]:
    """The paths of a pairing by row, in both revisions or those that are named: of each the shortest."""
    return {
        f"{pairing}/{version}": min(paths, key=lambda path: (len({entry.file for entry in path}), len(path)))
        for version, paths in _PAIRINGS[pairing](versions or VERSIONS).items()
    }


def served_modules() -> list[str]:
    """Louver's modules that a plain gateway has imported after a call over HTTP to a server over stdio."""
    with _gateway("--no-auth", "--", *STDIO_UPSTREAM) as (gateway, url):
        client = Conversation(url, MODERN, None)
        client.tools()
        client.request("tools/call", {"name": TOOL, "arguments": {}}).send()
        client.close()
        return _answer(gateway, "modules")


def measured(entries: Sequence[Entry]) -> Length:
    """The length of a path."""
    return Length(
        files=len({entry.file for entry in entries}),
        functions=len({(entry.file, entry.function) for entry in entries}),
        hops=sum(before.file != after.file for before, after in pairwise(entries)),
        deepest=max(entry.depth for entry in entries),
        identified=sum(entry.function in IDENTIFYING for entry in entries),
    )


def _print_table() -> None:
    columns = [field.name for field in fields(Length)]
    print(f"{'':20}", *(f"{name:>10}" for name in columns))
    for pairing in PAIRINGS:
        for row, entries in traced_pairing(pairing).items():
            print(f"{row:20}", *(f"{count:10}" for count in astuple(measured(entries))), flush=True)


def _print_files(entries: Sequence[Entry]) -> None:
    for file, count in Counter(entry.file for entry in entries).items():
        print(f"{count:5}  {file}")


def _attach(versions: Sequence[str]) -> Paths:
    return {version: asyncio.run(_in_memory(version)) for version in versions}


async def _in_memory(version: str) -> list[list[Entry]]:
    server = build()
    louver.attach(server)
    paths: list[list[Entry]] = []
    async with Client(server, mode="legacy" if version == HANDSHAKE else version) as client:
        await client.list_tools()
        with recording() as recorder:
            for _ in range(WARM_UP + CALLS):
                recorder.take()
                result = await client.call_tool(TOOL, {}, meta={"projection": PROJECTION})
                paths.append(recorder.take())
        _check_is_projected(result.structured_content)
    return paths[WARM_UP:]


def _behind() -> AbstractContextManager[Serving]:
    """A server that writes each answer at once: two parts are read together or not, as the machine has it."""
    return serving(sys.executable, "-m", "benchmarks.prepared_server", "orjson")


def _http(versions: Sequence[str]) -> Paths:
    with _behind() as behind:
        return _through_gateway(versions, "--url", behind.url)


def _stdio(versions: Sequence[str]) -> Paths:
    return _through_gateway(versions, "--", *STDIO_UPSTREAM)


def _policed(versions: Sequence[str]) -> Paths:
    with _behind() as behind, TemporaryDirectory() as folder:
        config, token = _configure(Path(folder), behind.url)
        return _through_gateway(versions, "--config", str(config), token=token)


def _configure(folder: Path, url: str) -> tuple[Path, str]:
    """A configuration with a policy, an audit and tokens; and a token."""
    command = [sys.executable, "-m", "louver", "token", "--subject", "ann", "--client", "desk"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    token, written = made.splitlines()
    tokens, config = folder / "tokens.json", folder / "mcp.json"
    tokens.touch(mode=0o600)
    tokens.write_text(f'{{"tokens": {{{written}}}}}')
    (folder / "policy.json").write_text(json.dumps(POLICY))
    servers = {"issues": {"url": url, "louver": {"policy": "policy.json"}}}
    settings = {"auth": {"tokens": tokens.name}, "audit": {"file": "audit.db"}}
    config.write_text(json.dumps({"mcpServers": servers, "louver": settings}))
    return config, token.removeprefix("token: ")


def _through_gateway(versions: Sequence[str], *arguments: str, token: str | None = None) -> Paths:
    admission = ["--no-auth"] if token is None else []
    with _gateway(*admission, *arguments) as (gateway, url):
        return {version: _calls(gateway, Conversation(url, version, token)) for version in versions}


def _calls(gateway: Popen[str], client: Conversation) -> list[list[Entry]]:
    client.tools()
    call = client.request("tools/call", {"name": TOOL, "arguments": {}, "_meta": {"projection": PROJECTION}})
    paths: list[list[Entry]] = []
    for _ in range(WARM_UP + CALLS):
        _entries(gateway)
        call.send()
        paths.append(_entries(gateway))
    _check_is_projected(call.result()["structuredContent"])
    client.close()
    return paths[WARM_UP:]


@contextmanager
def _gateway(*arguments: str) -> Iterator[tuple[Popen[str], str]]:
    """A gateway that is recorded, and its URL."""
    command = [sys.executable, "-m", "benchmarks.traced", "serve", "--http", "127.0.0.1:0", *arguments]
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            serving = next(filter(None, (re.search(r"serving at (\S+)", line) for line in process.stderr)))
            yield process, serving[1]
        finally:
            process.terminate()


def _entries(gateway: Popen[str]) -> list[Entry]:
    """What a gateway has entered since it was last asked."""
    return [Entry(*entry) for entry in _answer(gateway, "")]


def _answer(gateway: Popen[str], line: str) -> list[Any]:
    assert gateway.stdin is not None
    assert gateway.stdout is not None
    print(line, file=gateway.stdin, flush=True)
    return json.loads(gateway.stdout.readline())


def _check_is_projected(value: Any) -> None:
    assert value["items"], "no answer"
    assert all(item.keys() == FIELDS for item in value["items"]), "the answer is not projected"


_PAIRINGS = {"attach": _attach, "http": _http, "stdio": _stdio, "policed": _policed}
PAIRINGS = tuple(_PAIRINGS)
ROWS = [f"{pairing}/{version}" for pairing in PAIRINGS for version in VERSIONS]

if __name__ == "__main__":
    sys.exit(main())
