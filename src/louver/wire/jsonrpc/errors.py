"""JSON-RPC errors, and their codes in MCP.

{"code": -32602, "message": "Invalid request parameters", "data": ""}
"""

from __future__ import annotations

from typing import Any, Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CONNECTION_CLOSED: Final = -32000
HEADER_MISMATCH: Final = -32020
MISSING_REQUIRED_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022
REQUEST_CANCELLED: Final = -32800
"""The answer to a cancelled request over HTTP in 2025-11-25, whose stream ends only with one. Source: LSP."""


class JsonRpcError(Exception):
    """An error response.

    Args:
        code: One of the codes above, or one of the server's own.
        message: A sentence.
        data: Any JSON value; None is left out.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code, self.message, self.data = code, message, data

    def __str__(self) -> str:
        return self.message

    def to_json(self) -> dict[str, Any]:
        """The member `error` of the response."""
        error = {"code": self.code, "message": self.message}
        return error if self.data is None else {**error, "data": self.data}


def invalid_params() -> JsonRpcError:
    """The error of params that are not as the method has them; it quotes nothing of them."""
    return JsonRpcError(INVALID_PARAMS, "Invalid request parameters", "")
