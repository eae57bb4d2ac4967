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

    def __init_subclass__(cls, code: str | None = None) -> None:
        cls.code = code or cls.code

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.fields = {name: _encodable(value) for name, value in fields.items() if value is not None}

    def to_json(self) -> dict[str, Any]:
        """The error as one JSON object: `code`, `message`, and the fields."""
        return {"code": self.code, "message": _encodable(self.message), **self.fields}


class InvalidProjection(LouverError, code="INVALID_PROJECTION"):
    """A request that is not a valid projection."""


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


class ProjectionLimit(InvalidProjection, code="PROJECTION_LIMIT"):
    """A request over one of the bounds of its reference (`docs/reference/limits.md`)."""


class UnknownField(InvalidProjection, code="UNKNOWN_FIELD"):
    """A strict request for a field that the tool's schema does not know."""


class UnknownView(InvalidProjection, code="UNKNOWN_VIEW"):
    """A request for a view that the tool does not have."""


class UnfitType(InvalidProjection, code="UNFIT_TYPE"):
    """A requested type that no answer of the tool can have.

    Args:
        message: What does not fit, and what the tool has instead.
        path: The field that the tool does not answer; `None` if the type itself cannot be requested.
        suggestion: The path that was probably meant.
    """


class ProjectionRequired(LouverError, code="PROJECTION_REQUIRED"):
    """A request with `required: true` where no projection is possible."""


class OutputInvalid(LouverError, code="OUTPUT_INVALID"):
    """A kept value that does not satisfy its projected schema."""


class Withheld(LouverError, code="WITHHELD"):
    """An answer withheld under a field policy: no part of it is known to be visible. `correlation_id` is in the log."""


class InvalidAnswer(LouverError, code="INVALID_ANSWER"):
    """An answer that is not a result, or contradicts its own receipt or the request."""


class InvalidQuery(LouverError, code="INVALID_QUERY"):
    """A query for tools that is not plain text of the right length."""


class InvalidCursor(LouverError, code="INVALID_CURSOR"):
    """A cursor that does not belong to this query, caller and catalogue."""


class RateLimited(LouverError, code="RATE_LIMITED"):
    """A caller over its rate limit."""


class UpstreamError(LouverError):
    """An upstream that does not answer as it should."""

    goes_on: bool = False  # the upstream may still be processing the request


class UpstreamUnavailable(UpstreamError, code="UPSTREAM_UNAVAILABLE"):
    """An upstream that is unavailable, or ended during the call."""


class TooManyProcesses(UpstreamUnavailable, code="TOO_MANY_PROCESSES"):
    """An upstream over stdio that is not started, since the gateway runs as many processes as it may."""


class LoginRequired(UpstreamUnavailable, code="LOGIN_REQUIRED"):
    """An upstream at which somebody has to log in first; the message holds the command."""


class LoginFailed(UpstreamUnavailable, code="LOGIN_FAILED"):
    """A login that cannot be made, renewed, or kept."""


class UpstreamTimeout(UpstreamError, code="UPSTREAM_TIMEOUT"):
    """An upstream that did not answer in time."""

    goes_on = True


class UpstreamTooLarge(UpstreamError, code="UPSTREAM_TOO_LARGE"):
    """An upstream's answer that is larger than the gateway accepts."""


class UpstreamInvalidOutput(UpstreamError, code="UPSTREAM_INVALID_OUTPUT"):
    """An upstream's answer that is not strict JSON, or not an answer at all."""


class ToolChanged(UpstreamError, code="TOOL_CHANGED"):
    """A tool that is blocked because its definition differs from the one first listed."""


class InvalidInput(LouverError, code="INVALID_INPUT"):
    """Input of the command line, or of the client, that cannot be read."""


class _Located(LouverError):
    """An error with the file, as it was given, and the line (from 1) where it is, if they are known."""

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None) -> None:
        super().__init__(_where(file, line) + message, file=file, line=line)


class InvalidConfig(_Located, code="INVALID_CONFIG"):
    """A configuration of the gateway that cannot be used. The message never holds a value, which may be a secret."""


class InvalidView(_Located, code="INVALID_VIEW"):
    """A view, or a file of views, that cannot be used.

    Args:
        message: What is wrong and what would be right.
        file: The file's path as it was given, if it is in a file.
        line: The line in that file, from 1.
        keys: The keys that lead to the error within the view.
    """

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, keys: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, file=file, line=line)
        self.keys = keys


class InvalidSchema(_Located, code="INVALID_SCHEMA"):
    """A file with an output schema that cannot be used."""


class InvalidDescription(_Located, code="INVALID_DESCRIPTION"):
    """A file with a tool description that cannot be used."""


class InvalidPolicy(_Located, code="INVALID_POLICY"):
    """A file with a field policy that cannot be used."""


