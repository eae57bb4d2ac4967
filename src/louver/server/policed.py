"""Raw in, visible out: what one server says, as its policy lets one caller see it.

::

    tools/list     the tools that are there for anybody, with the schema of what the caller may see
    tools/call     PRUNE the output -> validate it against that schema -> write `content` anew from it
    an error       constant words, and an id by which the operator finds it
    all else       nothing, unless the policy lets it through

This is the one place where something raw is looked into (`Raw`), and what comes out of it is all that anything else
gets: projection, kept results, search, descriptions, scripts. Sources: PRIVACY.md, "One pipeline", P1 to P7 and P18.
"""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from mcp import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND, SERVER_INFO_META_KEY

from louver.catalogue.plain_texts import plain, untold, untold_schema
from louver.core.fields import fields_of
from louver.core.json import is_array, is_object, members
from louver.core.measure import is_larger
from louver.core.twins import key_of
from louver.core.validate import validator
from louver.core.visible import Sight
from louver.core.wrapper import WRAPPER, is_wrapped, text_wrapper, text_wrapper_in
from louver.errors import OutputInvalid, ProjectionLimit, Withheld
from louver.limits import MAX_ON_LOOP, MAX_READ_ON_LOOP, MAX_SIGHTS
from louver.server.accounts import account, is_kept
from louver.server.content import blocks, find_output, texts_of, write_output
from louver.server.refusals import error_result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from louver.catalogue.policy import Policy, ToolPolicy
    from louver.catalogue.principals import Principal
    from louver.core.json import Json, Schema
    from louver.core.path import FieldPath
    from louver.core.unsaid import Names
    from louver.server.content import Output

logger = logging.getLogger(__name__)

_Said = TypeVar("_Said")

_OF_OPENINGS: Final = ("protocolVersion", "supportedVersions", "resultType", "ttlMs")
_OF_RESULTS: Final = {"resultType": ("complete", "input_required"), "isError": (True, False)}
"""Members of results -> what they can be: anything else could hold anything."""
_OF_LISTS: Final = {"resultType": str, "nextCursor": str, "ttlMs": int}
_OF_SERVERS: Final = ("name", "title", "version")
_ANNOTATIONS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_LISTS: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_LET: Final = {
    "prompts/list": "prompts",
    "prompts/get": "prompts",
    "completion/complete": "completion",
    "logging/setLevel": "logging",
    "notifications/progress": "progress",
    "notifications/message": "logging",
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
}
"""What has to be let through -> by which word of the policy."""

_FREE: Final = frozenset(
    {
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "roots/list",
        "ping",
    }
)
"""What a server may always say: it holds nothing."""


@dataclass(frozen=True, slots=True)
class Raw(Generic[_Said]):
    """What a server said, before its policy. It is looked into by this module alone."""

    unpruned: _Said = field(repr=False)

    @property
    def is_large(self) -> bool:
        """Whether it takes long to look through."""
        said: Any = self.unpruned
        texts = sum(map(len, texts_of(said)))
        return texts > MAX_READ_ON_LOOP or is_larger(said, MAX_ON_LOOP)


@dataclass(frozen=True, slots=True)
class Visible(Generic[_Said]):
    """What is left of it."""

    value: _Said


