"""A user's script, for type checkers and to be run: `assert_type` says what each name is, and wrong uses are refused.

A comment that ignores an error is itself an error where there is none to ignore.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

import tempfile
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import dplr
from dplr.auditor import search
from dplr.baselines import DPME
from dplr.evaluation import Evaluation, LabelEvaluation, Measure
from dplr.typing import BoundsLike

temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)
rng = np.random.default_rng(0)
X = rng.uniform((18, 0), (99, 80), (4000, 2))
y = X[:, 1] > 40

bounds: BoundsLike = dplr.Bounds([(18, 99), (0, 80)])
numbers = dplr.Bounds([(18, 99), (0, 80)], target=(0, 80))
ledger = dplr.Ledger(folder / "budget.ledger", eps=20.0, delta=1e-5)
plan = dplr.plan(n_rows=4000, bounds=bounds, eps=1.0)
assert_type(plan, dplr.results.Plan)
assert_type(plan.statement, dplr.privacy.PrivacyStatement)
assert_type(dplr.check(X, y, bounds=bounds), dplr.results.DataCheck)

# Each model by its name.
by_default = dplr.fit(X[:2000], y[:2000], eps=1.0, bounds=bounds, ledger=ledger)
assert_type(by_default, dplr.LogisticRegression)
assert_type(dplr.fit(X, y, eps=1.0, model="logistic", bounds=bounds), dplr.LogisticRegression)
assert_type(dplr.fit(X, X[:, 1], eps=1.0, model="linear", bounds=numbers), dplr.LinearRegression)
assert_type(dplr.fit(X, y, eps=1.0, model="svm", bounds=bounds, mechanism=dplr.ObjectivePerturbation()), dplr.HuberSVC)
assert_type(dplr.fit(X, X[:, 1], eps=1.0, model="huber", bounds=numbers), dplr.HuberRegressor)
assert_type(dplr.fit(X, X[:, 1] // 8, eps=1.0, model="poisson", bounds=numbers), dplr.PoissonRegressor)
own = dplr.fit(X, y, eps=1.0, model=dplr.losses.smoothed_hinge(), bounds=bounds)
assert_type(own, dplr.MarginClassifier | dplr.ResidualRegressor)
assert_type(dplr.fit_many(X, y, eps=[0.5, 1.0], bounds=bounds), list[dplr.LogisticRegression])
lines = dplr.fit_many(X, X[:, 1], eps=[1.0], model="linear", bounds=numbers)
assert_type(lines, list[dplr.LinearRegression])
assert_type(dplr.LinearRegression(eps=1.0, bounds=numbers).fit(X, X[:, 1]), dplr.LinearRegression)

# What a model has.
assert_type(by_default.predict_proba(X), NDArray[np.float64])
assert_type(lines[0].predict(X), NDArray[np.float64])
assert_type(by_default.coef_, NDArray[np.float64])
assert_type(lines[0].intercept_, float)
assert_type(by_default.privacy_, dplr.privacy.PrivacyStatement)
assert_type(by_default.summary(), dplr.results.Summary)
evaluation = by_default.evaluate(X[2000:], y[2000:], eps=0.5, ledger=ledger)
assert_type(evaluation, Evaluation)
assert isinstance(evaluation, LabelEvaluation)
assert_type(evaluation.auc, Measure)

assert_type(DPME(eps=1.0, bounds=bounds).fit(X, y).coef_, NDArray[np.float64])

moments = dplr.release_moments(X, bounds=bounds, eps=1.0, ledger=ledger)
assert_type(moments, dplr.results.ReleasedMoments)
assert_type(moments.regress("column 1", ["column 0"]), dplr.results.MomentModel)
assert_type(moments.describe(), dplr.results.MomentTable)

dplr.save_model(by_default, folder / "model.json")
loaded: dplr.LogisticRegression = dplr.load_model(folder / "model.json")
assert loaded.predict(X).tolist() == by_default.predict(X).tolist()


class Squared:
    """A loss of a user's own, with other names for what its methods take."""

    def residual(self, z: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """The derivative."""
        return z - y

    def weight(self, z: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """The derivative of that."""
        return np.ones_like(z)


search(2, loss=Squared(), ridge=1.0, scale=10.0, pairs=10, rng=0)


def wrong() -> None:
    """Nothing here may pass a type checker."""
    dplr.fit(X, y)  # type: ignore[call-overload]
    dplr.fit(X, y, eps="1")  # type: ignore[call-overload]
    dplr.fit(X, y, eps=1.0, epsilon=1.0)  # type: ignore[call-overload]
    dplr.fit(X, y, eps=1.0, model=3)  # type: ignore[call-overload]
    dplr.fit_many(X, y, eps=1.0)  # type: ignore[call-overload]
    dplr.frobnicate()  # type: ignore[attr-defined]
    # mypy takes scikit-learn, which has no types, for a base class that may take and have anything.
    dplr.LogisticRegression(epsilon=1.0)  # pyright: ignore[reportCallIssue]
    lines[0].predict_proba(X)  # pyright: ignore[reportAttributeAccessIssue]
    own.predict_proba(X)  # pyright: ignore[reportAttributeAccessIssue]
