"""Louver's features as middleware of the SDK: for `MCPServer(middleware=[...])`, or the list of a lowlevel `Server`.

Several in one list work as one, where the first of them is, so their order does not matter. They find each other before
the first answer: the first asks the server for its `initialize` or `server/discover` result, which passes the others.
"""

from __future__ import annotations

import logging
import weakref
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, get_args

from mcp import MCPError

from louver import __version__
from louver.catalogue.files.descriptions import DescriptionFiles
from louver.catalogue.guidance import Guidance, GuidanceRule
from louver.catalogue.search.meaning_extra import word_vectors
from louver.core.choices import check_choice
from louver.core.json import members
from louver.core.secret_key import secret_bytes
from louver.errors import InvalidPolicy, LouverError
from louver.jsonrpc.errors import INTERNAL_ERROR
from louver.limits import QUERIES_PER_MINUTE, READS_PER_MINUTE
from louver.protocol.mcp import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    MODERN_VERSIONS,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
)
from louver.protocol.names import DESCRIPTIONS_TOOL
from louver.server.calls.response import ResponseExtras
from louver.server.calls.warnings import Warnings
from louver.server.composition import ServerFacts, compose
from louver.server.options import check_options
from louver.server.results.results import KeptResults, Results
from louver.server.sdk import principal_identity, result_dict, token_identity
from louver.server.sdk_outbound import request_channel
from louver.server.tools.listing import Listing
from louver.server.tools.views import ToolViews

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from os import PathLike

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from louver.catalogue.grants import Grants
    from louver.catalogue.policy.principal import Principal
    from louver.server.request import Identity
    from louver.server.sdk import StepMiddleware

    Context = ServerRequestContext[Any, Any]

logger = logging.getLogger(__name__)

# When a tool that is listed by summary runs. `enforce`: after its description was read. `on-error`: if its arguments
# fit; otherwise the error is its description. `advise`: always.
DisclosureMode = Literal["enforce", "on-error", "advise"]

_ENVELOPE_KEYS: Final = (PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY)

T = TypeVar("T", bound="LouverMiddleware")


class LouverMiddleware:
    """The base of the middleware classes; an instance belongs to one server."""

    def __init__(self) -> None:
        self._joined: list[LouverMiddleware] = []
        self._steps: StepMiddleware | None = None  # of all that are joined, in the first; None before the first request

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        channel, outer = request_channel(ctx.session), _outermost.get()
        if outer is not None and outer.channel is channel:
            outer.add(self)
            return await call_next(ctx)
        if self._steps is None:
            if ctx.request_id is None:
                # Before its first request a client has nothing to notify the server of.
                return None
            joined, server = await self._find_others(ctx, call_next)
            # Another request may have been faster.
            if self._steps is None:
                try:
                    self.join(joined, server)
                except LouverError as error:
                    raise _refusal(error.message) from None
        assert self._steps is not None, "it has joined the others"
        with _entered(_Passage(channel, self._joined)):
            return await self._steps(ctx, call_next)

    def join(self, joined: list[LouverMiddleware], server: ServerFacts) -> None:
        """Take over the steps of all, which are before this server."""
        self._joined = joined
        self._steps = compose(
            server,
            _only(joined, ProjectionMiddleware),
            _only(joined, SearchMiddleware),
            _only(joined, DisclosureMiddleware),
            _only(joined, PolicyMiddleware),
        )

    def check_tools(self, tools: Sequence[dict[str, Any]]) -> None:
        """Raise an error, or log it, if the options do not fit the tools of the server."""

    async def _find_others(self, ctx: Context, call_next: CallNext) -> tuple[list[LouverMiddleware], ServerFacts]:
        """The middleware that the server has, and what it says of itself."""
        passage = _Passage(request_channel(ctx.session), [self], is_joining=True)
        with _entered(passage):
            opening = result_dict(await call_next(_opening_request(ctx)))
        info = opening.get("serverInfo") or members(opening.get("_meta")).get(SERVER_INFO_META_KEY)
        return passage.members, ServerFacts(members(info))


@dataclass(slots=True)
class _Passage:
    """A message that passes the list of a server, from the first of these middlewares on."""

    channel: object  # of this message alone
    members: list[LouverMiddleware]
    is_joining: bool = False  # the message that finds them

    def add(self, middleware: LouverMiddleware) -> None:
        if middleware in self.members:
            return
        if not self.is_joining:
            raise _refusal(
                f"a {type(middleware).__name__} was not reached by the server's first request: put it next to the "
                "other middleware of Louver, or its options into 'louver.attach', if the server is attached"
            )
        self.members.append(middleware)


