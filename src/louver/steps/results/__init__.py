"""Kept results: large answers stay in a store and are read in parts."""
