"""Sending messages to a target and reading its answers, over standard streams and over HTTP."""
