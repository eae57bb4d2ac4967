"""Scripts of clients in Lua, each in a process of its own that can do nothing but ask."""
