"""Policy enforcement, the only reader of raw values: messages of one server in, what one caller may see out.

    tools/list     the tools that the policy serves, with the schema of what the caller may see
    tools/call     PRUNE the output -> validate it against that schema -> rewrite `content` from it
    all else       `message_filter.py`; for errors constant text and a log id

All other parts get only this output. Sources: PRIVACY.md, "One pipeline", P1 to P7, P18.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from louver import __version__
from louver.catalogue.redacted_text import plain
from louver.core.json import canonical, is_object, members
from louver.core.paths.find import fields_of
from louver.core.policy.embedded_json import begins_like_json
from louver.core.wrapper import WRAPPER, is_wrapped, text_wrapper_in
from louver.errors import OutputInvalid, Withheld
from louver.steps.calls.output import write_output
from louver.steps.policy.message_filter import server_info
from louver.steps.policy.raw import Raw, Visible
from louver.steps.policy.visible_tools import VisibleTools, schema_unless_text, with_distinct_names
from louver.steps.refusals import error_result
from louver.wire.jsonrpc.errors import INVALID_PARAMS, JsonRpcError
from louver.wire.output import blocks, find_output, texts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json
    from louver.policy.policy import Policy
    from louver.policy.principal import Principal
    from louver.steps.call_record import CallRecord
    from louver.steps.policy.visible_tools import VisibleTool

logger = logging.getLogger(__name__)

_HANDSHAKE_MEMBERS: Final = ("protocolVersion", "supportedVersions", "resultType", "ttlMs")
# Members of results -> their allowed values: any other value could hold anything.
_RESULT_VALUES: Final = {"resultType": ("complete", "input_required"), "isError": (True, False)}

# Attribute -> its name in the digest of a policy, by which values are stored.
_DIGEST_NAMES: Final = {"allowed_features": "lets"}

# Of results of prompts, completions and reads, besides `contents`: another could hold what is of another address.
_ALLOWED_MEMBERS: Final = ("resultType", "ttlMs", "description", "messages", "completion")
_LIST_MEMBERS: Final = {"resultType": str, "nextCursor": str, "ttlMs": int}
_LIST_KEYS: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


class PolicyEnforcer(VisibleTools):
    """Enforces the policy of one server."""

    def __init__(self, server: str, policy: Policy) -> None:
        super().__init__(server, policy)
        # Scope of kept values: equal policies have the same one, different policies different ones.
        self.id = _policy_id(server, policy)

    def visible_handshake(self, raw: Raw[dict[str, Any]]) -> Visible[dict[str, Any]]:
        opening = raw.unpruned
        capabilities = members(opening.get("capabilities"))
        let = {"prompts": "prompts", "completions": "completion", "logging": "logging"}
        shown = {
            name: capabilities[name]
            for name, word in let.items()
            if name in capabilities and word in self.policy.allowed_features
        }
        if "resources" in capabilities and self.policy.resources:
            shown["resources"] = capabilities["resources"]
        if "tools" in capabilities:
            shown["tools"] = {"listChanged": members(capabilities["tools"]).get("listChanged") is True}
        kept = {key: opening[key] for key in _HANDSHAKE_MEMBERS if key in opening}
        if "cacheScope" in opening:
            kept["cacheScope"] = "private"
        if "serverInfo" in opening:
            kept["serverInfo"] = server_info(opening["serverInfo"])
        instructions = opening.get("instructions")
        if isinstance(instructions, str) and "instructions" in self.policy.allowed_features:
            kept["instructions"] = plain(instructions)
        return Visible({**kept, "capabilities": shown, **self._allowed_meta(opening)})

    def visible_list(
        self, method: str, raw: Raw[dict[str, Any]], principal: Principal, look: Callable[[], None]
    ) -> Visible[dict[str, Any]]:
        """The visible part of a list; `look` is called before each tool and raises once the request is cancelled."""
        result, member = raw.unpruned, _LIST_KEYS[method]
        listed: list[Any] = result.get(member) or []
        entries = [entry for entry in listed if is_object(entry)]
        kept = {key: result[key] for key, kind in _LIST_MEMBERS.items() if isinstance(result.get(key), kind)}
        if "cacheScope" in result:
            kept["cacheScope"] = "private"
        if method == "tools/list":
            shown: list[Any] = []
            for each in with_distinct_names(entries):
                look()
                if (tool := self.listed_definition(each, principal)) is not None:
                    shown.append(tool)
        else:
            shown = [self.visible_entry(entry) for entry in entries if self.is_visible(method, entry)]
        return Visible({**kept, member: shown, **self._allowed_meta(result)})

    def visible_result(self, raw: Raw[dict[str, Any]], record: CallRecord) -> Visible[dict[str, Any]]:
        """The visible part of an answer that the policy allows as a whole."""
        result = raw.unpruned
        if result.get("resultType", "complete") != "complete":
            return Visible(self._input_required(result, self._allowed_meta(result), record))
        shown = {key: self._with_allowed_meta(result[key]) for key in _ALLOWED_MEMBERS if key in result}
        if "contents" in result:
            shown["contents"] = self._with_allowed_meta(self.covered_contents(result["contents"]))
        return Visible(
            {**shown, **({"cacheScope": "private"} if "cacheScope" in result else {}), **self._allowed_meta(result)}
        )

    def visible_call_result(
        self, raw: Raw[dict[str, Any]], tool: dict[str, Any], principal: Principal, record: CallRecord
    ) -> Visible[dict[str, Any]]:
        """The visible part of the answer to a call; `tool` is the definition from the server's list."""
        result = raw.unpruned
        shown: dict[str, Any] = {key: result[key] for key, words in _RESULT_VALUES.items() if result.get(key) in words}
        shown |= self._allowed_meta(result)
        if result.get("resultType", "complete") != "complete":
            return Visible(self._input_required(result, shown, record))
        if result.get("isError"):
            if self.policy.errors == "passthrough":
                return Visible({**shown, "content": self.covered_blocks(result), "isError": True})
            return Visible(error_result(self._withheld_error(tool["name"], record), _without_error(shown)))
        return Visible(self._visible_output(result, shown, tool, principal, record))

    def _visible_output(
        self,
        raw_result: dict[str, Any],
        shown: dict[str, Any],
        tool: dict[str, Any],
        principal: Principal,
        record: CallRecord,
    ) -> dict[str, Any]:
        """The visible part of a successful answer; `shown` holds its other visible members."""
        listed = self.visible_tool(tool, principal)
        structured = raw_result.get("structuredContent")
        # The value decides whether it is text, not its schema: SDKs list many schemas for text.
        lone = text_wrapper_in(structured)
        text = lone if lone is not None and listed.is_text(lone) else None
        output = find_output(_text_content([structured]) if isinstance(structured, str) else raw_result, text)
        in_text = output is not None and output.seat != "structured"
        # JSON text holds a wrapped output mostly without its wrapper: the value decides.
        unwrapped = WRAPPER if is_wrapped(schema_unless_text(tool.get("outputSchema"))) else None
        has_wrapper = text is None and unwrapped is not None and WRAPPER in members(output and output.value)
        seen = listed
        if in_text or text is not None:
            wrapper, is_free = (text or unwrapped) if in_text else None, not has_wrapper or text is not None
            seen = self.visible_tool(tool, principal, wrapper, in_text=is_free)
        if output is not None and record.is_wanted:
            record.fields = len(fields_of(output.value, seen.names))
        if listed.visibility.is_whole:
            whole = {"structuredContent": structured} if "structuredContent" in raw_result else {}
            return {**shown, **whole, "content": self.covered_blocks(raw_result)}
        if output is None or (text is not None and not in_text and not seen.visibility.allows(text)):
            return _without_output(raw_result, shown, text, listed, record)
        result = dict(shown)
        write_output(result, output, seen.visibility.of(output.value), keep_blocks=False)
        if isinstance(structured, str):
            result["structuredContent"] = result["content"][0]["text"]
        return _validated(result, shown, listed)

    def _input_required(self, result: dict[str, Any], shown: dict[str, Any], record: CallRecord) -> dict[str, Any]:
        """An answer that requests input; a refusal is raised if the server may not."""
        requests = members(result.get("inputRequests"))
        may = result["resultType"] == "input_required"
        if not may or not all(
            is_object(request) and self.reaches_clients(str(request.get("method"))) for request in requests.values()
        ):
            raise self.refusal(JsonRpcError(code=INVALID_PARAMS, message=""), record)
        shown_requests = {key: self._visible_request(each) for key, each in requests.items()}
        state = {key: result[key] for key in ("requestState",) if key in result}
        return {
            **shown,
            "resultType": "input_required",
            **({"inputRequests": shown_requests} if shown_requests else {}),
            **state,
        }

    def _visible_request(self, request: dict[str, Any]) -> dict[str, Any]:
        params = self.visible_params(request["method"], members(request.get("params")))
        return {"method": request["method"], **({} if params is None else {"params": params})}

    def refusal(self, error: JsonRpcError, record: CallRecord) -> JsonRpcError:
        if self.policy.errors == "passthrough":
            return error
        withheld = self._withheld_error(None, record)
        return JsonRpcError(code=error.code, message=withheld.message, data={"error": withheld.to_json()})

    def _withheld_error(self, tool: str | None, record: CallRecord) -> Withheld:
        number = record.correlation = secrets.token_hex(8)
        logger.warning("server %r, tool %r: an error is withheld, correlation id %s", self.server, tool, number)
        return Withheld("the server has answered with an error, whose text is withheld", correlation_id=number)


