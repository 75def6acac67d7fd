"""Tables and bands of curves whose line counts in a narrower range: no knot is a sum of the line and the others."""

import numpy as np
from numpy.testing import assert_allclose

import dplr

KNOTS = [30, 36, 40, 44, 50]


def fitted(ranges="auto", **options):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.clip(rng.normal(40, 6, 20_000), 0, 100), rng.uniform(0, 10, 20_000)])
    y = np.abs(X[:, 0] - 40) / 10 + 0.1 * X[:, 1]
    bounds = dplr.Bounds([{"lower": 0, "upper": 100, "knots": KNOTS}, (0, 10)], target=(0, 5))
    return dplr.fit(
        X,
        y,
        model="linear",
        mechanism=dplr.FunctionalMechanism(ranges=ranges),
        bounds=bounds,
        eps=float("inf"),
        **options,
    )


def test_bands_are_about_the_curve_that_predicts_where_its_line_has_a_range():
    est = fitted(ranges="on")
    assert est._record.prep.limits[0][0] > 10
    bands, curve = est.effects()["column 0"], est.effects(level=None)["column 0"]
    assert_allclose(bands.values, curve.values, atol=0.02)


def test_a_table_says_with_what_knots_are_compared_where_the_line_has_a_range():
    table, whole = fitted(ranges="on").summary(), fitted(ranges="off").summary()
    assert table.references == {"column 0": "0"}
    assert "column 0 at 100" in [line.name for line in table.lines]
    assert not any("average slope" in note for note in table.notes)
    assert any("see effects()" in note for note in table.notes)
    assert whole.references == {"column 0": "its line"}
    assert any("average slope" in note for note in whole.notes)


def test_the_line_is_no_average_slope_without_an_intercept():
    notes = fitted(fit_intercept=False).summary().notes
    assert not any("average slope" in note for note in notes)
    assert any("see effects()" in note for note in notes)


def test_widths_of_intervals_are_planned_where_fits_narrow_a_line():
    bounds = dplr.Bounds([{"lower": 0, "upper": 100, "knots": KNOTS}, (0, 10)], target=(0, 5))
    options = {"model": "linear", "mechanism": dplr.FunctionalMechanism(ranges="on"), "eps": 5.0, "n_rows": 20_000}
    (point,) = dplr.plan_curve(bounds=bounds, intervals=True, **options).points
    names = [width.name for width in point.intervals]
    assert names[:2] == ["column 0 (line)", "column 0 at 30"]
