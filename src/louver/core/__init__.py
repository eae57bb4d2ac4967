"""Projection without MCP: JSON in, JSON out.

Field paths become a mask; a mask and an output schema become a plan; a plan trims values and derives their schema.
The core knows nothing of protocols, pydantic, asyncio or files.
"""
