"""What the tools answer: the models from which the SDK derives each `outputSchema`.

One file a group of tables. Every model is closed (`additionalProperties: false`) and every
member is required, so that a schema says all that an answer can hold; a member that may
be unknown is `null`, never absent.
"""

from examples.company.models.people import UserProfile
from examples.company.models.shop import Order, OrderNode, OrderSearch
from examples.company.models.tracker import Issue, IssuePage, Label

__all__ = ["Issue", "IssuePage", "Label", "Order", "OrderNode", "OrderSearch", "UserProfile"]
