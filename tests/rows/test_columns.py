"""Exact sums of columns, and the same rows centred and rescaled, against NumPy in whole numbers, on every CPU path."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import reference
from dplr._core import cpu_paths
from dplr.problem.geometry import GRID
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.rows import ArrayRows
from dplr.rows.exact import ClippedGradient, ColumnMoments, clipped_rows, on_coef_grid
from made_rows import make_data, make_groups, make_prep
from many_models import sum_of_many

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(params=cpu_paths())
def path(request, monkeypatch):
    monkeypatch.setenv("DPLR_ISA", request.param)
    return request.param


def integers(total):
    return total.integers(total.exponent).tolist()


@pytest.mark.grid(5)
@pytest.mark.parametrize("kind", ["ball", "cube", "corner"])
@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 33])
def test_sums_of_columns_equal_the_numpy_twin_in_every_bit(path, kind, d):
    labels = d % 2 == 0
    prep = make_prep(kind, d, fit_intercept=kind != "corner", labels=labels)
    X, y = make_data(kind, 20_011 if d == 2 else 131, d, labels=labels)
    expected = reference.column_moments(X, y, prep, counted=True)
    for options in ({}, {"block_rows": 7}, {"threads": 3}):
        rows = ArrayRows(X, y, prep, **options)
        assert integers(rows.total(ColumnMoments(d))) == expected[:-1]
        assert integers(rows.total(ColumnMoments(d, True))) == expected
        assert expected[-1] == len(X) << 40


def test_rows_that_count_as_zero_add_nothing_to_the_columns(path):
    prep = make_prep("cube", 3)
    X, y = make_data("cube", 60, 3)
    X[7, 1], X[11, 0], y[20] = np.nan, np.inf, 7.0
    rest = np.ones(60, bool)
    rest[[7, 11, 20]] = False
    total = ArrayRows(X, y, prep).sum(ColumnMoments(3), None)
    assert integers(total) == reference.column_moments(X[rest], y[rest], prep)
    assert total.faults[:3] == (60, 2, 1)
    with pytest.raises(ValueError, match="must be finite"):
        ArrayRows(X, y, prep).total(ColumnMoments(3))


def test_limbs_of_another_shape_are_refused():
    X, y = make_data("cube", 5, 2)
    rows, short, right = clipped_rows(X, y, make_prep("cube", 2)), np.zeros(3, np.int64), np.zeros(4, np.int64)
    with pytest.raises(ValueError, match="two entries for each column"):
        rows.add_column_moments(0, 5, right, short)
    with pytest.raises(ValueError, match="among the rows"):
        rows.add_column_moments(0, 6, right, right.copy())


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=lambda loss: loss.name)
@pytest.mark.parametrize("kinds", ["n", "nn3", "2n4n", "mn2", "cn"])
@pytest.mark.parametrize("clipped", [False, True])
def test_gradients_of_standardised_rows_equal_the_numpy_twin_in_every_bit(path, kinds, loss, clipped):
    prep, X, y = make_groups(kinds, 203)
    if loss is SQUARED:
        prep = type(prep)(prep.geometry, prep.shift, prep.scale, prep.low, prep.high)
    rng, d, c = np.random.default_rng(3), prep.geometry.d, prep.geometry.half_width
    center, factors = rng.uniform(-c / 2, c / 2, d), rng.uniform(0.05, 0.3, d)
    rows = ArrayRows(X, y, prep)
    if clipped:
        ends = rng.uniform(-c / 4, c / 4, d), np.where(np.isin(np.arange(d), prep.geometry.numbers), c / 3, c)
        prep, rows = prep.clipped(*ends), rows.clipped(*ends)
    moved, query = prep.standardised(center, factors, 0.125), ClippedGradient(loss, d, True, 0.07)
    point = on_coef_grid(5 * rng.normal(size=d + 1))
    expected = reference.clipped_gradient(X, y, moved, loss, point, 0.07).tolist()
    rows = rows.standardised(center, factors, 0.125)
    assert integers(rows.total(query, point)) == expected
    assert integers(sum_of_many(rows, [query], point[np.newaxis])) == [expected]


def test_standardised_rows_are_the_centred_and_rescaled_ones():
    prep, X, _ = make_groups("nn3", 50)
    center, factors = np.array([0.1, -0.2, 0.05, 0.1, 0.2]), np.array([0.3, 0.2, 0.1, 0.1, 0.1])
    before, _ = reference.gridded_rows(X, prep)
    after, counts = reference.gridded_rows(X, prep.standardised(center, factors, 0.25))
    assert counts.all()
    np.testing.assert_allclose(after[:, :5] / GRID, factors * (before[:, :5] / GRID - center), atol=2 / GRID)
    assert (after[:, 5] == 0.25 * GRID).all()


def test_a_standardised_row_outside_the_ball_counts_as_zero(path):
    prep, X, y = make_groups("nn", 40)
    query, point = ClippedGradient(LOGISTIC, 2, True, 0.3), np.zeros(3)
    rows = ArrayRows(X, y, prep).standardised(np.zeros(2), np.array([2.0, 2.0]), 0.5)
    norms = np.linalg.norm(2 * np.clip(X, -1, 1) * prep.geometry.half_width, axis=1)
    inside = norms <= 1
    assert 0 < inside.sum() < 40
    kept = ArrayRows(X[inside], y[inside], prep).standardised(np.zeros(2), np.array([2.0, 2.0]), 0.5)
    assert_array_equal(integers(rows.total(query, point)), integers(kept.total(query, point)))


def test_a_table_is_encoded_once_for_all_its_frames(monkeypatch):
    import pandas as pd

    from dplr import Bounds
    from dplr.bounds.scaling import layout_prep
    from dplr.rows import as_table

    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["x", "y", "x", "z"]})
    bounds = Bounds.from_dict({"features": {"a": {"lower": 0, "upper": 5}, "b": {"levels": ["x", "y", "z"]}}})
    prep = layout_prep(bounds.for_columns(as_table(frame).columns, 2), True, (0.0, 1.0))
    rows = ArrayRows(frame, np.array([0.0, 1.0, 1.0, 0.0]), prep)
    first = rows.standardised(np.zeros(4), np.full(4, 0.5), 0.5)
    monkeypatch.setattr("dplr.rows.tables.encoder.Encoder.block", None)
    assert isinstance(first, ArrayRows)
    assert len(rows.standardised(np.zeros(4), np.full(4, 0.25), 0.5)) == 4
    assert integers(rows.total(ColumnMoments(4)))[1] == 2 * prep.scale[1] * GRID
