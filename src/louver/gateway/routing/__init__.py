"""Routing: which upstream a request goes to, and one request to it."""
