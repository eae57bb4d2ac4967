"""Serving clients, over stdio and over HTTP."""
