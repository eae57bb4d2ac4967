"""An issuer of tokens: keys that are made here, and a server of this machine that tells of them."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

ISSUER, RESOURCE = "https://id.example", "https://mcp.example/mcp"


@cache
def rsa_key(bits=2048):
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


@cache
def ec_key(curve=ec.SECP256R1):
    return ec.generate_private_key(curve())


@cache
def ed_key():
    return ed25519.Ed25519PrivateKey.generate()


@cache
def other_key():
    """One that nobody knows."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public(key, kid="one", **members):
    """The key that others know, as it stands in a set."""
    kinds = {rsa.RSAPrivateKey: "RS256", ed25519.Ed25519PrivateKey: "EdDSA"}
    name = next((name for kind, name in kinds.items() if isinstance(key, kind)), "ES256")
    made = jwt.get_algorithm_by_name(name).to_jwk(key.public_key(), as_dict=True)
    return {**{name: value for name, value in made.items() if name != "key_ops"}, "kid": kid, **members}


def key_set(*keys):
    return json.dumps({"keys": list(keys)})


def now(seconds=0):
    """A time that is looked at when a token is made, as whole seconds since the epoch."""
    return lambda: int(time.time() + seconds)


def claims(**said):
    """What a good token says; what is `None` it does not say."""
    said = {name: value() if callable(value) else value for name, value in said.items()}
    usual = {"iss": ISSUER, "sub": "ann", "client_id": "desk", "aud": RESOURCE, "scope": "read write"}
    usual["exp"] = int(time.time()) + 600
    return {name: value for name, value in {**usual, **said}.items() if value is not None}


def signed(key=None, algorithm="RS256", kid="one", headers=None, **said):
    """A token of this issuer."""
    headers = {**({} if kid is None else {"kid": kid}), **(headers or {})}
    return jwt.encode(claims(**said), key or rsa_key(), algorithm, headers)


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # of connections at once


class Issuer:
    """What the server answers, by the path, and what it was asked."""

    def __init__(self):
        self.answers = {}
        self.asked = []

    def answer(self, path, body, authorization):
        """Status, body, and headers."""
        self.asked.append(path)
        return self.answers.get(path, (404, b"", {}))


@contextmanager
def issuer():
    """An issuer, and its URL."""
    made = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            status, said, headers = made.answer(self.path, body, self.headers.get("authorization"))
            self.send_response(status)
            for name, value in {"content-length": str(len(said)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(ConnectionError):  # of a client that takes no more
                self.wfile.write(said)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield made, f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
