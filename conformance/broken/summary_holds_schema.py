"""The summary holds the schema."""

import json

from honest import TOOLS, Honest


class Broken(Honest):
    def summary(self, name):
        return f"{super().summary(name)} {json.dumps(TOOLS[name]['inputSchema'])}"


Broken().serve()
