"""Search over tools."""

import re

from honest import NEW, TOOLS, Honest, Refused

from lies.registry import breaks


@breaks("search-declared")
class SearchUndeclared(Honest):
    """Search is declared as an extension alone."""

    def capabilities(self):
        return {**super().capabilities(), "tools": {"projection": self.capability()}}


@breaks("search-explained")
class SearchUnexplained(Honest):
    """The instructions do not tell how a query is written."""

    def instructions(self):
        return "Ask for people."


@breaks("search-without-query")
class SearchForNothingFindsNothing(Honest):
    """An empty query finds nothing."""

    def list_tools(self, params):
        return {**super().list_tools(params), "tools": []} if params.get("query") == "" else super().list_tools(params)


@breaks("search-finds")
class SearchFindsNothing(Honest):
    """A search finds nothing."""

    def found(self, query):
        self.check_query(query)
        return []


@breaks("search-leaves-out")
class SearchFindsAll(Honest):
    """A search finds tools that do not fit."""

    def found(self, query):
        self.check_query(query)
        return list(TOOLS)


@breaks("search-takes-text")
class SearchTakesNumbers(Honest):
    """A number is taken for a query."""

    def found(self, query):
        return super().found(query if isinstance(query, str) else str(query))


@breaks("search-is-plain")
class SearchReadsLanguage(Honest):
    """A query is read as a pattern."""

    def found(self, query):
        self.check_query(query)
        try:
            re.compile(query)
        except re.error:
            raise Refused({"code": "INVALID_QUERY", "message": "a pattern"}) from None
        return super().found(query)


@breaks("search-has-a-bound")
class SearchUnbounded(Honest):
    """A query may be as long as it likes."""

    def check_query(self, query):
        if not isinstance(query, str) or not query.isprintable():
            super().check_query("\n")


@breaks("search-refusal-has-a-code")
class SearchRefusalWithoutCode(Honest):
    """A query that is refused has no code."""

    def check_query(self, query):
        try:
            super().check_query(query)
        except Refused:
            raise Refused({"message": "no"}) from None


@breaks("search-stays-private", NEW)
class SearchKeptForAll(Honest):
    """What a search finds may be kept for everybody."""

    def list_tools(self, params):
        return {**super().list_tools(params), "cacheScope": "public"}
