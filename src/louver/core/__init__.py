"""Projection without MCP: JSON in, JSON out.

Field paths become a mask, a mask and an output schema become a plan, and a
plan trims values and says which schema the trimmed values satisfy. Nothing
here knows of protocols, pydantic, asyncio or files.
"""
