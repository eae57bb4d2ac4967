"""A server without Louver, for testing the drivers themselves.

Its tool's answer is a model with required fields. A middleware, which is where Louver sits too,
echoes a request's `_meta.projection` in the answer's `_meta` and adds members that no revision
knows, so that a test can see which of them reach a typed client. It lists one tool a page, because
a client that lists the second page may forget what it knew of the first.

With `--broken` the answer lacks a required field while the listed schema still demands it.
With `--http` it serves on a free port of 127.0.0.1 and prints the port; otherwise over stdio.
"""

import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

server = MCPServer("plain")
broken = "--broken" in sys.argv

EXTRA = {"supported": True}


class Address(BaseModel):
    city: str
    zip_code: str


class Person(BaseModel):
    id: int
    name: str
    address: Address


@server.tool()
def get_person(id: int) -> Person:
    return Person(id=id, name="Ada", address=Address(city="London", zip_code="N1"))


@server.tool()
def get_nothing() -> None:
    """Fills the second page."""


async def middleware(ctx, call_next):
    answer = await call_next(ctx)
    if ctx.method in ("initialize", "server/discover"):
        capabilities = answer["capabilities"]
        capabilities["tools"]["projection"] = EXTRA
        capabilities["extensions"] = {**capabilities.get("extensions", {}), "com.example/extra": EXTRA}
    elif ctx.method == "tools/list":
        if (ctx.params or {}).get("cursor"):
            answer["tools"] = answer["tools"][1:]
        else:
            answer.update(tools=answer["tools"][:1], nextCursor="2")
        for tool in answer["tools"]:
            tool["annotations"] = {
                **tool.get("annotations", {}),
                "readOnlyHint": True,
                "projectionHint": EXTRA,
            }
            tool["_meta"] = {"com.example/extra": EXTRA}
    elif ctx.method == "tools/call":
        if "projection" in (meta := ctx.params.get("_meta") or {}):
            answer["_meta"] = {**answer.get("_meta", {}), "projection": meta["projection"]}
        if broken:
            del answer["structuredContent"]["name"]
    return answer


server.middleware.insert(0, middleware)

if "--http" in sys.argv:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        config = uvicorn.Config(server.streamable_http_app(), log_level="warning", timeout_graceful_shutdown=5)
        uvicorn.Server(config).run(sockets=[listener])
else:
    server.run("stdio")
