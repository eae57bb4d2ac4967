"""Requests, views and plans: what is kept of a value, compiled."""
