"""The one family of exceptions, and what each says to programs.

Every refusal has a string code that goes on the wire unchanged::

    {"code": "INVALID_PROJECTION", "message": "field path 'a..b': expected ...",
     "path": "a..b", "offset": 2, "expected": "a name, a quoted name, or '*'"}

The message is for a reader (often a model that must repair its own request),
the other members are for programs. Neither ever holds a value of a tool's
output: what a client may read here is its own request and names of a schema.

The core raises these; one place a side turns them into protocol errors.
"""

from __future__ import annotations

from typing import Any, ClassVar


class LouverError(Exception):
    """What Louver refuses, with a code and named fields.

    Args:
        message: What is wrong, where, and what would have been right.
        fields: JSON values that say the same to a program.
    """

    code: ClassVar[str] = "LOUVER_ERROR"

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.fields = {name: _encodable(value) for name, value in fields.items() if value is not None}

    def to_json(self) -> dict[str, Any]:
        """The error as one JSON object: `code`, `message`, then the fields."""
        return {"code": self.code, "message": _encodable(self.message), **self.fields}


class InvalidProjection(LouverError):
    """A request whose shape is not a projection."""

    code = "INVALID_PROJECTION"


class InvalidPath(InvalidProjection):
    """A field path that cannot be read.

    Args:
        path: The text as the client wrote it.
        offset: Where reading stopped, in code points from 0.
        expected: What would have been right there.
        hint: What to write instead, as a whole sentence.
    """

    def __init__(self, path: str, offset: int, expected: str, hint: str | None = None) -> None:
        message = f"field path {_short(path)!r}: expected {expected} at offset {offset}"
        if hint is not None:
            message = f"{message}. {hint}"
        super().__init__(message, path=_short(path), offset=offset, expected=expected)
        self.path, self.offset, self.expected = path, offset, expected


class ProjectionLimit(InvalidProjection):
    """A request over one of the bounds of `louver.limits`."""

    code = "PROJECTION_LIMIT"


class UnknownField(InvalidProjection):
    """A strict request that names a field which the tool's schema does not know."""

    code = "UNKNOWN_FIELD"


class UnknownView(InvalidProjection):
    """A request for a view that the tool does not have."""

    code = "UNKNOWN_VIEW"


class UnfitType(InvalidProjection):
    """A request for a type that no answer of the tool can be read into.

    Args:
        message: What does not fit, and what the tool has instead.
        path: Where; `None` where the type itself is none that can be asked for.
        takes: The JSON types that the type takes there.
        has: Those that the tool's schema has there.
        suggestion: The path that was probably meant.
    """

    code = "UNFIT_TYPE"

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        takes: list[str] | None = None,
        has: list[str] | None = None,
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message, path=path, takes=takes, has=has, suggestion=suggestion)


class ProjectionRequired(LouverError):
    """A request with `required: true` where no projection is possible."""

    code = "PROJECTION_REQUIRED"


class OutputInvalid(LouverError):
    """A kept value that does not satisfy its projected schema."""

    code = "OUTPUT_INVALID"


class Withheld(LouverError):
    """What a server under a policy has said, and what nobody can tell which part of may be seen.

    Args:
        message: What is withheld.
        correlation_id: Names it in the log.
    """

    code = "WITHHELD"

    def __init__(self, message: str, *, correlation_id: str | None = None) -> None:
        super().__init__(message, correlation_id=correlation_id)


class InvalidAnswer(LouverError):
    """An answer that is not what it says: no result at all, or one whose receipt tells what is not so."""

    code = "INVALID_ANSWER"


class InvalidQuery(LouverError):
    """A query for tools that is not plain text of the right length."""

    code = "INVALID_QUERY"


class InvalidCursor(LouverError):
    """A cursor that is not one of this query, caller and catalogue."""

    code = "INVALID_CURSOR"


class RateLimited(LouverError):
    """A caller asks more often than is answered."""

    code = "RATE_LIMITED"


