"""Released blocks: exact sums on their grids with integer noise (functional.md, sections 5 and 6)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.noise import Source
from dplr.privacy.law import Law
from dplr.problem.plan import Plan
from dplr.rows.queries.totals import Total


def add_noise(
    parts: Mapping[str, tuple[Total, Any, int]], plan: Plan, source: Source
) -> dict[str, NDArray[np.float64]]:
    """Every block on its grid with fresh integer noise, from its total, cells and the total's power of two."""
    released = {}
    draw = {Law.DISCRETE_LAPLACE: source.laplace, Law.DISCRETE_GAUSSIAN: source.gaussian}
    for name, (total, cells, power) in parts.items():
        block = plan.statement.released[name]
        exponent = math.frexp(block.grid)[1] - 1
        value = total.integers(exponent + power, cells)
        if block.units:
            value = value + draw[block.law](block.units, len(value))
        released[name] = np.ldexp(value.astype(np.float64), exponent)
        released[name].flags.writeable = False  # several models may hold it
    return released
