"""Random (schema, value, request) triples, and the laws that each of them must satisfy.

    python -m tests.fuzz --pairs 100000 --seed 1

Schemas, values and requests draw on the same few names and constants, so that
they collide. Values are grown from their schema, changed a little, and confirmed
by a validator that knows nothing of Louver. Counter-examples are made small.

This is the second proof beside the property tests (`tests/core/test_laws.py`): it
is plain and fast, so it can look at millions.
"""
