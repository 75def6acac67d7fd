"""The score release of counts, robust locations, persons and weights: its equation without noise, and its table."""

import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

import dplr
from declared_units import declared
from dplr.mechanisms.score import spec as rounds
from dplr.mechanisms.score.noise import MEAT_SHARE
from dplr.privacy.estimand import Estimand
from dplr.problem.losses import LOGISTIC, POISSON, has_score, huber_residual, poisson, smooth_huber

N, SLOPES = 4000, np.array([1.0, -1.0, 0.5])
TARGETS = {"poisson": (0, 15), "huber": (-4, 4), "logistic": None}


def made(model, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (N, 3))
    margins = X @ SLOPES + 0.2
    if model == "poisson":
        return X, np.minimum(rng.poisson(np.exp(margins)), 15).astype(float)
    if model == "huber":
        return X, np.clip(margins + 0.5 * rng.standard_t(3, N), -4, 4)
    return X, (rng.random(N) < special.expit(margins)).astype(int)


def fitted(X, y, model, eps=math.inf, **options):
    bounds = dplr.Bounds([(0, 1)] * 3, target=TARGETS[model])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"mechanism": "score", "delta": 0.0 if math.isinf(eps) else 1e-6} | options
        return dplr.fit(X, y, eps=eps, model=model, **declared({"bounds": bounds, **options}))


def equation(model, w, Z, y):
    """Slopes and curvatures of each row, in units of the target."""
    margins = Z @ w
    if model == "poisson":
        rates = np.minimum(np.exp(margins), 15)
        return rates - y, rates
    if model == "huber":
        residuals, width = margins - y, 0.5 * 4
        return np.sign(residuals) * width * -np.expm1(-np.abs(residuals) / width), np.exp(-np.abs(residuals) / width)
    p = special.expit(margins)
    return p - y, p * (1 - p)


def minimum(model, X, y, weights, ids):
    """The minimum, and its sandwich covariance, cluster by cluster."""
    Z, w = np.column_stack([X, np.ones(N)]), np.zeros(4)
    for _ in range(60):
        slopes, bends = equation(model, w, Z, y)
        step = np.linalg.solve(Z.T @ (Z * (weights * bends)[:, None]), Z.T @ (weights * slopes))
        w = w - step * min(1.0, 1 / np.abs(step).max())
    slopes, bends = equation(model, w, Z, y)
    bread = np.linalg.inv(Z.T @ (Z * (weights * bends)[:, None]))
    scores = np.array([np.bincount(ids, part) for part in (Z * (weights * slopes)[:, None]).T]).T
    return w, bread @ (scores.T @ scores) @ bread


@pytest.mark.parametrize("model", ["poisson", "huber"])
def test_without_noise_the_table_is_the_minimum_with_the_sandwich_covariance(model):
    X, y = made(model)
    est = fitted(X, y, model)
    expected, covariance = minimum(model, X, y, np.ones(N), np.arange(N))
    table = est.summary()
    np.testing.assert_allclose([line.estimate for line in table.lines], expected, atol=2e-3)
    np.testing.assert_allclose([line.std_error for line in table.lines], np.sqrt(np.diag(covariance)), rtol=0.02)
    np.testing.assert_allclose(np.append(est.coef_, est.intercept_), expected, atol=2e-3)
    assert table.estimand == {"poisson": Estimand.LOG_RATE, "huber": Estimand.LOCATION}[model]
    assert "meat_diagonal" in est.released_


