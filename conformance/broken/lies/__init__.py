"""Servers that each break one sentence: the honest one with one method changed. A file a group of checks."""

from importlib import import_module

from lies.registry import LIES as LIES

for _group in ("capability", "hint", "projection", "schema", "isolation", "errors", "disclosure", "search", "stock"):
    import_module(f"lies.{_group}")
