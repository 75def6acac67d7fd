"""Private ranges beside products: two numbers have a range of their own, a number times levels keeps its bounds."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dplr
from dplr.bounds.scaling import layout_prep
from dplr.problem.geometry import GRID
from dplr.rows import ArrayRows, as_table
from dplr.rows.exact import Moments
from dplr.rows.tables.encoder import Encoder

BOUNDS = dplr.Bounds(
    {"a": (0, 100), "b": (-50, 50), "kind": {"levels": ["x", "y", "z"], "reference": "z"}},
    target=(-100, 300),
    products=[("a", "a"), ("a", "b"), ("a", "kind")],
)
OPTIONS = {"model": "linear", "mechanism": dplr.FunctionalMechanism(ranges="on"), "bounds": BOUNDS}


def frame(n=5_000):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(10, 2, n), "b": rng.normal(30, 1, n), "kind": rng.choice(list("xyz"), n)})
    return X, (2 * X["a"] - 3 * X["b"] + X["a"] * (X["kind"] == "x") + rng.normal(0, 2, n)).to_numpy()


def test_products_of_numbers_have_ranges_and_blocks_keep_their_bounds():
    X, y = frame()
    est = dplr.fit(X, y, **OPTIONS, eps=math.inf, l2=0.0)
    assert list(est.ranges_) == ["a", "b", "a^2", "a*b"]
    assert est.privacy_.released["range_sums"].shape == (4,)
    matrix = Encoder(as_table(X), BOUNDS.layout).block()[0]
    for name, column in zip(est.coef_names_, matrix.T, strict=True):
        if name in est.ranges_:
            mean, deviation = column.mean(), column.std()
            low, high = next(
                pair for pair, each in zip(BOUNDS.layout.pairs, est.coef_names_, strict=True) if each == name
            )
            expected = max(mean - 3 * deviation, low), min(mean + 3 * deviation, high)
            assert_allclose(est.ranges_[name], expected, atol=(high - low) / 15)
    ends = est._record.prep.limits
    expected = np.linalg.lstsq(np.column_stack([np.clip(matrix, *ends), np.ones(len(X))]), y, rcond=None)[0]
    assert_allclose([*est.coef_, est.intercept_], expected, rtol=1e-2, atol=1e-2)
    assert_allclose(est.predict(X), np.clip(matrix, *ends) @ est.coef_ + est.intercept_, rtol=1e-9)


@pytest.mark.parametrize("clip", ["narrowed", "clipped"])
def test_rows_in_ranges_stay_in_the_geometry(clip):
    """A block of numbers that was stretched about another point would have two entries that are not 0."""
    X, _ = frame(200)
    prep = layout_prep(BOUNDS.layout, True, None)
    c, d, rng = prep.geometry.half_width, prep.geometry.d, np.random.default_rng(1)
    half_widths, middles = np.full(d, c), np.zeros(d)
    numbers = list(BOUNDS.layout.numbers)
    half_widths[numbers] = c * rng.uniform(0.05, 1, len(numbers))
    middles[numbers] = (c - half_widths[numbers]) * rng.uniform(-1, 1, len(numbers))
    assert prep.geometry.shared == ((6, 2),)
    assert numbers == [0, 1, 4, 5]
    for i in range(len(X)):
        rows = getattr(ArrayRows(X[i : i + 1], np.zeros(1), prep), clip)(middles, half_widths)
        total = rows.sum(Moments(d, True), None)
        cells = (total.hi.astype(object) * 2**32 + total.lo)[:d, :d]
        assert sum(cells[j, j] for j in range(d)) <= 2**40
        assert cells[6, 7] == cells[2, 3] == 0
        assert all(cells[j, j] <= round(c * GRID) ** 2 for j in range(d))


@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
def test_a_model_file_has_the_ranges_of_products(tmp_path):
    X, y = frame()
    est = dplr.fit(X, y, **OPTIONS, eps=2.0, rng=1)
    path = tmp_path / "model.json"
    dplr.save_model(est, path)
    again = dplr.load_model(path)
    assert again.ranges_ == est.ranges_
    assert_array_equal(again.predict(X), est.predict(X))
    assert again.bounds == BOUNDS


@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
def test_standardised_descent_clips_products_of_numbers_alone():
    X, y = frame()
    options = {"model": "linear", "mechanism": "ngd", "bounds": BOUNDS, "eps": 3.0, "delta": 1e-6, "rng": 1}
    est = dplr.fit(X, y, **options)
    assert list(est.ranges_) == ["a", "b", "a^2", "a*b"]
    assert est.privacy_.released["squares"].shape == (6,)
    assert est.score(X, y) > 0.5
