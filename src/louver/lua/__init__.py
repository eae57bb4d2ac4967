"""Sandbox for clients' Lua scripts; each runs in its own process, which can only send requests to the gateway.

`gateway.builtin` expects a `ScriptRunner` of it, and the tool `execute`.
"""
