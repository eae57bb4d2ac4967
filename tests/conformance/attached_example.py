"""The example with projection, over standard input and output; the command line has the options, as JSON."""

import json
import sys

import louver
from louver.example import build_server

if __name__ == "__main__":
    server = build_server()
    louver.attach(server, **json.loads(sys.argv[1]))
    server.run("stdio")
