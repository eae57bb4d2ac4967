"""The shapes on the wire: names, pydantic models, error codes. How they are used is not known here."""
