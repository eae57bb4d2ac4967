"""The middleware before the routes, the outermost first, as an exposure has it.

    full         projection ─ spans ─ forward
    minimal      disclosure ─ projection ─ spans ─ forward
    discovery    own tools ─ projection ─ spans ─ forward
    gateway      own tools ─ projection ─ spans ─ forward

With scripts, `full` and `minimal` have the tool for them before all else, so that what it asks goes through the rest.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from louver.catalogue.descriptions import DescriptionFiles
from louver.catalogue.grants import Grants
from louver.catalogue.rules import Guidance
from louver.gateway.actions.exports import ExportedFiles, ExportedResults
from louver.gateway.actions.tool import PARAMETERS, Actions
from louver.gateway.discovery.scripts import Scripts
from louver.gateway.discovery.tools import Discovery, Executing
from louver.gateway.forward import Forward
from louver.gateway.many import SEPARATOR, named
from louver.gateway.own import OwnTools
from louver.server.answers import NOTHING, Beside
from louver.server.asked import Asking
from louver.server.attach import projecting
from louver.server.disclosure import Disclosure
from louver.server.reads import Reads
from louver.server.results import Results
from louver.server.schemas import ProjectedSchemas
from louver.server.views import ToolViews

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server import Server

    from louver.gateway.actions.exports import Exports
    from louver.gateway.config import Config, Execute
    from louver.gateway.own import Offer
    from louver.gateway.routes import Routes
    from louver.gateway.upstream import Upstream
    from louver.server.results import KeptResults
    from louver.server.search import Search


class Files:
    """What the folders of a configuration say of the tools of its servers, by the names that clients know.

    Args:
        config: The configuration.
        says: What a server of it says itself that it is called, once it was opened.

    Raises:
        InvalidView: A file of views is wrong.
        InvalidDescription: Likewise, one of descriptions.
    """

    def __init__(self, config: Config, says: Callable[[str], str | None]) -> None:
        alone = len(config.upstreams) == 1
        before = {each.name: "" if alone else f"{each.name}{SEPARATOR}" for each in config.upstreams}
        self.default_views = {
            f"{before[each.name]}{tool}": view for each in config.upstreams for tool, view in each.default_views.items()
        }
        views = {before[each.name]: each.views for each in config.upstreams if each.views is not None}
        described = {before[each.name]: each.descriptions for each in config.upstreams if each.descriptions is not None}
        ready = {before[each.name]: partial(says, each.name) for each in config.upstreams if each.ready_views}
        self.ready = tuple(ready)
        self.views = ToolViews(None, self.default_views, views, ready)
        rules = {before[each.name]: each.guidance for each in config.upstreams if each.guidance}
        self.guidance = Guidance(rules) if rules else None
        self.descriptions = DescriptionFiles(described)


class Stack:
    """What stands before the routes.

    Args:
        server: The gateway's server.
        opened: Called when a client has opened it.
    """

    def __init__(self, server: Server[Any], opened: Callable[[], None]) -> None:
        self.scripts: Scripts | None = None
        """Runs scripts, if there are any."""
        self._server = server
        self._opened = opened
        self._tracing = list(server.middleware)
        self._grants = Grants(audience="louver")
        self._grant_keys: tuple[str, ...] = ()
        self._disclosure: Disclosure | None = None
        self._results: Results | None = None

    def results_for(self, options: KeptResults | None) -> Results | None:
        """Where results are kept: in the store that is there, if that is what a configuration wants.

        Raises:
            LouverError: The file cannot be used.
        """
        before = self._results
        if before is not None and before.options == options:
            return before
        return None if options is None else Results(options)

    def build(
        self,
        config: Config,
        files: Files,
        results: Results | None,
        upstreams: Mapping[str, Upstream],
        routes: Routes,
    ) -> list[Scripts]:
        """Stand as a configuration wants it from now on; the scripts that were there, if they go."""
        self._results = results
        # The one tool has parameters for what it asks for on behalf of who calls.
        by = PARAMETERS if config.exposure == "gateway" else ()
        beside = Beside(files.guidance, config.warnings, results, by)
        server = self._server
        gone = self._take_up_scripts(config.execute)
        if self.scripts is not None:
            self.scripts.names.clear()
        if config.grant_keys != self._grant_keys:
            self._grants, self._grant_keys = Grants(config.grant_keys, audience="louver"), config.grant_keys
        if self._disclosure is not None:
            self._disclosure.close()
            self._disclosure = None
        # Where scripts alone call tools, or the one tool, these ask for fields in their own way.
        scripted = config.exposure == "discovery" and self.scripts is not None
        argument = "off" if scripted or config.exposure == "gateway" else config.argument
        forward = Forward(routes, self._opened, argument=argument != "off", results=results)
        server.middleware[:] = [*self._tracing, forward]
        # Made anew from what is listed.
        server.get_tool_input_schema = None
        schemas = ProjectedSchemas()
        projects = projecting(
            server,
            files.views,
            Asking(argument, files.default_views, files.ready),
            config.listing,
            exact=config.exposure != "full",
            search=_search(alone=len(upstreams) == 1) if config.exposure in ("minimal", "gateway") else None,
            schemas=schemas,
            beside=beside,
        )
        server.middleware.insert(0, projects)
        if config.exposure == "minimal":
            self._disclosure = Disclosure(server, files.descriptions, self._grants, Reads())
            server.middleware.insert(0, self._disclosure)
        if (offer := self._offer(config, upstreams)) is not None:
            own, asking = ToolViews(None, {}), Asking("off", {})
            # The one tool says itself what is said beside the answers that it gives.
            said = NOTHING if config.exposure == "gateway" else beside
            before = projecting(server, own, asking, config.listing, schemas=schemas, beside=said)
            server.middleware.insert(0, OwnTools(server, offer, before))
        return gone

    def _take_up_scripts(self, level: Execute | None) -> list[Scripts]:
        before = self.scripts
        if before is not None and before.level == level:
            return []
        self.scripts = None if level in (None, "off") else Scripts(level)
        return [] if before is None else [before]

    def _exports(self, config: Config) -> Exports:
        """Where the one tool puts whole answers."""
        if config.exports is not None:
            return ExportedFiles(config.exports)
        assert self._results is not None, "in this exposure there is a store of results"
        return ExportedResults(self._results)

    def _offer(self, config: Config, upstreams: Mapping[str, Upstream]) -> Offer | None:
        """What the gateway has of its own."""
        if config.exposure == "gateway":
            return Actions(upstreams, self.scripts, self._exports(config))
        if config.exposure == "discovery":
            return Discovery(upstreams, config.inspect, self.scripts)
        return None if self.scripts is None else Executing(upstreams, self.scripts)


def _search(*, alone: bool) -> Search:
    # Imported only now: without search SQLite is not needed.
    from louver.server.search import Search

    return Search() if alone else Search(named)
