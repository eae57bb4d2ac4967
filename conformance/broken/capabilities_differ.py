"""The two forms of the capability say different things."""

from honest import EXTENSION, Honest


class Broken(Honest):
    def capabilities(self):
        said = super().capabilities()
        said["extensions"][EXTENSION]["maxDepth"] = 16
        return said


Broken().serve()
