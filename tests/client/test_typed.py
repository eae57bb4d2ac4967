"""Types as requests: their fields are the projection, and the answer is a value of them."""

import dataclasses
import datetime
import enum
import sys
import traceback
import typing
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Literal, assert_type

import pytest
from mcp.server import MCPServer
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, RootModel
from typing_extensions import TypedDict

import louver
from client.servers import CANARY, PROFILE, SCHEMA, example, liar, lowlevel, plain, structured, tool
from louver.client.typed import Typed

pytestmark = pytest.mark.anyio

USER = ("get_user_profile", {"user_id": 42})


class City(BaseModel):
    model_config = ConfigDict(extra="forbid")
    city: str
    postcode: str = Field(alias="zip")


class Card(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    address: City | None


class Named(BaseModel):
    name: str


class Node(BaseModel):
    name: str
    children: list["Node"]


class Kept(TypedDict):
    id: int
    cities: dict[str, City]


@dataclasses.dataclass
class Pair:
    left: list[Card]
    right: tuple[int, City]


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: int


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


class Choice(BaseModel):
    pet: Cat | Dog = Field(discriminator="kind")
    note: City | str
    other: int = Field(default=0, validation_alias=AliasChoices("other", "Other"))


class Issue(BaseModel):
    number: int


class Issues(BaseModel):
    issues: list[Issue]


async def test_rows_are_read_as_a_type():
    """Step 23: typed answers too."""
    async with louver.Client(example()) as client:
        rows = ["$.issues[?@.comments > 8].number"]
        result = await client.call_tool("list_issues", {"limit": 20}, into=Issues, include=rows)
        assert_type(result.data, Issues)
        assert len(result.data.issues) == result.receipt.rows[0].kept < 20
        with pytest.raises(louver.errors.OutputInvalid):
            await client.call_tool("list_issues", {"limit": 20}, into=Issues, include=["$.issues[0].title"])


@pytest.mark.parametrize(
    ("type_", "paths"),
    [
        (Card, ["address.city", "address.zip", "name"]),
        (list[Card], ["address.city", "address.zip", "name"]),
        (Card | None, ["address.city", "address.zip", "name"]),
        (RootModel[list[Card]], ["address.city", "address.zip", "name"]),
        (dict[str, City], ["*.city", "*.zip"]),
        (list[dict[str, City]], ["*.*.city", "*.*.zip"]),
        (list[list[City]], ["city", "zip"]),
        (dict[str, list[City]], ["*.city", "*.zip"]),
        (Kept, ["cities.*.city", "cities.*.zip", "id"]),
        (Pair, ["left.address.city", "left.address.zip", "left.name", "right"]),
        (Node, ["children", "name"]),
        (Choice, ["Other", "note", "other", "pet.kind", "pet.lives", "pet.tricks"]),
        *((type_, ["*"]) for type_ in (Open, int, dict, Any, dict[str, int], list[str], dict[str, Any], Node | int)),
    ],
)
def test_the_fields_of_a_type_are_the_projection(type_, paths):
    """Ours: aliases, nesting, unions, lists, maps; what may be anything is asked for whole."""
    assert [str(path) for path in Typed(type_).projection(strict=False, required=False).fields] == paths


class Apart(BaseModel):
    """The names in Python are those of other members of a profile."""

    address: str = Field(validation_alias=AliasPath("address", "city"))
    code: str = Field(validation_alias=AliasPath("address", "zip"))
    items: int = Field(validation_alias=AliasPath("items", 0, "id"))
    id: str = Field(validation_alias=AliasChoices("mail", "email", AliasPath("contact", "mail")))


@dataclasses.dataclass
class Held:
    parts: list[Apart] = dataclasses.field(default_factory=list)


class Meeting(BaseModel):
    day: datetime.date
    at: datetime.time | datetime.datetime
    length: datetime.timedelta


def test_a_field_is_asked_for_where_it_is_read_from():
    """Ours: of several places in all of them."""
    asked = ["address.city", "address.zip", "contact.mail", "email", "items.id", "mail"]
    assert [str(path) for path in Typed(Apart).projection(strict=False, required=False).fields] == asked
    within = [f"parts.{path}" for path in asked]
    assert [str(path) for path in Typed(Held).projection(strict=False, required=False).fields] == within


async def test_a_field_is_read_from_there(mode):
    """Ours: the name that stands in Python is none that the tool has to have."""
    made = lowlevel(get_profile=tool(SCHEMA))
    louver.attach(made.server)
    async with louver.Client(made.server, mode=mode) as client:
        result = await client.call_tool("get_profile", into=Apart)
        deep = typed("city", str, city=Field(validation_alias=AliasPath("address", "ctiy")))
        with pytest.raises(louver.errors.UnfitType, match=r"did you mean 'address\.city'"):
            await client.call_tool("get_profile", into=deep)
    found = {"address": "Rome", "code": "00100", "items": 1, "id": PROFILE["email"]}
    assert (result.applied, result.data.model_dump()) == (True, found)


async def test_a_time_may_come_as_a_number():
    """Ours: pydantic reads seconds."""
    number = {"type": "integer"}
    output = {"type": "object", "properties": {"day": number, "at": number, "length": number}}
    made = lowlevel(get_meeting=tool(output, structured({"day": 86400, "at": 0, "length": 60})))
    async with louver.Client(made.server) as client:
        meeting = (await client.call_tool("get_meeting", into=Meeting)).data
    assert (meeting.day, meeting.length) == (datetime.date(1970, 1, 2), datetime.timedelta(minutes=1))


@pytest.mark.parametrize("type_", [type("Plain", (), {}), Callable[[], int]])
def test_what_is_no_type_for_json_is_refused(type_):
    """Ours."""
    with pytest.raises(louver.errors.UnfitType, match="no type"):
        Typed(type_)


class Stdlib(typing.TypedDict):
    id: int


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic reads both kinds of TypedDict from Python 3.12 on")
def test_a_typed_dict_that_pydantic_cannot_read_is_refused_with_the_one_that_it_can():
    """Ours: with what would be right."""
    with pytest.raises(louver.errors.UnfitType, match=r"^list\[Stdlib\] .* expected typing_extensions\.TypedDict"):
        Typed(list[Stdlib])


@pytest.mark.parametrize("type_", [Iterable[int], dict[str, Generator[int, None, None]] | None])
def test_a_type_that_would_be_checked_only_later_is_refused(type_):
    """Ours: its values would come unchecked, and its error would quote the answer."""
    with pytest.raises(louver.errors.UnfitType, match=r"expected list\[\.\.\.\]"):
        Typed(type_)
    assert Typed(Sequence[int]).read([1], "t") == [1]


@pytest.mark.parametrize("server", [example, plain])
async def test_an_answer_comes_as_the_type(mode, server):
    """Ours: also from a server that does not project, whose output is taken away here."""
    async with louver.Client(server(), mode=mode) as client:
        result = await client.call_tool(*USER, into=Card)
        assert_type(result, louver.ProjectedResult[Card])
        labels = await client.call_tool("list_labels", into=list[Named])
        assert labels.data[0] == Named(name="bug")
    assert result.data == Card(name="Ruben Keller", address=City(city="Wellington", zip="6066"))
    assert result.applied is (server is example)
    assert result.pruned is (server is plain)


async def test_json_types_become_those_of_python(mode):
    """Ours: as pydantic reads JSON."""

    class Status(enum.Enum):
        AWAY = "away"

    class Known(BaseModel):
        model_config = ConfigDict(strict=True)
        joined_on: datetime.date
        status: Status

    async with louver.Client(example(), mode=mode) as client:
        result = await client.call_tool(*USER, into=Known)
        text = await client.call_tool("export_stats", into=dict[str, dict[str, int]])
    assert result.data == Known(joined_on=datetime.date(2022, 2, 18), status=Status.AWAY)
    assert text.data["users"]["total"] == 200


def typed(name, type_, **defaults):
    return type("Wanted", (BaseModel,), {"__annotations__": {name: type_}, **defaults})


class Misspelt(BaseModel):
    ctiy: str


@pytest.mark.parametrize(
    ("type_", "path", "said"),
    [
        (typed("emial", str), "emial", "did you mean 'email'"),
        (typed("address", Misspelt), "address.ctiy", "did you mean 'address.city'"),
    ],
)
@pytest.mark.parametrize("loosened", [False, True])
async def test_a_type_that_the_tool_cannot_answer_is_refused_before_the_call(type_, path, said, loosened):
    """Ours: with the field that it does not have, of a server that projects or not."""
    made = lowlevel(get_profile=tool(SCHEMA))
    if loosened:
        louver.attach(made.server)
    async with louver.Client(made.server) as client:
        with pytest.raises(louver.errors.UnfitType, match=said) as refused:
            await client.call_tool("get_profile", into=type_)
    assert refused.value.fields["path"] == path
    assert made.calls == []


@pytest.mark.parametrize(
    "type_",
    [
        Card,
        typed("nope", int | None, nope=None),
        typed("id", float),
        typed("name", str | None),
        typed("name", Any),
        dict[str, Any],
        typed("address", dict[str, str]),
        typed("nextCursor", str | None),
    ],
)
async def test_a_type_that_the_tool_may_answer_is_not(type_):
    """Ours: an optional field that the tool does not have is just not there."""
    made = lowlevel(get_profile=tool(SCHEMA))
    async with louver.Client(made.server) as client:
        assert (await client.call_tool("get_profile", into=type_)).data is not None


async def test_an_answer_that_is_none_of_the_type_is_told_without_its_values(mode):
    """Ours: pydantic's own error would quote it."""
    made = lowlevel(get_profile=tool(result=structured({**PROFILE, "address": {"city": {CANARY: CANARY}, "zip": "1"}})))
    async with louver.Client(made.server, mode=mode) as client:
        with pytest.raises(louver.errors.OutputInvalid, match="no Card: string_type") as wrong:
            await client.call_tool("get_profile", into=Card)
        with pytest.raises(louver.errors.OutputInvalid, match="int_parsing at 'address") as unnamed:
            await client.call_tool("get_profile", into=typed("address", dict[str, dict[str, int] | str]))
    for error in (wrong, unnamed):
        assert CANARY not in "".join(traceback.format_exception(error.value))
    assert wrong.value.fields == {"path": "address.city", "kind": "string_type"}


async def test_no_output_is_none_of_the_type():
    """Ours."""
    made = liar({"content": [{"type": "text", "text": CANARY}]}, output=None)
    async with louver.Client(made.server) as client:
        with pytest.raises(louver.errors.OutputInvalid, match=r"no Card: .* no structured content, and no text"):
            await client.call_tool("get_profile", into=Card)


async def test_null_is_no_prose():
    """Ours: nor is it of the type."""
    null = {"type": "object", "properties": {"result": {}}, "required": ["result"]}
    async with louver.Client(liar(structured({"result": None}), output=null).server) as client:
        with pytest.raises(louver.errors.OutputInvalid, match=r"at '\*'$"):
            await client.call_tool("get_profile", into=Card)


@pytest.mark.parametrize("server_projects", [True, False])
@pytest.mark.parametrize("type_", [str, str | None])
async def test_a_text_that_happens_to_be_json_can_be_had_as_a_text(mode, server_projects, type_):
    """Ours: as that of a file can be."""
    server = MCPServer("files")

    @server.tool()
    def read_file() -> str:
        return '{"name":"package"}'

    if server_projects:
        louver.attach(server)
    async with louver.Client(server, mode=mode) as client:
        text = await client.call_tool("read_file", into=type_)
        held = await client.call_tool("read_file", into=Named)
    assert (text.data, text.applied) == ('{"name":"package"}', server_projects)
    assert held.data == Named(name="package")


async def test_an_annotated_type_that_is_no_key_is_read_too():
    """Ours: types are remembered where they can be."""
    from typing import Annotated

    made = lowlevel(get_profile=tool(SCHEMA))
    async with louver.Client(made.server) as client:
        for _ in range(2):
            result = await client.call_tool("get_profile", into=Annotated[Card, ["notes"]])
            assert result.data.name == "Ann"
