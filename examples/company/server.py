"""The MCP server: seven tools that read, and one that always fails.

Their output schemas have closed objects, formats, enumerations, a discriminated union, maps with
free keys, nullable objects, recursion, a list that the SDK wraps; one tool has no schema.
"""

import json
import re
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from examples.company.data import Database, shared
from examples.company.models import Issue, IssuePage, Label, OrderNode, OrderSearch, UserProfile
from examples.company.queries import people, shop, stats, tracker
from examples.company.rows.counts import ISSUES, ORDERS, USERS

INSTRUCTIONS = f"""\
Read-only access to an invented company: its people, the issue tracker of its product, and its shop.
Find issues with list_issues (newest first, page by page) and orders with search_orders; the other
tools take an id or a number. Users are 1 to {USERS}, issues 1 to {ISSUES}, orders 1 to {ORDERS}.
"""

READ_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


class Tools:
    # A method's docstring is the description that a model reads.

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_user_profile(
        self, user_id: Annotated[int, Field(description=f"Id of the user, 1 to {USERS}.")]
    ) -> UserProfile:
        """Get all that is known of one user: contact, address, manager, preferences, activity, metadata."""
        _check("user_id", user_id, USERS)
        return people.profile(self._database, user_id)

    def list_issues(
        self,
        state: Annotated[Literal["open", "closed", "all"], Field(description="Which issues.")] = "open",
        limit: Annotated[int, Field(ge=1, le=ISSUES, description="Most issues to return.")] = 100,
        cursor: Annotated[str | None, Field(description="`nextCursor` of the page before.")] = None,
    ) -> IssuePage:
        """List issues with their full texts, newest first."""
        if cursor is not None and not re.fullmatch(r"[0-9]{1,9}", cursor):
            msg = f"cursor {cursor!r} is not one of ours: expected the nextCursor of an earlier answer"
            raise ToolError(msg)
        return tracker.issue_page(self._database, state, limit, before=int(cursor or ISSUES + 1))

    def get_issue(self, number: Annotated[int, Field(description=f"Number of the issue, 1 to {ISSUES}.")]) -> Issue:
        """Get one issue with its text, people, labels, milestone and reactions."""
        _check("number", number, ISSUES)
        return tracker.issue(self._database, number)

    def search_orders(
        self,
        text: Annotated[
            str,
            Field(
                min_length=1,
                max_length=200,
                description="Part of a customer's name, company or email, or of a product's name or SKU.",
            ),
        ],
        limit: Annotated[int, Field(ge=1, le=100, description="Most orders to return.")] = 20,
    ) -> OrderSearch:
        """Search orders by customer or product; upper and lower case are the same."""
        return shop.search(self._database, text, limit)

    def get_order_tree(
        self, order_id: Annotated[int, Field(description=f"Id of the order, 1 to {ORDERS}.")]
    ) -> OrderNode:
        """Get an order with the orders that are its parts, their parts, and so on."""
        _check("order_id", order_id, ORDERS)
        return shop.tree(self._database, order_id)

    def list_labels(self) -> list[Label]:
        """List the labels that an issue can have."""
        return tracker.labels(self._database)

    def export_stats(self) -> str:
        """Export counts of users, issues and orders as JSON text."""
        return json.dumps(stats.stats(self._database), separators=(",", ":"))

    def always_fails(self) -> str:
        """Fail, whatever is asked: this shows what an error result looks like."""
        msg = "this tool always fails: nothing is wrong with the call"
        raise ToolError(msg)


def build_server(database: Database | None = None) -> MCPServer:
    """The server with all of its tools, on the database of this process by default."""
    server = MCPServer("louver-company", version="1.0.0", instructions=INSTRUCTIONS)
    tools = Tools(database or shared())
    for tool in (
        tools.get_user_profile,
        tools.list_issues,
        tools.get_issue,
        tools.search_orders,
        tools.get_order_tree,
        tools.list_labels,
        tools.export_stats,
        tools.always_fails,
    ):
        structured = False if tool == tools.export_stats else None
        server.add_tool(tool, annotations=READ_ONLY, structured_output=structured)
    return server


def _check(argument: str, value: int, last: int) -> None:
    if not 1 <= value <= last:
        msg = f"{argument} {value} does not exist: expected 1 to {last}"
        raise ToolError(msg)
