"""A private regression on real, sensitive data beside the non-private one: ``python -m dplr.demo``. Private.

A survey of 6,366 married women (R. Fair 1978, from Redbook magazine 1974): who had an affair? One row is one person.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

import dplr

# The answers that the questionnaire allowed, from its codebook and not from the data.
BOUNDS = {
    "rate_marriage": (1, 5),  # very poor to very good
    "age": (17.5, 42),  # under 20 to 40 and over
    "yrs_married": (0.5, 23),
    "children": (0, 5.5),
    "religious": (1, 4),  # not at all to strongly
    "educ": (9, 20),  # grade school to advanced degree
}
EPSILONS = (0.1, 0.8, 3.2, math.inf)
SHOWN = 0.8


def load() -> tuple[Any, Any, Any, Any]:
    """Train and test frames and targets: four fifths and one fifth, in an order that does not depend on the data."""
    from statsmodels.datasets import fair

    frame = fair.load_pandas().data
    order = np.random.default_rng(2012).permutation(len(frame))
    X, y = frame[list(BOUNDS)].astype(np.float64), frame["affairs"].to_numpy() > 0
    test, train = np.split(order, [len(frame) // 5])
    return X.iloc[train], y[train], X.iloc[test], y[test]


def timed(estimator: Any, X: Any, y: Any) -> tuple[Any, float]:
    """The fitted estimator and the milliseconds that the fit took."""
    start = time.perf_counter()
    estimator.fit(X, y)
    return estimator, 1000 * (time.perf_counter() - start)


def main() -> None:
    """Print the statement, the coefficients and the errors."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    X, y, X_test, y_test = load()
    print(f"A survey of married women (R. Fair 1978): {len(X)} records to train on, {len(X_test)} to test.")
    print("Question: who had an affair? One record is one person, and one record is what is protected here.\n")
    bounds = dplr.Bounds(BOUNDS)
    dplr.LogisticRegression(eps=math.inf, bounds=bounds).fit(X_test, y_test)  # imports and caches, once
    fits = {f"eps = {eps:g}": timed(dplr.LogisticRegression(eps=eps, bounds=bounds), X, y) for eps in EPSILONS}
    fits["scikit-learn"] = timed(LogisticRegression(solver="newton-cholesky", C=np.inf), X, y)
    private, exact = fits[f"eps = {SHOWN:g}"][0], fits["scikit-learn"][0]

    print(private.privacy_)
    print(f"\nCoefficients per unit of each column{'private':>17}{'non-private':>14}")
    print(f"{'':35}{f'eps = {SHOWN:g}':>18}{'scikit-learn':>14}")
    for name, ours, theirs in zip(BOUNDS, private.coef_[0], exact.coef_[0], strict=True):
        print(f"  {name:33}{ours:18.3f}{theirs:14.3f}")
    print(f"  {'(intercept)':33}{private.intercept_[0]:18.3f}{exact.intercept_[0]:14.3f}")
    print("The private loss has its slope cut, which halves the noise and biases coefficients; with\n"
          "mechanism=dplr.ObjectivePerturbation(cut=None) it is the logistic one.")  # fmt: skip

    print(f"\n{'':16}{'test error':>12}{'AUC':>9}{'time of the fit':>18}")
    for name, (estimator, milliseconds) in fits.items():
        error = np.mean(estimator.predict(X_test) != y_test)
        auc = roc_auc_score(y_test, estimator.decision_function(X_test))
        print(f"  {name:14}{error:12.3f}{auc:9.3f}{milliseconds:15.1f} ms")
    print(f"  {'majority':14}{min(np.mean(y_test), 1 - np.mean(y_test)):12.3f}{0.5:9.3f}")
    print("\neps = inf is the same mechanism without noise. The noise is fresh in every run; the figures will differ.")


if __name__ == "__main__":
    main()