class InvalidGuidance(LouverError, code="INVALID_GUIDANCE"):
    """A guidance rule that cannot be used."""


class UnknownResult(LouverError, code="UNKNOWN_RESULT"):
    """A handle without a kept result for this caller."""

    # Unknown, expired and foreign handles are one error, so that no caller learns which it is.

    def __init__(self) -> None:
        super().__init__("no result is kept here for you, or no more: call the tool again")


class StateUnavailable(LouverError, code="STATE_UNAVAILABLE"):
    """The store of state that replicas share does not answer, or refuses."""


class MissingToolSelection(LouverError, code="MISSING_TOOL_SELECTION"):
    """A read of tool descriptions that names no tool; `examples` are valid URIs."""

    def __init__(self, examples: list[str]) -> None:
        message = "You must specify one or more tool names in the 'tools' parameter."
        super().__init__(message, examples=examples)


class ToolDescriptionRequired(LouverError, code="TOOL_DESCRIPTION_REQUIRED"):
    """A call of a tool before its caller has read the tool's description, which is at `uri`."""

    def __init__(self, tool: str, uri: str) -> None:
        # The message is that of 000; what a model does next is ours.
        how = f'Call get_tool_descriptions with {{"tools": ["{tool}"]}}, then {tool} again'
        also = ", with the argument 'grant' if its description has one"
        message = f"Tool '{tool}' requires fetching its description before use."
        super().__init__(message, resource_uri=uri, next=f"{how}{also}.")


class InvalidUri(LouverError, code="INVALID_URI"):
    """A URI of tool descriptions, or of a kept result, that cannot be parsed."""


class TooManyTools(LouverError, code="TOO_MANY_TOOLS"):
    """A read of more descriptions than one answer holds."""


class SandboxError(LouverError):
    """A script without a result. `line` counts from 1; `limit` is the bound that it exceeded."""

    def __init__(
        self, message: str, *, line: int | None = None, hint: str | None = None, limit: float | None = None
    ) -> None:
        where = "" if line is None else f"line {line}: "
        super().__init__(where + message, line=line, hint=hint, limit=limit)
        self.line, self.hint = line, hint


class SandboxSyntax(SandboxError, code="SANDBOX_SYNTAX"):
    """A script that is not valid Lua, or too long."""


class SandboxRuntime(SandboxError, code="SANDBOX_RUNTIME"):
    """A script that raised an error; a tool's failure that ended it is the `__cause__`."""


class SandboxTimeout(SandboxError, code="SANDBOX_TIMEOUT"):
    """A script that took too long."""


class SandboxMemory(SandboxError, code="SANDBOX_MEMORY"):
    """A script that needed too much memory."""


class SandboxCallLimit(SandboxError, code="SANDBOX_CALL_LIMIT"):
    """A script with too many calls, or too large arguments or replies."""


class SandboxOutputLimit(SandboxError, code="SANDBOX_OUTPUT_LIMIT"):
    """A script with a result that is too large or too deep."""


class SandboxCrashed(SandboxError, code="SANDBOX_CRASHED"):
    """A script with a process that ended, or was ended, without a result."""


class SandboxBusy(SandboxError, code="SANDBOX_BUSY"):
    """A script over the number of scripts that may wait."""


class SandboxUnavailable(SandboxError, code="SANDBOX_UNAVAILABLE"):
    """Scripts cannot run here, or not contained as configured."""


class ToolFailed(LouverError, code="TOOL_ERROR"):
    """A tool call that failed.

    Args:
        message: What happened; it quotes nothing that the tool answered.
        tool: The name that was called.
        content: The content blocks of the tool's answer. No message holds them.
    """

    def __init__(self, message: str, *, tool: str, content: list[Any] | None = None) -> None:
        super().__init__(message, tool=tool)
        self.content: list[Any] = content or []


class UnknownName(LouverError, code="UNKNOWN_NAME"):
    """A server or tool that does not exist; `nearest` are similar names, the most similar first."""

    def __init__(self, message: str, *, nearest: list[str] | None = None) -> None:
        super().__init__(message, nearest=nearest or [])
        self.nearest: list[str] = nearest or []


class InvalidArguments(LouverError, code="INVALID_ARGUMENTS"):
    """Arguments that a built-in tool does not accept."""


class NotReadOnly(LouverError, code="NOT_READ_ONLY"):
    """A sample call of a tool that is not annotated as read-only."""


class AuditFailed(LouverError, code="AUDIT_FAILED"):
    """An audit record, or a file of them, that cannot be written."""


class AuthUnavailable(LouverError, code="AUTH_UNAVAILABLE"):
    """A token that cannot be checked: its issuer does not answer as it should."""


def _where(file: str | None, line: int | None) -> str:
    return "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "


def _short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _encodable(value: Any) -> Any:
    """`value` with lone surrogates as escapes, so that it can be encoded."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value
