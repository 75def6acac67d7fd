"""What does a fit with curves cost, against the same fit with lines? And the native encoder, against NumPy's?

A row of k curves of 8 knots has 24 k products of entries that are not 0 for each k of a line's in its Gram matrix, 9 in
all, and three times as many entries in its margin; the kernels multiply dense rows.
"""

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.rows import Encoder, as_table
from numpy_columns import write_column

N, COLUMNS = 100_000, 8
BOUNDS = dplr.Bounds({f"c{j}": (0, 100) for j in range(COLUMNS)}, target=(-50, 300))
# Mechanism -> its delta, and the largest ratio. ngd: 11 to 13 on a processor of 2022, 20 to 25 on one of 2024, whose
# fit with lines takes half the time.
FITS = {"fm": (0.0, 8.0), "objective": (0.0, 11.0), "output": (0.0, 11.0), "ngd": (1e-6, 27.0)}


def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame({name: rng.uniform(0, 100, N) for name in BOUNDS.names})


@pytest.mark.benchmark(group="a fit with curves of 8 knots against the same fit with lines")
@pytest.mark.parametrize("mechanism", FITS)
def test_a_fit_with_curves_against_one_with_lines(slower_than, mechanism):
    X, (delta, limit) = frame(), FITS[mechanism]
    y = X["c0"] + X["c1"]
    options = {"model": "linear", "mechanism": mechanism, "eps": 1.0, "delta": delta, "bounds": BOUNDS}
    slower_than(lambda: dplr.fit(X, y, curves=8, **options), lambda: dplr.fit(X, y, **options), limit)


@pytest.mark.benchmark(group="encoding curves by the kernel against NumPy")
def test_encoding_curves(slower_than):
    X, layout = frame(), BOUNDS.with_curves(8).layout
    native = Encoder(as_table(X), layout)

    def plain():
        matrix = np.zeros((N, layout.width))
        for name, column, first in zip(layout.features, layout.columns, layout.firsts, strict=False):
            write_column(X[name].to_numpy(), column, matrix, first)

    slower_than(lambda: native.block(), plain, 0.5)
