"""Schemas of projected answers."""

from honest import TOOLS, Honest

from lies.registry import breaks


@breaks("schema-given")
class SchemaMissing(Honest):
    """A receipt has no projected schema."""

    def receipt(self, plan, kept, value):
        said = super().receipt(plan, kept, value)
        said.pop("projectedSchema", None)
        return said


@breaks("schema-stands-alone")
class SchemaElsewhere(Honest):
    """The projected schema stands elsewhere."""

    def schema(self, plan, kept):
        return {"$ref": "https://louver.dev/person.schema.json"}


@breaks("schema-accepts-what-is-left")
class SchemaRefuses(Honest):
    """The projected schema refuses what is left."""

    def schema(self, plan, kept):
        return {"type": "array"}


@breaks("schema-refuses-what-is-more")
class SchemaTooWide(Honest):
    """The projected schema accepts everything."""

    def schema(self, plan, kept):
        return {"type": "object"}


@breaks("schema-fits-other-answers")
class SchemaTooNarrow(Honest):
    """The projected schema is that of one answer alone, and does not say so."""

    def schema(self, plan, kept):
        return {"const": kept}


@breaks("schema-forms")
class SchemaAlwaysInline(Honest):
    """The schema is told inline, whatever was asked for."""

    def understood(self, request):
        return {name: value for name, value in request.items() if name != "schema"}


@breaks("listed-schema-accepts-what-is-left")
class ListedSchemaExact(Honest):
    """The listed schema is the exact one, which trimmed answers do not satisfy."""

    def listed_schema(self, name):
        return TOOLS[name].get("outputSchema")
