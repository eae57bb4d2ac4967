"""The shapes on the wire: names and pydantic models. How they are used is not known here."""
