"""Reading descriptions over a `Wire`, and calling as a model does that has read them."""

import json

URI = "resource:///tool_descriptions"


async def read(wire, uri):
    """What the resource answers: the JSON value in it, and the result."""
    result = await wire.request("resources/read", {"uri": uri})
    (content,) = result["contents"]
    assert content["uri"] == uri
    assert content["mimeType"] == "application/json"
    return json.loads(content["text"]), result


async def descriptions(wire, *tools):
    """The descriptions of tools by name."""
    return (await read(wire, f"{URI}?tools={','.join(tools)}"))[0]


def grants_in(described):
    """The arguments that a description asks to copy."""
    properties = described["inputSchema"].get("properties", {})
    return {"grant": properties["grant"]["const"]} if "grant" in properties else {}


async def call_as_told(wire, tool, arguments=None, **meta):
    """Read how a tool is described, and call it so."""
    described = (await descriptions(wire, tool))[tool]
    return await wire.call(tool, {**(arguments or {}), **grants_in(described)}, **meta)


def required(result):
    """Whether a result says that a description must be read first."""
    return result.get("_meta", {}).get("dev.louver/error", {}).get("code") == "TOOL_DESCRIPTION_REQUIRED"