class UpstreamError(LouverError):
    """A server behind the gateway does not answer as it should."""

    goes_on: bool = False
    """Whether the server may be at the request still, for all that is known."""


class UpstreamUnavailable(UpstreamError):
    """The upstream is not there, or went while it was called."""

    code = "UPSTREAM_UNAVAILABLE"


class UpstreamTimeout(UpstreamError):
    """The upstream has not answered in time."""

    code = "UPSTREAM_TIMEOUT"
    goes_on = True


class UpstreamTooLarge(UpstreamError):
    """The upstream's answer is larger than the gateway reads."""

    code = "UPSTREAM_TOO_LARGE"


class UpstreamInvalidOutput(UpstreamError):
    """The upstream's answer is not strictly JSON, or no answer at all."""

    code = "UPSTREAM_INVALID_OUTPUT"


class ToolChanged(UpstreamError):
    """A tool of the upstream is not what it was when it was first listed, and is blocked for that."""

    code = "TOOL_CHANGED"


class NotSpoken(UpstreamError):
    """A server that is checked answers, but does not speak the protocol revision."""


class Broken(LouverError):
    """A sentence of the specification that a server which is checked does not keep."""


class NotOffered(LouverError):
    """A server that is checked has nothing on which a sentence could be tried, and need not."""


class NotTried(LouverError):
    """A server that is checked has nothing on which any sentence could be tried."""


class InvalidInput(LouverError):
    """What was given to the command, or to the client, cannot be read."""

    code = "INVALID_INPUT"


class _Located(LouverError):
    """What stands in a file, or came from elsewhere, and cannot be used.

    Args:
        message: What is wrong and what would have been right.
        file: The file's path as it was given, where it came from one.
        line: The line in that file, from 1.
    """

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None) -> None:
        super().__init__(_where(file, line) + message, file=file, line=line)


class InvalidConfig(_Located):
    """A configuration of the gateway that cannot be used. The message never holds a value, which may be a secret."""

    code = "INVALID_CONFIG"


class InvalidView(_Located):
    """A view, or a file of views, that cannot be used.

    Args:
        message: What is wrong and what would have been right.
        file: The file's path as it was given, where it came from one.
        line: The line in that file, from 1.
        keys: The way to what is wrong within the view.
    """

    code = "INVALID_VIEW"

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, keys: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, file=file, line=line)
        self.keys = keys


class InvalidSchema(_Located):
    """A file of an output schema that cannot be used."""

    code = "INVALID_SCHEMA"


class InvalidDescription(_Located):
    """A file that describes a tool and cannot be used."""

    code = "INVALID_DESCRIPTION"


class InvalidPolicy(_Located):
    """A file of field policy that cannot be used."""

    code = "INVALID_POLICY"


class InvalidGuidance(LouverError):
    """A rule of guidance that cannot be used."""

    code = "INVALID_GUIDANCE"


class UnknownResult(LouverError):
    """A handle of no result that is kept for who reads: it never was, has gone, or is of somebody else.

    All of these are one, so that nobody learns which.
    """

    code = "UNKNOWN_RESULT"

    def __init__(self) -> None:
        super().__init__("no result is kept here for you, or no more: call the tool again")


class MissingToolSelection(LouverError):
    """A read of descriptions that names no tool.

    Args:
        examples: URIs that would have been right.
    """

    code = "MISSING_TOOL_SELECTION"

    def __init__(self, examples: list[str]) -> None:
        message = "You must specify one or more tool names in the 'tools' parameter."
        super().__init__(message, examples=examples)


class ToolDescriptionRequired(LouverError):
    """A call of a tool whose description its caller has not read.

    Args:
        tool: The tool's name.
        uri: Where its description is read.
    """

    code = "TOOL_DESCRIPTION_REQUIRED"

    def __init__(self, tool: str, uri: str) -> None:
        # The message is that of 000; what a model does next is ours.
        how = f'Call get_tool_descriptions with {{"tools": ["{tool}"]}}, then {tool} again'
        also = ", with the argument 'grant' if its description has one"
        message = f"Tool '{tool}' requires fetching its description before use."
        super().__init__(message, resource_uri=uri, next=f"{how}{also}.")


