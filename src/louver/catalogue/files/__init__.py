"""Files about tools: views, descriptions, output schemas."""
