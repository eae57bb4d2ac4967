"""HTTP/1.1 without a protocol above it: a server, a client pool, server-sent events."""
