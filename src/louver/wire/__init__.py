"""Wire shapes: names and models, independent of their use."""
