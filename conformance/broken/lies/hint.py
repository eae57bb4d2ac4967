"""Hints of tools, and their views."""

from honest import HINT, Honest, Refused

from lies.registry import breaks


@breaks("hint-given")
class HintMissing(Honest):
    """A tool that can be projected says so in '_meta' alone."""

    def listed(self, name):
        return {**super().listed(name), "annotations": {"readOnlyHint": True}}


@breaks("hint-form")
class HintWithoutViews(Honest):
    """A view in a hint is no list of paths."""

    def hint(self, name):
        views = {"minimal": ["id", "address..city"]} if name == "get_person" else self.views(name)
        return {"supported": True, "recommendedViews": views}


@breaks("hint-extension")
class HintsDiffer(Honest):
    """The two forms of a hint say different things."""

    def listed(self, name):
        tool = super().listed(name)
        return {**tool, "_meta": {HINT: {"supported": True}}} if "_meta" in tool else tool


@breaks("views-fit")
class ViewOfUnknownField(Honest):
    """A recommended view names a field that there is not."""

    def views(self, name):
        return {**super().views(name), "odd": ["id", "no_such_member"]}


@breaks("hint-is-true")
class HintOfProse(Honest):
    """A tool that answers in prose says that it can be projected."""

    def listed(self, name):
        listed = super().listed(name)
        if name == "say_hello":
            listed["annotations"]["projectionHint"] = {"supported": True}
            listed["_meta"] = {HINT: {"supported": True}}
        return listed


@breaks("hint-is-true")
class HintUntrue(Honest):
    """A tool says that it can be projected, and refuses."""

    def plan(self, asked, name):
        raise Refused({"code": "INVALID_PROJECTION", "message": "not today"})
