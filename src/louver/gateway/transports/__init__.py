"""Connections to upstreams, over the pipes of a process and over HTTP."""
