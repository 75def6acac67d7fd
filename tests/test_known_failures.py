"""docs/trust/known-failures.md: what went wrong in other packages, and in this one, would be red here."""

import inspect
import math
import pathlib
import re

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.model_selection import KFold, cross_val_score

import dplr
from dplr.auditor import search
from dplr.auditor.density import Logistic
from dplr.estimators import _base
from dplr.ledger.budget import NullLedger
from dplr.mechanisms import ObjectivePerturbation
from dplr.mechanisms.perturbation.noise import largest_noise_eps, logistic_loss
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC
from dplr.problem.problem import Problem

HERE = pathlib.Path(__file__).parent


def small(n=300, d=3):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, d)) / math.sqrt(d)
    return X, X[:, 0] > 0.1


def table_rows(text):
    return [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| finding ")]


def test_every_finding_names_tests_that_exist():
    page = (HERE.parent / "docs" / "trust" / "known-failures.md").read_text()
    elsewhere, _, here = page.partition("\n## What was wrong in dplr itself\n")
    assert len(table_rows(elsewhere)) == 12
    rows = table_rows(elsewhere) + table_rows(here)
    assert len(rows) > 12
    for row in rows:
        named = re.findall(r"`(\w+\.py)::(\w+)`", row)
        assert named, row
        for file, test in named:
            assert f"def {test}(" in next(HERE.rglob(file)).read_text(), (file, test)


@pytest.mark.parametrize("mechanism", ["fm", "output", "objective", "ngd"])
def test_parallel_fits_draw_independent_noise(mechanism):
    X, y = small()
    estimator = dplr.LogisticRegression(mechanism=mechanism, eps=1.0, delta=1e-6 if mechanism == "ngd" else 0.0)
    coefs = joblib.Parallel(n_jobs=2)(
        joblib.delayed(lambda est: est.fit(X, y).coef_)(clone(estimator)) for _ in range(6)
    )
    again = joblib.Parallel(n_jobs=2)(
        joblib.delayed(lambda est: est.fit(X, y).coef_)(clone(estimator)) for _ in range(6)
    )
    assert len(np.unique(np.vstack(coefs + again), axis=0)) == 12


@pytest.mark.parametrize("mechanism", ["output", "objective", "none"])
def test_a_large_ridge_shrinks_the_intercept_too(mechanism):
    X, _ = small()
    y = np.ones(len(X))
    y[:15] = 0  # an unregularised intercept would be log(19) = 2.9
    eps = math.inf if mechanism == "none" else 1e6
    est = dplr.fit(X, y, mechanism=mechanism, eps=eps, l2=1e3)
    assert abs(est.intercept_[0]) < 1e-2


def test_the_curvature_grows_with_the_square_of_the_row_norm():
    geometry = Geometry(2, radius=12.0)
    problem = Problem(LOGISTIC, geometry, Neighbouring.REPLACE_ONE, 100, 1.0, ())
    plan = ObjectivePerturbation(cut=None).plan(problem, 1.0, 0.0)
    eps = 1 - 2**-8
    noise_eps = plan.statement.sensitivity / plan.statement.noise_scale
    assert noise_eps == pytest.approx(largest_noise_eps(lambda e: logistic_loss(e, 144 / 100, 2), eps), rel=1e-9)
    assert noise_eps < 0.9 * largest_noise_eps(lambda e: logistic_loss(e, 12 / 100, 2), eps)


def test_ridge_that_leaks_more_than_eps_elsewhere_is_refused_here(entropy):
    """Rows of norm 100 and a sum ridge of 1 are, in the unit ball, a sum ridge of 1e-4 on two rows."""
    options = {"mechanism": "objective", "eps": 1.0, "fit_intercept": False}
    with pytest.raises(ValueError, match=r"`l2` must be above .*: the curvature alone would cost more"):
        dplr.fit(np.array([[1.0], [0.0]]), np.array([1, 0]), l2=1e-4 / 2, **options)
    assert entropy.bytes == 0
    dplr.fit(np.array([[1.0], [0.0]]), np.array([1, 0]), l2=0.1, **options)
    assert entropy.bytes > 0


@pytest.mark.parametrize("calibration", ["tight", "cms11", "cm08"])
@pytest.mark.parametrize("relation", list(Neighbouring))
def test_no_density_ratio_exceeds_eps_with_an_intercept(calibration, relation):
    problem = Problem(LOGISTIC, Geometry(1, intercept=0.5), relation, 1, 1.0, ())
    plan = ObjectivePerturbation(calibration=calibration, cut=None).plan(problem, 1.0, 0.0)
    ridge, scale = plan.settings.ridge, plan.statement.noise_scale
    options = {"loss": Logistic(), "ridge": ridge, "neighbouring": relation, "iota": 0.5, "pairs": 20_000}
    worst = search(1, scale=scale, **options).log_ratio
    assert worst <= (plan.statement.eps - 2**-8) * (1 + 1e-7)
    # and the search would see an intercept that was left out of the norm of a row
    if calibration == "tight" and relation == Neighbouring.ADD_REMOVE:  # where the bound is easy to reach
        assert search(1, scale=scale / math.sqrt(1.25), **options).log_ratio > plan.statement.eps


def test_sparse_input_is_refused_with_a_clear_error(entropy):
    X, y = small()
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        dplr.LogisticRegression().fit(sparse.csr_array(X), y)
    assert entropy.bytes == 0


def test_cross_validation_reserves_once_a_fold(monkeypatch):
    reserved = []

    class Counting(NullLedger):
        def reserve(self, *statements):
            reserved.extend(statement.eps for statement in statements)
            return super().reserve(*statements)

    monkeypatch.setattr(_base, "as_ledger", lambda _: Counting())
    X, y = small()
    cross_val_score(dplr.LogisticRegression(eps=0.7), X, y, cv=KFold(5))
    assert reserved == [0.7] * 5


@pytest.mark.parametrize("estimator", [dplr.LogisticRegression, dplr.LinearRegression, dplr.HuberSVC])
def test_estimators_inherit_nothing_but_the_public_bases(estimator):
    allowed = {*inspect.getmro(BaseEstimator), ClassifierMixin, RegressorMixin}
    theirs = {base for base in inspect.getmro(estimator) if base.__module__.startswith("sklearn")}
    assert theirs <= allowed
