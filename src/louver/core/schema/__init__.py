"""JSON Schema: references, keywords, derivation, relaxation, validation."""
