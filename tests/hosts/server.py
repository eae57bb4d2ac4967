"""The server that hosts are given: a person with several fields, and a list that is too long to send.

`server.py 8` has eight tools more.
"""

import sys

from mcp.server import MCPServer
from pydantic import BaseModel

server = MCPServer("people")


class Address(BaseModel):
    city: str
    zip: str


class Person(BaseModel):
    id: int
    name: str
    email: str
    address: Address


class Row(BaseModel):
    id: int
    text: str


class Rows(BaseModel):
    total: int
    rows: list[Row]


@server.tool()
def get_person(id: int) -> Person:
    """Get one person."""
    return Person(id=id, name="Ada", email="ada@example.com", address=Address(city="London", zip="N1"))


@server.tool()
def list_rows(number: int = 150) -> Rows:
    """List rows."""
    return Rows(total=number, rows=[Row(id=each, text="x" * 200) for each in range(number)])


if __name__ == "__main__":
    for number in range(int(sys.argv[1]) if sys.argv[1:] else 0):
        server.add_tool(list_rows, name=f"other_{number}", description="Do something else.")
    server.run()
