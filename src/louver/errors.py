"""The exceptions of Louver: each has a code, a message for readers, and fields for programs.

They go on the wire unchanged::

    {"code": "INVALID_PROJECTION", "message": "field path 'a..b': expected ...", "path": "a..b", "offset": 2, ...}

Message and fields hold parts of the client's request and names of a schema, never a value of a tool's output.
"""

from __future__ import annotations

from typing import Any, ClassVar


class LouverError(Exception):
    """The base class of all errors of Louver.

    Args:
        message: What is wrong, where, and what would be right.
        fields: The same for programs, as JSON values; those that are `None` are left out.
    """

    code: ClassVar[str] = "LOUVER_ERROR"

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.fields = {name: _encodable(value) for name, value in fields.items() if value is not None}

    def to_json(self) -> dict[str, Any]:
        """The error as one JSON object: `code`, `message`, and the fields."""
        return {"code": self.code, "message": _encodable(self.message), **self.fields}


class InvalidProjection(LouverError):
    """A request that is not a valid projection."""

    code = "INVALID_PROJECTION"


class InvalidPath(InvalidProjection):
    """A field path that cannot be parsed.

    Args:
        path: The text as the client wrote it.
        offset: Where parsing stopped, in code points from 0.
        expected: What would be right there.
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
    """A strict request for a field that the tool's schema does not know."""

    code = "UNKNOWN_FIELD"


class UnknownView(InvalidProjection):
    """A request for a view that the tool does not have."""

    code = "UNKNOWN_VIEW"


class UnfitType(InvalidProjection):
    """A requested type that no answer of the tool can have.

    Args:
        message: What does not fit, and what the tool has instead.
        path: Where; `None` if the type itself cannot be requested.
        takes: The JSON types that the requested type accepts there.
        has: The JSON types that the tool's schema has there.
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
    """An answer withheld under a field policy: no part of it is known to be visible. `correlation_id` is in the log."""

    code = "WITHHELD"

    def __init__(self, message: str, *, correlation_id: str | None = None) -> None:
        super().__init__(message, correlation_id=correlation_id)


class InvalidAnswer(LouverError):
    """An answer that is not a result, or contradicts its own receipt or the request."""

    code = "INVALID_ANSWER"


class InvalidQuery(LouverError):
    """A query for tools that is not plain text of the right length."""

    code = "INVALID_QUERY"


class InvalidCursor(LouverError):
    """A cursor that does not belong to this query, caller and catalogue."""

    code = "INVALID_CURSOR"


class RateLimited(LouverError):
    """A caller over its rate limit."""

    code = "RATE_LIMITED"


class UpstreamError(LouverError):
    """An upstream that does not answer as it should."""

    goes_on: bool = False  # the upstream may still be processing the request


class UpstreamUnavailable(UpstreamError):
    """An upstream that is unavailable, or ended during the call."""

    code = "UPSTREAM_UNAVAILABLE"


class TooManyProcesses(UpstreamUnavailable):
    """An upstream over stdio that is not started, since the gateway runs as many processes as it may."""

    code = "TOO_MANY_PROCESSES"


class LoginRequired(UpstreamUnavailable):
    """An upstream at which somebody has to log in first; the message holds the command."""

    code = "LOGIN_REQUIRED"


class LoginFailed(UpstreamUnavailable):
    """A login that cannot be made, renewed, or kept."""

    code = "LOGIN_FAILED"


class UpstreamTimeout(UpstreamError):
    """An upstream that did not answer in time."""

    code = "UPSTREAM_TIMEOUT"
    goes_on = True


class UpstreamTooLarge(UpstreamError):
    """An upstream's answer that is larger than the gateway accepts."""

    code = "UPSTREAM_TOO_LARGE"


class UpstreamInvalidOutput(UpstreamError):
    """An upstream's answer that is not strict JSON, or not an answer at all."""

    code = "UPSTREAM_INVALID_OUTPUT"


class ToolChanged(UpstreamError):
    """A tool that is blocked because its definition differs from the one first listed."""

    code = "TOOL_CHANGED"


class InvalidInput(LouverError):
    """Input of the command line, or of the client, that cannot be read."""

    code = "INVALID_INPUT"


class _Located(LouverError):
    """An error with the file, as it was given, and the line (from 1) where it is, if they are known."""

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None) -> None:
        super().__init__(_where(file, line) + message, file=file, line=line)


class InvalidConfig(_Located):
    """A configuration of the gateway that cannot be used. The message never holds a value, which may be a secret."""

    code = "INVALID_CONFIG"


class InvalidView(_Located):
    """A view, or a file of views, that cannot be used.

    Args:
        message: What is wrong and what would be right.
        file: The file's path as it was given, if it is in a file.
        line: The line in that file, from 1.
        keys: The keys that lead to the error within the view.
    """

    code = "INVALID_VIEW"

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, keys: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, file=file, line=line)
        self.keys = keys


class InvalidSchema(_Located):
    """A file with an output schema that cannot be used."""

    code = "INVALID_SCHEMA"


class InvalidDescription(_Located):
    """A file with a tool description that cannot be used."""

    code = "INVALID_DESCRIPTION"


