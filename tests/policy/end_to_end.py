"""A shop with a policy: three kinds of callers, who see three different things of one tool."""

from __future__ import annotations

import json

from fixtures.forking import PYTHON

EXAMPLE = {"command": PYTHON, "args": ["-m", "louver", "serve", "--example"]}
POLICY = {
    "version": "7",
    "tools": {
        "get_user_profile": {
            "rules": [
                {"name": "admins", "who": {"roles": ["admin"]}, "allow": ["*"]},
                {
                    "name": "support",
                    "who": {"scopes": ["users:read"], "roles": ["support"]},
                    "allow": ["id", "name", "phone", "address"],
                    "deny": ["address.geo"],
                    "mask": ["phone"],
                    "hash": ["email"],
                },
                {"name": "others", "allow": ["name"]},
            ]
        }
    },
}
PRINCIPALS = {
    "admin": {"subject": "ada", "roles": ["admin"]},
    "support": {"subject": "sam", "roles": ["support"], "scopes": ["users:read"]},
    "nobody much": {"subject": "noa", "scopes": ["users:read"]},
}
FIELDS = {
    "support": {"id", "name", "phone", "address", "email"},
    "nobody much": {"name"},
}
"""What each sees; the admin sees everything."""


def written(folder, **louver):
    """The options of `louver serve` for the shop."""
    (folder / "shop.policy.json").write_text(json.dumps(POLICY))
    servers = {"shop": {**EXAMPLE, "louver": {"policy": "shop.policy.json"}}}
    told = {"audit": {"file": "audit.db"}, "pseudonymKey": "k" * 32, **louver}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers, "louver": told}))
    return ["--config", str(folder / "mcp.json")]
