"""Visibility: values and schemas with denied fields removed or masked."""
