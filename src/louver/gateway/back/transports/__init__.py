"""Connections to upstreams: stdio and Streamable HTTP."""
