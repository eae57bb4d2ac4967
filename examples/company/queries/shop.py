"""Queries on orders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from examples.company.models import OrderNode, OrderSearch
from examples.company.queries.nest import group, nest

if TYPE_CHECKING:
    from examples.company.data import Database

TOTAL_CENTS = "(SELECT sum(i.quantity * i.unit_price_cents) FROM order_items i WHERE i.order_id = o.id)"

ORDER = f"""
    SELECT
        o.id, o.parent_id, o.status, o.placed_at,
        o.currency AS "total.currency",
        {TOTAL_CENTS} AS "total.cents",
        o.note,
        c.id AS "customer.id",
        c.name AS "customer.name",
        c.company AS "customer.company",
        c.email AS "customer.email",
        c.phone AS "customer.phone"
    FROM orders o
    JOIN customers c ON c.id = o.customer_id
    WHERE o.id IN (SELECT value FROM json_each(?))
    ORDER BY o.id
"""

ITEMS_OF = """
    SELECT
        i.order_id AS "order",
        i.line,
        p.sku AS "product.sku",
        p.name AS "product.name",
        p.category AS "product.category",
        i.quantity,
        o.currency AS "unit_price.currency",
        i.unit_price_cents AS "unit_price.cents"
    FROM order_items i
    JOIN orders o ON o.id = i.order_id
    JOIN products p ON p.sku = i.sku
    WHERE i.order_id IN (SELECT value FROM json_each(?))
    ORDER BY i.order_id, i.line
"""

SHIPMENTS_OF = """
    SELECT
        s.order_id AS "order",
        s.carrier, s.tracking_number, s.status, s.shipped_at, s.delivered_at,
        s.street AS "address.street",
        s.city AS "address.city",
        s.zip AS "address.zip",
        s.country AS "address.country",
        s.lat AS "address.geo.lat",
        s.lon AS "address.geo.lon"
    FROM shipments s
    WHERE s.order_id IN (SELECT value FROM json_each(?))
    ORDER BY s.order_id, s.tracking_number
"""

# `instr` and not LIKE: the text is a text, `%` and `_` in it are nothing special.
MATCHES = """
    SELECT o.id
    FROM orders o
    JOIN customers c ON c.id = o.customer_id
    WHERE instr(lower(c.name || char(10) || c.email || char(10) || ifnull(c.company, '')), lower(:text))
        OR EXISTS (
            SELECT 1 FROM order_items i JOIN products p ON p.sku = i.sku
            WHERE i.order_id = o.id AND instr(lower(p.name || char(10) || p.sku), lower(:text))
        )
    ORDER BY o.id
"""

TREE = f"""
    WITH RECURSIVE tree (id, parent_id) AS (
        SELECT id, NULL FROM orders WHERE id = ?
        UNION ALL
        SELECT o.id, o.parent_id FROM orders o JOIN tree ON o.parent_id = tree.id
    )
    SELECT t.id, t.parent_id, o.status, o.currency AS "total.currency",
        {TOTAL_CENTS} AS "total.cents"
    FROM tree t JOIN orders o ON o.id = t.id
    ORDER BY t.id
"""


def search(database: Database, text: str, limit: int) -> OrderSearch:
    matches = [row["id"] for row in database.read(MATCHES, {"text": text})]
    ids = json.dumps(matches[:limit])
    items_of = group(database.read(ITEMS_OF, (ids,)), "order")
    shipments_of = group(database.read(SHIPMENTS_OF, (ids,)), "order")
    orders = [
        nest(row) | {"items": items_of[row["id"]], "shipments": shipments_of[row["id"]]}
        for row in database.read(ORDER, (ids,))
    ]
    return OrderSearch.model_validate({"total": len(matches), "orders": orders})


def tree(database: Database, order_id: int) -> OrderNode:
    rows = database.read(TREE, (order_id,))
    items_of = group(database.read(ITEMS_OF, (json.dumps([row["id"] for row in rows]),)), "order")
    nodes: dict[int, dict[str, Any]] = {}
    # A sub-order has a larger id than the order that it is part of, so its parent is there already.
    for row in rows:
        parent_id = row.pop("parent_id")
        node = nodes[row["id"]] = nest(row) | {"items": items_of[row["id"]], "sub_orders": []}
        if parent_id is not None:
            nodes[parent_id]["sub_orders"].append(node)
    return OrderNode.model_validate(nodes[order_id])
