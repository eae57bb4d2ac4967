"""The example company with projection; with `--exact`, tools list their exact output schema.

The second shows what the relaxed listing is for: every stock client throws at a projected answer of that server.
"""

import socket
import sys
from pathlib import Path

import uvicorn

import louver

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.fixtures.company import build_server  # noqa: E402

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


if "--exact" in sys.argv:
    server.middleware.insert(0, remember)
louver.attach(server, views=ROOT / "tests" / "fixtures" / "company" / "views")
if "--exact" in sys.argv:
    server.middleware.insert(0, restore)

if "--http" in sys.argv:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"serving at http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
        config = uvicorn.Config(server.streamable_http_app(), log_level="warning", timeout_graceful_shutdown=5)
        uvicorn.Server(config).run(sockets=[listener])
else:
    server.run("stdio")
