"""Resource owners: which of several upstreams a URI belongs to.

    resources/list              a lists file:///x    a's, until it lists it no more
    resources/read              b has file:///y      b's, until it has it no more; so are results that b keeps
    resources/templates/list    c: mem://{id}        mem://1 is c's, unless another rule applies

The last `MAX_RESULTS` URIs that no upstream lists are remembered.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING, Final

from louver.limits import MAX_RESULTS, MAX_URI_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver.gateway.back.upstream import Upstream

MAX_TEMPLATES = 1000
"""Resource templates of one server that are matched against a URI that no server lists."""


class ResourceOwners:
    def __init__(self) -> None:
        self._listed: dict[str, dict[str, Upstream]] = {}
        self._templates: dict[str, tuple[Upstream, list[UriTemplate]]] = {}
        self._read: OrderedDict[str, Upstream] = OrderedDict()
        self._kept: OrderedDict[str, Upstream] = OrderedDict()

    def owner_of(self, uri: str) -> Upstream | None:
        """The owner of a resource or template, if known."""
        return next(iter(self.candidates(uri)), None)

    def candidates(self, uri: str) -> list[Upstream]:
        """The possible owners: several if several list a matching template."""
        for listed in self._listed.values():
            if (upstream := listed.get(uri)) is not None:
                return [upstream]
        if (upstream := self._kept.get(uri.partition("?")[0])) is not None:
            return [upstream]
        if owners := self._template_owners(uri):
            return owners
        return [self._read[uri]] if uri in self._read else []

    def knows_templates(self, upstream: Upstream) -> bool:
        return upstream.name in self._templates

    def replace_listed(self, method: str, upstreams: Sequence[Upstream]) -> dict[str, Upstream]:
        """The known URIs of all other upstreams, to be filled with what these list now."""
        others = {uri: owner for uri, owner in self._listed.get(method, {}).items() if owner not in upstreams}
        self._listed[method] = others
        return others

    def set_templates(self, upstream: Upstream, texts: Sequence[str]) -> None:
        self._templates[upstream.name] = upstream, [UriTemplate(text) for text in texts[:MAX_TEMPLATES]]

    def record_read(self, uri: str, upstream: Upstream) -> None:
        """Record the owner of a resource that no upstream lists."""
        _remember(self._read, uri, upstream)

    def forget_read(self, uri: str) -> bool:
        """Forget the owner of an unlisted resource; `True` if it was known by an earlier read alone."""
        return self._read.pop(uri, None) is not None and not self._template_owners(uri)

    def record_kept(self, uri: str, upstream: Upstream) -> None:
        """Record where a result is kept; the first upstream that reports it owns it."""
        _remember(self._kept, uri, upstream)

    def _template_owners(self, uri: str) -> list[Upstream]:
        """The upstreams with a matching template."""
        templates = self._templates.values()
        return [upstream for upstream, owned in templates if any(template.matches(uri) for template in owned)]


def _remember(known: OrderedDict[str, Upstream], uri: str, upstream: Upstream) -> None:
    if len(uri) > MAX_URI_BYTES:
        return
    known.setdefault(uri, upstream)
    if len(known) > MAX_RESULTS:
        known.popitem(last=False)


_EXPRESSION: Final = re.compile(r"(\{[^{}]*\})")
_VARIABLE: Final = re.compile(r"\{(\+?)[A-Za-z0-9_.%]+\}")
_PLAIN, _ANY = "plain", "any"


class UriTemplate:
    """A URI template as a bit-parallel automaton."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._literal_prefix = text.partition("{")[0]

    def matches(self, uri: str) -> bool:
        if len(uri) > MAX_URI_BYTES:
            return False
        if not self._literal_prefix or not uri.startswith(self._literal_prefix) or self._parts is None:
            return False
        end, variables, wide, steps = self._automaton
        # Bit n: the URI so far matches the first n parts.
        states = 1
        for character in uri:
            stays = wide if character == "/" else variables
            states = (states & steps.get(character, 0)) << 1 | (states & stays)
            if not states:
                return False
            # A variable may be empty.
            states |= (states & variables) << 1
        return bool(states >> end & 1)

    @cached_property
    def _parts(self) -> list[str] | None:
        """Its characters and variables; `None` if it is too long, or has an expression that is not supported."""
        if len(self._text) > MAX_URI_BYTES:
            return None
        parts: list[str] = []
        for number, piece in enumerate(_EXPRESSION.split(self._text)):
            if number % 2 == 0:
                parts += piece
            elif (variable := _VARIABLE.fullmatch(piece)) is None:
                return None
            else:
                kind = _ANY if variable[1] else _PLAIN
                # Two variables in a row match what the wider one matches.
                if parts and parts[-1] in (_PLAIN, _ANY):
                    kind = _ANY if _ANY in (kind, parts.pop()) else _PLAIN
                parts.append(kind)
        return parts

    @cached_property
    def _automaton(self) -> tuple[int, int, int, dict[str, int]]:
        """The number of parts, and bit masks: all variables, those that match `/`, and each character."""
        parts = self._parts or []
        steps: dict[str, int] = {}
        variables = wide = 0
        for number, part in enumerate(parts):
            if part not in (_PLAIN, _ANY):
                steps[part] = steps.get(part, 0) | 1 << number
                continue
            variables |= 1 << number
            if part == _ANY:
                wide |= 1 << number
        return len(parts), variables, wide, steps
