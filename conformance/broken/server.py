"""A broken server by its name over standard input and output, or all of them over HTTP, each at its name.

python conformance/broken/server.py ExcludeAdds
python conformance/broken/server.py --http 8000      # http://127.0.0.1:8000/ExcludeAdds
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_hex

from honest import NEW, Honest
from lies import LIES

SERVERS = {"Honest": Honest, **{name: lie.server for name, lie in LIES.items()}}


def serve(connection):
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            sys.stdout.write(json.dumps(connection.answered(message)) + "\n")
            sys.stdout.flush()


SESSIONS, STATELESS = {}, {}
"""The connections, by the id of an MCP session and by the server."""


class Handler(BaseHTTPRequestHandler):
    """MCP sessions of 2025-11-25 have a connection each; requests of 2026-07-28 share one a server."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server = SERVERS[self.path[1:]]
        headers = {}
        if self.headers.get("mcp-protocol-version") == NEW:
            connection = STATELESS[server] = STATELESS.get(server) or server()
        elif message["method"] == "initialize":
            headers["mcp-session-id"] = token_hex(8)
            connection = SESSIONS[headers["mcp-session-id"]] = server()
        else:
            connection = SESSIONS[self.headers["mcp-session-id"]]
        self.respond(connection.answered(message) if "id" in message else None, headers)

    def do_GET(self):
        self.send_error(405)

    def do_DELETE(self):
        SESSIONS.pop(self.headers["mcp-session-id"], None)
        self.respond(None, {})

    def respond(self, message, headers):
        body = b"" if message is None else json.dumps(message).encode()
        self.send_response(200 if body else 202)
        for name, value in {**headers, "content-type": "application/json", "content-length": len(body)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def over_http(port=0):
    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--http", port]:
            over_http(int(port)).serve_forever()
        case [name]:
            serve(SERVERS[name]())
        case _:
            sys.exit(__doc__)
