"""Louver as a middleware of the SDK: for `MCPServer(middleware=[...])`, or the list of a lowlevel `Server`."""

from __future__ import annotations

import logging
import os
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from louver.catalogue.files.descriptions import DescriptionFiles
from louver.catalogue.guidance import Guidance, GuidanceRule
from louver.catalogue.search.meaning_extra import word_vectors
from louver.core.json import members
from louver.core.nearest import check_choice
from louver.core.secret_key import secret_bytes
from louver.errors import InvalidPolicy
from louver.limits import QUERIES_PER_MINUTE, READS_PER_MINUTE
from louver.sdk.adapter import StepMiddleware, call_server, principal_identity, token_identity
from louver.sdk.options import check_options
from louver.steps.calls.request import RequestOptions
from louver.steps.calls.response import ResponseExtras
from louver.steps.compose import Acting, Composed, Features, scoped
from louver.steps.results.results import KeptResults, Results
from louver.steps.tools.listing import Listing
from louver.steps.tools.views import ToolViews
from louver.wire.mcp import SERVER_INFO_META_KEY
from louver.wire.names import DESCRIPTIONS_TOOL

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence
    from os import PathLike

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from louver.catalogue.grants import Grants
    from louver.policy.principal import Principal
    from louver.steps.compose import Hides
    from louver.steps.disclosure.step import Disclosure
    from louver.steps.policy.enforcer import PolicyEnforcer
    from louver.steps.request import Identity
    from louver.steps.search import Search
    from louver.steps.tools.registry import ToolRegistry

    Context = ServerRequestContext[Any, Any]

logger = logging.getLogger(__name__)

# When a tool that is listed by summary runs. `enforce`: after its description was read. `on-error`: if its arguments
# fit; otherwise the error is its description.
DisclosureMode = Literal["off", "enforce", "on-error"]


def _no_op() -> None:
    pass


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the steps need to know of their server."""

    info: dict[str, Any]  # its `serverInfo`; filled in when an answer shows it, if it is not known yet
    # calls back whenever the server publishes that its tools changed; returns what unsubscribes
    on_tools_published: Callable[[Callable[[], None]], Callable[[], None]] = lambda _: _no_op
    when_listed: Callable[[ToolRegistry], None] = lambda _: None


class FieldPolicy:
    """Shows each caller only the fields that a policy allows, and records which were sent to whom.

    Args:
        file: The policy file, read once.
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
        file: str | PathLike[str],
        *,
        audit: str | PathLike[str],
        principal: Callable[[Context], Principal | None] | None = None,
        pseudonym_key: bytes | str = b"",
    ) -> None:
        check_options({"policy_file": file, **locals()})
        # Imported only now: most servers have no policy.
        from louver.policy.policy import Policy
        from louver.steps.audit.writer import AuditWriter

        key = secret_bytes(pseudonym_key) if pseudonym_key else b""
        self.policy = Policy.read(Path(file), key)
        self.writer = AuditWriter(audit)
        weakref.finalize(self, self.writer.close)
        self._principal = principal

    def check_tools(self, tools: Sequence[dict[str, Any]]) -> None:
        """InvalidPolicy if it does not fit the tools of the server."""
        if problems := self.policy.validation_errors(tools):
            raise InvalidPolicy("; ".join(problems), file=str(self.policy.file))

    def identify(self, ctx: Context) -> Identity:
        return token_identity(ctx) if self._principal is None else principal_identity(self._principal(ctx))


