"""A gateway before `fixtures/tattling.py`, which tells in every place what is denied, and all that a client gets."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from fixtures.tattled import SECRET
from gateway.raw import raw
from gateway.served import config, fixture, serving
from louver.gateway.config.read import read_config
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.policy.principal import NOBODY, Principal
from louver.steps.request import Identity
from steps.wire import connect

ADMIN = Principal("https://id.example#ann", roles=frozenset({"admin"}))
ABLE = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
ANSWERS = {
    "elicitation/create": {"action": "accept", "content": {}},
    "sampling/createMessage": {"role": "assistant", "content": {"type": "text", "text": "t"}, "model": "m"},
    "roots/list": {"roots": []},
}
RULES = [
    {"name": "admins", "who": {"roles": ["admin"]}, "allow": ["*"]},
    {"name": "all", "deny": ["**.ssn"]},
]
POLICY = {"version": "1", "tools": {"*": {"rules": RULES}}, "meta": ["a.b/cost"], "resources": ["file:///open"]}
KINDS = {"old": (), "new": ("modern",)}
"""The servers, and how they are started."""


def policy(*rules, **more):
    """A policy with other rules for all tools, or with more members."""
    return {**POLICY, **({"tools": {"*": {"rules": list(rules)}}} if rules else {}), **more}


VIEWS = {"tool": "get_person", "views": {"secret": ["ssn"], "both": ["id", "ssn"], "open": ["id"]}}
DESCRIPTION = {
    "summary": "Get a person with the ssn.",
    "description": "Get one person. The field ssn is a number.",
    "examples": [
        {"description": "The ssn of 1", "input": {"id": 1}},
        {"description": "The second", "input": {"id": 2}},
    ],
    "usage_guidance": "Ask by id. Not for the ssn.",
    "error_guidance": {"no ssn": "there is none", "no person": "ask for another", "other": "see the ssn"},
}


def written(folder, policy=POLICY, servers=("old", "new"), **louver):
    """The options of `louver serve` for the servers under a policy; views and a description tell what is denied."""
    (folder / "it.policy.json").write_text(json.dumps(policy))
    (folder / "views").mkdir(exist_ok=True)
    (folder / "views" / "get_person.views.json").write_text(json.dumps(VIEWS))
    (folder / "descriptions").mkdir(exist_ok=True)
    (folder / "descriptions" / "get_person.json").write_text(json.dumps(DESCRIPTION))
    of = {"policy": "it.policy.json", "views": "views", "descriptions": "descriptions"}
    entries = {name: fixture("tattling", *KINDS[name], **of) for name in servers}
    return config(folder, entries, pseudonymKey="k" * 32, **louver)


@contextmanager
def gateway(folder, *options, **more):
    """A process, over HTTP."""
    with serving(*written(folder, **more), *options) as served:
        yield served


@asynccontextmanager
async def client_of(url, era):
    """A client that can be asked everything."""
    async with raw(url, era, capabilities=ABLE, answers=ANSWERS) as client:
        yield client


def got(client, *answers):
    """All that a client has got."""
    return json.dumps([client.opening, client.notes, client.questions, answers], ensure_ascii=False)


def leaks(*said):
    """Whether a secret stands in what was said."""
    return SECRET in json.dumps(said, ensure_ascii=False)


class Somebody:
    """A caller whose rights change while it is served."""

    subject, client, scopes = "ann", None, frozenset()

    def __init__(self, *roles):
        self.roles = frozenset(roles)


@asynccontextmanager
async def inside(folder, era, principal=NOBODY, **more):
    """A gateway in this process, and a connection of a caller with rights of its own."""
    made = Gateway(read_config(Path(written(folder, **more)[1])), single_client=False)
    try:
        async with connect(sdk_server(made.answer, Identity(principal)), era) as wire:
            yield wire
    finally:
        await made.close()
