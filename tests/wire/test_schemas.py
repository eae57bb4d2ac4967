"""The schemas under `schemas/`, held against the models and readers that they describe.

A null is refused by the schemas: on the wire, what says nothing is left out. The models take
it for absence, because they are also made in Python, so nulls are not among the samples.
"""

import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry

from louver import errors
from louver.core.projection.request import Projection, SchemaForm
from louver.core.projection.view import Views
from louver.core.shaping.options import MAX_SELECTED
from louver.errors import LouverError
from louver.limits import MATCHES_A_PAGE, MAX_PATH_CHARACTERS, MAX_PATHS, MAX_QUERY_CHARACTERS, MAX_SEGMENTS
from louver.wire.capability import Capability, ExtensionCapability, SearchCapability
from louver.wire.descriptions import Description, DisclosureCapability, UnknownTool
from louver.wire.hint import ExtensionHint, Hint, ViewHint, read_hint
from louver.wire.model import WireModel
from louver.wire.names import HINT
from louver.wire.projection import Applied, NotApplied

SCHEMAS = Path(__file__).parents[2] / "schemas"
OURS = (
    "answers",
    "capability",
    "config",
    "description-file",
    "disclosure",
    "error",
    "hint",
    "receipt",
    "request",
    "view-file",
)
DOCUMENTS = {name: json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8")) for name in OURS}


class _Options(WireModel, frozen=True, kw_only=True):
    strict: bool = False
    required: bool = False
    schema_form: SchemaForm = msgspec.field(default="inline", name="schema")


class FieldsRequest(_Options, frozen=True, kw_only=True):
    mode: Literal["include", "exclude"]
    fields: Annotated[
        list[Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_PATH_CHARACTERS)]],
        msgspec.Meta(min_length=1, max_length=MAX_PATHS),
    ]


class ViewRequest(_Options, frozen=True, kw_only=True):
    mode: Literal["view"]
    view: Annotated[str, msgspec.Meta(min_length=1)]


MODELS = {
    ("capability", "literal"): Capability,
    ("capability", "extension"): ExtensionCapability,
    ("disclosure", "capability"): DisclosureCapability,
    ("disclosure", "description"): Description,
    ("disclosure", "unknown"): UnknownTool,
    ("capability", "search"): SearchCapability,
    ("hint", "literal"): Hint,
    ("hint", "extension"): ExtensionHint,
    ("hint", "view"): ViewHint,
    ("request", "fields"): FieldsRequest,
    ("request", "view"): ViewRequest,
    ("receipt", "applied"): Applied,
    ("receipt", "notApplied"): NotApplied,
}
TOLD_APART_BY = {"request": {"mode"}, "receipt": {"applied"}}
"""Forms of one document are told apart by a member, which must then be there."""

CONSTANTS = {
    ("capability", "literal"): {"supported": True},
    ("capability", "extension"): {"supported": True},
    ("receipt", "applied"): {"applied": True},
    ("receipt", "notApplied"): {"applied": False},
}
"""What readers look at before they take a form."""

SHAPED = {
    "select": {"ts": {"path": "created", "format": "minute"}, "from": {"path": "author.email"}, "text": "content"},
    "at": "messages",
    "maxItems": 20,
    "maxString": 500,
    "dropNulls": True,
}
CAPABILITY = {"supported": True, "modes": ["include", "exclude", "view"], "maxDepth": 32}
DESCRIPTION = {"name": "t", "description": "Does it.", "inputSchema": {"type": "object"}}
APPLIED = {
    "applied": True,
    "mode": "include",
    "fields": ["name"],
    "partial": True,
}

