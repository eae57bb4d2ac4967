"""Removes what the gateway adds to tools and answers, so that they can be compared with the server's own."""

import json

import louver
from louver.catalogue.entry import EXTRAS_SCHEMA
from louver.core.json import compact
from louver.core.schema.relax import admit
from louver.wire.names import ARGUMENT, EXTRAS, HINT


def without_louver(tool):
    """A tool as the gateway lists it, without the argument and the hint."""
    if "outputSchema" not in tool:
        return tool
    # The hint stands in the annotations too, from which this client drops what its model does not have.
    annotations = {"annotations": tool["annotations"] or None} if "annotations" in tool else {}
    meta = {key: value for key, value in tool["_meta"].items() if key != HINT}
    left = {**tool, **annotations, "_meta": meta or None, "inputSchema": without_argument(tool["inputSchema"])}
    return {key: value for key, value in left.items() if value is not None}


def takes_argument(tool):
    """Whether a listed tool has the argument for fields."""
    return ARGUMENT in tool["inputSchema"].get("properties", {})


def without_argument(schema):
    """An input schema without the argument for fields."""
    if ARGUMENT not in schema.get("properties", {}):
        return schema
    return {**schema, "properties": {key: value for key, value in schema["properties"].items() if key != ARGUMENT}}


def with_relaxed_output(tool):
    """A tool as the server lists it, with the output schema that the gateway lists."""
    if "outputSchema" not in tool:
        return tool
    return {**tool, "outputSchema": admit(louver.relax(tool["outputSchema"]), EXTRAS, EXTRAS_SCHEMA)}


def without_whitespace(answer):
    """An answer without the white space of texts that are just its structured content, without_whitespace out."""
    structured = answer["structuredContent"] if answer["ok"] else None
    return (
        answer
        if structured is None
        else {**answer, "content": [_spelled(block, structured) for block in answer["content"]]}
    )


def _spelled(block, structured):
    if block["type"] != "text":
        return block
    try:
        value = json.loads(block["text"])
    except ValueError:
        return block
    return {**block, "text": compact(value)} if value == structured else block
