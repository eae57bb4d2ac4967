"""An authorization server that exchanges tokens, and a gateway whose callers' tokens are exchanged there."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from contextlib import contextmanager
from itertools import count
from urllib.parse import parse_qs

import jwt

from gateway.front.auth.issuer import issuer, key_set, public, rsa_key, signed
from gateway.gateways import LOUVER
from gateway.served import at, config, serving
from team.login.servers import free_port

METADATA = "/.well-known/oauth-authorization-server"
SECRET = "exchange-s3cr3t"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"


class Exchanges:
    """What callers' tokens are exchanged for: `token.SERVER.SUBJECT`, as `tenants.py` takes them."""

    def __init__(self, made, url):
        self.made, self.url = made, url
        self.forms = []
        self.servers = {}  # by the URL that a token is asked for
        self.changed = {}  # members of the answer
        self.refused = set()  # subjects that nothing is exchanged for
        self._numbers = count(1)
        made.answers[METADATA] = self.metadata(url)
        self._others, made.answer = made.answer, self._answer

    def metadata(self, issuer):
        ends = {f"{name}_endpoint": f"{self.url}/{name}" for name in ("authorization", "token")}
        return 200, json.dumps({"issuer": issuer, **ends}).encode(), {}

    def _answer(self, path, body, authorization):
        if path != "/token" or path in self.made.answers:
            return self._others(path, body, authorization)
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        self.forms.append(form)
        if authorization != f"Basic {b64encode(f'louver:{SECRET}'.encode()).decode()}":
            return 401, b'{"error": "invalid_client"}', {}
        options = {"verify_aud": False, "verify_exp": False}
        subject = jwt.decode(form["subject_token"], rsa_key().public_key(), ["RS256"], options=options)["sub"]
        if subject in self.refused:
            said = {"error": "invalid_grant", "error_description": f"{form['subject_token']} was revoked"}
            return 400, json.dumps(said).encode(), {}
        name = self.servers.get(form.get("resource"), next(self._numbers))
        said = {"access_token": f"token.{name}.{subject}", "issued_token_type": ACCESS_TOKEN, "token_type": "Bearer"}
        said = {**said, "expires_in": 60, **self.changed}
        return 200, json.dumps({name: value for name, value in said.items() if value is not None}).encode(), {}


@contextmanager
def exchanging():
    with issuer() as (made, url):
        yield Exchanges(made, url)


def oauth(issuer, **more):
    exchange = {"grant": "token_exchange", "clientId": "louver", "clientSecret": SECRET, "issuer": issuer}
    return {"oauth": {"for": "principal", **exchange, **more}}


@contextmanager
def exchanging_gateway(folder, urls, issuer, *options, server=None, command=LOUVER, stdout=None, **louver):
    """A gateway in front of servers, by their names; `token_of` makes tokens for it."""
    port = free_port()
    resource = f"http://127.0.0.1:{port}/mcp"
    (folder / "keys.json").write_text(key_set(public(rsa_key())))
    auth = {"jwks": "keys.json", "issuer": "https://id.example", "resource": resource}
    servers = {name: at(url, **oauth(issuer), **(server or {})) for name, url in urls.items()}
    arguments = [*config(folder, servers, auth=auth, **louver), "--http", f"127.0.0.1:{port}", *options]
    environ = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    with serving(*arguments, command=command, no_auth=False, env=environ, stdout=stdout) as served:
        served.token_of = lambda name, **claims: signed(sub=name, aud=resource, **claims)
        yield served
