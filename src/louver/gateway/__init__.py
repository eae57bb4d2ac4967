"""In front of other servers: connections to them, and everything of theirs passed on, with projection."""
