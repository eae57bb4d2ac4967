"""What a server declares of projection."""

from honest import EXTENSION, Honest, Refused

from lies.registry import breaks


@breaks("capability-declared")
class CapabilityMissing(Honest):
    """The capability is declared as an extension alone."""

    def capabilities(self):
        return {**super().capabilities(), "tools": {"filtering": True}}


@breaks("capability-modes")
class ModesMissing(Honest):
    """The capability does not tell that fields can be excluded."""

    def capability(self):
        return {**super().capability(), "modes": ["include", "view"]}


@breaks("capability-extension")
class CapabilitiesDiffer(Honest):
    """The two forms of the capability say different things."""

    def capabilities(self):
        said = super().capabilities()
        said["extensions"][EXTENSION]["maxDepth"] = 16
        return said


@breaks("capability-depth")
class DepthUntrue(Honest):
    """Paths are refused that are shorter than 'maxDepth'."""

    def plan(self, asked, name):
        if any(len(path.steps) > 4 for path in asked.fields):
            raise Refused({"code": "PROJECTION_LIMIT", "message": "too long"})
        return super().plan(asked, name)
