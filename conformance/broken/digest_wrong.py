"""The digest is not that of the schema."""

from honest import Honest


class Broken(Honest):
    def receipt(self, plan, kept, value):
        said = super().receipt(plan, kept, value)
        return {**said, "schemaDigest": "0" * 16} if "schemaDigest" in said else said


Broken().serve()
