"""Secret headers of an HTTP upstream: from files, and from a command that prints them (`headersHelper`).

    "Authorization": "Bearer ${file:token}"    the file, read again once it has changed: the session goes on
    "headersHelper": "print-headers"           {"Authorization": "Bearer ..."}, run again once the upstream refuses them

No message holds a value of them, or what the command prints.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.files.stamp import stamp_of
from louver.core.json import NotJson, is_object, parse
from louver.errors import UpstreamUnavailable
from louver.gateway.config.secret_file import MAX_SECRET_BYTES, UnreadableSecret, read_secret

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from louver.catalogue.files.stamp import Stamp
    from louver.gateway.config.model import HeadersHelper, HeaderTemplate

HEADERS_HELPER_S = 10.0
HEADERS_HELPER_PAUSE_S = 10.0
"""How long a `headersHelper` may run, as in Claude Code, and until it runs again for an upstream that still refuses."""

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class SecretHeaders:
    """The secret headers of an upstream, for all of its transports."""

    is_off = False

    def __init__(self, templates: Mapping[str, HeaderTemplate], helper: HeadersHelper | None) -> None:
        self._templates = {name.lower(): template for name, template in templates.items()}
        self._helper = helper
        self._printed: dict[str, str] | None = None
        self._lock = asyncio.Lock()  # one run of the helper at a time
        self._run_again_at = 0.0
        self._files: dict[Path, tuple[Stamp | None, str]] = {}

    async def headers(self) -> Mapping[str, str]:
        """The headers of a request, by names in lower case."""
        if self._helper is not None and self._printed is None:
            async with self._lock:
                if self._printed is None:
                    self._printed = await _run(self._helper)
        return self._known()

    async def on_refused(self, sent: Mapping[str, str], status: int, _challenge: str | None) -> bool:
        """Read them again. A request that is refused with 403 may have begun to run: it is not sent again."""
        self._files.clear()
        if self._helper is not None:
            async with self._lock:
                # Another call may have done so already.
                if self._known() == sent and monotonic() >= self._run_again_at:
                    self._run_again_at = monotonic() + HEADERS_HELPER_PAUSE_S
                    try:
                        self._printed = await _run(self._helper)
                    except asyncio.CancelledError:
                        # It has not ended: the next call runs it.
                        self._run_again_at = 0.0
                        raise
        return await self.headers() != sent and status == 401

    def _known(self) -> dict[str, str]:
        return {**self._from_files(), **(self._printed or {})}

    def _from_files(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        for name, template in self._templates.items():
            value = "".join(part if isinstance(part, str) else self._content(name, part) for part in template)
            if not _is_value(value):
                raise UpstreamUnavailable(f"the file of header {name!r}: expected printable ASCII, in one line")
            headers[name] = value
        return headers

    def _content(self, header: str, file: Path) -> str:
        stamp = stamp_of(file)
        if (known := self._files.get(file)) is None or known[0] != stamp:
            try:
                known = self._files[file] = stamp, read_secret(file)
            except UnreadableSecret as error:
                raise UpstreamUnavailable(f"the file of header {header!r} cannot be read: {error}") from None
        return known[1]


async def _run(helper: HeadersHelper) -> dict[str, str]:
    """The headers that a helper prints."""
    try:
        # Its own group: its children can be ended with it.
        process, output = await asyncio.get_running_loop().subprocess_exec(
            _Output,
            *helper.command,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=helper.folder,
            env={**os.environ, **helper.env},
            start_new_session=True,
        )
    except OSError as error:
        raise UpstreamUnavailable(f"'headersHelper' cannot be started: {error.strerror}") from None
    try:
        async with asyncio.timeout(HEADERS_HELPER_S):
            await output.ended.wait()
    except TimeoutError:
        raise UpstreamUnavailable(f"'headersHelper' has not ended in {HEADERS_HELPER_S:g} s") from None
    finally:
        if not output.is_whole:
            with suppress(ProcessLookupError):
                os.killpg(process.get_pid(), signal.SIGKILL)
            await output.exited.wait()
        process.close()
    if not output.is_whole:
        raise UpstreamUnavailable(f"'headersHelper' prints over {MAX_SECRET_BYTES:,} bytes")
    if (status := process.get_returncode()) != 0:
        raise UpstreamUnavailable(f"'headersHelper' ends with status {status}")
    return _printed_headers(output.content)


class _Output(asyncio.SubprocessProtocol):
    """What a process prints, until it has ended or prints too much."""

    def __init__(self) -> None:
        self.content = b""
        self.is_whole = False
        self.exited = asyncio.Event()
        self.ended = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.content += data
        if len(self.content) > MAX_SECRET_BYTES:
            self.ended.set()

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_whole = len(self.content) <= MAX_SECRET_BYTES
        self.ended.set()


def _printed_headers(output: bytes) -> dict[str, str]:
    try:
        printed: Any = parse(output.decode())
    except (NotJson, UnicodeDecodeError):
        printed = None
    if not is_object(printed) or not all(
        _NAME.fullmatch(name) and isinstance(value, str) and _is_value(value) for name, value in printed.items()
    ):
        raise UpstreamUnavailable("'headersHelper' prints something else than a JSON object of headers and their texts")
    return {name.lower(): value for name, value in printed.items()}


def _is_value(text: str) -> bool:
    return text.isascii() and text.isprintable()