class InvalidUri(LouverError):
    """A URI of descriptions, or of a kept result, that cannot be read."""

    code = "INVALID_URI"


class TooManyTools(LouverError):
    """A read of more descriptions than one answer holds."""

    code = "TOO_MANY_TOOLS"


class SandboxError(LouverError):
    """A script that has not come to a result.

    Args:
        message: What is wrong, in the script's own words where Lua has raised it.
        line: The line of the script, from 1.
        hint: What was probably meant, as a whole sentence.
        limit: The bound that it went over.
    """

    def __init__(
        self, message: str, *, line: int | None = None, hint: str | None = None, limit: float | None = None
    ) -> None:
        where = "" if line is None else f"line {line}: "
        super().__init__(where + message, line=line, hint=hint, limit=limit)
        self.line, self.hint = line, hint


class SandboxSyntax(SandboxError):
    """A script that is not Lua, or too long."""

    code = "SANDBOX_SYNTAX"


class SandboxRuntime(SandboxError):
    """A script that raises an error. If a tool's failure ends it, that is the `__cause__`."""

    code = "SANDBOX_RUNTIME"


class SandboxTimeout(SandboxError):
    """A script that takes too long."""

    code = "SANDBOX_TIMEOUT"


class SandboxMemory(SandboxError):
    """A script that needs too much memory."""

    code = "SANDBOX_MEMORY"


class SandboxCallLimit(SandboxError):
    """A script that calls too much, with too much, or gets too much."""

    code = "SANDBOX_CALL_LIMIT"


class SandboxOutputLimit(SandboxError):
    """A script whose result is too large or too deep."""

    code = "SANDBOX_OUTPUT_LIMIT"


class SandboxCrashed(SandboxError):
    """A script whose process has ended, or was ended, without a word."""

    code = "SANDBOX_CRASHED"


class SandboxBusy(SandboxError):
    """Too many scripts wait for their turn."""

    code = "SANDBOX_BUSY"


class SandboxUnavailable(SandboxError):
    """Scripts cannot be contained here, or not run at all."""

    code = "SANDBOX_UNAVAILABLE"


class ToolFailed(LouverError):
    """A tool that was called, and failed.

    Args:
        message: What happened, in our words.
        tool: The name by which it was called.
        content: The content blocks that the tool answered with. They stand in no message.
    """

    code = "TOOL_ERROR"

    def __init__(self, message: str, *, tool: str, content: list[Any] | None = None) -> None:
        super().__init__(message, tool=tool)
        self.content: list[Any] = content or []


class UnknownName(LouverError):
    """A server or a tool that is not there.

    Args:
        message: Which, and where it is missing.
        nearest: Names that were probably meant, the nearest first.
    """

    code = "UNKNOWN_NAME"

    def __init__(self, message: str, *, nearest: list[str] | None = None) -> None:
        super().__init__(message, nearest=nearest or [])
        self.nearest: list[str] = nearest or []


class InvalidArguments(LouverError):
    """Arguments of one of the gateway's own tools that it does not take."""

    code = "INVALID_ARGUMENTS"


class NotReadOnly(LouverError):
    """A sample call of a tool that does not say of itself that it only reads."""

    code = "NOT_READ_ONLY"


class AuditFailed(LouverError):
    """An audit record that is not written, or a file that records cannot be written to."""

    code = "AUDIT_FAILED"


class AuthUnavailable(LouverError):
    """Whether a token is good cannot be found out, since its issuer does not answer as it should."""

    code = "AUTH_UNAVAILABLE"


def _where(file: str | None, line: int | None) -> str:
    return "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "


def _short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _encodable(value: Any) -> Any:
    """`value` with lone surrogates written as escapes, so that it can be sent."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value
