"""Rows that are read batch by batch, as often as a fit needs: parts, what a pass does with them, and their sums.

`parts.py` has rows in parts that can be read again, `recipe.py` the public facts that turn a batch into rows, and
`passes.py` the work and result of one pass. `answers.py` turns sums into bytes, which workers of `far.py` send.
`holding.py` stores encoded rows for later passes.
"""

from __future__ import annotations

from dplr.rows.streams.far import sum_part
from dplr.rows.streams.parts import LocalParts, Parts, RemotePass, one_pass
from dplr.rows.streams.recipe import Recipe, Weighing
from dplr.rows.streams.rows import StreamedRows, StreamSource

__all__ = [
    "LocalParts", "Parts", "Recipe", "RemotePass", "StreamSource", "StreamedRows", "Weighing", "one_pass",
    "sum_part",
]  # fmt: skip
