"""Louver's configuration for one file of a host, as files: servers, exposure, views and learned fields.

    mcp.json    {"mcpServers": {"memory": {..., "louver": {"views": "views/memory", ...}}},
                 "louver": {"exposure": "gateway", "learn": "learned"}}
    views/memory/read_graph.views.json

A suggested view applies to calls that request no fields, until its line under `defaultViews` is removed.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

from louver.catalogue.files.shipped_views import COMPACT
from louver.catalogue.files.views import file_name
from louver.catalogue.learned import LearnedFields, learned_file
from louver.cli.doctor.measure import EXPOSURES
from louver.cli.hosts.swap import write_private
from louver.gateway.config.read import read_config

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from louver.cli.doctor.answers import AnswerCost
    from louver.gateway.config.model import Exposure

FILE = "mcp.json"


def write_configuration(
    folder: Path, servers: Mapping[str, dict[str, Any]], exposure: Exposure, answers: Sequence[AnswerCost]
) -> list[str]:
    """Write the files, and return the tools whose answers a view shortens."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, parents=True)
    entries = {name: {**server} for name, server in servers.items()}
    shortened: list[str] = []
    for answer in answers:
        content = None if answer.suggestion is None else answer.suggestion.file()
        if content is None or not _is_shorter(answer):
            continue
        server = answer.tool.server
        path = folder / "views" / server / file_name(answer.name)
        if path.exists():
            continue
        write_private(path, _text(content))
        settings = entries[server].setdefault("louver", {"views": f"views/{server}", "defaultViews": {}})
        settings["defaultViews"][answer.name] = COMPACT
        shortened.append(f"{server}: {answer.name}")
    disclosure = {"disclosure": EXPOSURES[exposure]} if exposure == "minimal" else {}
    settings = {"exposure": exposure, **disclosure, "learn": "learned"}
    write_private(folder / FILE, _text({"mcpServers": entries, "louver": settings}))
    _learn(folder, answers)
    return shortened


def _is_shorter(answer: AnswerCost) -> bool:
    return any(answer.with_view(form) < answer.shown(form) for form in ("structured", "text"))


def _learn(folder: Path, answers: Sequence[AnswerCost]) -> None:
    """Store the fields of answers from tools without an output schema."""
    undeclared = [each for each in answers if each.tool.samples and each.tool.definition.get("outputSchema") is None]
    if not undeclared:
        return
    upstreams = {each.name: each for each in read_config(folder / FILE).upstreams}
    for answer in undeclared:
        learned = LearnedFields(learned_file(folder / "learned", upstreams[answer.tool.server].server_id))
        for sample in answer.tool.samples:
            learned.learn(answer.name, sample)


def _text(content: dict[str, Any]) -> bytes:
    # A lone surrogate occurs only in strings, where the escape written is JSON's own.
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
