"""The gateway's middleware: built-in tools, tracing, forwarding."""
