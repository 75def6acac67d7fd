"""Noise on exact sums: every cell, block and call has its own."""

import numpy as np
import pytest

from dplr.mechanisms.drawing import noisy_cells
from dplr.noise import Source
from dplr.privacy.law import Law
from dplr.privacy.statement import Release
from dplr.rows.exact import Faults, Total

CELLS = 400


@pytest.mark.parametrize(("law", "units"), [(Law.DISCRETE_LAPLACE, 1000), (Law.DISCRETE_GAUSSIAN, 1000**2)])
def test_every_cell_and_every_call_has_noise_of_its_own(law, units):
    """Sums of zeros: what is released is the noise, whose cells and calls must not go together."""
    zeros = np.zeros(CELLS, np.int64)
    total = Total(zeros, zeros, -40, Faults(0, 0, 0, ()))
    block = Release((CELLS,), 1.0, law, 1.0, 2.0**-20, units=units)
    source = Source(7)
    first, second = (noisy_cells(total, block, ..., source) for _ in range(2))
    for one, two in ((first, second), (first[1:], first[:-1]), (second[::2], second[1::2])):
        assert abs(np.corrcoef(one, two)[0, 1]) < 5 / np.sqrt(len(one))
        assert np.mean(one == two) < 0.05
    assert len(np.unique(first)) > CELLS / 2