def _policy_id(server: str, policy: Policy) -> str:
    """A digest of everything that decides visibility; it reveals nothing of the key of pseudonyms."""
    # Another version of Louver may show less under the same policy.
    content = canonical([__version__, server, _as_json(replace(policy, key=b"", file=None))])
    return hmac.new(policy.key, content, hashlib.sha256).hexdigest()


def _as_json(value: Any) -> Json:
    """A policy, or a part of it, as JSON that is equal in all processes: sets are sorted."""
    if is_dataclass(value):
        return [
            [_DIGEST_NAMES.get(each.name, each.name), _as_json(getattr(value, each.name))] for each in fields(value)
        ]
    if isinstance(value, Mapping):
        return [[name, _as_json(each)] for name, each in cast("Mapping[str, Any]", value).items()]
    if isinstance(value, tuple):
        return [_as_json(each) for each in cast("tuple[Any, ...]", value)]
    if isinstance(value, frozenset):
        return sorted(cast("frozenset[str]", value))
    return None if value == b"" else value


def _without_output(
    raw_result: dict[str, Any],
    visible: dict[str, Any],
    wrapper: str | None,
    listed_tool: VisibleTool,
    record: CallRecord,
) -> dict[str, Any]:
    """An answer without an output to prune: its text, which SDKs send also as an object's only member, or a note."""
    structured: Any = raw_result.get("structuredContent")
    held: Any = structured if wrapper is None else structured[wrapper]
    in_structured = isinstance(held, str)
    if not in_structured and not blocks(raw_result):
        return {**visible, "content": []}
    texts: list[str] = [held] if in_structured else texts_of(raw_result)
    if listed_tool.text == "pass" and texts and not any(map(begins_like_json, texts)):
        kept = {"structuredContent": structured} if in_structured else {}
        return _validated({**visible, **kept, **_text_content(texts)}, visible, listed_tool)
    record.is_withheld = True
    withheld = Withheld("the answer is not structured, so what of it may be seen is not known: it is withheld")
    note: Json = withheld.message if wrapper is None else {wrapper: withheld.message}
    kept = {"structuredContent": note} if in_structured else {}
    if listed_tool.is_declared and not (kept and listed_tool.is_valid(note)):
        return error_result(withheld, _without_error(visible))
    return {**visible, **kept, **_text_content([withheld.message])}


def _validated(result: dict[str, Any], visible: dict[str, Any], listed_tool: VisibleTool) -> dict[str, Any]:
    if (
        "structuredContent" not in result
        or not listed_tool.is_declared
        or listed_tool.is_valid(result["structuredContent"])
    ):
        return result
    error = OutputInvalid("what may be seen of the tool's output does not satisfy the schema that is listed for it")
    return error_result(error, _without_error(visible))


def _text_content(texts: list[str]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text} for text in texts]}


def _without_error(visible: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in visible.items() if key != "isError"}
