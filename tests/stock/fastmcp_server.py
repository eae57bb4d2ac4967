"""The people of `hosts/server.py` as a server of FastMCP, with another one mounted, after `louver.attach`.

python fastmcp_server.py            over stdio
python fastmcp_server.py --http     over HTTP
"""

import socket
import sys

import uvicorn
from fastmcp import FastMCP
from pydantic import BaseModel

import louver


class Address(BaseModel):
    city: str
    zip: str


class Person(BaseModel):
    id: int
    name: str
    email: str
    address: Address


def person(id):
    return Person(id=id, name="Ada", email="ada@example.com", address=Address(city="London", zip="N1"))


def build(**options):
    """The server, attached with these options."""
    mounted = FastMCP("mounted")

    @mounted.tool
    def list_people() -> list[Person]:
        """List people."""
        return [person(1), person(2)]

    server = FastMCP("people")
    server.mount(mounted, namespace="more")

    @server.tool(meta=louver.hint(views={"card": ["name", "address.city"]}))
    def get_person(id: int) -> Person:
        """Get one person."""
        return person(id)

    louver.attach(server, **options)
    return server


if __name__ == "__main__":
    made = build(argument=True)
    if "--http" in sys.argv:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            print(f"serving at http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
            config = uvicorn.Config(made.http_app(), log_level="warning", timeout_graceful_shutdown=5)
            uvicorn.Server(config).run(sockets=[listener])
    else:
        made.run(transport="stdio", show_banner=False)
