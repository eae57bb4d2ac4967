"""The options of `mcp.Client`, which `louver.Client` takes as well; the SDK describes each."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.client import ClientExtension
    from mcp.client.caching import CacheConfig
    from mcp.client.client import ConnectMode
    from mcp.client.session import ElicitationFnT, ListRootsFnT, LoggingFnT, MessageHandlerFnT, SamplingFnT
    from mcp_types import DiscoverResult, Implementation, LoggingLevel, SamplingCapability


class ClientOptions(TypedDict, total=False):
    mode: ConnectMode
    read_timeout_seconds: float | None
    client_info: Implementation | None
    cache: CacheConfig | None
    extensions: Sequence[ClientExtension] | None
    message_handler: MessageHandlerFnT | None
    elicitation_callback: ElicitationFnT | None
    sampling_callback: SamplingFnT | None
    sampling_capabilities: SamplingCapability | None
    list_roots_callback: ListRootsFnT | None
    logging_callback: LoggingFnT | None
    log_level: LoggingLevel | None
    input_required_max_rounds: int
    prior_discover: DiscoverResult | None
    raise_exceptions: bool
