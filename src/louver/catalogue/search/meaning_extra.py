"""The word vectors of the extra `meaning`, where it is installed, or of a folder of the user's."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING

from louver.errors import InvalidInput
from louver.shipped import with_extra

if TYPE_CHECKING:
    from pathlib import Path

    from louver.catalogue.search.word_vectors import WordVectors

logger = logging.getLogger(__name__)


def word_vectors(folder: Path | None = None) -> WordVectors | None:
    """`None` without a folder if the extra is not installed, or damaged; InvalidInput for a folder without a model."""
    if folder is not None:
        return _read(folder)
    try:
        from louver_meaning import MODEL
    except ModuleNotFoundError:
        return None
    return _read_installed(MODEL)


@lru_cache(maxsize=1)
def _read_installed(folder: Path) -> WordVectors | None:
    try:
        return _read(folder)
    except InvalidInput as error:
        logger.warning("searches find tools by their words alone: %s", error.message)
        return None


@lru_cache(maxsize=4)
def _read(folder: Path) -> WordVectors:
    try:
        from louver.catalogue.search.word_vectors import WordVectors
    except ModuleNotFoundError:
        raise InvalidInput(f"word vectors need the extra 'meaning': {with_extra('meaning')}") from None
    return WordVectors.read(folder)
