"""Chromium, and gateways with the page, for as long as a module lasts."""

import json
import os
import shutil
from contextlib import contextmanager

import pytest
from playwright.sync_api import sync_playwright

from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from gateway.served import FIXTURES, Served, config, fixture
from louver.steps.savings.database import SavingsKey, add

PAGE = r"the page is at (\S+)"
UI = [PYTHON, "-m", "louver", "ui", "--no-open"]


# Not for the session: as long as Playwright runs, its thread can run no other event loop.
@pytest.fixture(scope="module")
def chromium():
    path = shutil.which("chromium")
    if path is None:
        missing = pytest.fail if "CI" in os.environ else pytest.skip
        missing("Chromium is needed, as `apt-get install chromium` brings it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium):
    """A tab that fails the test for each error that its page logs or throws."""
    with opened_tab(chromium) as page:
        yield page


@contextmanager
def opened_tab(chromium, **options):
    context = chromium.new_context(**options)
    context.set_default_timeout(FAILSAFE_S * 1000)
    errors = []
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    try:
        yield page
        assert errors == []
    finally:
        context.close()


@contextmanager
def shown(*arguments):
    """`louver ui`, with the `url` of its page."""
    served = Served([*UI, *arguments], at_terminal=True)
    try:
        served.url = served.says(PAGE).group(1)
        yield served
    finally:
        served.close()


@pytest.fixture(scope="module")
def page_url(tmp_path_factory):
    """The page of a gateway before `shown.py`."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    with shown("--", PYTHON, str(FIXTURES / "shown.py")) as served:
        yield served.url


POLICY = {
    "version": "1",
    "tools": {
        "find": {
            "rules": [
                {"name": "support", "who": {"roles": ["support"]}, "deny": ["rows.owner.mail"]},
                {"name": "others", "deny": ["rows.owner"]},
            ]
        }
    },
}


def policed(folder, **louver):
    """The options for `records.py` under a policy."""
    (folder / "crm.policy.json").write_text(json.dumps(POLICY))
    return config(folder, {"records": fixture("records", policy="crm.policy.json")}, **louver)


def count_savings(state_home):
    """Have the file of savings of two days in the folder for state."""
    for number, day in enumerate(("2026-11-01", "2026-11-02"), 1):
        rows = {
            SavingsKey(day, "tracker", "list_issues", "brief"): [4, 0, 8000 * number, 1000, 7000 * number, 700],
            SavingsKey(day, "memory", "read_graph", ""): [2, 2, 350, 385, 350, 385],
        }
        add(state_home / "louver" / "savings.db", rows, "2000-01-01")


@contextmanager
def operated(folder):
    """The page of a gateway under a policy, with savings: the base URL, and the token."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        count_savings(folder)
        with shown(*policed(folder)) as served:
            yield served.url.split("/ui#token=")


def open_tool(page, url, name):
    page.goto(url)
    page.get_by_role("button", name=name, exact=False).first.click()


def call(page, url, name):
    """Call a tool, and wait for its answer."""
    open_tool(page, url, name)
    page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_role("heading", name="Answer").wait_for()
