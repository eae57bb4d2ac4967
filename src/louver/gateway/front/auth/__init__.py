"""Authentication over HTTP: bearer tokens, verified as JWTs, by introspection, or against a file of digests."""
