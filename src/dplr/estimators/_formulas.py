"""Whether the first argument of a fit is a formula: the kind of the second one says it."""

from __future__ import annotations

import glob
import os
from typing import Any

from dplr.rows import as_table
from dplr.rows.streams.source import as_stream


def is_formula(X: str, y: Any) -> bool:
    """Whether a text is a formula, and y the rows: a table, a stream, or files.

    Two texts are a path and a column, unless the second one alone names files.
    """
    if isinstance(y, str):
        return _names_files(y) and not _names_files(X)
    return as_stream(y) is not None or as_table(y) is not None


def _names_files(text: str) -> bool:
    return os.path.exists(text) or bool(glob.glob(text))
