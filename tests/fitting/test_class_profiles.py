"""Models of many classes whose privacy profiles compose: less noise, confirmed elsewhere (theorem 4)."""

import math

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import dplr
from dplr.fitting import one_vs_rest
from dplr.privacy import composition
from dplr.privacy.guarantees import Approx

# How many times the noise is smaller than with shares by basic composition: with default ridges, and with one ridge.
GAINS = [
    ("logistic", "replace_one", 3, 1.6, 1.65),
    ("logistic", "replace_one", 10, 2.4, 2.75),
    ("logistic", "add_remove", 10, 2.25, 3.0),
    ("svm", "replace_one", 10, 2.3, 2.4),
    ("svm", "add_remove", 3, 1.45, 1.5),
]


def planned_classes(k, model, relation, **options):
    """The plan of one of k models, and the plan that it would be by basic composition or zCDP."""
    bounds = dplr.Bounds([(-1, 1)] * 5, target=tuple(range(k)))
    facts = {"n_rows": 20_000, "bounds": bounds, "eps": 1.0, "delta": 1e-6, "model": model, "neighbouring": relation}
    spec = dplr.ObjectivePerturbation(noise="gaussian")
    whole = dplr.plan(mechanism=spec, **facts, **options)
    shares = composition.equal_shares(k, 1.0, 1e-6, "approx")
    return one_vs_rest.plan_models(spec, whole.problem, 1.0, 1e-6, range(k)), spec.plan(whole.problem, *shares)


@pytest.mark.parametrize(("model", "relation", "k", "by_default", "by_itself"), GAINS)
def test_models_whose_profiles_compose_have_less_noise_than_shares_leave(model, relation, k, by_default, by_itself):
    for options, least in (({}, by_default), ({"l2": 100.0 / 20_000}, by_itself)):
        planned, apart = planned_classes(k, model, relation, **options)
        assert planned.statement.guarantee == Approx(1.0, 1e-6)
        assert "composed as privacy profiles" in planned.statement.assumptions[-1]
        assert least < apart.statement.noise_scale / planned.model.statement.noise_scale < math.sqrt(k) * 1.1


@pytest.mark.parametrize(("k", "relation"), [(3, "replace_one"), (10, "add_remove")])
def test_profiles_of_all_models_take_what_another_accountant_confirms_and_no_more(k, relation, oracle, monkeypatch):
    """dp-accounting connects the dots of the same profiles on a finer grid, and composes them by Fourier transforms."""
    pld = oracle("dp_accounting.pld.privacy_loss_distribution")
    pmf = oracle("dp_accounting.pld.pld_pmf")

    def confirmed(plan, spacing=5e-4, largest=1800):
        losses = spacing * np.arange(-largest, largest + 1)
        parts = []
        for profile in dplr.ObjectivePerturbation().profiles(plan):
            of_sign = {True: np.array([math.exp(profile(eps)) for eps in losses[largest:]])}
            negative = -np.expm1(losses[:largest]) + np.exp(losses[:largest]) * of_sign[True][:0:-1]
            deltas = lower_envelope(np.exp(losses), np.append(negative, of_sign[True]))
            parts.append(pmf.create_pmf_pessimistic_connect_dots_fixed_gap(spacing, -largest, largest, deltas))
        one = pld.PrivacyLossDistribution(parts[0]).compose(pld.PrivacyLossDistribution(parts[1]))
        return one.self_compose(k).get_epsilon_for_delta(1e-6)

    planned, _ = planned_classes(k, "svm", relation)
    assert 0.98 < confirmed(planned.model) <= 1.0
    # The check sees profiles of which only one class's was counted.
    real = one_vs_rest.profile_eps
    monkeypatch.setattr(one_vs_rest, "profile_eps", lambda parts, count, delta, start: real(parts, 1, delta, start))
    broken, _ = planned_classes(k, "svm", relation)
    assert confirmed(broken.model, 2e-3) > 1.4


def lower_envelope(x, y):
    """Values of the largest convex function below the points, which begin at (0, 1)."""
    hull = ConvexHull(np.column_stack([np.append(0, x), np.append(1, np.clip(y, 0, 1))]))
    below = np.unique(hull.simplices[hull.equations[:, 1] < 0])
    points = hull.points[below]
    return np.minimum.accumulate(np.clip(np.interp(x, points[:, 0], points[:, 1]), 0, 1))


def test_fits_of_all_classes_have_the_noise_of_the_plan_that_was_confirmed_each_its_own():
    """Rows of zeros tell nothing: the coefficients are the linear terms over the ridge, next to no other noise."""
    X, y, classes = np.zeros((50, 3)), np.array(["a"] * 50), ("a", "b", "c", "d")
    spec = dplr.ObjectivePerturbation(noise="gaussian")
    options = {"mechanism": spec, "delta": 1e-6, "fit_intercept": False, "classes": classes}
    fits = dplr.fit_many(X, y, eps=[1.0], repeats=400, **options)
    coefs = np.array([est.coef_ for est in fits])
    public = dplr.plan(n_rows=50, n_features=3, eps=1.0, delta=1e-6, mechanism="objective", fit_intercept=False)
    planned = one_vs_rest.plan_models(spec, public.problem, 1.0, 1e-6, classes)
    deviation = planned.model.statement.noise_scale / planned.model.settings.ridge
    assert "composed as privacy profiles" in fits[0].privacy_.assumptions[-1]
    assert coefs.std() == pytest.approx(deviation, rel=0.05)
    between = np.corrcoef(coefs.reshape(len(fits), -1), rowvar=False) - np.eye(4 * 3)
    assert np.abs(between).max() < 0.25


def test_shares_stay_where_no_profile_confirms_more(monkeypatch):
    monkeypatch.setattr(one_vs_rest, "profile_eps", lambda *_: math.inf)
    planned, apart = planned_classes(3, "logistic", "replace_one")
    assert planned.model.statement == apart.statement
    assert "eps and delta add up" in planned.statement.assumptions[-1]
