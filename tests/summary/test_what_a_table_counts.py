"""A table says of which rows, targets and weights its numbers are, and statistics that need more are not made."""

import warnings

import numpy as np
import pytest

import dplr
from declared_units import declared

N = 20_000
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 1, (N, 2))
LABELS = (RNG.random(N) < 1 / (1 + np.exp(0.5 - X @ [2.0, -1.0]))).astype(int)
COUNTS = np.minimum(RNG.poisson(np.exp(X @ [1.0, -1.0])), 12)
BOUNDS = dplr.Bounds([(0, 1)] * 2)


def fitted(y=LABELS, model="logistic", bounds=BOUNDS, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"mechanism": "score", "eps": 10.0, "delta": 1e-6} | options
        return dplr.fit(X, y, model=model, **declared({"bounds": bounds, **options}))


@pytest.mark.parametrize("options", [
    {"sample_weight": np.ones(N), "weight_max": 10}, {"class_weight": {0: 1, 1: 5}}, {"person": np.arange(N)},
    {"neighbouring": "add_remove", "n_rows": 2 * N},
    {
        "neighbouring": "add_remove", "n_rows": 2 * N, "delta": 0.0,
        "mechanism": dplr.ObjectivePerturbation(intervals="on"),
    },
])  # fmt: skip
def test_a_mean_derivative_needs_the_number_of_rows_that_count_whole(options):
    """The Hessian's sum over a declared number would be off by what the number is off, with a tight interval."""
    effects = fitted(**options).marginal_effects()
    assert effects.obstacle
    assert all(np.isnan(line.estimate) for line in effects.lines)
    assert not fitted().marginal_effects().obstacle


def test_a_hessian_of_rates_or_cut_residuals_has_no_variances_of_columns():
    counts = fitted(COUNTS, "poisson", dplr.Bounds([(0, 1)] * 2, target=(0, 12)))
    numbers = fitted(X @ [1.0, 2.0], "huber", dplr.Bounds([(0, 1)] * 2, target=(0, 4)))
    for est in (counts, numbers, fitted()):
        assert est.variance_inflation().obstacle.startswith("the variances of columns")
        assert est.standardised_coefficients().obstacle.startswith("the variances of columns")


def test_without_an_intercept_there_are_no_deviations_and_r_squared_says_that_it_is_about_zero():
    bounds = dplr.Bounds([(0, 1)] * 2, target=(-2, 4))
    options = {"mechanism": "auto", "aim": "coefficients", "fit_intercept": False}
    est = fitted(X @ [1.0, 2.0] + 0.3 * RNG.normal(size=N), "linear", bounds, **options)
    assert "without an intercept" in est.standardised_coefficients().obstacle
    assert "without an intercept" in est.variance_inflation().obstacle
    assert est.summary().fit_statistics[0].name == "R-squared (uncentered)"


def test_the_number_of_rows_is_not_called_a_sum_of_weights_and_the_sum_is_in_their_units():
    weighted = {"sample_weight": np.full(N, 1000.0), "weight_max": 2000}
    assert "n 20,000" in fitted(**weighted).summary().to_text()
    moments = fitted(mechanism="fm", aim="coefficients", **weighted).summary().to_text()
    (words,) = [part for part in moments.replace("\n", "; ").split("; ") if part.startswith("sum of weights")]
    assert abs(float(words.split()[-1].replace(",", "")) / (1000.0 * N) - 1) < 0.05
    assert "n unknown" in fitted(neighbouring="add_remove", n_rows=50_000).summary().to_text()


def test_what_defines_an_estimand_stands_below_its_table():
    counts = fitted(COUNTS, "poisson", dplr.Bounds([(0, 1)] * 2, target=(0, 12))).summary().to_text()
    assert "Counts above 12 count as 12, and fitted means are cut there" in counts.replace("\n  ", " ")
    numbers = fitted(X @ [1.0, 2.0], "huber", dplr.Bounds([(0, 1)] * 2, target=(0, 4))).summary().to_text()
    assert "no more than one of 1." in numbers.replace("\n  ", " ")
    assert "Labels have weights (0: 1, 1: 5)" in fitted(class_weight={0: 1, 1: 5}).summary().to_text()
    persons = fitted(person=np.arange(N) // 2, rows_per_person=3).summary().to_text()
    assert "counts as 1/m, and as 1/3 where there are fewer" in persons.replace("\n  ", " ")


def test_a_ratio_of_a_column_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="`steps` must name columns of the table: column 0, column 1; got 'agee'"):
        fitted().summary().odds_ratios({"agee": 10})


def test_a_missing_number_has_a_stated_comparison_and_the_residual_deviation_a_stated_law():
    rows = X.copy()
    rows[::3, 0] = np.nan
    bounds = dplr.Bounds([{"lower": 0, "upper": 1, "missing": "indicator"}, (0, 1)], target=(-2, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"model": "linear", "aim": "coefficients", "eps": 10.0, "delta": 1e-6, "bounds": bounds}
        text = dplr.fit(rows, X @ [1.0, 2.0], **options).summary().to_text().replace("\n  ", " ")
    assert "compared with one in the middle of its declared bounds" in text
    assert "hold for residuals of any law within the bounds of the target" in text
    assert "middle of its declared bounds" not in fitted().summary().to_text().replace("\n  ", " ")
