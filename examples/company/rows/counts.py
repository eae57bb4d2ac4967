"""Sizes of the tables. Ids and numbers run from 1 to these, without gaps."""

USERS = 200
ISSUES = 2000
CUSTOMERS = 120
# Orders that are part of no other.
TREES = 250
# All orders: every five trees have 4, 3, 2, 1 and 0 levels below, of two sub-orders each.
ORDERS = 1250