class InvalidPolicy(_Located):
    """A file with a field policy that cannot be used."""

    code = "INVALID_POLICY"


class InvalidGuidance(LouverError):
    """A guidance rule that cannot be used."""

    code = "INVALID_GUIDANCE"


class UnknownResult(LouverError):
    """A handle without a kept result for this caller."""

    # Unknown, expired and foreign handles are one error, so that no caller learns which it is.

    code = "UNKNOWN_RESULT"

    def __init__(self) -> None:
        super().__init__("no result is kept here for you, or no more: call the tool again")


class StateUnavailable(LouverError):
    """The store of state that replicas share does not answer, or refuses."""

    code = "STATE_UNAVAILABLE"


class MissingToolSelection(LouverError):
    """A read of tool descriptions that names no tool; `examples` are valid URIs."""

    code = "MISSING_TOOL_SELECTION"

    def __init__(self, examples: list[str]) -> None:
        message = "You must specify one or more tool names in the 'tools' parameter."
        super().__init__(message, examples=examples)


class ToolDescriptionRequired(LouverError):
    """A call of a tool before its caller has read the tool's description, which is at `uri`."""

    code = "TOOL_DESCRIPTION_REQUIRED"

    def __init__(self, tool: str, uri: str) -> None:
        # The message is that of 000; what a model does next is ours.
        how = f'Call get_tool_descriptions with {{"tools": ["{tool}"]}}, then {tool} again'
        also = ", with the argument 'grant' if its description has one"
        message = f"Tool '{tool}' requires fetching its description before use."
        super().__init__(message, resource_uri=uri, next=f"{how}{also}.")


class InvalidUri(LouverError):
    """A URI of tool descriptions, or of a kept result, that cannot be parsed."""

    code = "INVALID_URI"


class TooManyTools(LouverError):
    """A read of more descriptions than one answer holds."""

    code = "TOO_MANY_TOOLS"


class SandboxError(LouverError):
    """A script without a result. `line` counts from 1; `limit` is the bound that it exceeded."""

    def __init__(
        self, message: str, *, line: int | None = None, hint: str | None = None, limit: float | None = None
    ) -> None:
        where = "" if line is None else f"line {line}: "
        super().__init__(where + message, line=line, hint=hint, limit=limit)
        self.line, self.hint = line, hint


class SandboxSyntax(SandboxError):
    """A script that is not valid Lua, or too long."""

    code = "SANDBOX_SYNTAX"


class SandboxRuntime(SandboxError):
    """A script that raised an error; a tool's failure that ended it is the `__cause__`."""

    code = "SANDBOX_RUNTIME"


class SandboxTimeout(SandboxError):
    """A script that took too long."""

    code = "SANDBOX_TIMEOUT"


class SandboxMemory(SandboxError):
    """A script that needed too much memory."""

    code = "SANDBOX_MEMORY"


class SandboxCallLimit(SandboxError):
    """A script with too many calls, or too large arguments or replies."""

    code = "SANDBOX_CALL_LIMIT"


class SandboxOutputLimit(SandboxError):
    """A script with a result that is too large or too deep."""

    code = "SANDBOX_OUTPUT_LIMIT"


class SandboxCrashed(SandboxError):
    """A script with a process that ended, or was ended, without a result."""

    code = "SANDBOX_CRASHED"


class SandboxBusy(SandboxError):
    """A script over the number of scripts that may wait."""

    code = "SANDBOX_BUSY"


class SandboxUnavailable(SandboxError):
    """Scripts cannot run here, or not contained as configured."""

    code = "SANDBOX_UNAVAILABLE"


class ToolFailed(LouverError):
    """A tool call that failed.

    Args:
        message: What happened; it quotes nothing that the tool answered.
        tool: The name that was called.
        content: The content blocks of the tool's answer. No message holds them.
    """

    code = "TOOL_ERROR"

    def __init__(self, message: str, *, tool: str, content: list[Any] | None = None) -> None:
        super().__init__(message, tool=tool)
        self.content: list[Any] = content or []


class UnknownName(LouverError):
    """A server or tool that does not exist; `nearest` are similar names, the most similar first."""

    code = "UNKNOWN_NAME"

    def __init__(self, message: str, *, nearest: list[str] | None = None) -> None:
        super().__init__(message, nearest=nearest or [])
        self.nearest: list[str] = nearest or []


class InvalidArguments(LouverError):
    """Arguments that a built-in tool does not accept."""

    code = "INVALID_ARGUMENTS"


class NotReadOnly(LouverError):
    """A sample call of a tool that is not annotated as read-only."""

    code = "NOT_READ_ONLY"


class AuditFailed(LouverError):
    """An audit record, or a file of them, that cannot be written."""

    code = "AUDIT_FAILED"


class AuthUnavailable(LouverError):
    """A token that cannot be checked: its issuer does not answer as it should."""

    code = "AUTH_UNAVAILABLE"


def _where(file: str | None, line: int | None) -> str:
    return "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "


def _short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _encodable(value: Any) -> Any:
    """`value` with lone surrogates as escapes, so that it can be encoded."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value
