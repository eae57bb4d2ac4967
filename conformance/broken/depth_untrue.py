"""Paths are refused that are shorter than 'maxDepth'."""

from honest import Honest, Refused


class Broken(Honest):
    def plan(self, asked):
        if any(len(path.steps) > 4 for path in asked.fields):
            raise Refused({"code": "PROJECTION_LIMIT", "message": "too long"})
        return super().plan(asked)


Broken().serve()
