"""The context of all checks in one protocol revision: a session, the tools, and sample answers.

It is discovered once: the tools are listed, one is called before its description is read, the descriptions are read,
and a few tools are called.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from louver.core import json
from louver.core.json import NotJson, is_array, is_object, members
from louver.wire.descriptions import is_about_descriptions
from louver.wire.names import DISCLOSURE, PROJECTION, PROJECTION_LITERAL
from louver_conformance.errors import CheckFailed, TargetError, TargetTimeout
from louver_conformance.limits import DESCRIPTIONS_A_READ, MAX_SAMPLE_BYTES, MAX_SAMPLE_CALLS, MAX_SAMPLES
from louver_conformance.sample import Sample, leaves, output_of
from louver_conformance.session import TargetSession
from louver_conformance.tools import Tool, grants_in

if TYPE_CHECKING:
    from louver.core.json import Json
    from louver_conformance.fixture import Fixture
    from louver_conformance.session import Deadline, Target
    from louver_conformance.transports.messages import TargetResponse
    from louver_conformance.validator_process import ValidatorProcess

# A request for the whole output, which overrides a default view.
EVERYTHING: Final = {"mode": "include", "fields": ["*"]}


class Context:
    def __init__(
        self, target: Target, revision: str, fixture: Fixture, validator: ValidatorProcess, deadline: Deadline
    ) -> None:
        self.target = target
        self.revision = revision
        self.fixture = fixture
        self.validator = validator
        self.session: TargetSession
        self.tools: list[Tool] = []
        # Projectable tools come first.
        self.samples: list[Sample] = []
        # Whole answers without two fields.
        self.slight: list[Sample] = []
        # The resource of full descriptions as `resources/list` has it; empty without one.
        self.descriptions_resource: dict[str, Any] = {}
        self.descriptions: dict[str, Any] = {}
        # A tool's name and its answer before its description was read.
        self.undescribed_call: tuple[str, TargetResponse] | None = None
        # Of `groups/stock.py`, once it has run.
        self.stock_results: list[tuple[bool, str]] | None = None
        self.timed_out: list[str] = []
        # Tools that were called for samples, and those of them that answered.
        self.called = self.usable = 0
        # A session in which no projection is ever requested (`stability.py`).
        self.plain_session: TargetSession | None = None
        self._deadline = deadline
        self._sessions: list[TargetSession] = []
        # By tool, and by arguments with the request.
        self._answers: dict[tuple[str, bytes], TargetResponse] = {}

    async def open(self) -> None:
        self.session = await self.open_session(declares=True)

    async def open_session(self, *, declares: bool = True) -> TargetSession:
        """One more session with the target, which ends with this context."""
        session = await TargetSession.open(self.target, self.revision, self._deadline, declares=declares)
        self._sessions.append(session)
        return session

    async def close(self) -> None:
        for session in reversed(self._sessions):
            await session.close()

    # Declarations of the target

    @property
    def capability(self) -> dict[str, Any]:
        """The capability in its literal form."""
        return members(members(self.session.capabilities.get("tools")).get(PROJECTION_LITERAL))

    @property
    def extensions(self) -> dict[str, Any]:
        return members(self.session.capabilities.get("extensions"))

    @property
    def can_project(self) -> bool:
        """Whether it declares projection, in either form."""
        extension = members(self.extensions.get(PROJECTION))
        return any(declared.get("supported") is True for declared in (self.capability, extension))

    # Discovery

    async def discover(self) -> None:
        """List the tools, read their descriptions, and call some."""
        await self.list_tools()
        if self.descriptions_resource:
            await self._call_undescribed()
            self.tools = await self.describe_tools(self.session)
        for tool in sorted(
            self.tools, key=lambda tool: (tool.name not in self.fixture.arguments, not tool.is_projectable)
        ):
            if len(self.samples) < MAX_SAMPLES:
                try:
                    await self._sample(tool)
                except TargetTimeout:
                    # A tool may be slow by its nature.
                    self.timed_out.append(tool.name)
        self.samples.sort(key=lambda sample: not sample.tool.is_projectable)

    async def list_tools(self) -> None:
        """List the tools, and find the resource of their descriptions."""
        listed = [Tool(tool) for tool in await self.session.pages("tools/list", "tools")]
        self.tools = [tool for tool in listed if isinstance(tool.listed.get("name"), str)]
        if "resources" in self.session.capabilities or DISCLOSURE in self.extensions:
            await self._find_descriptions()

    async def describe_tools(self, session: TargetSession) -> list[Tool]:
        """The tools with the descriptions that `session` reads, and its grants."""
        described: list[Tool] = []
        for at in range(0, len(self.tools), DESCRIPTIONS_A_READ):
            tools = self.tools[at : at + DESCRIPTIONS_A_READ]
            answer = await self.read_descriptions(session, *(tool.name for tool in tools))
            descriptions = members(resource_json(answer))
            self.descriptions |= descriptions
            grant = grants_in(answer.meta)
            described += [Tool(tool.listed, _description(descriptions.get(tool.name)), grant) for tool in tools]
        return described

    async def read_descriptions(self, session: TargetSession, *names: str) -> TargetResponse:
        """The answer to a read of some descriptions; without names the parameter `tools` is left out."""
        base = str(self.descriptions_resource.get("uri")).partition("?")[0]
        return await session.request(
            "resources/read",
            {"uri": f"{base}?tools={','.join(quote(name, safe='') for name in names)}" if names else base},
        )

    async def call(
        self, sample: Sample, request: object = None, *, key: str = PROJECTION_LITERAL, again: bool = False
    ) -> TargetResponse:
        """The answer to a projected call of a sample; each request is sent once, unless `again`."""
        name = sample.tool.name, json.canonical([sample.arguments, request, key])
        if again or name not in self._answers:
            meta = {} if request is None else {key: request}
            self._answers[name] = await self.call_with(sample, meta)
        return self._answers[name]

    async def call_with(
        self,
        sample: Sample,
        meta: dict[str, Any],
        arguments: dict[str, Any] | None = None,
        session: TargetSession | None = None,
    ) -> TargetResponse:
        """The answer to a call of a sample with this `_meta`."""
        tool = sample.tool
        arguments = sample.arguments if arguments is None else arguments
        return await (session or self.session).call(tool.name, arguments, {**tool.grant, **meta}, tool.input_schema)

    def reset_samples(self, samples: list[Sample]) -> None:
        """Continue with only these samples, and their answers so far."""
        self.samples = samples
        tools = {sample.tool.name for sample in samples}
        self._answers = {name: answer for name, answer in self._answers.items() if name[0] in tools}

    async def _find_descriptions(self) -> None:
        try:
            resources = await self.session.pages("resources/list", "resources")
        except TargetError:
            return
        found = (resource for resource in resources if is_about_descriptions(str(resource.get("uri"))))
        self.descriptions_resource = next(found, dict[str, Any]())

    async def _call_undescribed(self) -> None:
        for tool in self.tools:
            if tool.is_projectable and (tool.is_read_only or tool.name in self.fixture.arguments):
                arguments = self.fixture.arguments.get(tool.name, [{}])[0]
                with suppress(TargetTimeout):
                    self.undescribed_call = tool.name, await self.session.call(tool.name, arguments)
                    return

    async def _sample(self, tool: Tool) -> None:
        """Call a tool with each set of arguments, with the first one twice: a sample must not change by itself."""
        sets = self.fixture.arguments_of(tool.name, tool.input_schema, is_read_only=tool.is_read_only)
        if not sets or len(self._answers) > MAX_SAMPLE_CALLS:
            return
        self.called += 1
        first, second = [await self._whole(tool, sets[0], again=again) for again in (False, True)]
        self.usable += first is not None and second is not None and is_array(first.get("content"))
        if first is None or second is None or (value := output_of(first)) != output_of(second):
            return
        # Checks request one field, and leave out another.
        if value is None or len(leaves(value)) in (0, 1):
            self.slight.append(Sample(tool, sets[0], first, value))
            return
        if len(json.compact(first)) > MAX_SAMPLE_BYTES:
            return
        answered = [(arguments, await self._whole(tool, arguments)) for arguments in sets[1:]]
        others = tuple((each, output_of(result)) for each, result in answered if result is not None)
        self.samples.append(Sample(tool, sets[0], first, value, others))

    async def _whole(self, tool: Tool, arguments: dict[str, Any], *, again: bool = False) -> dict[str, Any] | None:
        """The whole result of a call, also of a tool with a default view."""
        sample = Sample(tool, arguments, {}, None)
        answer = await self.call(sample, again=again)
        if PROJECTION_LITERAL in answer.meta or PROJECTION in answer.meta:
            answer = await self.call(sample, EVERYTHING, again=again)
        result = answer.result
        if result is None or answer.is_error_result or result.get("resultType", "complete") != "complete":
            return None
        return result


def resource_json(answer: TargetResponse) -> Json:
    """The JSON in the one text of a resource."""
    contents = members(answer.result).get("contents")
    texts = [members(each).get("text") for each in contents] if is_array(contents) else []
    if len(texts) != 1 or not isinstance(texts[0], str):
        raise CheckFailed("the resource of descriptions is not read as one text")
    try:
        return json.parse(texts[0])
    except NotJson:
        raise CheckFailed("the resource of descriptions does not hold JSON") from None


def _description(entry: Any) -> dict[str, Any]:
    return entry if is_object(entry) and "error" not in entry else {}
