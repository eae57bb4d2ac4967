"""Three principals with real tokens before one server: each is listed its own schema, and gets what that admits."""

from __future__ import annotations

from contextlib import asynccontextmanager, closing

import httpx2
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from gateway.front.auth.issuer import ISSUER, RESOURCE, key_set, public, rsa_key, signed
from gateway.served import serving
from louver.steps.audit.report import AuditReport
from policy.end_to_end import FIELDS, PRINCIPALS, written

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
EVERYBODY = pytest.mark.parametrize("who", PRINCIPALS)
ASKS = {"_meta": {"projection": {"mode": "include", "fields": ["name", "email", "address.geo"]}}}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    (folder / "keys.json").write_text(key_set(public(rsa_key())))
    auth = {"jwks": "keys.json", "issuer": ISSUER, "audience": RESOURCE}
    with serving(*written(folder, auth=auth), no_auth=False) as served:
        served.folder = folder
        yield served


def token(who):
    said = PRINCIPALS[who]
    return signed(sub=said["subject"], roles=said.get("roles"), scope=" ".join(said.get("scopes", [])))


class _Bearer(httpx2.Auth):
    def __init__(self, token):
        self.token = token

    def auth_flow(self, request):
        request.headers["authorization"] = f"Bearer {self.token}"
        yield request


@asynccontextmanager
async def connected(shop, who, mode):
    """A stock client, which validates what it gets against the schema that it was listed."""
    async with (
        httpx2.AsyncClient(auth=_Bearer(token(who)), trust_env=False) as http,
        Client(streamable_http_client(shop.url, http_client=http), mode=mode) as client,
    ):
        yield client


async def listed(client):
    return {tool.name: tool for tool in (await client.list_tools()).tools}


@MODES
@EVERYBODY
async def test_each_gets_what_its_own_schema_admits(shop, who, mode):
    """PRIVACY.md, "Policy file": rules select callers by what the authenticated principal is."""
    async with connected(shop, who, mode) as client:
        tools = await listed(client)
        assert set(tools) == {"get_user_profile"}
        answer = await client.call_tool("get_user_profile", {"user_id": 1})
        fields = set(answer.structured_content)
        assert fields == FIELDS.get(who, fields)
        assert len(fields) > (len(FIELDS["support"]) if who == "admin" else 0)
        if who == "support":
            assert answer.structured_content["phone"] == "[masked]"
            assert answer.structured_content["email"].startswith("p:")
            assert "geo" not in answer.structured_content["address"]
        assert "emoreau1" in answer.content[0].text or who != "admin"


@MODES
async def test_their_schemas_differ_and_none_admits_anothers_answer(shop, mode):
    """Ours: three different schemas, each tight where its rule is closed."""
    schemas, answers = {}, {}
    for who in PRINCIPALS:
        async with connected(shop, who, mode) as client:
            schemas[who] = (await listed(client))["get_user_profile"].output_schema
            answers[who] = (await client.call_tool("get_user_profile", {"user_id": 1})).structured_content
    for who, schema in schemas.items():
        assert Draft202012Validator(schema).is_valid(answers[who]), who
    assert not Draft202012Validator(schemas["support"]).is_valid(answers["admin"])
    assert not Draft202012Validator(schemas["nobody much"]).is_valid(answers["support"])


@MODES
@EVERYBODY
async def test_a_projection_is_of_what_is_seen(shop, who, mode):
    """PRIVACY.md, P8 and P11."""
    async with connected(shop, who, mode) as client:
        await listed(client)
        answer = await client.call_tool("get_user_profile", {"user_id": 1}, meta=ASKS["_meta"])
        receipt = answer.meta["projection"]
        kept = answer.structured_content
        assert Draft202012Validator(receipt["projectedSchema"]).is_valid(kept)
        expected = {"admin": {"name", "email", "address"}, "support": {"name", "email", "address"}}
        assert set(kept) == expected.get(who, {"name"})
        unmatched = {"admin": [], "support": ["address.geo"], "nobody much": ["address.geo", "email"]}
        assert sorted(receipt.get("unmatched", [])) == unmatched[who]


def test_it_is_written_down_who_got_what(shop):
    """PRIVACY.md, "Audit": fields, hashed principals and the policy's version; never a value."""
    with closing(AuditReport(shop.folder / "audit.db")) as trail:
        records = list(trail.records())
    assert {record.tool for record in records} == {"get_user_profile"}
    assert {record.policy for record in records} == {"7"}
    told = {}
    for record in records:
        told.setdefault(record.principal, set()).update(record.fields)
    assert len(told) == len(PRINCIPALS)
    assert sorted(map(len, told.values()))[0] == len(FIELDS["nobody much"])
    raw = b"".join(path.read_bytes() for path in shop.folder.glob("audit.db*"))
    assert not any(value in raw for value in (b"Edith", b"Moreau", b"moreau"))
