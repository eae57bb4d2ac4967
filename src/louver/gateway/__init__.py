"""The gateway: connections to upstream servers, and their answers with projection."""