GOOD = {
    ("capability", "literal"): [
        CAPABILITY,
        {"supported": True, "modes": ["include", "exclude"], "maxDepth": 5},
        {"supported": True, "modes": ["include", "exclude"]},
        {},
    ],
    ("capability", "extension"): [
        CAPABILITY,
        {**CAPABILITY, "argument": "output_fields", "schema": ["inline", "none"]},
        {"schema": []},
    ],
    ("disclosure", "capability"): [{"enforced": True}, {"uri": "other:///tool_descriptions", "enforced": False}],
    ("disclosure", "description"): [
        DESCRIPTION,
        {**DESCRIPTION, "outputSchema": {}, "examples": [], "usage_guidance": "n", "error_guidance": {"a": ["b"]}},
        {**DESCRIPTION, "examples": ["one", {"description": "One", "input": {}}], "usage_guidance": {}},
    ],
    ("disclosure", "unknown"): [
        {"error": "Tool 'x' not found", "available_tools": []},
        {"error": "Tool 'x' not found", "available_tools": ["a", "b"]},
    ],
    ("capability", "search"): [{}, {"maxCharacters": 256, "pageSize": 20}],
    ("hint", "literal"): [
        {},
        {"supported": False},
        {
            "supported": True,
            "recommendedViews": {"minimal": ["id", "name"], "contact": ["name", "email", "phone"]},
        },
    ],
    ("hint", "extension"): [
        {"supported": True, "recommendedViews": {"minimal": ["id"]}, "always": ["id"]},
        {"views": {"public": {"exclude": ["**.email"]}, "all": {}}, "content": "keep"},
        {"outputSchema": {"type": "object"}},
        {"views": {"compact": SHAPED, "short": {"include": ["id"], "maxItems": 2}}},
    ],
    ("request", "fields"): [
        {"mode": "include", "fields": ["name", "email"]},
        {"mode": "exclude", "fields": ["**.email"], "strict": True, "required": False, "schema": "none"},
        {"mode": "include", "fields": ["x" * MAX_PATH_CHARACTERS]},
        {"mode": "include", "fields": [f"f{n}" for n in range(MAX_PATHS)]},
    ],
    ("request", "view"): [{"mode": "view", "view": "minimal"}, {"mode": "view", "view": "*", "strict": True}],
    ("receipt", "applied"): [
        APPLIED,
        {"applied": True, "mode": "include", "fields": []},
        {**APPLIED, "projectedSchema": {}},
        {**APPLIED, "projectedSchema": True, "schemaPrecision": "shape", "schemaSource": "inferred"},
        {**APPLIED, "mode": "view", "view": "minimal", "excluded": ["a"], "always": ["id"]},
        {**APPLIED, "unmatched": ["nmae"], "suggestions": {"nmae": "name"}, "contentDropped": 1},
        {**APPLIED, "shaped": SHAPED},
        {**APPLIED, "shaped": {}},
    ],
    ("receipt", "notApplied"): [{"applied": False, "reason": "error_result"}],
}

