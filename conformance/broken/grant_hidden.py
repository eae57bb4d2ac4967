"""A grant stands in '_meta' alone, where no model sees it."""

from honest import Honest


class Broken(Honest):
    def description(self, name, grant):
        described = super().description(name, grant)
        schema = described["inputSchema"]
        properties = {each: part for each, part in schema["properties"].items() if each != "grant"}
        required = [each for each in schema.get("required", ()) if each != "grant"]
        return {**described, "inputSchema": {**schema, "properties": properties, "required": required}}


Broken().serve()
