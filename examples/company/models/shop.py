"""The answers of `search_orders` and `get_order_tree`."""

from typing import Literal

from pydantic import AwareDatetime, Field

from examples.company.models.base import Address, Count, Email, Id, Money, Phone, Record

Status = Literal["placed", "shipped", "delivered", "cancelled"]


class Customer(Record):
    """Who placed an order."""

    id: Id
    name: str
    company: str | None
    email: Email
    phone: Phone


class Product(Record):
    """A thing for sale."""

    sku: str = Field(pattern=r"^[A-Z]{3}-[0-9]{3}$", description="Stock keeping unit.")
    name: str
    category: Literal["furniture", "kitchen", "lighting", "stationery", "textiles"]


class Item(Record):
    """One line of an order."""

    line: int = Field(ge=1, description="Position within the order.")
    product: Product
    quantity: int = Field(ge=1)
    unit_price: Money


class Shipment(Record):
    """A parcel with goods of an order."""

    carrier: str
    tracking_number: str = Field(pattern=r"^LV[0-9]{9}$")
    status: Literal["label_printed", "in_transit", "delivered"]
    shipped_at: AwareDatetime | None = Field(description="Null until the carrier has it.")
    delivered_at: AwareDatetime | None = Field(description="Null until it has arrived.")
    address: Address


class Order(Record):
    """What a customer bought, with the parcels in which it travels."""

    id: Id
    parent_id: Id | None = Field(description="The order that this one is a part of.")
    status: Status
    placed_at: AwareDatetime
    total: Money = Field(description="Sum of the items; the parts of the order are not in it.")
    note: str | None = Field(description="A wish of the customer.")
    customer: Customer
    items: list[Item] = Field(min_length=1)
    shipments: list[Shipment]


class OrderSearch(Record):
    """The orders that match a text."""

    total: Count = Field(description="How many orders match, beyond `limit` too.")
    orders: list[Order] = Field(max_length=100, description="In order of their ids.")


class OrderNode(Record):
    """An order and the orders that are its parts, to any depth."""

    id: Id
    status: Status
    total: Money = Field(description="Sum of the items; the parts of the order are not in it.")
    items: list[Item] = Field(min_length=1)
    sub_orders: "list[OrderNode]" = Field(description="The parts, in order of their ids.")
