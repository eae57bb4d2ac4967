"""The configuration file: its model, its validation, its reload."""
