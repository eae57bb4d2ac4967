"""Wire shapes: names and pydantic models, independent of their use."""
