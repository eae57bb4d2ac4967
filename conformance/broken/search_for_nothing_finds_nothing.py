"""An empty query finds nothing."""

from honest import Honest


class Broken(Honest):
    def list_tools(self, params):
        return {**super().list_tools(params), "tools": []} if params.get("query") == "" else super().list_tools(params)


Broken().serve()
