"""Queries of the tools: SQL in, models out."""