BAD = {
    ("capability", "literal"): [
        [],
        "on",
        {"supported": False},
        {"modes": "include"},
        {"modes": ["INCLUDE"]},
        {"maxDepth": 0},
        {"maxDepth": "5"},
        {"maxDepth": True},
        {"max_depth": 5},
        {"argument": "output_fields"},
    ],
    ("capability", "extension"): [{"argument": 1}, {"schema": ["full"]}, {"schema_forms": ["none"]}],
    ("disclosure", "capability"): [{}, {"enforced": "yes"}, {"enforced": True, "uri": 1}, {"enforced": True, "x": 2}],
    ("disclosure", "description"): [
        {},
        {"name": "t", "description": "Does it."},
        {**DESCRIPTION, "inputSchema": True},
        {**DESCRIPTION, "outputSchema": []},
        {**DESCRIPTION, "examples": {}},
        {**DESCRIPTION, "usage_guidance": ["n"]},
        {**DESCRIPTION, "errorGuidance": "n"},
        {**DESCRIPTION, "title": "T"},
    ],
    ("disclosure", "unknown"): [{"error": "x"}, {"error": "x", "available_tools": [1]}, {"available_tools": []}],
    ("capability", "search"): [{"maxCharacters": 0}, {"pageSize": "20"}, {"page_size": 20}, {"filtering": True}],
    ("hint", "literal"): [
        {"supported": "yes"},
        {"recommendedViews": ["id"]},
        {"recommendedViews": {"minimal": "id"}},
        {"recommendedViews": {"minimal": [1]}},
        {"recommended_views": {}},
        {"always": ["id"]},
    ],
    ("hint", "extension"): [
        {"views": {"public": ["id"]}},
        {"views": {"public": {"only": ["id"]}}},
        {"views": {"compact": {"select": ["id"]}}},
        {"views": {"compact": {"select": {"ts": {"format": "date"}}}}},
        {"always": "id"},
        {"content": "drop"},
        {"outputSchema": True},
    ],
    ("request", "fields"): [
        {},
        {"mode": "include"},
        {"mode": "include", "fields": []},
        {"mode": "include", "fields": "id"},
        {"mode": "include", "fields": [1]},
        {"mode": "include", "fields": [""]},
        {"mode": "include", "fields": ["x" * (MAX_PATH_CHARACTERS + 1)]},
        {"mode": "include", "fields": [f"f{n}" for n in range(MAX_PATHS + 1)]},
        {"mode": "INCLUDE", "fields": ["id"]},
        {"mode": 1, "fields": ["id"]},
        {"fields": ["id"]},
        {"mode": "include", "fields": ["id"], "view": "minimal"},
        {"mode": "include", "fields": ["id"], "strict": 1},
        {"mode": "include", "fields": ["id"], "required": "true"},
        {"mode": "include", "fields": ["id"], "schema": "full"},
        {"mode": "include", "fields": ["id"], "schema_form": "none"},
        {"mode": "include", "fields": ["id"], "limit": 1},
    ],
    ("request", "view"): [
        {"mode": "view"},
        {"mode": "view", "view": ""},
        {"mode": "view", "view": ["minimal"]},
        {"mode": "view", "view": "minimal", "fields": ["id"]},
    ],
    ("receipt", "applied"): [
        {key: value for key, value in APPLIED.items() if key != "applied"},
        {**APPLIED, "applied": False},
        {**APPLIED, "applied": "yes"},
        {**APPLIED, "contentDropped": 0},
        {**APPLIED, "projectedSchema": []},
        {**APPLIED, "reason": "error_result"},
        {**APPLIED, "content_dropped": 1},
        {**APPLIED, "partial": 1},
        {"applied": True, "mode": "include"},
        {**APPLIED, "shaped": {"maxItems": 0}},
        {**APPLIED, "shaped": {"select": {"ts": {"path": "a", "format": "second"}}}},
    ],
    ("receipt", "notApplied"): [
        {"applied": False},
        {"reason": "error_result"},
        {"applied": False, "reason": "because"},
        {"applied": True, "reason": "error_result"},
    ],
}

SAMPLES = [
    (form, sample, good)
    for good, part in ((True, GOOD), (False, BAD))
    for form, samples in part.items()
    for sample in samples
]


@cache
def validator(document, form=None):
    """The validator of a schema, or of one form in it; nothing is fetched."""
    schema = DOCUMENTS[document]
    if form is not None:
        schema = {"$schema": schema["$schema"], "$ref": f"#/$defs/{form}", "$defs": schema["$defs"]}
    return Draft202012Validator(schema, registry=Registry())


def model_takes(form, sample):
    """Whether the form's model reads a sample under its wire names."""
    try:
        msgspec.convert(sample, MODELS[form])
    except msgspec.ValidationError:
        return False
    constants = CONSTANTS.get(form, {})
    return TOLD_APART_BY.get(form[0], set()) <= sample.keys() and {**constants, **sample} == {**sample, **constants}


def taken(read, *arguments):
    try:
        read(*arguments)
    except LouverError:
        return False
    return True


def test_a_schema_is_a_schema_with_an_identifier_and_a_title(subtests):
    """Ours: draft 2020-12, named as its file, described, with examples."""
    for name, schema in DOCUMENTS.items():
        with subtests.test(name):
            Draft202012Validator.check_schema(schema)
            assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
            assert schema["$id"] == f"https://louver.dev/schemas/{name}.schema.json"
            assert schema["title"]
            assert schema["description"]
            assert schema["examples"]


