"""Rows that are read batch by batch, as often as a fit needs: parts, what a pass does with them, and their sums.

`parts.py` has rows in parts that can be read again, `recipe.py` how a batch becomes rows of a problem, and `passes.py`
what one pass brings back. `answers.py` puts sums into bytes, so that workers elsewhere can send them. `holding.py` and
`keeping.py` spare a second reading; `finished.py` spares it after a crash.
"""

from __future__ import annotations

from dplr.rows.streams.parts import LocalParts, Part, Parts, RemotePass, one_pass, sum_part
from dplr.rows.streams.recipe import Recipe, Weighing
from dplr.rows.streams.rows import StreamedRows, StreamSource

__all__ = [
    "LocalParts", "Part", "Parts", "Recipe", "RemotePass", "StreamSource", "StreamedRows", "Weighing", "one_pass",
    "sum_part",
]  # fmt: skip
