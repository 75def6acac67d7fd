"""The line that privacy rests on: cells of an exact sum, floored to the grid of their block, plus integer noise."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.noise import Source
from dplr.privacy.law import Law
from dplr.privacy.statement import Release
from dplr.problem.plan import Plan
from dplr.rows import Rows
from dplr.rows.exact import Moments, Total

# The exact moments of rows that still serve further plans.
_KEPT: weakref.WeakKeyDictionary[Rows, tuple[Moments, Total]] = weakref.WeakKeyDictionary()


def noisy_cells(total: Total, block: Release, cells: Any, source: Source, power: int = 0) -> NDArray[np.float64]:
    """The cells of an exact sum with fresh noise of the law of their block, as floats; without noise where it has none.

    Parameters
    ----------
    total : exact sum.
    block : the release of a statement: its grid is a power of two, and its noise a whole number of them.
    cells : an index of the total.
    source : of the noise.
    power : the total is 2^power times what is released.
    """
    exponent = math.frexp(block.grid)[1] - 1
    value = total.integers(exponent + power, cells)
    if block.units:
        draw = {Law.DISCRETE_LAPLACE: source.laplace, Law.DISCRETE_GAUSSIAN: source.gaussian}[block.law]
        value = value + draw(block.units, len(value))
    return np.ldexp(value.astype(np.float64), exponent)


def noisy_blocks(
    parts: Mapping[str, tuple[Total, Any, int]], plan: Plan, source: Source
) -> dict[str, NDArray[np.float64]]:
    """The blocks of a plan with fresh noise, from the total, the cells and the power of two of each."""
    released = {}
    for name, (total, cells, power) in parts.items():
        released[name] = noisy_cells(total, plan.statement.released[name], cells, source, power)
        released[name].flags.writeable = False  # several models may hold it
    return released


def kept_total(rows: Rows, query: Moments) -> Total:
    """The exact moments of rows, summed once for all plans that run on them."""
    kept = _KEPT.get(rows)
    if kept is None or kept[0] != query:
        kept = _KEPT[rows] = query, rows.total(query)
    return kept[1]
