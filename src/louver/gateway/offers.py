"""What the gateway has of its own, as an exposure has it.

discovery    the five tools of 003
gateway      the one tool of 001
full         nothing; with scripts the tool for them, as in `minimal`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.gateway.actions.exports import ExportedFiles, ExportedResults
from louver.gateway.actions.tool import Actions
from louver.gateway.discovery.tools import Discovery, Executing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.gateway.actions.exports import Exports
    from louver.gateway.config import Config
    from louver.gateway.discovery.scripts import Scripts
    from louver.gateway.own import Offer
    from louver.gateway.upstream import Upstream
    from louver.server.results import Results


def offered(
    config: Config, upstreams: Mapping[str, Upstream], scripts: Scripts | None, results: Results | None
) -> Offer | None:
    """What there is, if there is anything.

    Args:
        config: The configuration.
        upstreams: The servers behind.
        scripts: Runs scripts, if there are any.
        results: Where results are kept.
    """
    if config.exposure == "gateway":
        return Actions(upstreams, scripts, _exports(config, results))
    if config.exposure == "discovery":
        return Discovery(upstreams, config.inspect, scripts)
    return None if scripts is None else Executing(upstreams, scripts)


def _exports(config: Config, results: Results | None) -> Exports:
    """Where the one tool puts whole answers."""
    if config.exports is not None:
        return ExportedFiles(config.exports)
    assert results is not None, "in this exposure there is a store of results"
    return ExportedResults(results)
