"""Answers of the tools, from which the SDK derives each `outputSchema`. A member may be null, but never absent."""

from examples.company.models.people import UserProfile
from examples.company.models.shop import Order, OrderNode, OrderSearch
from examples.company.models.tracker import Issue, IssuePage, Label

__all__ = ["Issue", "IssuePage", "Label", "Order", "OrderNode", "OrderSearch", "UserProfile"]
