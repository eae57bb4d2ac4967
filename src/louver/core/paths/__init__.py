"""Field paths and masks."""
