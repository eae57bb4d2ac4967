"""JSON Schema validation: here if it takes no longer than to read the value, else in a process that can be killed.

A hostile schema can take forever to validate, and no thread can be stopped. One line a job::

    -> {"schema": {...}, "values": [..., ...]}
    <- [true, false]
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from louver.core import json
from louver.core.json import is_object, members
from louver.core.schema.validate import validator
from louver_conformance.errors import CheckFailed, TargetTimeout
from louver_conformance.limits import MAX_MESSAGE_BYTES, VALIDATION_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver.core.json import Json, Schema


_SCHEMAS: Final = {"additionalProperties", "items"}
_PLAIN: Final = _SCHEMAS | {
    *("type", "properties", "required", "enum", "const", "title", "description", "default", "examples"),
    *("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"),
}
"""Keywords of schemas that look at each part of a value once."""

_NO_VERDICT: Final = "whether a schema of the target accepts a value cannot be said"


class ValidatorProcess:
    """Validates values against schemas of a target. The process starts with the first job that needs it."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def accepts(self, schema: Schema, *values: Json) -> list[bool]:
        """Whether each value satisfies the schema."""
        if _is_plain(schema):
            return _verdicts(schema, values)
        job = json.compact({"schema": schema, "values": values}).encode() + b"\n"
        try:
            async with asyncio.timeout(VALIDATION_TIMEOUT_S):
                return await self._run(job)
        except TimeoutError:
            await self.close()
            raise TargetTimeout(f"{_NO_VERDICT} in {VALIDATION_TIMEOUT_S:g} seconds") from None
        except (ConnectionError, ValueError):
            await self.close()
            raise CheckFailed(_NO_VERDICT) from None

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            # Its pipe is closed only when it has been read to its end.
            await process.communicate()

    async def _run(self, job: bytes) -> list[bool]:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "louver_conformance.validator_process"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=MAX_MESSAGE_BYTES,
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
        sys.stdout.write(json.compact(_verdicts(job["schema"], job["values"])) + "\n")
        sys.stdout.flush()


def _verdicts(schema: Schema, values: Sequence[Json]) -> list[bool]:
    judge = validator(schema)
    return [judge.is_valid(value) for value in values]


def _is_plain(schema: object) -> bool:
    if not is_object(schema):
        return isinstance(schema, bool)
    inner = [*members(schema.get("properties")).values(), *(schema[name] for name in _SCHEMAS if name in schema)]
    return schema.keys() <= _PLAIN and is_object(schema.get("properties", {})) and all(map(_is_plain, inner))


if __name__ == "__main__":
    _serve()
