"""The capability does not say whether reading is enforced."""

from honest import Honest


class Broken(Honest):
    def capabilities(self):
        said = super().capabilities()
        del said["extensions"]["dev.louver/disclosure"]["enforced"]
        return said


Broken().serve()
