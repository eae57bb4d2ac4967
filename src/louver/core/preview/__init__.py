"""Previews of values, and the sizes of their fields."""
