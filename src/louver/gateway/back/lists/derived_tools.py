"""The tools of an upstream by its tool rules: each caller has only what its rule allows, by the names that it gives.

    client ── ... ── dispatch ── derived tools ── guard ── session ── upstream
                                 user -> get_user

Everything before it knows the names that the caller knows; the policy and everything behind it, those of the server.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from louver.concurrency.offload import yielding
from louver.gateway.back.lists.tool_lookup import ToolLookup

if TYPE_CHECKING:
    from louver.gateway.back.session import Session
    from louver.policy.principal import Principal
    from louver.policy.tool_rules import ToolRules

logger = logging.getLogger(__name__)


class DerivedTools:
    def __init__(self, server: str, rules: ToolRules) -> None:
        self._server = server
        self._rules = rules
        self._lookup = ToolLookup()
        self._logged: set[str] = set()

    async def find(self, session: Session, principal: Principal, name: str) -> str | None:
        """The server's name of a tool that a caller calls; `None` if the caller has no tool of this name."""
        tool = await self._lookup.find(session, self._rules.tool_for(self._rules.rule_for(principal), name))
        return None if tool is None else tool["name"]

    async def visible_list(self, result: dict[str, Any], principal: Principal) -> dict[str, Any]:
        """A result of `tools/list` with the tools that a caller has."""
        rule, visible = self._rules.rule_for(principal), list[dict[str, Any]]()
        async for tool in yielding(result["tools"]):
            self._log_collision(tool["name"])
            if (derived := self._rules.visible_tool(rule, tool)) is not None:
                visible.append(derived)
        scope = {"cacheScope": "private"} if "cacheScope" in result and self._rules.depend_on_caller else {}
        return {**result, "tools": visible, **scope}

    def _log_collision(self, tool: str) -> None:
        if tool not in self._logged and (problem := self._rules.collision(tool)) is not None:
            self._logged.add(tool)
            logger.error("upstream %r: %s", self._server, problem)
