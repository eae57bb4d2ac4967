"""How many of each thing there are. Ids and numbers run from 1 to these, without gaps."""

USERS = 200

ISSUES = 2000

CUSTOMERS = 120

TREES = 250
"""Orders that are part of no other."""

ORDERS = 1250
"""Orders in all: every five trees have 4, 3, 2, 1 and 0 levels below, of two sub-orders each."""
