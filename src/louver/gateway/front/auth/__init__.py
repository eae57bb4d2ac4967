"""Authentication over HTTP: bearer tokens, verified as JWTs or against a file of digests."""
