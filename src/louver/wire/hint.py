"""The projection hint of a tool in `tools/list`, in two forms: typed clients drop the literal form.

    {"annotations": {"projectionHint": {"supported": true, "recommendedViews": {"minimal": ["id", "name"]}}},
     "_meta": {"dev.louver/projectionHint": {... the same ..., "views": {"public": {"exclude": ["**.email"]}}}}}

`views` holds views that are more than a list of fields. Source: issue #1704, section 2; the extension form is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from louver.core.json import is_object
from louver.core.nearest import check_choice
from louver.core.projection.view import Views
from louver.errors import InvalidView
from louver.wire.model import Shaped, WireModel
from louver.wire.names import HINT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Whether `content` is rewritten from the kept value, or left as the tool made it.
ContentMode = Literal["project", "keep"]


class ViewHint(Shaped, frozen=True, kw_only=True):
    include: list[str] | None = None
    exclude: list[str] | None = None
    extends: str | None = None


class Hint(WireModel, frozen=True, kw_only=True):
    supported: bool = True
    recommended_views: dict[str, list[str]] | None = None


class ExtensionHint(Hint, frozen=True, kw_only=True):
    views: dict[str, ViewHint] | None = None
    always: list[str] | None = None
    content: ContentMode | None = None
    output_schema: dict[str, Any] | None = None  # the exact output schema


def hint(
    views: Mapping[str, Any] | None = None,
    always: Sequence[str] = (),
    *,
    content: ContentMode = "project",
) -> dict[str, Any]:
    """The `meta` of a tool with views, for `@server.tool(meta=...)`.

    Args:
        views: Name -> a list of paths, or `{"include"?, "exclude"?, "extends"?}` with shaping options.
        always: Paths that every include and every view gets, for example ids and cursors.
        content: `keep` leaves the tool's own `content` blocks unchanged.

    Raises:
        InvalidView: A view, or a path in it, is not well formed.
        LouverError: `content` is neither `project` nor `keep`.
    """
    check_choice("content", content, get_args(ContentMode))
    return {HINT: extension_hint(Views.read(views or {}, always), content=content).to_wire()}


def literal_hint(views: Views) -> Hint:
    return Hint(recommended_views=_recommended(views) or None)


def extension_hint(
    views: Views, *, content: ContentMode = "project", output_schema: dict[str, Any] | None = None
) -> ExtensionHint:
    others = {
        name: msgspec.convert(
            {
                "include": [str(path) for path in view.include] or None,
                "exclude": [str(path) for path in view.exclude] or None,
                **view.shaping.to_json(),
            },
            ViewHint,
        )
        for name, view in views.named.items()
        if view.exclude or view.shaping
    }
    return ExtensionHint(
        recommended_views=_recommended(views) or None,
        views=others or None,
        always=[str(path) for path in views.always] or None,
        content=None if content == "project" else content,
        output_schema=output_schema,
    )


def read_hint(meta: object) -> tuple[Views, ContentMode]:
    """The views and the content mode that an author set by `hint`; the defaults if `meta` holds no hint."""
    written: Any = meta.get(HINT) if is_object(meta) else None
    if not is_object(written):
        return Views(), "project"
    listed, others = written.get("recommendedViews", {}), written.get("views", {})
    if not is_object(listed) or not is_object(others):
        raise InvalidView("a hint has objects of views in 'recommendedViews' and 'views'")
    views = Views.read({**listed, **others}, written.get("always", ()))
    return views, "keep" if written.get("content") == "keep" else "project"


def _recommended(views: Views) -> dict[str, list[str]]:
    return {
        name: [str(path) for path in view.include]
        for name, view in views.named.items()
        if view.include and not view.exclude and not view.shaping
    }
