"""Rows of the shop tables: customers, products, and orders that are parts of orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.company.rows import make, words
from examples.company.rows.counts import CUSTOMERS, TREES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from examples.company.rows.make import Row

# Minutes from one order to the next.
PACE = 20 * 60

# Order status -> most shipments of such an order.
SHIPPED = {"delivered": 2, "shipped": 1, "placed": 0, "cancelled": 0}


def content(random: Random) -> Iterator[tuple[str, list[Row]]]:
    products = _products()
    yield "customers", _customers(random)
    yield "products", products
    orders = _orders(random)
    yield "orders", orders
    yield "order_items", [row for order in orders for row in _items(random, order["id"], products)]
    yield "shipments", [row for order in orders for row in _shipments(random, order)]


def _customers(random: Random) -> list[Row]:
    return [
        {
            "id": number,
            "name": name,
            "company": random.choice((None, *words.COMPANIES)),
            "email": f"{name.lower().replace(' ', '.')}@shop.example.com",
            "phone": make.phone(random),
        }
        for number, name in enumerate(make.full_names(random, CUSTOMERS), start=1)
    ]


def _products() -> list[Row]:
    return [
        {
            "sku": f"{category[:3].upper()}-{number:03d}",
            "name": name,
            "category": category,
            "price_cents": cents,
        }
        for number, (name, category, cents) in enumerate(words.PRODUCTS, start=1)
    ]


def _orders(random: Random) -> list[Row]:
    orders = [_order(random, number, None) for number in range(1, TREES + 1)]
    for root in orders[:TREES]:
        level = [root]
        for _ in range(4 - (root["id"] - 1) % 5):
            level = [_order(random, len(orders) + extra, random.choice(level)) for extra in (1, 2)]
            orders.extend(level)
    return orders


def _order(random: Random, number: int, parent: Row | None) -> Row:
    return {
        "id": number,
        "parent_id": parent["id"] if parent else None,
        # The parts of an order go to the customer who placed it, in the same currency.
        "customer_id": parent["customer_id"] if parent else random.randrange(1, CUSTOMERS + 1),
        "status": random.choices(tuple(SHIPPED), (6, 3, 2, 1))[0],
        "currency": parent["currency"] if parent else random.choice(("EUR", "GBP", "USD")),
        "placed_at": make.time(number * PACE + random.randrange(PACE)),
        "note": random.choice(words.NOTES) if random.random() < 0.2 else None,
    }


def _items(random: Random, order_id: int, products: list[Row]) -> list[Row]:
    chosen = random.sample(products, random.randrange(1, 5))
    return [
        {
            "order_id": order_id,
            "line": line,
            "sku": product["sku"],
            "quantity": random.randrange(1, 7),
            "unit_price_cents": product["price_cents"],
        }
        for line, product in enumerate(chosen, start=1)
    ]


def _shipments(random: Random, order: Row) -> list[Row]:
    most = SHIPPED[order["status"]]
    return [_shipment(random, order, part) for part in range(random.randrange(1, most + 1) if most else 0)]


def _shipment(random: Random, order: Row, part: int) -> Row:
    shipped = (order["id"] + 2) * PACE + random.randrange(PACE)
    delivered = shipped + random.randrange(24 * 60, 14 * 24 * 60)
    status = "delivered" if order["status"] == "delivered" else random.choice(("label_printed", "in_transit"))
    return {
        "tracking_number": f"LV{order['id']:05d}{part}{random.randrange(1000):03d}",
        "order_id": order["id"],
        "carrier": random.choice(words.CARRIERS),
        "status": status,
        "shipped_at": None if status == "label_printed" else make.time(shipped),
        "delivered_at": make.time(delivered) if status == "delivered" else None,
        **make.address(random),
    }
