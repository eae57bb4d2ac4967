"""Blocks of content that no client reads."""

from honest import Honest

from lies.registry import breaks


@breaks("stock-client-accepts-full")
class WholeContentMalformed(Honest):
    """A whole answer has a block of content that is none."""

    def whole(self, value):
        return {**super().whole(value), "content": [{"type": "text"}]}


@breaks("stock-client-accepts-projected")
class ProjectedContentMalformed(Honest):
    """A projected answer has a block of content that is none."""

    def projected(self, plan, value, key):
        answer = super().projected(plan, value, key)
        return {**answer, "content": [*answer["content"], {"type": "text"}]}