class LouverMiddleware:
    """Gives the clients of a server projections, and optionally search, descriptions on demand, a policy, kept results.

    An instance belongs to one server.

    Args:
        name: The server's name, in audit records and in proofs that a description was read.
        views: A folder of `<tool>.views.json`, or tool name -> views; they are added to the views of `hint`.
        argument: Whether tools take the argument `output_fields`, for models: these cannot set `_meta`.
        default_views: Tool name -> the view for calls without a request.
        listing: The output schema in `tools/list`. Stock clients accept projections with `relaxed` and `omit`;
            with `strict` only clients that declare the extension get them.
        exact: Whether each tool's `_meta` holds the exact output schema, which doubles the list.
        disclosure: `off` lists tools in full, all others by a summary. `enforce` runs a tool only after its caller
            has read the full description, `on-error` if the arguments fit it.
        descriptions: A folder of `<tool>.json`, which extend the descriptions, and name words to find the tools by.
        keys: Secrets of 32 bytes or more, the same for all workers that serve the same clients.
        reads_per_minute: Description reads allowed per caller and minute.
        search: Whether `tools/list` takes a `query`.
        meaning: A folder with a model of Model2Vec, by whose word vectors a search finds tools too; those of the
            extra `meaning` by default, if it is installed.
        queries_per_minute: Searches allowed per caller and minute.
        guidance: Rules that add notes to answers (`louver.catalogue.guidance`).
        warnings: Whether large answers get a warning.
        results: Which answers are stored instead of sent, and where; none by default.
        policy: Which caller may see which fields; everything by default.

    Raises:
        LouverError: An option is invalid.
        InvalidView: A view, or a file of views, is malformed. Whether it fits its tool is checked when that is listed.
        InvalidDescription: A file of descriptions is malformed.
        InvalidInput: There is no model in the folder `meaning`.
        InvalidGuidance: A rule is malformed.
    """

    def __init__(
        self,
        *,
        name: str = "",
        views: str | PathLike[str] | Mapping[str, Mapping[str, Any]] | None = None,
        argument: bool = False,
        default_views: Mapping[str, str] | None = None,
        listing: Listing = "relaxed",
        exact: bool = False,
        disclosure: DisclosureMode = "off",
        descriptions: str | PathLike[str] | None = None,
        keys: Sequence[bytes | str] = (),
        reads_per_minute: int = READS_PER_MINUTE,
        search: bool = False,
        meaning: str | PathLike[str] | None = None,
        queries_per_minute: int = QUERIES_PER_MINUTE,
        guidance: Sequence[Mapping[str, Any]] = (),
        warnings: bool = False,
        results: KeptResults | None = None,
        policy: FieldPolicy | None = None,
    ) -> None:
        check_options(locals())
        check_choice("listing", listing, get_args(Listing))
        check_choice("disclosure", disclosure, get_args(DisclosureMode))
        self._name = name
        self._views, self._default_views = views, default_views or {}
        self._prefixes = ("",) if isinstance(views, str | os.PathLike) else tuple(self._default_views)
        self._tool_views = ToolViews(views, self._default_views)
        self._listing: Listing = listing
        self._argument, self._exact = argument, exact
        self._disclosure: DisclosureMode = disclosure
        self._files = DescriptionFiles({} if descriptions is None else {"": Path(descriptions)})
        self._grants = _grants(keys, name) if disclosure == "enforce" else None
        self._reads_per_minute = reads_per_minute
        self._searches = search
        self._meaning = None if meaning is None else Path(meaning)
        if self._meaning is not None:
            # A bad model is an error now, and not at the first search.
            word_vectors(self._meaning)
        self._queries_per_minute = queries_per_minute
        self._extras = ResponseExtras(
            guidance=Guidance({"": [GuidanceRule.read(rule) for rule in guidance]}) if guidance else None,
            warnings=warnings,
            results=None if results is None else Results(results),
        )
        self._policy = policy
        self._info: dict[str, Any] = {}
        self.serve(ServerFacts(self._info))

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await self._steps(ctx, call_next)
        if not self._info:
            # The SDK puts it into every answer of 2026-07-28, whose results need it.
            self._info.update(members(members(members(result).get("_meta")).get(SERVER_INFO_META_KEY)))
        return result

    def serve(self, server: ServerFacts) -> None:
        """Compose the steps before this server."""
        self._info = server.info
        enforcer = None
        if self._policy is not None:
            # Imported only now, as below: each feature only where it is used.
            from louver.steps.policy.enforcer import PolicyEnforcer

            enforcer = PolicyEnforcer(self._name, self._policy.policy)
        self._steps = StepMiddleware(
            Composed(self._features(server, enforcer), call_server),
            identify=None if self._policy is None else self._policy.identify,
            message_filter=enforcer,
        )

    def check_tools(self, tools: Sequence[dict[str, Any]]) -> None:
        """Raise an error, or log it, if the options do not fit the tools of the server."""
        names = {tool["name"] for tool in tools}
        for tool in tools:
            self._tool_views.check(tool)
        self._tool_views.check_names(names)
        if self._extras.guidance is not None:
            self._extras.guidance.check_names(names)
        self._files.check_names(names)
        if self._disclosure != "off" and DESCRIPTIONS_TOOL in names:
            logger.warning("the server has a tool %r itself: models must read the resource", DESCRIPTIONS_TOOL)
        if self._policy is not None:
            self._policy.check_tools(tools)

    def _features(self, server: ServerFacts, enforcer: PolicyEnforcer | None) -> Features:
        is_disclosed = self._disclosure != "off"
        features = Features(
            server_info=server.info,
            views=self._views_for,
            options=RequestOptions("projectable" if self._argument else "off", self._prefixes),
            listing=self._listing,
            # Descriptions hold the exact output schema, and are made from this list.
            exact=self._exact or is_disclosed,
            extras=self._extras,
            descriptions=self._files,
            search=self._search if self._searches else None,
            disclosure=(lambda files, _: self._disclosing(server, files)) if is_disclosed else None,
            when_listed=server.when_listed,
        )
        return features if enforcer is None else self._under_policy(features, enforcer)

    def _under_policy(self, features: Features, enforcer: PolicyEnforcer) -> Features:
        from louver.steps.policy.step import PolicyStep

        assert self._policy is not None, "the enforcer is its own"

        def audience(principal: Principal) -> Hashable:
            return enforcer.id, enforcer.policy.audience(principal)

        extras = features.extras
        if extras.results is not None:
            extras = replace(extras, results=scoped(extras.results, audience))

        def policed(tool: str) -> tuple[PolicyEnforcer, str]:
            return enforcer, tool

        return replace(
            features,
            extras=extras,
            policed=policed,
            audit=self._policy.writer,
            inner=[*features.inner, Acting(PolicyStep(enforcer, features.server_info))],
            audience=audience,
        )

    def _views_for(self, hides: Hides | None) -> ToolViews:
        return self._tool_views if hides is None else ToolViews(self._views, self._default_views, hides=hides)

    def _disclosing(self, server: ServerFacts, files: DescriptionFiles) -> Disclosure:
        from louver.steps.disclosure.read_limits import ReadLimits
        from louver.steps.disclosure.step import Disclosure

        return Disclosure(
            server.info,
            server.on_tools_published,
            files,
            self._grants,
            ReadLimits(self._reads_per_minute),
        )

    def _search(self, files: DescriptionFiles) -> Search:
        # Without search SQLite is not needed.
        from louver.steps.search import Search

        return Search(per_minute=self._queries_per_minute, files=files, meaning=self._meaning)


def _grants(keys: Sequence[bytes | str], server: str) -> Grants:
    # Imported only now: other modes need no cryptography.
    from louver.catalogue.grants import Grants

    return Grants(keys, audience=server)
