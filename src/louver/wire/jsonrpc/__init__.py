"""JSON-RPC messages: strict JSON, bytes in and out, limits."""
