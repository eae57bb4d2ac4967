"""Routing: chooses the upstream of a request and sends it."""
