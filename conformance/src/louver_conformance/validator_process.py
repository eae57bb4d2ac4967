"""What could take for ever, in a process of its own that can be ended.

A schema of a target can be made so that judging it never ends, and no thread can be stopped. So it is judged over
there, a line a job::

    -> {"schema": {...}, "values": [..., ...]}
    <- [true, false]
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from louver.core import json
from louver.core.schema.validate import validator
from louver.errors import UpstreamTimeout
from louver.limits import CONFORMANCE_BYTES, CONFORMANCE_JUDGING_S

if TYPE_CHECKING:
    from louver.core.json import Json, Schema


class Judge:
    """Says whether values satisfy a schema. Its process is started when it is first asked."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def accepts(self, schema: Schema, *values: Json) -> list[bool]:
        """Whether each value satisfies the schema.

        Raises:
            UpstreamTimeout: That cannot be said in reasonable time.
        """
        job = json.compact({"schema": schema, "values": values}).encode() + b"\n"
        try:
            async with asyncio.timeout(CONFORMANCE_JUDGING_S):
                return await self._answer(job)
        except (TimeoutError, ConnectionError, ValueError):
            await self.close()
            message = (
                f"whether a schema of the target accepts a value cannot be said in {CONFORMANCE_JUDGING_S:g} seconds"
            )
            raise UpstreamTimeout(message) from None

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            # Its pipe is closed only when it has been read to its end.
            await process.communicate()

    async def _answer(self, job: bytes) -> list[bool]:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "louver_conformance.validator_process"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=CONFORMANCE_BYTES,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(job)
        await process.stdin.drain()
        return json.parse((await process.stdout.readline()).decode())


def _serve() -> None:
    for line in sys.stdin.buffer:
        job: dict[str, Any] = json.parse(line.decode(), deepest=1000)
        ready = validator(job["schema"])
        said = [ready.is_valid(value) for value in job["values"]]
        sys.stdout.write(json.compact(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
