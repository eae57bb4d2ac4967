"""What the page and its data are served to, and what not: tokens, hosts, origins, methods, the operator."""

import json
from pathlib import Path

import httpx2
import pytest

from desk.ui.conftest import UI, operated, policed
from fixtures.command import louver
from fixtures.forking import PYTHON
from gateway.front.auth.guarded import token_file
from gateway.served import FIXTURES, Served, config, fixture, serving, stateless
from louver.desk.ui.page import STATIC

RECORDS = {"records": fixture("records")}
API = ["about", "servers", "saved", "audit", "explain?server=records&tool=find&as=nobody"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The base URL of a page, and its token."""
    with operated(tmp_path_factory.mktemp("page")) as (base, token):
        yield base, token


def get(page, path, **headers):
    return httpx2.get(page[0] + path, headers={"authorization": f"Bearer {page[1]}", **headers})


def post(page, path, **content):
    return httpx2.post(page[0] + path, headers={"authorization": f"Bearer {page[1]}"}, **content)


def test_its_files_need_no_token_and_run_nothing_else(page):
    """Issue 42, C: strict Content-Security-Policy."""
    for file in ["", *(f"/{each.name}" for each in STATIC.iterdir() if each.suffix in (".js", ".css", ".svg"))]:
        found = httpx2.get(f"{page[0]}/ui{file}")
        assert found.status_code == 200
        policy = found.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
        assert "unsafe" not in policy
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["referrer-policy"] == "no-referrer"


def test_all_files_together_are_under_100_kb_and_hold_no_inline_script():
    """Issue 42, C."""
    assert sum(file.stat().st_size for file in STATIC.iterdir()) < 100_000
    index = (STATIC / "index.html").read_text()
    assert "style=" not in index
    assert index.count("<script") == index.count('<script type="module" src="/ui/')


@pytest.mark.parametrize(
    "path", [*(f"/ui/api/{name}" for name in API), "/ui/api/project", "/ui/api/view", "/mcp", "/ui/api.py", "/ui/../x"]
)
def test_nothing_else_is_served_without_the_token(page, path):
    """Issue 42, C: never without tokens."""
    assert httpx2.get(page[0] + path).status_code == 401
    assert httpx2.get(page[0] + path, headers={"authorization": "Bearer guessed"}).status_code == 401


@pytest.mark.parametrize("path", ["/ui", "/ui/page.js", "/ui/api/about"])
def test_other_hosts_and_origins_are_refused(page, path):
    """Ours: as `/mcp` refuses them."""
    assert get(page, path, host="evil.example").status_code == 421
    assert get(page, path, origin="https://evil.example").status_code == 403
    assert get(page, path, origin="null").status_code == 403
    assert get(page, path, origin=page[0]).status_code == 200


def test_each_page_is_also_json(page):
    """Issue 42, C."""
    about = get(page, "/ui/api/about")
    assert about.json() == {
        "operator": True,
        "argument": "output_fields",
        "saved": True,
        "audit": True,
        "policies": {"records": ["find"]},
    }
    assert about.headers["cache-control"] == "no-store"
    [server] = get(page, "/ui/api/servers").json()
    assert (server["name"], server["problem"]) == ("records", None)
    assert get(page, "/ui/api/audit?by=field&days=7").json() == []
    saved = get(page, "/ui/api/saved?by=server").json()
    assert [(row["server"], row["calls"]) for row in saved["rows"]] == [("tracker", 8), ("memory", 4)]
    assert [row["day"] for row in saved["days"]] == ["2026-11-01", "2026-11-02"]
    assert saved["total"]["savedTokens"] == round(21_700 / 3.5) - round(2_170 / 3.5)
    assert get(page, "/ui/api/saved?by=view&days=1").json()["rows"] == []


def test_a_role_is_explained_as_the_command_explains_it(page, tmp_path):
    """Ours: `louver check --as` and the page have one answer."""
    options = policed(tmp_path)
    for who in ("nobody", "role:support"):
        told = louver("check", "--tool", "find", "--as", who, *options, "--server", "records", "--json")
        command = json.loads(told.stdout)
        found = get(page, f"/ui/api/explain?server=records&tool=find&as={who}").json()
        assert {"path": "rows.owner.mail", "steps": ["rows", "owner", "mail"], "is": "dropped"} in found["fields"]
        for field in found["fields"]:
            del field["steps"]
        assert found == {name: command[name] for name in ("rule", "fields", "schema")}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("explain?server=none&tool=find&as=nobody", "'server': expected a server under a policy, not 'none'"),
        ("explain?server=records&tool=none&as=nobody", "'tool': server 'records' lists no tool 'none'"),
        ("explain?server=records&tool=find&as=who", "'as' takes 'nobody', or for example"),
        ("audit?by=value", "'by': expected field, tool, principal"),
        ("saved?by=principal", "'by': expected tool, server, view, day"),
        ("audit?days=-1", "'days': expected a whole number"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused_with_what_would_be_right(page, path, message):
    """Ours."""
    found = get(page, f"/ui/api/{path}")
    assert found.status_code == 400
    assert found.json()["message"].startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "the body: expected JSON"),
        (b"[]", "the body: expected an object"),
        (b'{"tool": 1}', "'tool': expected a tool that this caller was listed"),
        (b"[" * 5000 + b"]" * 5000, "a message"),
    ],
)
def test_a_malformed_body_is_refused(page, content, message):
    """Ours."""
    found = post(page, "/ui/api/project", content=content)
    assert found.status_code == 400
    assert found.json()["message"].startswith(message)


FIELDS = {"mode": "include", "fields": ["id"]}


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"tool": "find"}, "expected the 'tool', and the view's 'name'"),
        ({"tool": "find", "name": "a", "projection": {"mode": "view", "view": "b"}}, "'projection': expected fields"),
        ({"tool": "find", "name": "a", "projection": FIELDS}, "server 'records' has no folder of views: add"),
    ],
)
def test_a_view_that_cannot_be_saved_is_refused_with_what_would_be_right(page, question, message):
    """Ours."""
    found = post(page, "/ui/api/view", json=question)
    assert found.status_code == 400
    assert found.json()["message"].startswith(message)


def test_the_method_of_each_is_fixed(page):
    """Ours."""
    assert post(page, "/ui/api/about").status_code == 405
    assert get(page, "/ui/api/project").status_code == 405
    assert post(page, "/ui").status_code == 405
    assert get(page, "/ui/api/nothing").status_code == 404


def test_a_projection_is_checked_by_what_the_caller_was_listed_alone(page):
    """Ours: the policy hides `owner`, so there is no such field, and a schema without it."""
    listed = stateless("tools/list")
    listed["headers"]["authorization"] = f"Bearer {page[1]}"
    assert httpx2.post(f"{page[0]}/mcp", **listed).status_code == 200
    fields = post(page, "/ui/api/project", json={"tool": "find"}).json()["fields"]
    assert [each["steps"] for each in fields] == [["rows"], ["rows", "id"], ["rows", "name"], ["total"]]
    projection = {"mode": "include", "fields": ["rows.owner.mail", "total"]}
    found = post(page, "/ui/api/project", json={"tool": "find", "projection": projection}).json()
    assert found["receipt"]["unmatched"] == ["rows.owner.mail"]
    assert found["receipt"]["fields"] == ["rows.owner.mail", "total"]
    result = {"structuredContent": {"rows": [], "total": 7}, "content": []}
    kept = post(page, "/ui/api/project", json={"tool": "find", "projection": projection, "result": result}).json()
    assert json.loads(kept["kept"]) == {"rows": [], "total": 7}
    assert kept["receipt"] == {**found["receipt"], "partial": False}
    strict = {**projection, "strict": True}
    refused = post(page, "/ui/api/project", json={"tool": "find", "projection": strict})
    assert (refused.status_code, refused.json()["code"]) == (400, "UNKNOWN_FIELD")


def test_callers_with_tokens_of_their_own_are_no_operators(tmp_path):
    """Ours: servers, policies and the audit are for the user of this machine; all else is as listed to the caller."""
    options = config(tmp_path, RECORDS, auth={"tokens": token_file(tmp_path)})
    with serving("--ui", *options, no_auth=False) as served:
        served.says("the page is at http://127.0.0.1:[0-9]+/ui$")
        ann = (served.url.removesuffix("/mcp"), "t-ann")
        assert get(ann, "/ui/api/about").json() == {"operator": False, "argument": "output_fields"}
        for name in API[1:]:
            assert get(ann, f"/ui/api/{name}").status_code == 403
        assert post(ann, "/ui/api/view", json={}).status_code == 403
        assert get((ann[0], "t-old"), "/ui/api/about").status_code == 401
        assert httpx2.get(f"{ann[0]}/ui").status_code == 200


def test_without_the_option_there_is_no_page(tmp_path):
    """Ours."""
    with serving(*config(tmp_path, RECORDS)) as served:
        assert httpx2.get(served.url.replace("/mcp", "/ui")).status_code == 404


def test_a_page_of_an_allowed_host_may_call(tmp_path):
    """Ours: its origin is the host that the request is for."""
    with serving("--ui", "--allowed-host", "mcp.example", *config(tmp_path, RECORDS), no_auth=False) as served:
        token = Path(served.says(r"token\b.* (/\S+)").group(1)).read_text().strip()
        sent = stateless("tools/list")
        for origin, status in [
            ("http://mcp.example", 200),
            ("https://mcp.example", 200),
            ("http://mcp.example:81", 403),
            ("http://evil.example", 403),
        ]:
            headers = {**sent["headers"], "authorization": f"Bearer {token}", "host": "mcp.example", "origin": origin}
            assert httpx2.post(served.url, json=sent["json"], headers=headers).status_code == status


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve", "--ui", "--url", "http://127.0.0.1:9/mcp"], "--ui needs --http, without --no-auth"),
        (["serve", "--ui", "--http", "127.0.0.1:0", "--no-auth", "--", PYTHON], "--ui needs --http, without --no-auth"),
        (["serve", "--ui", "--http", "127.0.0.1:0", "--example"], "the page is for servers behind the gateway"),
        (["ui"], "name the server"),
    ],
)
def test_it_is_never_served_without_tokens_or_servers(arguments, message):
    """Issue 42, C."""
    done = louver(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_the_browser_gets_a_file_of_this_user_that_leads_to_the_page(tmp_path, monkeypatch):
    """Ours: other users see the arguments of a process, and the address has the token."""
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\ncp -p "${{1#file://}}" {tmp_path}/part && mv {tmp_path}/part {tmp_path}/seen.html\n'
    )
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", str(browser))
    served = Served([*UI[:-1], "--", PYTHON, str(FIXTURES / "records.py")])
    try:
        url = served.says(r"the page is at (\S+)").group(1)
        token = Path(served.says(r"token\b.* (/\S+)").group(1)).read_text().strip()
        served.says("ready")
        seen = tmp_path / "seen.html"
        assert f"{url}#token={token}" in seen.read_text()
        # Step 19, row 24: what is no terminal may be kept.
        assert token not in "".join(served.said)
        assert seen.stat().st_mode & 0o777 == 0o600
    finally:
        served.close()