class Policed:
    """The policy of one server, at work.

    Args:
        server: The server's name, for the log.
        policy: The policy.
    """

    def __init__(self, server: str, policy: Policy) -> None:
        self.server = server
        self.policy = policy
        self.id = secrets.token_hex(8)
        """What is kept of before belongs to another policy."""
        self._lock = Lock()
        self._checked: dict[str, tuple[dict[str, Any], ToolPolicy | None]] = {}
        self._sights: OrderedDict[tuple[Any, ...], tuple[Schema | None, _Seen]] = OrderedDict()

    def may_say(self, method: str, uri: object = None) -> bool:
        """Whether a notification or a question of the server reaches clients."""
        if method == "notifications/resources/updated":
            return isinstance(uri, str) and self.policy.covers(uri)
        return method in _FREE or _LET.get(method) in self.policy.lets

    def said(self, method: str, params: dict[str, Any] | None) -> dict[str, Any] | None:
        """The params of a notification or a question that reaches clients, as they reach them."""
        if method in _FREE or params is None:
            return None
        if method == "notifications/resources/updated":
            return {"uri": params["uri"]}
        return self._without_meta(params)

    def check_may_ask(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """See that a client's request reaches the server; the answer to one that does not need to.

        Raises:
            MCPError: It does not.
        """
        if method in ("tools/list", "tools/call", "resources/list", "resources/templates/list"):
            return None
        if method in ("resources/read", "resources/subscribe", "resources/unsubscribe"):
            if not self.policy.covers(str(params.get("uri"))):
                raise MCPError(code=INVALID_PARAMS, message="Unknown resource")
            return None
        if _LET.get(method) in self.policy.lets:
            return None
        if method == "logging/setLevel":
            return {}
        if method == "prompts/list":
            return {"prompts": []}
        raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=method)

    def opening(self, raw: Raw[dict[str, Any]]) -> Visible[dict[str, Any]]:
        """What the server says of itself."""
        said = raw.unpruned
        able = members(said.get("capabilities"))
        let = {"prompts": "prompts", "completions": "completion", "logging": "logging"}
        shown = {name: able[name] for name, word in let.items() if name in able and word in self.policy.lets}
        if "resources" in able and self.policy.resources:
            shown["resources"] = able["resources"]
        if "tools" in able:
            shown["tools"] = {"listChanged": members(able["tools"]).get("listChanged") is True}
        kept = {key: said[key] for key in _OF_OPENINGS if key in said}
        if "cacheScope" in said:
            kept["cacheScope"] = "private"
        if "serverInfo" in said:
            kept["serverInfo"] = _info(said["serverInfo"])
        told = said.get("instructions")
        if isinstance(told, str) and "instructions" in self.policy.lets:
            kept["instructions"] = plain(told)
        return Visible({**kept, "capabilities": shown, **self._meta(said)})

    def listed(self, method: str, raw: Raw[dict[str, Any]], principal: Principal) -> Visible[dict[str, Any]]:
        """What a caller sees of a list."""
        said, member = raw.unpruned, _LISTS[method]
        listed: list[Any] = said.get(member) or []
        entries = [entry for entry in listed if is_object(entry)]
        kept = {key: said[key] for key, kind in _OF_LISTS.items() if isinstance(said.get(key), kind)}
        if "cacheScope" in said:
            kept["cacheScope"] = "private"
        if method == "tools/list":
            shown = [tool for tool in (self._tool(each, principal) for each in _apart(entries)) if tool is not None]
        else:
            shown = [self._entry(entry) for entry in entries if self._is_shown(method, entry)]
        return Visible({**kept, member: shown, **self._meta(said)})

    def let_through(self, raw: Raw[dict[str, Any]]) -> Visible[dict[str, Any]]:
        """What a caller sees of the answer to a request that the policy lets through as a whole."""
        said = raw.unpruned
        shown = {key: self._without_meta(each) for key, each in said.items() if key not in ("_meta", "cacheScope")}
        return Visible({**shown, **({"cacheScope": "private"} if "cacheScope" in said else {}), **self._meta(said)})

    def is_there(self, tool: dict[str, Any], others: Iterable[str]) -> bool:
        """Whether a tool is there for anybody.

        Args:
            tool: Its definition.
            others: The names of all tools, its own among them.
        """
        key = key_of(tool["name"])
        return self.rules_of(tool) is not None and sum(key_of(name) == key for name in others) == 1

    def answered(self, raw: Raw[dict[str, Any]], tool: dict[str, Any], principal: Principal) -> Visible[dict[str, Any]]:
        """What a caller sees of the answer to a call.

        Args:
            raw: The answer.
            tool: The tool's definition, as the server lists it, of which the policy knows.
            principal: The caller.
        """
        said = raw.unpruned
        account().has_run = True
        shown: dict[str, Any] = {key: said[key] for key, words in _OF_RESULTS.items() if said.get(key) in words}
        shown |= self._meta(said)
        if said.get("resultType", "complete") != "complete":
            return Visible(self._asking(said, shown))
        if said.get("isError"):
            if self.policy.errors == "passthrough":
                return Visible({**shown, "content": self._without_meta(blocks(said)), "isError": True})
            return Visible(error_result(self._failed(tool["name"]), _without_error(shown)))
        declared = _of_texts(tool.get("outputSchema"))
        wrapper = text_wrapper(tool.get("outputSchema"))
        if wrapper is None and declared is None:
            wrapper = text_wrapper_in(said.get("structuredContent"))
        output = find_output(said, wrapper)
        in_text = output is not None and output.seat != "structured"
        if wrapper is None and is_wrapped(declared):
            # A text holds such an output without its wrapper.
            wrapper = WRAPPER
        seen = self.seen(tool, principal, wrapper if in_text else None, in_text=in_text)
        if output is not None and is_kept():
            account().fields = len(fields_of(output.value, seen.names))
        if output is None:
            return Visible(self._prose(said, shown, tool, is_whole=seen.sight.is_whole))
        if seen.sight.is_whole:
            structured = {"structuredContent": said["structuredContent"]} if "structuredContent" in said else {}
            return Visible({**shown, **structured, "content": self._covered(said)})
        return Visible(_written(shown, output, seen))

    def seen(
        self, tool: dict[str, Any], principal: Principal, wrapper: str | None = None, *, in_text: bool = False
    ) -> _Seen:
        """What a caller sees of the output of a tool that the policy knows.

        Args:
            tool: The tool's definition.
            principal: The caller.
            wrapper: The property whose text holds the output, if one does.
            in_text: Whether the output is JSON text, of which nothing is known.
        """
        said = self.policy.of(tool["name"])
        assert said is not None, "a tool without rules is not there"
        rules = said.ruling(principal)
        schema: Schema | None = None if in_text else _of_texts(tool.get("outputSchema"))
        key = (tool["name"], tuple(rule.name for rule in rules), wrapper, in_text)
        # Lists and large answers are looked at in threads.
        with self._lock:
            known = self._sights.get(key)
            if known is None or known[0] != schema:
                seen = _Seen(Sight([rule.fields for rule in rules], schema, self.policy.key, wrapper))
                known = self._sights[key] = (schema, seen)
                if len(self._sights) > MAX_SIGHTS:
                    self._sights.popitem(last=False)
            self._sights.move_to_end(key)
            return known[1]

    def hides(self, tool: str, principal: Principal, path: FieldPath) -> bool:
        """Whether a caller must not be told of a path of a tool's output."""
        return not self.knows(tool) or self.seen(self._checked[tool][0], principal).sight.hides(path)

    def knows(self, tool: str) -> bool:
        """Whether a tool is there for anybody, as far as it was seen."""
        return self._checked.get(tool, (None, None))[1] is not None

    def names_of(self, tool: str, principal: Principal) -> frozenset[str]:
        """The names that the schema of a tool's output speaks of, as far as the tool was seen."""
        return self.seen(self._checked[tool][0], principal).names if self.knows(tool) else frozenset()

    def rules_of(self, tool: dict[str, Any]) -> ToolPolicy | None:
        """The rules of a tool; `None` if it is not there for anybody, which is logged where its author should know."""
        name: str = tool["name"]
        checked = self._checked.get(name)
        if checked is None or checked[0] != tool:
            said = self.policy.of(name)
            if said is not None and (problem := said.misfit(tool)) is not None:
                logger.error("server %r: tool %r is not served: %s", self.server, name, problem)
                said = None
            checked = self._checked[name] = (tool, said)
        return checked[1]

    def _tool(self, tool: dict[str, Any], principal: Principal) -> dict[str, Any] | None:
        if self.rules_of(tool) is None:
            return None
        try:
            seen = self.seen(tool, principal)
            if seen.listed is None or seen.listed[0] != tool:
                seen.listed = (tool, self._definition(tool, seen))
        except ProjectionLimit as error:
            logger.error("server %r: tool %r is not served: %s", self.server, tool["name"], error.message)
            return None
        return seen.listed[1]

    def _definition(self, tool: dict[str, Any], seen: _Seen) -> dict[str, Any]:
        names = seen.names_besides(tool)
        shown: dict[str, Any] = {"name": tool["name"]}
        for key in ("title", "description"):
            if isinstance(text := tool.get(key), str) and (told := untold(text, names)):
                shown[key] = told
        shown["inputSchema"] = untold_schema(tool["inputSchema"], names)
        if (schema := self._shown_schema(tool, seen)) is not None:
            shown["outputSchema"] = schema
        hints = members(tool.get("annotations"))
        if said := {key: hints[key] for key in _ANNOTATIONS if isinstance(hints.get(key), bool)}:
            shown["annotations"] = said
        return {**shown, **self._meta(tool)}

    def _shown_schema(self, tool: dict[str, Any], seen: _Seen) -> Schema | None:
        declared: Any = tool.get("outputSchema")
        if declared is None or seen.sight.is_whole:
            return declared
        if (wrapper := text_wrapper(declared)) is not None:
            return {"type": "object", "properties": {wrapper: {"type": "string"}}, "required": [wrapper]}
        schema = seen.sight.schema
        rooted = is_object(declared) and declared.get("type") == "object"
        return {**members(schema), "type": "object"} if rooted else schema

    def _entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        return {**_plainly({key: value for key, value in entry.items() if key != "_meta"}), **self._meta(entry)}

    def _is_shown(self, method: str, entry: dict[str, Any]) -> bool:
        if method == "prompts/list":
            return True
        return self.policy.covers(str(entry.get("uri", entry.get("uriTemplate"))))

    def _meta(self, said: dict[str, Any]) -> dict[str, Any]:
        meta = members(said.get("_meta"))
        kept = {key: meta[key] for key in sorted(self.policy.meta) if key in meta}
        if SERVER_INFO_META_KEY in meta:
            kept[SERVER_INFO_META_KEY] = _info(meta[SERVER_INFO_META_KEY])
        return {"_meta": kept} if kept else {}

    def _without_meta(self, said: Json) -> Any:
        """A message that is let through, with just what may be passed on of each `_meta` in it."""
        if is_array(said):
            return [self._without_meta(each) for each in said]
        if not is_object(said):
            return said
        return {
            **{key: self._without_meta(each) for key, each in said.items() if key != "_meta"},
            **self._meta(said),
        }

    def _asking(self, said: dict[str, Any], shown: dict[str, Any]) -> dict[str, Any]:
        """An answer that asks for something, as far as the server may ask.

        Raises:
            MCPError: It may not.
        """
        questions = members(said.get("inputRequests"))
        may = said["resultType"] == "input_required"
        if not may or not all(
            is_object(asked) and self.may_say(str(asked.get("method"))) for asked in questions.values()
        ):
            raise self.refusal(MCPError(code=INVALID_PARAMS, message=""))
        asked = {key: self._question(each) for key, each in questions.items()}
        state = {key: said[key] for key in ("requestState",) if key in said}
        return {**shown, "resultType": "input_required", **({"inputRequests": asked} if asked else {}), **state}

    def _question(self, asked: dict[str, Any]) -> dict[str, Any]:
        params = self.said(asked["method"], members(asked.get("params")))
        return {"method": asked["method"], **({} if params is None else {"params": params})}

    def refusal(self, error: MCPError) -> MCPError:
        """What a client gets of a protocol error of the server."""
        if self.policy.errors == "passthrough":
            return error
        withheld = self._failed(None)
        return MCPError(code=error.error.code, message=withheld.message, data={"error": withheld.to_json()})

    def _failed(self, tool: str | None) -> Withheld:
        number = account().correlation = secrets.token_hex(8)
        logger.warning("server %r, tool %r: an error is withheld, correlation id %s", self.server, tool, number)
        return Withheld("the server has answered with an error, whose text is withheld", correlation_id=number)

    def _prose(
        self, said: dict[str, Any], shown: dict[str, Any], tool: dict[str, Any], *, is_whole: bool
    ) -> dict[str, Any]:
        """An answer without anything that could be pruned."""
        if is_whole or not blocks(said):
            return {**shown, "content": self._covered(said)}
        account().is_withheld = True
        withheld = Withheld("the answer is not structured, so what of it may be seen is not known: it is withheld")
        if tool.get("outputSchema") is not None:
            return error_result(withheld, _without_error(shown))
        return {**shown, "content": [{"type": "text", "text": withheld.message}]}

    def _covered(self, said: dict[str, Any]) -> list[Any]:
        """The blocks of content, without resources that may not be read."""
        covered = [block for block in blocks(said) if (uri := _uri_of(block)) is None or self.policy.covers(uri)]
        return self._without_meta(covered)


