"""The gateway's own middleware: tools of its own, tracing, and forwarding."""