_outermost: ContextVar[_Passage | None] = ContextVar("_outermost", default=None)


def _refusal(message: str) -> MCPError:
    """The error for clients of a server whose list cannot be served; its author reads the log."""
    logger.error("%s", message)
    return MCPError(INTERNAL_ERROR, message)


@contextmanager
def _entered(passage: _Passage) -> Generator[None]:
    token = _outermost.set(passage)
    try:
        yield
    finally:
        _outermost.reset(token)


def _opening_request(ctx: Context) -> Context:
    """The request itself if it opens the connection; otherwise one that changes nothing."""
    if ctx.method in ("initialize", "server/discover"):
        return ctx
    if ctx.protocol_version in MODERN_VERSIONS:
        meta = members((ctx.params or {}).get("_meta"))
        envelope = {key: meta[key] for key in _ENVELOPE_KEYS if key in meta}
        return replace(ctx, method="server/discover", params={"_meta": envelope})
    client = {"name": "louver", "version": __version__}
    params = {"protocolVersion": ctx.protocol_version, "capabilities": {}, "clientInfo": client}
    return replace(ctx, method="initialize", params=params)


def _only(joined: Sequence[LouverMiddleware], kind: type[T]) -> T | None:
    found = [each for each in joined if isinstance(each, kind)]
    if len(found) > 1:
        raise LouverError(f"the server has {len(found)} of {kind.__name__}: expected one, with all options")
    return found[0] if found else None


class ProjectionMiddleware(LouverMiddleware):
    """Gives clients projections: they name fields, and get only these.

    Args:
        views: A folder of `<tool>.views.json`, or tool name -> views; they are added to the views of `hint`.
        argument: Whether tools take the argument `output_fields`, for models: these cannot set `_meta`.
        default_views: Tool name -> the view for calls without a request.
        listing: The output schema in `tools/list`. Stock clients accept projections with `relaxed` and `omit`;
            with `strict` only clients that declare the extension get them.
        exact: Whether each tool's `_meta` holds the exact output schema, which doubles the list.
        guidance: Rules that add notes to answers (`louver.catalogue.guidance`).
        warnings: Whether large answers get a warning, or the sizes above which they do.
        results: Which answers are stored instead of sent, and where; none by default.

    Raises:
        InvalidView: A view, or a file of views, is malformed. Whether it fits its tool is checked when that is listed.
        InvalidGuidance: A rule is malformed.
        LouverError: Another option is invalid.
    """

    def __init__(
        self,
        *,
        views: str | PathLike[str] | Mapping[str, Mapping[str, Any]] | None = None,
        argument: bool = False,
        default_views: Mapping[str, str] | None = None,
        listing: Listing = "relaxed",
        exact: bool = False,
        guidance: Sequence[Mapping[str, Any]] = (),
        warnings: bool | Warnings = False,
        results: KeptResults | None = None,
    ) -> None:
        super().__init__()
        check_options(locals())
        check_choice("listing", listing, get_args(Listing))
        self.views = views
        self.argument = argument
        self.default_views: Mapping[str, str] = default_views or {}
        self.listing: Listing = listing
        self.exact = exact
        self.tool_views = ToolViews(views, self.default_views)
        self.extras = ResponseExtras(
            guidance=Guidance({"": [GuidanceRule.read(rule) for rule in guidance]}) if guidance else None,
            warnings=Warnings() if warnings is True else warnings or None,
            results=None if results is None else Results(results),
        )

    def check_tools(self, tools: Sequence[dict[str, Any]]) -> None:
        for tool in tools:
            self.tool_views.check(tool)
        names = {tool["name"] for tool in tools}
        self.tool_views.check_names(names)
        if self.extras.guidance is not None:
            self.extras.guidance.check_names(names)


