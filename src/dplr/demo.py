"""A private regression on real medical data beside the non-private one: ``python -m dplr.demo``.

RAND Health Insurance Experiment, 20,190 records: did a person see a doctor in the year?
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

import dplr

# Not from the data: the codebook (coinsurance of 0 to 100 percent, yes/no questions), the plans (at most 1,000 dollars
# a year out of pocket), and for the incentive payment and the index of diseases a generous guess.
BOUNDS = {
    "lncoins": (0, math.log(101)),  # ln(coinsurance + 1)
    "idp": (0, 1),  # individual deductible plan
    "lpi": (0, 7.5),  # ln(annual participation incentive payment); guess: up to 1,800 dollars
    "fmde": (0, math.log(4000)),  # ln(maximum expenditure / coinsurance): 1,000 dollars at 25 percent
    "physlm": (0, 1),  # physical limitation
    "disea": (0, 60),  # index of chronic diseases; guess
    "hlthg": (0, 1),  # self-rated health good ...
    "hlthf": (0, 1),  # ... fair
    "hlthp": (0, 1),  # ... poor (excellent is left out)
}
EPSILONS = (0.1, 0.8, 3.2, math.inf)
SHOWN = 0.8


def load() -> tuple[Any, Any, Any, Any]:
    """Train and test frames and targets: four fifths and one fifth, in an order that does not depend on the data."""
    from statsmodels.datasets import randhie

    frame = randhie.load_pandas().data
    order = np.random.default_rng(2012).permutation(len(frame))
    X, y = frame[list(BOUNDS)].astype(np.float64), frame["mdvis"].to_numpy() > 0
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
    print(f"RAND Health Insurance Experiment: {len(X)} records to train on, {len(X_test)} to test.")
    print("Question: did a person see a doctor in the year? One record is one person in one year: that is what is\n"
          "protected here.\n")  # fmt: skip
    bounds = dplr.Bounds(BOUNDS)
    dplr.LogisticRegression(eps=math.inf, bounds=bounds).fit(X_test, y_test)  # imports and caches, once
    fits = {f"eps = {eps:g}": timed(dplr.LogisticRegression(eps=eps, bounds=bounds), X, y) for eps in EPSILONS}
    fits["scikit-learn"] = timed(LogisticRegression(solver="newton-cholesky", C=np.inf), X, y)
    private, exact = fits[f"eps = {SHOWN:g}"][0], fits["scikit-learn"][0]

    print(private.privacy_)
    print(f"\nOdds ratios per unit of each column{'private':>18}{'non-private':>14}")
    print(f"{'':35}{f'eps = {SHOWN:g}':>18}{'scikit-learn':>14}")
    for name, ours, theirs in zip(BOUNDS, private.coef_[0], exact.coef_[0], strict=True):
        print(f"  {name:33}{math.exp(ours):18.3f}{math.exp(theirs):14.3f}")
    print(f"  {'(intercept, as odds)':33}{math.exp(private.intercept_[0]):18.3f}{math.exp(exact.intercept_[0]):14.3f}")

    print(f"\n{'':16}{'test error':>12}{'AUC':>9}{'time of the fit':>18}")
    for name, (estimator, milliseconds) in fits.items():
        error = np.mean(estimator.predict(X_test) != y_test)
        auc = roc_auc_score(y_test, estimator.decision_function(X_test))
        print(f"  {name:14}{error:12.3f}{auc:9.3f}{milliseconds:15.1f} ms")
    print(f"  {'majority':14}{min(np.mean(y_test), 1 - np.mean(y_test)):12.3f}{0.5:9.3f}")
    print("\neps = inf is the same mechanism without noise. The noise is fresh in every run; the figures will differ.")


if __name__ == "__main__":
    main()
