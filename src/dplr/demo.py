"""A private regression on real, sensitive data beside the non-private one: ``python -m dplr.demo``. Private.

A survey of 6,366 married women (R. Fair 1978, from Redbook magazine 1974): who had an affair? One row is one person.
"""

from __future__ import annotations

import itertools
import math
import textwrap
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dplr

# The answers that the questionnaire allowed, from its codebook and not from the data. Age and the number of children
# grow with the years of marriage: so few records cannot tell the three apart under so much noise.
BOUNDS: dict[str, tuple[float, float]] = {
    "rate_marriage": (1, 5),  # very poor to very good
    "yrs_married": (0.5, 23),
    "religious": (1, 4),  # not at all to strongly
    "educ": (9, 20),  # grade school to advanced degree
}
SHOWN = 1.0
EPSILONS = (0.1, SHOWN, math.inf)
GROUPS = (0.0, 0.2, 0.4, 0.6, 1.0)
_WIDTH = 100


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


def table(private: Any, exact: Any) -> list[str]:
    summary = private.summary()
    ratios = {ratio.name: ratio for ratio in summary.odds_ratios()}
    head = f"{'log odds':>9}   {'95 % interval':17}{'odds ratio':>10}   {'95 % interval':14}{'scikit-learn':>14}"
    lines = [f"  {'':15}{head}"]
    theirs = dict(zip(BOUNDS, exact.coef_[0], strict=True))
    for line in summary.lines:
        if line.name not in ratios:
            continue  # the intercept: a woman with zero everywhere, whom no answer describes
        text = f"{'cannot say':>9}{'':43}"
        if line.bounded:
            ratio = ratios[line.name]
            first, second = (f"[{interval.low:.2f}, {interval.high:.2f}]" for interval in (line, ratio))
            text = f"{line.estimate:9.2f}   {first:17}{ratio.estimate:10.2f}   {second:14}"
        lines.append(f"  {line.name:15}{text}{theirs[line.name]:14.2f}")
    return lines


def reliability(predicted: NDArray[np.float64], y: NDArray[np.bool_]) -> list[str]:
    """Women by what was predicted for them, and how many of them had an affair."""
    lines = [f"  {'predicted':14}{'women':>7}{'mean predicted':>17}{'had an affair':>16}"]
    for low, high in itertools.pairwise(GROUPS):
        group = (predicted >= low) & (predicted < high)
        if group.any():
            shares = f"{predicted[group].mean():17.1%}{y[group].mean():16.1%}"
            lines.append(f"  {f'{low:.0%} to {high:.0%}':14}{group.sum():7}{shares}")
    return [*lines, f"  {'all':14}{len(y):7}{predicted.mean():17.1%}{y.mean():16.1%}"]


def errors(fits: dict[str, tuple[Any, float]], X: Any, y: Any) -> list[str]:
    """Share of women misclassified, area under the curve, and the time of the fit."""
    from sklearn.metrics import roc_auc_score

    lines = [f"  {'':14}{'test error':>12}{'AUC':>8}{'time of the fit':>18}"]
    for name, (estimator, milliseconds) in fits.items():
        error = np.mean(estimator.predict(X) != y)
        auc = roc_auc_score(y, estimator.decision_function(X))
        lines.append(f"  {name:14}{error:12.3f}{auc:8.3f}{milliseconds:15.1f} ms")
    return [*lines, f"  {'always no':14}{np.mean(y):12.3f}{0.5:8.3f}"]


def main() -> None:
    """Print what the model says, what is promised, how good its probabilities are, and the errors."""
    from sklearn.linear_model import LogisticRegression

    X, y, X_test, y_test = load()
    print("Who had an affair? A survey of married women (R. Fair 1978): "
          f"{len(X):,} records to fit, {len(X_test):,} to test.\n")  # fmt: skip
    bounds = dplr.Bounds(BOUNDS)
    dplr.LogisticRegression(eps=math.inf, bounds=bounds).fit(X_test, y_test)  # imports and caches, once
    private = dplr.LogisticRegression(eps=SHOWN, aim="coefficients", bounds=bounds).fit(X, y)
    exact = timed(LogisticRegression(solver="newton-cholesky", C=np.inf), X, y)

    print(f"What the model says, at eps = {SHOWN:g}: log odds of an affair per unit more of an answer. The intervals")
    print("count sampling and privacy noise; beside them are the estimates without privacy.")
    print(*table(private, exact[0]), sep="\n")
    print("\nWhat is promised to each woman:")
    for sentence in private.privacy_.brief:
        print(textwrap.fill(sentence, _WIDTH, initial_indent="- ", subsequent_indent="  "))
    print("\nAre its probabilities right? For women whom the model has not seen:")
    print(*reliability(private.predict_proba(X_test)[:, 1], y_test), sep="\n")
    print("\nPredictions alone need less: fits with all defaults, each with an eps of its own.")
    fits = {f"eps = {eps:g}": timed(dplr.LogisticRegression(eps=eps, bounds=bounds), X, y) for eps in EPSILONS}
    print(*errors(fits | {"scikit-learn": exact}, X_test, y_test), sep="\n")
    print("\neps = inf is without noise. The noise is fresh in every run; the figures will differ. This survey is")
    print("public: of private data, neither test errors nor figures without privacy may be shown.")


if __name__ == "__main__":
    main()