@pytest.mark.parametrize("kind", ["persons", "weights", "class weights"])
def test_without_noise_labels_of_persons_and_weights_have_the_sandwich_covariance(kind):
    X, y = made("logistic")
    ids, weights = np.arange(N), np.ones(N)
    if kind == "persons":
        ids = np.random.default_rng(1).integers(0, 900, N)
        weights = 1 / np.bincount(ids)[ids]
        options = {"person": ids}
    elif kind == "weights":
        weights = np.random.default_rng(1).uniform(0, 1, N)
        options = {"sample_weight": weights, "weight_max": 1}
    else:
        weights, options = np.where(y, 1.0, 0.25), {"class_weight": {0: 1.0, 1: 4.0}}
    est = fitted(X, y, "logistic", **options)
    expected, covariance = minimum("logistic", X, y, weights, ids)
    lines = est.summary().lines
    np.testing.assert_allclose([line.estimate for line in lines], expected, atol=2e-3)
    np.testing.assert_allclose([line.std_error for line in lines], np.sqrt(np.diag(covariance)), rtol=0.02)
    alone = np.sqrt(np.diag(minimum("logistic", X, y, weights, np.arange(N))[1]))
    assert kind != "persons" or np.all(np.sqrt(np.diag(covariance)) > 0)
    assert kind == "persons" or np.allclose(np.sqrt(np.diag(covariance)), alone)


@pytest.mark.parametrize("model", ["poisson", "huber", "logistic"])
def test_with_noise_intervals_count_the_noise_of_every_block(model):
    X, y = made(model)
    options = {"person": np.arange(N)} if model == "logistic" else {}
    est = fitted(X, y, model, eps=40.0, **options)
    (reading,) = est._record.mechanism.readings(est._record.plan, est._record.parts, [None])
    blocks = est.privacy_.released
    assert reading.robust
    assert reading.clustered is (model == "logistic")
    np.testing.assert_array_equal(reading.vector_noise, np.eye(4) * blocks["round_3_score"].deviation ** 2)
    assert reading.cells[0, 0] == blocks["round_3_diagonal"].deviation ** 2
    meat = np.zeros((4, 4))
    meat[np.diag_indices(4)] = est.released_["meat_diagonal"]
    meat[np.triu_indices(4, 1)] = est.released_["meat_off_diagonal"]
    meat += np.triu(meat, 1).T
    scale = {"poisson": 2.0, "huber": 0.5, "logistic": 1.0}[model]
    np.testing.assert_allclose(reading.sampling, scale**2 * meat, rtol=1e-9, atol=1e-9)


def test_shares_of_all_steps_add_up_to_one():
    for model, options in (("poisson", {}), ("huber", {}), ("logistic", {"person": "id"}), ("logistic", {})):
        bounds = dplr.Bounds({"a": (0, 1)}, target=TARGETS[model])
        plan = dplr.plan(n_rows=N, bounds=bounds, eps=1.0, delta=1e-6, mechanism="score", model=model, **options)
        steps = dplr.ScoreRelease()._parts(plan.problem)
        assert sum(step.share for step in steps) == 1
        assert steps[-1].share == (MEAT_SHARE if model != "logistic" or options else Fraction(7, 10))
        assert [name for step in steps for name, *_ in step.blocks] == list(plan.released)


def test_the_slope_of_a_huber_loss_falls_from_round_to_round_to_its_own():
    loss = rounds.smooth_huber(0.125)
    widths = [rounds.of_round(loss, k, 3).width for k in range(3)]
    assert widths == pytest.approx([2.0, 0.5, 0.125])
    assert rounds.of_round(loss, 0, 1).width == 0.125
    assert rounds.of_round(rounds.smooth_huber(2.0), 1, 3).width == pytest.approx(2.0)


@pytest.mark.parametrize("mean", [0.1, 1.0, 8.0])
def test_the_first_step_of_counts_has_the_length_of_gaussian_rows(mean):
    """Newton's step from zero is far too long where the mean is below the rate at zero, or too short."""
    rng = np.random.default_rng(0)
    X = np.clip(0.5 + 0.15 * rng.normal(size=(40_000, 2)), 0, 1)
    slopes = np.array([1.5, -1.0])
    y = np.minimum(rng.poisson(np.exp((X - 0.5) @ slopes + math.log(mean))), 30).astype(float)
    bounds = dplr.Bounds([(0, 1)] * 2, target=(0, 30))
    est = dplr.fit(X, y, eps=math.inf, model="poisson", bounds=bounds, mechanism=dplr.ScoreRelease(rounds=1))
    point = rounds.point_of(est._record.plan, est.released_, 1)
    found, intercept = est._record.prep.to_user_units(point)
    np.testing.assert_allclose(found, slopes, atol=0.25)
    assert intercept + 0.5 * found.sum() == pytest.approx(math.log(mean), abs=0.1)


