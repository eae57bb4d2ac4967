"""What all checks of one protocol revision share: a conversation, the tools, and what some of them answer.

It is found out once, and in this order: tools are listed, one is called before its description was read, descriptions
are read, then a few tools are called.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from louver.core import json
from louver.core.json import NotJson, is_array, is_object, members
from louver.errors import Broken, UpstreamError, UpstreamTimeout
from louver.limits import CONFORMANCE_SAMPLE_BYTES, CONFORMANCE_SAMPLES, CONFORMANCE_TRIED, MAX_TOOLS_READ
from louver.protocol.descriptions import is_about_descriptions
from louver.protocol.names import DISCLOSURE, PROJECTION, PROJECTION_LITERAL
from louver_conformance.sample import Sample, leaves, output_of
from louver_conformance.session import Peer
from louver_conformance.tools import Tool, grants_in

if TYPE_CHECKING:
    from louver.core.json import Json
    from louver_conformance.fixture import Fixture
    from louver_conformance.session import Clock, Target
    from louver_conformance.transports.messages import Answer
    from louver_conformance.validator_process import Judge

EVERYTHING: Final = {"mode": "include", "fields": ["*"]}
"""What is asked for to get past a default view."""


class Talk:
    """What the checks work with.

    Attributes:
        peer: The conversation.
        tools: The tools that are listed, with their full descriptions.
        samples: What some of them answer; those that say that they can be projected come first.
        descriptions: The resource of full descriptions, as it is listed; empty without one.
        read: What that resource holds.
        stock: What a stock client made of answers, once that was tried (`groups/stock.py`).
        late: The names of tools that have not answered in time.
        onlooker: A conversation in which nothing is asked for (`stability.py`), once there is one.
        unread: What a tool answered before its description was read, with its name; `None` if none was called.
    """

    def __init__(self, target: Target, era: str, fixture: Fixture, judge: Judge, clock: Clock) -> None:
        self.target = target
        self.era = era
        self.fixture = fixture
        self.judge = judge
        self.peer: Peer
        self.tools: list[Tool] = []
        self.samples: list[Sample] = []
        self.descriptions: dict[str, Any] = {}
        self.read: dict[str, Any] = {}
        self.unread: tuple[str, Answer] | None = None
        self.stock: list[tuple[bool, str]] | None = None
        self.late: list[str] = []
        self.called = self.usable = 0
        """How many tools were called for samples, and how many of these have answered."""
        self.onlooker: Peer | None = None
        self._clock = clock
        self._peers: list[Peer] = []
        self._answers: dict[bytes, Answer] = {}

    async def open(self) -> None:
        """Begin the conversation."""
        self.peer = await self.another(declares=True)

    async def another(self, *, declares: bool = True) -> Peer:
        """One more conversation with the target, which ends with this one."""
        peer = await Peer.open(self.target, self.era, self._clock, declares=declares)
        self._peers.append(peer)
        return peer

    async def close(self) -> None:
        """End all of them."""
        for peer in reversed(self._peers):
            await peer.close()

    # What the target says of itself

    @property
    def capability(self) -> dict[str, Any]:
        """The literal form of the capability."""
        return members(members(self.peer.capabilities.get("tools")).get(PROJECTION_LITERAL))

    @property
    def extensions(self) -> dict[str, Any]:
        """The extensions that it declares."""
        return members(self.peer.capabilities.get("extensions"))

    @property
    def can_project(self) -> bool:
        """Whether it says, in either form, that answers can be projected."""
        return any(
            said.get("supported") is True for said in (self.capability, members(self.extensions.get(PROJECTION)))
        )

    # Finding out

    async def learn(self) -> None:
        """List the tools, read how they are described, and call some.

        Raises:
            UpstreamError: The target does not answer.
        """
        listed = [Tool(tool) for tool in await self.peer.pages("tools/list", "tools")]
        self.tools = [tool for tool in listed if isinstance(tool.listed.get("name"), str)]
        if "resources" in self.peer.capabilities or DISCLOSURE in self.extensions:
            await self._find_descriptions()
        if self.descriptions:
            await self._call_unread()
            self.tools = await self.described(self.peer)
        for tool in sorted(
            self.tools, key=lambda tool: (tool.name not in self.fixture.arguments, not tool.is_projectable)
        ):
            if len(self.samples) < CONFORMANCE_SAMPLES:
                try:
                    await self._try(tool)
                except UpstreamTimeout:
                    # One that takes long by its nature says nothing of the others.
                    self.late.append(tool.name)
        self.samples.sort(key=lambda sample: not sample.tool.is_projectable)

    async def described(self, peer: Peer) -> list[Tool]:
        """The tools with the descriptions that `peer` reads, and the grants that it gets for them."""
        found: list[Tool] = []
        for at in range(0, len(self.tools), MAX_TOOLS_READ):
            some = self.tools[at : at + MAX_TOOLS_READ]
            answer = await self.read_descriptions(peer, *(tool.name for tool in some))
            texts = text_of_read(answer)
            said = members(texts)
            self.read |= said
            grant = grants_in(answer.meta)
            found += [Tool(tool.listed, _description(said.get(tool.name)), grant) for tool in some]
        return found

    async def read_descriptions(self, peer: Peer, *names: str) -> Answer:
        """The answer to a read of some descriptions; without a name the parameter is left out."""
        base = str(self.descriptions.get("uri")).partition("?")[0]
        return await peer.ask(
            "resources/read",
            {"uri": f"{base}?tools={','.join(quote(name, safe='') for name in names)}" if names else base},
        )

    async def call(
        self, sample: Sample, request: object = None, *, key: str = PROJECTION_LITERAL, again: bool = False
    ) -> Answer:
        """What the tool of a sample answers to a request; asked once for each request, unless `again`."""
        name = json.canonical([sample.tool.name, sample.arguments, request, key])
        if again or name not in self._answers:
            meta = {} if request is None else {key: request}
            self._answers[name] = await self.call_with(sample, meta)
        return self._answers[name]

    async def call_with(
        self, sample: Sample, meta: dict[str, Any], arguments: dict[str, Any] | None = None, peer: Peer | None = None
    ) -> Answer:
        """Likewise, with this `_meta`, and perhaps other arguments or over another conversation."""
        tool = sample.tool
        given = sample.arguments if arguments is None else arguments
        return await (peer or self.peer).call(tool.name, given, {**tool.grant, **meta}, tool.input_schema)

    def keep(self, samples: list[Sample]) -> None:
        """Go on with just these samples, asked anew."""
        self.samples = samples
        self._answers.clear()

    async def _find_descriptions(self) -> None:
        try:
            resources = await self.peer.pages("resources/list", "resources")
        except UpstreamError:
            return
        about = [each for each in resources if is_about_descriptions(str(each.get("uri")))]
        self.descriptions = about[0] if about else {}

    async def _call_unread(self) -> None:
        for tool in self.tools:
            if tool.is_projectable and (tool.only_reads or tool.name in self.fixture.arguments):
                arguments = self.fixture.arguments.get(tool.name, [{}])[0]
                with suppress(UpstreamTimeout):
                    self.unread = tool.name, await self.peer.call(tool.name, arguments)
                    return

    async def _try(self, tool: Tool) -> None:
        """Call a tool with each set of arguments, the first one twice: what is compared must not change by itself."""
        sets = self.fixture.arguments_of(tool.name, tool.input_schema, only_reads=tool.only_reads)
        if not sets or len(self._answers) > CONFORMANCE_TRIED:
            return
        self.called += 1
        first, second = [await self._plain(tool, sets[0], again=again) for again in (False, True)]
        self.usable += first is not None and second is not None and is_array(first.get("content"))
        if first is None or second is None or (value := output_of(first)) != output_of(second):
            return
        # One field is asked for, another one left out.
        if value is None or len(leaves(value)) in (0, 1) or len(json.compact(first)) > CONFORMANCE_SAMPLE_BYTES:
            return
        answered = [(arguments, await self._plain(tool, arguments)) for arguments in sets[1:]]
        others = tuple((each, output_of(result)) for each, result in answered if result is not None)
        self.samples.append(Sample(tool, sets[0], first, value, others))

    async def _plain(self, tool: Tool, arguments: dict[str, Any], *, again: bool = False) -> dict[str, Any] | None:
        """The result of a call without a projection; one with a default view is asked for everything."""
        sample = Sample(tool, arguments, {}, None)
        answer = await self.call(sample, again=again)
        if PROJECTION_LITERAL in answer.meta or PROJECTION in answer.meta:
            answer = await self.call(sample, EVERYTHING, again=again)
        result = answer.result
        if result is None or answer.is_error_result or result.get("resultType", "complete") != "complete":
            return None
        return result


def text_of_read(answer: Answer) -> Json:
    """The JSON that was read from a resource.

    Raises:
        Broken: There is no one text of JSON.
    """
    contents = members(answer.result).get("contents")
    texts = [members(each).get("text") for each in contents] if is_array(contents) else []
    if len(texts) != 1 or not isinstance(texts[0], str):
        raise Broken("the resource of descriptions is not read as one text")
    try:
        return json.parse(texts[0])
    except NotJson:
        raise Broken("the resource of descriptions does not hold JSON") from None


def _description(entry: Any) -> dict[str, Any]:
    return entry if is_object(entry) and "error" not in entry else {}
