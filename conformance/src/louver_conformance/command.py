"""The command `louver-conformance`: whether a server conforms to the specification.

    louver-conformance --fixture arguments.json -- python server.py
    louver-conformance --era 2026-07-28 --group projection --junit report.xml --url http://127.0.0.1:8080/mcp

Exit status: 0 if nothing failed but what the baseline lists, 1 if something failed, 2 for a wrong command line, 3 if
something was not tried because the server took too long.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from louver.core.nearest import did_you_mean
from louver.errors import InvalidInput
from louver.wire.uris import is_url
from louver_conformance import baseline
from louver_conformance.checks import GROUPS
from louver_conformance.fixture import NOT_CALLED, Fixture
from louver_conformance.limits import ANSWER_TIMEOUT_S, MAX_TIMEOUT_S
from louver_conformance.make_fixture import fixture_of
from louver_conformance.report import as_json, as_junit
from louver_conformance.run import run, with_baseline
from louver_conformance.session import REVISIONS, Target

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from louver_conformance.run import Outcome, Report

_SERVER: Final = "name the server: -- COMMAND, or --url URL"


def main(argv: Sequence[str] | None = None) -> int:
    """Check the server that the command line names and print the report; the exit status."""
    if argv is None:
        signal.signal(signal.SIGTERM, _end)
    line = [*(sys.argv[1:] if argv is None else argv)]
    place = line.index("--") if "--" in line else len(line)
    arguments = _parser().parse_args(line[:place])
    try:
        return _check(arguments, _target(arguments, line[place + 1 :]))
    except InvalidInput as error:
        _tell(error.message)
        return 2
    except KeyboardInterrupt:
        return 130


def _end(number: int, _: object) -> NoReturn:
    """End as by Ctrl-C: the work is cancelled, so that a started server ends too."""
    raise SystemExit(128 + number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="louver-conformance",
        usage="%(prog)s [OPTIONS] (-- COMMAND | --url URL)",
        description="Check an MCP server, in any language, against the specification of field projection.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--url", metavar="URL", help="the server's endpoint; a command that starts it follows '--' instead")
    add("--header", metavar="NAME=VALUE", action="append", default=[], help="a header for the URL (repeatable)")
    add("--token", metavar="FILE", help="a file with a bearer token for the URL")
    spoken = f"require and test this protocol revision: {', '.join(REVISIONS)} (repeatable; default: those it speaks)"
    add("--era", type=_one_of(REVISIONS), action="append", default=[], help=spoken)
    groups = f"run only these checks (repeatable): {', '.join(GROUPS)}"
    add("--group", type=_one_of(GROUPS), action="append", default=[], help=groups)
    add("--fixture", metavar="FILE", help="arguments for the tools, a JSON object")
    add("--baseline", metavar="FILE", help="known failures, one per line")
    add(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        help=f"how long an answer may take (default: {ANSWER_TIMEOUT_S:g})",
    )
    add(
        "--make-fixture",
        metavar="FILE",
        help="write arguments for the server's tools there, to be edited, and check nothing",
    )
    add("--json", action="store_true", help="print the report as one JSON object")
    add("--junit", metavar="FILE", help="also write it as JUnit XML")
    return parser


def _one_of(choices: Sequence[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise argparse.ArgumentTypeError(f"there is no {text[:80]!r}{did_you_mean(text, choices)}")
        return text

    return read


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MAX_TIMEOUT_S:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is no number of seconds up to {MAX_TIMEOUT_S:g}")
    return seconds


def _target(arguments: Namespace, command: Sequence[str]) -> Target:
    """The server to check. No error repeats what may be a secret."""
    if (arguments.url is None) == (not command):
        raise InvalidInput(_SERVER)
    if arguments.url is None:
        if shutil.which(command[0]) is None:
            raise InvalidInput(f"there is no such command: {command[0][:80]!r} is not on the PATH")
        return Target(command=tuple(command))
    if not is_url(arguments.url):
        raise InvalidInput("--url takes a URL that begins with http:// or https://, with a host and a port up to 65535")
    headers: dict[str, str] = {}
    for text in arguments.header:
        name, separator, value = text.partition("=")
        if not separator:
            raise InvalidInput("--header takes NAME=VALUE, for example X-Tenant=acme")
        headers[name] = value
    if arguments.token is not None:
        headers["Authorization"] = f"Bearer {_token(Path(arguments.token))}"
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise InvalidInput(f"--header {name}: expected printable ASCII, in one line")
    return Target(url=arguments.url, headers=headers)


def _token(file: Path) -> str:
    """The token in a file that only its owner can read; the error names no file, since it may be the token itself."""
    expected = "--token takes a file that holds only the token"
    try:
        with file.open(encoding="latin-1") as opened:
            if os.fstat(opened.fileno()).st_mode & 0o077:
                raise InvalidInput(f"{expected}, and that only its owner can read: chmod 600")
            token = opened.read().strip()
    except OSError as error:
        raise InvalidInput(f"{expected}, and this one cannot be read: {error.strerror}") from None
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidInput(f"{expected}: letters, digits and signs without spaces")
    return token


def _check(arguments: Namespace, target: Target) -> int:
    fixture = Fixture() if arguments.fixture is None else Fixture.read(Path(arguments.fixture))
    known = [] if arguments.baseline is None else baseline.read(Path(arguments.baseline))
    options = {"revisions": arguments.era, "timeout_s": arguments.timeout}
    if arguments.make_fixture is not None:
        return _make_fixture(Path(arguments.make_fixture), asyncio.run(fixture_of(target, **options)))
    work = run(target, groups=arguments.group, fixture=fixture, **options)
    report = with_baseline(asyncio.run(work), known)
    print(json.dumps(as_json(report)) if arguments.json else _text(report), flush=True)
    # Last, so that the report is printed even if the file cannot be written.
    if arguments.junit is not None:
        try:
            Path(arguments.junit).write_bytes(as_junit(report))
        except OSError as error:
            raise InvalidInput(f"{arguments.junit} cannot be written: {error.strerror}") from None
    for line in report.fixed:
        _tell(f"the baseline lists '{line}', which passes")
    if not report.is_decided:
        _tell("some checks were not tried, since the server took too long: give it more by --timeout SECONDS")
    return 1 if not report.is_passed else 0 if report.is_decided else 3


def _make_fixture(file: Path, text: str) -> int:
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise InvalidInput(f"{file} is there already") from None
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror}") from None
    print(f"{file}: fill in the arguments, and move what may be called out of '{NOT_CALLED}'")
    return 0


def _text(report: Report) -> str:
    lines: list[str] = []
    for revision in dict.fromkeys(outcome.revision for outcome in report.outcomes):
        lines += ["", f"protocol {revision}", *_rows([each for each in report.outcomes if each.revision == revision])]
    lines += [f"{revision} is not spoken: {reason}" for revision, reason in report.unsupported.items()]
    counts = {outcome.status: report.count(outcome.status) for outcome in report.outcomes}
    lines += ["", ", ".join(f"{count} {status}" for status, count in counts.items())]
    failed = [outcome for outcome in report.outcomes if outcome.status == "fail"]
    lines += [f"fail {each.line}: {each.detail} ({', '.join(each.check.requirements)})" for each in failed]
    return "\n".join(map(_printable, lines)).lstrip("\n")


def _rows(outcomes: Sequence[Outcome]) -> list[str]:
    """A row for each outcome, and a single one for what the server does not offer of a group."""
    rows: list[str] = []
    for group in dict.fromkeys(outcome.check.group for outcome in outcomes):
        in_group = [outcome for outcome in outcomes if outcome.check.group == group]
        offered = [outcome for outcome in in_group if outcome.status != "not offered"]
        texts = [(each.status, each.check.id, each.detail or each.check.says) for each in offered]
        rows += [f"  {status:12} {group:12} {check:34} {text}" for status, check, text in texts]
        if others := [outcome for outcome in in_group if outcome.status == "not offered"]:
            ids = ", ".join(each.check.id for each in others)
            check, text = (f"{len(others)} checks", ids) if offered else ("*", others[0].detail)
            rows.append(f"  {'not offered':12} {group:12} {check:34} {text}")
    return rows


def _tell(text: str) -> None:
    print(f"louver-conformance: {_printable(text)}", file=sys.stderr)


def _printable(text: str) -> str:
    """Foreign text, with characters escaped that a terminal would interpret."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


if __name__ == "__main__":
    sys.exit(main())
