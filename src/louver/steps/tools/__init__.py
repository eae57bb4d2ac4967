"""The tools of one server: their registry, their views, their listing."""