class SearchMiddleware(LouverMiddleware):
    """Lets clients search tools, by a `query` in `tools/list`.

    Args:
        queries_per_minute: Searches allowed per caller and minute.
        descriptions: A folder of `<tool>.json`, whose `searchTerms` find the tools too; that of
            `DisclosureMiddleware` by default.
        meaning: A folder with a model of Model2Vec, by whose word vectors tools are found too; those of the extra
            `meaning` by default, if it is installed.

    Raises:
        InvalidDescription: A file of descriptions is malformed.
        InvalidInput: There is no such model in the folder.
        LouverError: Another option is invalid.
    """

    def __init__(
        self,
        *,
        queries_per_minute: int = QUERIES_PER_MINUTE,
        descriptions: str | PathLike[str] | None = None,
        meaning: str | PathLike[str] | None = None,
    ) -> None:
        super().__init__()
        check_options(locals())
        self.queries_per_minute = queries_per_minute
        self.meaning = None if meaning is None else Path(meaning)
        if self.meaning is not None:
            # A bad model is an error now, and not at the first search.
            word_vectors(self.meaning)
        self.files = None if descriptions is None else DescriptionFiles({"": Path(descriptions)})

    def check_tools(self, tools: Sequence[dict[str, Any]]) -> None:
        if self.files is not None:
            self.files.check_names({tool["name"] for tool in tools})


class DisclosureMiddleware(LouverMiddleware):
    """Lists tools by a summary; clients read full descriptions on demand.

    Args:
        mode: `enforce` runs a tool only after its caller has read the description, `on-error` if the arguments fit
            it, `advise` always.
        descriptions: A folder of `<tool>.json`, which extend the descriptions.
        keys: Secrets of 32 bytes or more, the same for all workers that serve the same clients.
        reads_per_minute: Description reads allowed per caller and minute.

    Raises:
        InvalidDescription: A file of descriptions is malformed.
        LouverError: Another option is invalid.
    """

    def __init__(
        self,
        mode: DisclosureMode = "enforce",
        *,
        descriptions: str | PathLike[str] | None = None,
        keys: Sequence[bytes | str] = (),
        reads_per_minute: int = READS_PER_MINUTE,
    ) -> None:
        super().__init__()
        check_options(locals())
        check_choice("mode", mode, get_args(DisclosureMode))
        self.mode: DisclosureMode = mode
        self.reads_per_minute = reads_per_minute
        self.files = DescriptionFiles({} if descriptions is None else {"": Path(descriptions)})
        self._keys = keys
        # An invalid key is an error now, and not at the first request.
        self.grants("")

    def check_tools(self, tools: Sequence[dict[str, Any]]) -> None:
        names = {tool["name"] for tool in tools}
        self.files.check_names(names)
        if DESCRIPTIONS_TOOL in names:
            logger.warning("the server has a tool %r itself: models must read the resource", DESCRIPTIONS_TOOL)

    def grants(self, server: str) -> Grants | None:
        """The grants of a server; None if calls need none."""
        if self.mode != "enforce":
            return None
        # Imported only now: other modes need no cryptography.
        from louver.catalogue.grants import Grants

        return Grants(self._keys, audience=server)


class PolicyMiddleware(LouverMiddleware):
    """Shows each caller only the fields that a policy allows, and records which were sent to whom.

    Args:
        policy: The policy file, read once.
        audit: The file for audit records, made if it does not exist. A call without a record gets no answer.
        principal: The caller of a request, from its context; None for nobody. By default the subject, client, scopes
            and roles of the SDK's access token.
        pseudonym_key: A secret for the pseudonyms of `hash`, of 32 bytes or more.

    Raises:
        InvalidPolicy: The policy is malformed, or others than its owner can write it.
        AuditFailed: The file for audit records cannot be written.
        LouverError: Another option is invalid.
    """

    def __init__(
        self,
        policy: str | PathLike[str],
        *,
        audit: str | PathLike[str],
        principal: Callable[[Context], Principal | None] | None = None,
        pseudonym_key: bytes | str = b"",
    ) -> None:
        super().__init__()
        check_options({"policy_file": policy, **locals()})
        # Imported only now: most servers have no policy.
        from louver.catalogue.policy.policy import Policy
        from louver.server.audit.writer import AuditWriter

        key = secret_bytes(pseudonym_key) if pseudonym_key else b""
        self.policy = Policy.read(Path(policy), key)
        self.writer = AuditWriter(audit)
        weakref.finalize(self, self.writer.close)
        self._principal = principal

    def check_tools(self, tools: Sequence[dict[str, Any]]) -> None:
        if problems := self.policy.validation_errors(tools):
            raise InvalidPolicy("; ".join(problems), file=str(self.policy.file))

    def identify(self, ctx: Context) -> Identity:
        return token_identity(ctx) if self._principal is None else principal_identity(self._principal(ctx))
