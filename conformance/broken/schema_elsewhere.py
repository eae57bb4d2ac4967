"""The projected schema stands elsewhere."""

from honest import Honest


class Broken(Honest):
    def schema(self, plan, kept):
        return {"$ref": "https://louver.dev/person.schema.json"}


Broken().serve()
