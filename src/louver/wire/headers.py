"""HTTP headers of 2026-07-28 that repeat parts of a request, so that a proxy can route without reading its body.

    Mcp-Method: tools/call    Mcp-Name: query    Mcp-Param-Region: =?base64?w6k=?=

Arguments are repeated where a tool's input schema has `x-mcp-header`; the SDK has the rules, and is loaded for them.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.core.json import Json

HEADER_ANNOTATION: Final = "x-mcp-header"

_ENCODED: Final = re.compile(r"=\?base64\?(.*)\?=")
_PLAIN: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?|")


def encode_header(value: str) -> str:
    """A value as a header: in base64 unless it is printable ASCII without white space around it."""
    if _PLAIN.fullmatch(value) and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode('ascii')}?="


def decode_header(header: str | None) -> str | None:
    """The value of a header; None without one, and if its base64 is not canonical, or not of UTF-8."""
    found = None if header is None else _ENCODED.fullmatch(header)
    if found is None:
        return header
    try:
        value = base64.b64decode(found[1], validate=True)
        return value.decode() if base64.b64encode(value).decode("ascii") == found[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def header_names(schema: Json) -> dict[tuple[str, ...], str]:
    """The header of each annotated argument, by its path; none if an annotation is not valid."""
    if not _has_annotation(schema):
        return {}
    from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

    return x_mcp_header_map(schema) if find_invalid_x_mcp_header(schema) is None else {}


def param_headers(names: Mapping[tuple[str, ...], str], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers of a call."""
    if not names:
        return {}
    from mcp.shared.inbound import mcp_param_headers

    return mcp_param_headers(names, arguments)


def param_mismatch(schema: Json, arguments: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    """How the headers of a call differ from its arguments, if they do."""
    if not _has_annotation(schema):
        return None
    from mcp.shared.inbound import validate_mcp_param_headers

    rejection = validate_mcp_param_headers(schema, arguments, headers)
    return None if rejection is None else rejection.message


def _has_annotation(value: Json) -> bool:
    if is_object(value):
        return HEADER_ANNOTATION in value or any(map(_has_annotation, value.values()))
    return is_array(value) and any(map(_has_annotation, value))
