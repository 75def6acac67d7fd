"""Bands of the mean and of new rows: those of least squares without noise, and held as often as they say with it."""

import math
import warnings

import numpy as np
import pytest
from scipy import special

import dplr
from paid_people import BOUNDS, TARGET, people


def fitted(eps=math.inf, n=4000, seed=None, mechanism="fm", labels=None, target=TARGET, rows=None, **options):
    table, pay = people(n) if rows is None else rows
    y = pay if labels is None else labels(pay)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bounds = dplr.Bounds(BOUNDS, target=target)
        model = "linear" if labels is None else "logistic"
        return dplr.fit(table, y, eps=eps, model=model, mechanism=mechanism, bounds=bounds, rng=seed, **options)


def columns_of(table):
    ones = np.ones(len(table))
    parts = [table.age, table.work == "private", table.work == "self", table.hours, ones]
    return np.column_stack(parts).astype(float)


def test_without_noise_they_are_those_of_least_squares():
    table, pay = people(4000)
    X, new = columns_of(table), table[:50]
    coef, *_ = np.linalg.lstsq(X, pay, rcond=None)
    rest = pay - X @ coef
    V = np.linalg.inv(X.T @ X) * np.mean(rest**2)
    x = columns_of(new)
    error = np.sqrt(np.einsum("ij,jk,ik->i", x, V, x))
    scatter = math.sqrt(rest @ rest / (len(X) - X.shape[1]))
    z = special.ndtri(0.95)
    est = fitted()
    for kind, half in (("mean", z * error), ("row", z * np.hypot(error, scatter))):
        found = est.predict_interval(new, level=0.9, kind=kind)
        assert found.estimate == pytest.approx(x @ coef, rel=1e-3)
        assert found.high - found.low == pytest.approx(2 * half, rel=2e-2)
        assert list(found.to_frame()) == ["estimate", "low", "high"]


@pytest.mark.oracle
def test_statsmodels_has_the_same_bands(oracle):
    sm = oracle("statsmodels.api")
    table, pay = people(4000)
    frame = sm.OLS(pay.to_numpy(), columns_of(table)).fit().get_prediction(columns_of(table[:20])).summary_frame(0.05)
    est = fitted()
    mean, row = (est.predict_interval(table[:20], kind=kind) for kind in ("mean", "row"))
    assert mean.low == pytest.approx(frame.mean_ci_lower.to_numpy(), rel=1e-2, abs=0.05)
    assert row.high == pytest.approx(frame.obs_ci_upper.to_numpy(), rel=1e-2, abs=0.1)


def test_rows_are_clipped_as_in_predictions_and_the_band_of_one_row_is_its_contrast():
    est = fitted(eps=2.0)
    table, _ = people(3)
    outside = table.assign(age=500.0, work="self", hours=10.0)
    inside = table.assign(age=80.0, work="self", hours=10.0)
    one, other = est.predict_interval(outside), est.predict_interval(inside)
    assert one.low == pytest.approx(other.low)
    (line,) = est.contrast("(intercept) + 80*age + work=self + 10*hours").lines
    assert (other.low[0], other.high[0]) == pytest.approx((line.low, line.high), rel=1e-3)


def test_the_band_of_a_probability_is_that_of_the_log_odds_through_the_link():
    est = fitted(
        eps=5.0, mechanism="score", delta=1e-6, labels=lambda pay: pay > 100, target=(False, True), n=20_000, seed=1
    )  # fmt: skip
    table, _ = people(5)
    found = est.predict_interval(table)
    (line,) = est.contrast(f"(intercept) + {table.age[0]}*age + work={table.work[0]} + {table.hours[0]}*hours").lines
    assert (found.low[0], found.high[0]) == pytest.approx(tuple(special.expit([line.low, line.high])), rel=1e-2)
    assert np.all((found.low >= 0) & (found.low < found.estimate) & (found.estimate < found.high) & (found.high <= 1))
    with pytest.raises(ValueError, match="must be 'mean' except for linear models"):
        est.predict_interval(table, kind="row")


def test_several_classes_have_bands_by_label():
    cut = lambda pay: np.digitize(pay, [80, 120])  # noqa: E731
    est = fitted(eps=8.0, mechanism="score", delta=1e-6, labels=cut, target=[0, 1, 2], n=20_000)
    found = est.predict_interval(people(4)[0])
    assert found.keys() == {0, 1, 2}
    assert all(np.all(bands.low <= bands.high) for bands in found.values())


def test_models_of_moments_have_them_too():
    table, pay = people(4000)
    bounds = dplr.Bounds({**BOUNDS, "pay": TARGET})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        released = dplr.release_moments(table.assign(pay=pay), bounds=bounds, eps=math.inf)
    one, other = released.regress("pay").predict_interval(table[:9]), fitted().predict_interval(table[:9])
    assert one.low == pytest.approx(other.low, rel=1e-2)
    small = released.regress("pay", ["hours"])
    assert small.predict_interval(table[:9]).estimate == pytest.approx(small.predict(table[:9]), rel=1e-2)


def test_where_noise_drowns_the_coefficients_bands_cannot_say():
    est = fitted(eps=0.01, n=300)
    for kind in ("mean", "row"):
        found = est.predict_interval(people(5)[0], kind=kind)
        assert np.all(np.isneginf(found.low) & np.isposinf(found.high))


@pytest.mark.thorough
def test_bands_hold_as_often_as_they_say():
    new, _ = people(20, seed=99)
    truth = 2 * new.age + 30 * (new.work == "self") - 0.5 * new.hours
    means, rows = [], []
    for seed in range(200):
        est = fitted(eps=3.0, delta=1e-6, seed=seed, rows=people(8000, seed))
        mean, row = (est.predict_interval(new, kind=kind) for kind in ("mean", "row"))
        drawn = truth + np.random.default_rng(seed).normal(0, 20, len(new))
        means.append((mean.low <= truth) & (truth <= mean.high))
        rows.append((row.low <= drawn) & (drawn <= row.high))
    assert 0.92 <= np.mean(means) <= 0.985
    assert 0.93 <= np.mean(rows) <= 0.985
