"""The example server with projection, but with `relax` switched off: tools list their exact output schema.

It shows what the relaxed listing is for: every stock client throws at a projected answer of this server.
"""

import socket
import sys

import uvicorn

import louver
from louver.example import build_server

server = build_server()
exact = {}


async def remember(ctx, call_next):
    answer = await call_next(ctx)
    if ctx.method == "tools/list":
        exact.update({tool["name"]: tool.get("outputSchema") for tool in answer["tools"]})
    return answer


async def restore(ctx, call_next):
    answer = await call_next(ctx)
    if ctx.method == "tools/list":
        for tool in answer["tools"]:
            if exact[tool["name"]] is not None:
                tool["outputSchema"] = exact[tool["name"]]
    return answer


server.middleware.insert(0, remember)
louver.attach(server)
server.middleware.insert(0, restore)

if "--http" in sys.argv:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"serving at http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
        config = uvicorn.Config(server.streamable_http_app(), log_level="warning", timeout_graceful_shutdown=5)
        uvicorn.Server(config).run(sockets=[listener])
else:
    server.run("stdio")
