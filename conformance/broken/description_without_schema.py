"""A description has no input schema."""

from honest import Honest


class Broken(Honest):
    def description(self, name, grant):
        described = super().description(name, grant)
        return {**described, "inputSchema": {}} if name == "say_hello" else described


Broken().serve()
