"""The clients of the gateway, and the protocol revisions that they speak."""
