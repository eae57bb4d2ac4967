"""Descriptions on demand."""

import json

from honest import NEW, TOOLS, Honest

from lies.registry import breaks


@breaks("descriptions-listed")
class ResourceUnnamed(Honest):
    """The name of the resource does not say what it holds."""

    def resource(self):
        return {**super().resource(), "name": "Everything"}


@breaks("descriptions-explained")
class ResourceUnexplained(Honest):
    """The resource does not tell how it is used."""

    def resource(self):
        return {**super().resource(), "description": "Read this first."}


@breaks("descriptions-are-json")
class ResourceOfText(Honest):
    """The resource does not say that it is JSON."""

    def resource(self):
        return {**super().resource(), "mimeType": "text/plain"}


@breaks("descriptions-are-full")
class DescriptionWithoutSchema(Honest):
    """A description has no input schema."""

    def description(self, name, grant):
        described = super().description(name, grant)
        return {**described, "inputSchema": {}} if name == "say_hello" else described


@breaks("list-is-short")
class SummaryHoldsSchema(Honest):
    """The summary holds the schema."""

    def summary(self, name):
        return f"{super().summary(name)} {json.dumps(TOOLS[name]['inputSchema'])}"


@breaks("only-named-descriptions")
class DescriptionsOfOthers(Honest):
    """A read holds the descriptions of all tools."""

    def described(self, names, grant):
        return super().described({*names, *TOOLS}, grant)


@breaks("no-tool-named")
class NothingNamedIsAll(Honest):
    """A read that names no tool holds all of them."""

    def nothing_named(self):
        return {name: self.description(name, "") for name in TOOLS}


@breaks("unknown-tool-reported")
class UnknownToolSilent(Honest):
    """A tool that there is not is passed over."""

    def described(self, names, grant):
        return {name: each for name, each in super().described(names, grant).items() if name in TOOLS}


@breaks("gate-is-closed")
class GateOpen(Honest):
    """A tool runs before its description was read."""

    def may_call(self, name, meta, arguments):
        return True


@breaks("disclosure-declared")
class DisclosureVague(Honest):
    """The capability does not say whether reading is enforced."""

    def capabilities(self):
        said = super().capabilities()
        del said["extensions"]["dev.louver/disclosure"]["enforced"]
        return said


@breaks("grant-in-the-schema", NEW)
class GrantHidden(Honest):
    """A grant stands in '_meta' alone, where no model sees it."""

    def description(self, name, grant):
        described = super().description(name, grant)
        schema = described["inputSchema"]
        properties = {each: part for each, part in schema["properties"].items() if each != "grant"}
        required = [each for each in schema.get("required", ()) if each != "grant"]
        return {**described, "inputSchema": {**schema, "properties": properties, "required": required}}


@breaks("descriptions-stay-private", NEW)
class DescriptionsKeptForAll(Honest):
    """What was read, with its grant, may be kept for everybody."""

    def read_resource(self, params):
        return {**super().read_resource(params), "cacheScope": "public"}


@breaks("gate-opens-for-what-was-read")
class OneReadOpensAll(Honest):
    """Who has read one description may call every tool."""

    def remember(self, names, grant):
        super().remember(list(TOOLS), grant)