class _Seen:
    """What some rules let be seen, made ready.

    Args:
        sight: What they let be seen.
    """

    def __init__(self, sight: Sight) -> None:
        self.sight = sight
        self.listed: tuple[dict[str, Any], dict[str, Any]] | None = None
        """The tool that was listed last, and as what."""

    def is_valid(self, value: Json) -> bool:
        """Whether a visible value satisfies the visible schema."""
        return self._validator.is_valid(value)

    def names_besides(self, tool: dict[str, Any]) -> Names:
        """The names that texts about a tool must not tell: those that its input does not tell anyway."""
        return self.sight.unseen_besides(tool["inputSchema"])

    @cached_property
    def names(self) -> frozenset[str]:
        """Those that the schema of the output speaks of, and the rules."""
        return self.sight.names

    @cached_property
    def _validator(self) -> Any:
        return validator(self.sight.schema)


def _written(shown: dict[str, Any], output: Output, seen: _Seen) -> dict[str, Any]:
    """The answer that holds what is visible of an output, and nothing else."""
    value = seen.sight.of(output.value)
    if output.seat == "structured" and not seen.is_valid(value):
        wrong = OutputInvalid("what may be seen of the tool's output does not satisfy the schema that is listed for it")
        return error_result(wrong, _without_error(shown))
    result = dict(shown)
    write_output(result, output, value, keep_blocks=False)
    return result