def test_a_schema_accepts_its_own_examples(subtests):
    """Ours; those of the forms in it too."""
    for name, schema in DOCUMENTS.items():
        forms = {form: part for form, part in schema.get("$defs", {}).items() if "examples" in part}
        for form, part in {None: schema, **forms}.items():
            for number, example in enumerate(part["examples"]):
                with subtests.test(f"{name}, {form}, {number}"):
                    validator(name, form).validate(example)
                    validator(name).validate(example)


def described(document):
    """Every property in a schema, with the words that say what it is."""
    for part in (document, *document.get("$defs", {}).values()):
        for name, schema in part.get("properties", {}).items():
            target = document["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else {}
            yield name, schema.get("description") or target.get("description")


def test_a_schema_says_what_each_member_is():
    """Ours; a constant that tells two forms apart says it by itself."""
    faults = [
        f"{name}: {member}"
        for name, document in DOCUMENTS.items()
        for member, words in described(document)
        if not words and member not in TOLD_APART_BY.get(name, ())
    ]
    assert not faults, "\n".join(faults)


def test_a_schema_has_the_properties_of_its_model(subtests):
    """Ours."""
    for form, model in MODELS.items():
        with subtests.test("-".join(form)):
            schema = DOCUMENTS[form[0]]["$defs"][form[1]]
            fields = msgspec.structs.fields(model)
            assert schema["properties"].keys() == {field.encode_name for field in fields}
            required = {field.encode_name for field in fields if field.required}
            assert set(schema.get("required", [])) == required | TOLD_APART_BY.get(form[0], set())
            assert schema["additionalProperties"] is False


def test_a_schema_and_its_model_agree_on_a_sample(subtests):
    """Ours."""
    for form, sample, good in SAMPLES:
        with subtests.test(f"{'-'.join(form)}: {sample}"):
            assert validator(*form).is_valid(sample) == model_takes(form, sample) == good


def test_every_form_of_a_document_is_in_the_document():
    """Ours: a document is its forms and nothing else."""
    faults = [str((form, sample)) for form, sample, good in SAMPLES if good and not validator(form[0]).is_valid(sample)]
    assert not faults, "\n".join(faults)


def test_a_request_is_read_just_if_its_schema_accepts_it(subtests):
    """Ours; the paths in the samples are well formed."""
    for form, sample, good in SAMPLES:
        if form[0] == "request":
            with subtests.test(str(sample)):
                assert validator("request", form[1]).is_valid(sample) == taken(Projection.from_wire, sample) == good


def test_the_grammar_of_paths_is_beyond_the_schema(subtests):
    """Ours: the schema says the shape, reading refuses the rest."""
    for path in ("a..", "na*", "items[0]", "`x", "**.id", "a\0", "\ud800", "x." * 32 + "x"):
        with subtests.test(repr(path)):
            sample = {"mode": "include", "fields": [path]}
            assert validator("request").is_valid(sample)
            assert not taken(Projection.from_wire, sample)


def test_the_limits_in_the_schemas_are_those_of_the_code():
    """Ours."""
    fields = DOCUMENTS["request"]["$defs"]["fields"]["properties"]["fields"]
    assert fields["maxItems"] == MAX_PATHS
    assert fields["items"]["maxLength"] == MAX_PATH_CHARACTERS
    assert DOCUMENTS["view-file"]["$defs"]["path"]["maxLength"] == MAX_PATH_CHARACTERS
    assert DOCUMENTS["view-file"]["$defs"]["view"]["properties"]["select"]["maxProperties"] == MAX_SELECTED
    assert DOCUMENTS["capability"]["$defs"]["maxDepth"]["default"] == MAX_SEGMENTS
    search = DOCUMENTS["capability"]["$defs"]["search"]["properties"]
    assert search["maxCharacters"]["default"] == MAX_QUERY_CHARACTERS
    assert search["pageSize"]["default"] == MATCHES_A_PAGE


VIEWS = [
    (True, {}),
    (True, {"minimal": ["id"]}),
    (True, {"minimal": {"include": ["id"]}, "contact": {"extends": "minimal", "exclude": ["**.email"]}}),
    (False, {"minimal": "id"}),
    (False, {"minimal": 1}),
    (False, {"minimal": {}}),
    (False, {"minimal": []}),
    (False, {"minimal": {"include": []}}),
    (False, {"minimal": {"include": ["id"], "exclude": []}}),
    (False, {"minimal": {"only": ["id"]}}),
    (False, {"minimal": {"include": "id"}}),
    (False, {"minimal": {"include": [1]}}),
    (False, {"minimal": {"exclude": [""]}}),
    (False, {"minimal": {"exclude": ["x" * (MAX_PATH_CHARACTERS + 1)]}}),
    (False, {"minimal": {"extends": ["other"]}}),
    (True, {"compact": SHAPED}),
    (
        True,
        {"compact": {"select": {"": "id"}, "include": ["id"]}, "short": {"maxItems": 1}, "all": {"dropNulls": False}},
    ),
    (True, {"wide": {"select": {f"f{n}": "id" for n in range(MAX_SELECTED)}}}),
    (False, {"wide": {"select": {f"f{n}": "id" for n in range(MAX_SELECTED + 1)}}}),
    (False, {"compact": {"select": {}}}),
    (False, {"compact": {"select": ["id"]}}),
    (False, {"compact": {"select": {"id": ["id"]}}}),
    (False, {"compact": {"select": {"id": ""}}}),
    (False, {"compact": {"select": {"id": {}}}}),
    (False, {"compact": {"select": {"id": {"path": "id", "format": "second"}}}}),
    (False, {"compact": {"select": {"id": {"path": "id", "format": ["date"]}}}}),
    (False, {"compact": {"select": {"id": {"path": "id", "as": "date"}}}}),
    (False, {"compact": {"at": "messages"}}),
    (False, {"compact": {"select": {"id": "id"}, "at": 1}}),
    (False, {"compact": {"select": {"id": "id"}, "at": ""}}),
    (False, {"compact": {"maxItems": 0}}),
    (False, {"compact": {"maxItems": True}}),
    (False, {"compact": {"maxString": "20"}}),
    (False, {"compact": {"dropNulls": 1}}),
]


def test_views_are_read_just_if_the_schema_accepts_them(subtests):
    """Ours; names in `extends` and the grammar of paths are beyond the schema."""
    for good, views in VIEWS:
        with subtests.test(str(views)):
            file = {"tool": "t", "views": views}
            assert validator("view-file").is_valid(file) == taken(Views.read, views) == good


def test_always_is_a_list_of_paths_to_the_schema_and_to_the_reader(subtests):
    """Ours; unlike a view's, it may be empty."""
    for always in ([], "id", [1], [""], {"id": True}):
        with subtests.test(str(always)):
            file = {"tool": "t", "views": {}, "always": always}
            assert validator("view-file").is_valid(file) == taken(Views.read, {}, always) == (always == [])


def test_a_hint_is_read_from_a_tool_if_its_schema_accepts_it(subtests):
    """Ours."""
    for sample in (*GOOD["hint", "literal"], *GOOD["hint", "extension"]):
        if "all" not in sample.get("views", {}):
            with subtests.test(str(sample)):
                views, _ = read_hint({HINT: sample})
                assert views.named.keys() == {*sample.get("recommendedViews", ()), *sample.get("views", ())}


_NAMES = st.sampled_from(["id", "name", "mode", "fields", "view", "minimal", "applied", "schema", "x"])
_JSON = st.recursive(
    # Neither 0 nor 1, which pydantic takes for the constants `false` and `true`.
    st.booleans() | st.sampled_from([-1, 2, 40]) | st.sampled_from(["", "include", "view", "id", "inline", "keep"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def variations(draw, samples):
    """A good sample with up to three of its parts changed, added or taken away."""
    form, sample = draw(st.sampled_from([(form, sample) for form in samples for sample in samples[form]]))
    sample = deepcopy(sample)
    for _ in range(draw(st.integers(0, 3))):
        places = [sample, *(part for part in sample.values() if isinstance(part, dict | list) and part)]
        place = draw(st.sampled_from([place for place in places if isinstance(place, dict | list)]))
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        action = draw(st.sampled_from(["change", "add", "take"]))
        if action == "add" and isinstance(place, dict):
            place[draw(_NAMES)] = draw(_JSON)
        elif keys and action == "take":
            del place[draw(st.sampled_from(keys))]
        elif keys:
            place[draw(st.sampled_from(keys))] = draw(_JSON)
    return form, sample


@given(variations(GOOD))
def test_a_schema_and_its_model_agree_on_variations_of_good_samples(variation):
    """Ours."""
    form, sample = variation
    assert validator(*form).is_valid(sample) == model_takes(form, sample)


@given(variations({form: GOOD[form] for form in GOOD if form[0] == "request"}))
def test_a_request_is_read_just_if_its_schema_accepts_it_in_variations_too(variation):
    """Ours."""
    _, sample = variation
    assert validator("request").is_valid(sample) == taken(Projection.from_wire, sample)


@given(variations({"views": [views for good, views in VIEWS if good and views]}))
def test_views_are_read_just_if_the_schema_accepts_them_in_variations_too(variation):
    """Ours; a parent that is not there is beyond the schema."""
    _, views = variation
    for view in views.values():
        if isinstance(view, dict) and isinstance(view.get("extends"), str):
            view["extends"] = "parent"
    views["parent"] = ["id"]
    assert validator("view-file").is_valid({"tool": "t", "views": views}) == taken(Views.read, views)


def test_the_examples_of_the_proposal_are_accepted():
    """#1704, sections 1 to 4 and "Implementation Example"."""
    capability = {"supported": True, "modes": ["include", "exclude"], "maxDepth": 5}
    validator("capability", "literal").validate(capability)
    validator("capability", "literal").validate({"supported": True, "modes": ["include", "exclude"]})
    views = {"minimal": ["id", "name"], "contact": ["name", "email", "phone"]}
    validator("hint", "literal").validate({"supported": True, "recommendedViews": views})
    request = {"mode": "include", "fields": ["name", "email"]}
    validator("request").validate(request)
    assert Projection.from_wire(request) == Projection(include=["name", "email"])
    receipt = {"applied": True, "mode": "include", "fields": ["name", "email"], "projectedSchema": {}}
    validator("receipt").validate(receipt)
    assert model_takes(("receipt", "applied"), receipt)


def all_errors(base=LouverError):
    return [base, *(error for sub in base.__subclasses__() for error in all_errors(sub))]


def test_every_code_of_ours_has_the_form_that_the_schema_says():
    """Ours."""
    is_valid = validator("error").is_valid
    faults = [str(error) for error in all_errors() if not is_valid({"code": error.code, "message": "m"})]
    assert not faults, "\n".join(faults)


def test_an_error_satisfies_its_schema(subtests):
    """Ours."""
    for error in (
        errors.InvalidPath("a..b", 2, "a name", "Write another"),
        errors.InvalidProjection("m", expected=["include"]),
        errors.InvalidProjection("m", position=3),
        errors.ProjectionLimit("m", limit=256),
        errors.UnknownField("m", unmatched=["nmae"], suggestions={"nmae": "name"}),
        errors.UnknownView("m", view="x", views=["minimal"]),
        errors.ProjectionRequired("m", reason="not_supported"),
        errors.OutputInvalid("m"),
        errors.MissingToolSelection(["resource:///tool_descriptions?tools=t"]),
        errors.ToolDescriptionRequired("t", "resource:///tool_descriptions?tools=t"),
        errors.InvalidUri("m", offset=3, expected="another"),
        errors.InvalidUri("m", limit=8192),
        errors.TooManyTools("m", limit=50),
        errors.InvalidQuery("m", limit=256),
        errors.InvalidQuery("m", offset=3),
        errors.InvalidCursor("m"),
        errors.RateLimited("m", limit=120, retryAfterSeconds=7),
    ):
        with subtests.test(error.code):
            validator("error").validate(error.to_json())
            assert error.to_json().keys() <= DOCUMENTS["error"]["properties"].keys()