def test_persons_beyond_the_room_for_their_scores_are_refused(monkeypatch):
    from dplr.rows import scores_at as clusters

    monkeypatch.setattr(clusters, "MOST_BYTES", 8 * 4 * 100)
    X, y = made("logistic")
    with pytest.raises(ValueError, match="`person` must tell at most 100 persons apart"):
        fitted(X, y, "logistic", eps=1.0, person=np.arange(N))


def test_a_ridge_pulls_counts_to_the_rate_at_zero():
    X, y = made("poisson")
    est = fitted(X, y, "poisson", l2=1e4)
    assert np.abs(est.coef_).max() < 1e-2
    assert math.exp(est.intercept_) == pytest.approx(15 / 8, rel=0.01)


def test_only_losses_of_the_lemmas_have_scores_whatever_they_are_called():
    steep = dplr.losses.smoothed_hinge(0.25)
    for loss in (LOGISTIC, POISSON, poisson(0, 8), poisson(5, 9, 0.3), huber_residual(0.3), smooth_huber(0.3)):
        assert has_score(loss)
    for loss in (
        replace(steep, name="poisson"), replace(steep, name="smooth_huber", width=1.0), replace(LOGISTIC, slope=1.0),
        replace(poisson(0, 8), lipschitz=3.0), replace(huber_residual(0.3), lipschitz=0.1), steep,
    ):  # fmt: skip
        assert not has_score(loss)
    with pytest.raises(ValueError, match="Those are built in"):
        dplr.losses.margin_loss(lambda v: v, lambda v: v, lambda v: v, name="smooth_huber")


def test_the_curve_of_a_fit_is_measured_in_widths_of_its_huber_loss():
    """The plan of a fit has the loss that was asked for, and that of `dplr.plan` the one whose score is released."""
    X, y = made("huber")
    est = fitted(X, y, "huber", eps=3.0)
    (reading,) = est._record.mechanism.readings(est._record.plan, est._record.parts, [None])
    assert reading.expansion.steepness == pytest.approx(1 / 0.5)


@pytest.mark.parametrize(
    ("model", "bound"), [("poisson", "up to 6 on the logarithm of the mean"), ("huber", "up to 8 on")]
)
def test_a_drowned_flag_counts_with_the_bound_of_its_estimand(model, bound):
    X, y = made(model)
    X[:, 2] = np.arange(N) < 2
    bounds = dplr.Bounds([(0, 1), (0, 1), {"levels": [0, 1], "reference": 0}], target=TARGETS[model])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eps = 8.0 if model == "poisson" else 2.0
        est = dplr.fit(X, y, eps=eps, delta=1e-6, model=model, mechanism="score", bounds=bounds, rng=1)
    table = est.summary()
    assert [line.bounded for line in table.lines] == [True, True, False, True]
    assert bound in table.to_text().replace("\n  ", " ")


def test_rows_have_bands_of_the_mean_count_and_columns_factors_of_it():
    X, y = made("poisson")
    est = fitted(X, y, "poisson")
    rows = np.array([[0.2, 0.3, 0.4], [0.9, 0.1, 0.5]])
    bands = est.predict_interval(rows, level=0.9999)
    expected = np.exp(rows @ SLOPES + 0.2)
    assert np.all((bands.low < expected) & (expected < bands.high))
    np.testing.assert_allclose(bands.estimate, est.predict(rows), rtol=0.01)
    ratios = est.summary().rate_ratios({"column 1": 2.0})
    lines = est.summary().lines
    assert [ratio.name for ratio in ratios] == ["column 0", "column 1", "column 2"]
    assert ratios[1].estimate == pytest.approx(math.exp(2 * lines[1].estimate))
    assert ratios[0].low == pytest.approx(math.exp(lines[0].low))
    assert est.summary().odds_ratios() == ()
    assert est.marginal_effects().obstacle.startswith("the mean count is not")
    assert fitted(*made("huber"), "huber").summary().rate_ratios() == ()
    assert fitted(*made("huber"), "huber").marginal_effects().lines[0].estimate == pytest.approx(1.0, abs=0.1)