def _apart(tools: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The tools whose names cannot be taken for that of another."""
    named: dict[str, int] = {}
    for tool in tools:
        named[key_of(str(tool.get("name")))] = named.get(key_of(str(tool.get("name"))), 0) + 1
    return (tool for tool in tools if named[key_of(str(tool.get("name")))] == 1)


def _of_texts(schema: Schema | None) -> Schema | None:
    """A schema; `None` where it only says that there is a text, which may be JSON."""
    return None if text_wrapper(schema) is not None else schema


def _info(said: Any) -> dict[str, Any]:
    """What a server says that it is, without what it says of itself."""
    return {key: plain(text) for key in _OF_SERVERS if isinstance(text := members(said).get(key), str)}


def _plainly(said: Json) -> Any:
    """An entry of a list, with plain texts."""
    if is_array(said):
        return [_plainly(each) for each in said]
    if is_object(said):
        return {key: _plainly(each) for key, each in said.items()}
    return plain(said) if isinstance(said, str) else said


def _without_error(shown: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in shown.items() if key != "isError"}


def _uri_of(block: dict[str, Any]) -> str | None:
    """The URI of a block that is a resource, or leads to one."""
    if block.get("type") == "resource_link":
        return str(block.get("uri"))
    if block.get("type") == "resource":
        return str(members(block.get("resource")).get("uri"))
    return None
