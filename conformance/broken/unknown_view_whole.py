"""A view that there is not gets the full output."""

from honest import VIEWS, Honest


class Broken(Honest):
    def asked(self, meta, arguments):
        wanted = meta.get("projection", {})
        return None if wanted.get("mode") == "view" and wanted["view"] not in VIEWS else super().asked(meta, arguments)


Broken().serve()
