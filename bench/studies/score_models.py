"""Coverage of 95 % intervals of the score release: persons, weights, counts and robust locations.

Weights also by objective perturbation without a delta.

Three columns in [0, 1], the third a flag of 30 %; slopes 1, -1 and .5 and a constant. Designs:

    persons        labels; a person has 1 to 8 rows, whose columns are the person's own but for the second, and whose
                   latent errors correlate with .5: each row follows the logistic model
    weights        labels; rows weigh between 0 and 1
    class weights  labels, 10 % of them positive; negatives weigh a quarter: slopes stay those of the model
    counts         Poisson of mean 1 to 2, bounds 0 to 12
    dispersed      counts of gamma rates: variance 2 to 3 times the mean, bounds 0 to 20
    steep counts   slopes 3, -3 and 1, mean .5 to 8, bounds 0 to 40
    huber          numbers with normal errors of .5, bounds -5 to 5
    heavy tails    numbers with errors of t with 2 degrees, bounds -5 to 5

    python -m bench.studies.score_models bench/results/score_models.csv [fits]
"""

import csv
import sys
import warnings

import numpy as np
from scipy import special, stats

import dplr

FITS, DELTA, NORMAL = 200, 1e-6, 1.959963984540054
SLOPES = np.array([1.0, -1.0, 0.5])
ROWS, LEVELS = (20_000, 100_000), (1.0, 3.0)
MODELS = {
    "counts": "poisson",
    "dispersed": "poisson",
    "steep counts": "poisson",
    "huber": "huber",
    "heavy tails": "huber",
}
TARGETS = {
    "counts": (0, 12), "dispersed": (0, 20), "steep counts": (0, 40), "huber": (-5, 5), "heavy tails": (-5, 5)
}  # fmt: skip
MECHANISMS = {
    "score": ("persons", "weights", "class weights", *MODELS), "objective": ("weights", "class weights")
}  # fmt: skip


def columns(n, rng):
    """X of n rows."""
    X = rng.uniform(0, 1, (n, 3))
    X[:, 2] = rng.random(n) < 0.3
    return X


def simulated(design, n, rng):
    """X, y, true slopes, options of the fit, and weights and persons for a fit that is not private."""
    if design == "persons":
        sizes = rng.integers(1, 9, n)
        ids = np.repeat(np.arange(n), sizes)
        X = columns(n, rng)[ids]
        X[:, 1] = rng.uniform(0, 1, len(ids))
        normal = np.sqrt(0.5) * rng.normal(size=n)[ids] + np.sqrt(0.5) * rng.normal(size=len(ids))
        y = X @ SLOPES - 0.3 + special.logit(special.ndtr(normal)) > 0
        return X, y.astype(int), SLOPES, {"person": ids}, (1 / sizes)[ids], ids
    X, ids = columns(n, rng), np.arange(n)
    if design == "weights":
        y, weights = rng.random(n) < special.expit(X @ SLOPES - 0.3), rng.uniform(0, 1, n)
        return X, y.astype(int), SLOPES, {"sample_weight": weights}, weights, ids
    if design == "class weights":
        y = (rng.random(n) < special.expit(X @ SLOPES - 2.5)).astype(int)
        return X, y, SLOPES, {"class_weight": {0: 0.25, 1: 1.0}}, np.where(y, 1.0, 0.25), ids
    slopes = SLOPES if design != "steep counts" else np.array([3.0, -3.0, 1.0])
    margins = X @ slopes
    if design == "counts":
        y = rng.poisson(np.exp(margins + 0.2))
    elif design == "dispersed":
        y = rng.poisson(np.exp(margins + 0.2) * rng.gamma(1.0, 1.0, n))
    elif design == "steep counts":
        y = rng.poisson(np.exp(margins - 0.2))
    else:
        y = margins + (rng.normal(0, 0.5, n) if design == "huber" else 0.5 * stats.t(2).rvs(n, random_state=rng))
    return X, np.clip(y.astype(float), *TARGETS[design]), slopes, {}, np.ones(n), ids


def errors(design, X, y, weights, ids):
    """Standard errors of slopes without privacy: cluster-robust, at the maximum likelihood or the least Huber loss."""
    Z, w = np.column_stack([X, np.ones(len(y))]), np.zeros(4)
    width = 0.5 * 5  # of the rounded default loss, in units of the target
    for _ in range(30):
        margins = Z @ w
        if MODELS.get(design) == "huber":
            residuals = margins - y
            bends = np.exp(-np.abs(residuals) / width)
            slopes = np.sign(residuals) * width * (1 - bends)
        elif design in MODELS:
            bends = np.exp(np.minimum(margins, 20))
            slopes = bends - y
        else:
            p = special.expit(margins)
            slopes, bends = p - y, p * (1 - p)
        hessian = Z.T @ (Z * (weights * bends)[:, None])
        step = np.linalg.solve(hessian, Z.T @ (weights * slopes))
        w = w - step * min(1.0, 2 / np.abs(step).max())
    scores = np.array([np.bincount(ids, part) for part in (Z * (weights * slopes)[:, None]).T]).T
    bread = np.linalg.inv(hessian)
    return np.sqrt(np.diag(bread @ (scores.T @ scores) @ bread))[:3]


def cell(mechanism, design, n, eps, fits, rng):
    """Coverage of the bounded intervals, their share, and their median width over that without privacy."""
    rows = []
    for _ in range(fits):
        X, y, slopes, options, weights, ids = simulated(design, n, rng)
        cap = 1 if "sample_weight" in options else None
        bounds = dplr.Bounds([(0, 1)] * 3, target=TARGETS.get(design), weight_max=cap)
        facts = {"model": MODELS.get(design, "logistic"), "mechanism": mechanism, "bounds": bounds}
        facts |= {"aim": "coefficients"} if mechanism == "objective" else {"delta": DELTA}
        ends = dplr.fit(X, y, eps=eps, **facts, **options).conf_int()
        low, high = np.array([ends[f"column {j}"] for j in range(3)]).T
        plain = 2 * NORMAL * errors(design, X, y, weights, ids)
        rows.append(np.column_stack([(low <= slopes) & (slopes <= high), (high - low) / plain]))
    covered, widths = np.concatenate(rows).T
    bounded = np.isfinite(widths)
    return covered[bounded].mean(), bounded.mean(), np.median(widths[bounded]) if bounded.any() else np.nan


def main(path, fits):
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(5)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["mechanism", "design", "rows", "eps", "fits", "coverage", "bounded", "width"])
        for mechanism, design in ((name, design) for name, designs in MECHANISMS.items() for design in designs):
            for n in ROWS if design != "persons" else (5_000, 20_000):
                for eps in LEVELS:
                    shown = [f"{number:.3f}" for number in cell(mechanism, design, n, eps, fits, rng)]
                    writer.writerow([mechanism, design, n, eps, fits, *shown])
                    file.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else FITS)
