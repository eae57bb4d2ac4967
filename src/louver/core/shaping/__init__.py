"""Shaping: selected members, shortened texts and arrays, with their schemas."""
