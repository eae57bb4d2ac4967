"""Under a digest stands another schema."""

from honest import Honest


class Broken(Honest):
    def read_resource(self, params):
        uri = params["uri"]
        return self.contents(uri, {}) if uri.startswith("louver:") else super().read_resource(params)


Broken().serve()
