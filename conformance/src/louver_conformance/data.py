"""Where the checks and the vectors are: within the package in a wheel, beside `src` in a checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parent
_SHIPPED: Final = _PACKAGE / "_data"

# Holds `checks.json`, `requirements.yaml` and `vectors/`.
DATA: Final = _SHIPPED if _SHIPPED.is_dir() else _PACKAGE.parents[1]
