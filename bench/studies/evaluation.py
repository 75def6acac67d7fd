"""Intervals of evaluations: how often they hold the truth, how wide they are, and what the noise adds.

    python -m bench.studies.evaluation bench/results/evaluation.csv           (some minutes)
    python -m bench.studies.evaluation results.csv --releases 50 --case rare

Every number of `measures` is read from releases of fresh samples. The truth is that of a sample of two million rows.
"""

import argparse
import csv
import math
import warnings

import numpy as np

import dplr

TRUTH = 2_000_000
LIMIT = 0.001
SIZES = ((5000, 0.2), (5000, 0.5), (5000, 1.0), (20_000, 0.2), (20_000, 1.0))
FIELDS = (
    "case", "n", "eps", "number", "truth", "releases", "coverage", "says", "width", "width_without_noise", "noise_sd",
    "bias",
)  # fmt: skip


def sigmoid(u):
    return 1 / (1 + np.exp(-u))


def labels(rng, n, middle, spread=1.5, steeper=1.0, shift=0.0):
    """Scores and labels: calibrated, or too steep and shifted."""
    u = rng.normal(middle, spread, n)
    return sigmoid(steeper * u + shift), (rng.random(n) < sigmoid(u)).astype(int)


def numbers(rng, n, spread=0.2, share=0.5, heavy=False):
    """Predictions and targets in [0, 1]: the target's standard deviation, R^2, and errors of a t law."""
    guess = 0.5 + rng.normal(0, spread * math.sqrt(share), n)
    error = rng.standard_t(5, n) * math.sqrt(3 / 5) if heavy else rng.normal(0, 1, n)
    return guess, guess + spread * math.sqrt(1 - share) * error


def classes(rng, n):
    """Probabilities of three labels, and labels."""
    p = rng.dirichlet([0.6, 0.6, 0.3], n)
    return p, (rng.random(n)[:, None] > np.cumsum(p, axis=1)).sum(axis=1).clip(0, 2)


def persons(rng, n):
    """Four rows of each person with much the same score, and one label in three of them."""
    u = np.repeat(rng.normal(-1, 1.4, n), 4)
    same = np.repeat((rng.random(n) < sigmoid(u[::4])).astype(int), 4)
    y = np.where(rng.random(4 * n) < 0.7, same, rng.random(4 * n) < sigmoid(u)).astype(int)
    return sigmoid(u + rng.normal(0, 0.2, 4 * n)), y


def true_labels(score, y):
    order = np.argsort(score)
    ranks = np.empty(len(y))
    ranks[order] = np.arange(1, len(y) + 1)
    positives = y.sum()
    hits = np.cumsum(y[order[::-1]])
    decided = score >= 0.5
    clipped = np.clip(score, LIMIT, 1 - LIMIT)
    return {
        "auc": (ranks[y == 1].sum() - positives * (positives + 1) / 2) / (positives * (len(y) - positives)),
        "average_precision": (hits / np.arange(1, len(y) + 1))[y[order[::-1]] == 1].mean(),
        "brier": ((score - y) ** 2).mean(), "prevalence": y.mean(),
        "log_loss": -np.log(np.where(y == 1, clipped, 1 - clipped)).mean(),
        "accuracy": (decided == y).mean(), "recall": decided[y == 1].mean(), "specificity": (~decided)[y == 0].mean(),
        "precision": y[decided].mean(), "f1": 2 * (decided & (y == 1)).sum() / (decided.sum() + positives),
    }  # fmt: skip


def true_numbers(guess, y):
    guess, y = np.clip(guess, 0, 1), np.clip(y, 0, 1)
    error = y - guess
    return {"r2": 1 - (error**2).mean() / y.var(), "rmse": math.sqrt((error**2).mean()),
            "mae": np.abs(error).mean(), "mean_error": error.mean()}  # fmt: skip


def true_classes(p, y):
    decided, rows = p.argmax(axis=1), np.arange(len(y))
    found = {
        "accuracy": (decided == y).mean(), "brier": ((p - np.eye(3)[y]) ** 2).sum(axis=1).mean(),
        "log_loss": -np.log(np.maximum(p[rows, y], LIMIT)).mean(),
    }  # fmt: skip
    for label in range(3):
        found[f"recall of {label}"] = (decided[y == label] == label).mean()
        found[f"precision of {label}"] = (y[decided == label] == label).mean()
    return found


def two_scores(rng, n):
    """Scores of a worse and of a better model, and labels."""
    u = rng.normal(-1.0, 1.5, n)
    worse = sigmoid(0.7 * u + rng.normal(0, 1.0, n))
    return (worse, sigmoid(u)), (rng.random(n) < sigmoid(u)).astype(int)


def two_guesses(rng, n):
    """Predictions of a worse and of a better model, and targets in [0, 1]."""
    guess, y = numbers(rng, n)
    return (guess + rng.normal(0.02, 0.05, n), guess), y


def true_gain(pair, y):
    a, b = ({**true_labels(score, y)} for score in pair)
    return {name: b[name] - a[name] for name in ("accuracy", "recall", "specificity")}


def true_gain_of_numbers(pair, y):
    a, b = pair
    closer = np.sign(np.abs(np.clip(y, 0, 1) - np.clip(a, 0, 1)) - np.abs(np.clip(y, 0, 1) - np.clip(b, 0, 1)))
    return {"r2": true_numbers(b, y)["r2"] - true_numbers(a, y)["r2"], "closer": closer.mean()}


LABELS = {"classes": (0, 1)}
RANGE = {"target_bounds": (0.0, 1.0)}
CASES = {
    "balanced": (lambda rng, n: labels(rng, n, 0.0), true_labels, LABELS),
    "20 % positive": (lambda rng, n: labels(rng, n, -1.8), true_labels, LABELS),
    "rare": (lambda rng, n: labels(rng, n, -4.4, 1.3), true_labels, LABELS),
    "not calibrated": (lambda rng, n: labels(rng, n, -1.0, 1.5, 1.8, 0.6), true_labels, LABELS),
    "persons": (persons, true_labels, LABELS),
    "numbers": (numbers, true_numbers, RANGE),
    "numbers, spread": (lambda rng, n: numbers(rng, n, 0.25, 0.6), true_numbers, RANGE),
    "numbers, heavy tails": (lambda rng, n: numbers(rng, n, 0.12, 0.3, heavy=True), true_numbers, RANGE),
    "two models": (two_scores, true_gain, LABELS),
    "two models of numbers": (two_guesses, true_gain_of_numbers, RANGE),
    "three classes": (classes, true_classes, {"classes": (0, 1, 2)}),
}


def evaluated(case, sample, n, eps, seed, options):
    who = {"person": np.repeat(np.arange(n), 4)} if case == "persons" else {}
    if isinstance(sample[0], tuple):
        a, b = sample[0]
        return dplr.evaluate(a, None, sample[1], against=b, eps=eps, rng=seed, **options).measures
    return dplr.evaluate(sample[0], None, sample[1], eps=eps, rng=seed, **who, **options).measures


def study(case, n, eps, releases, rng):
    """One line for each number."""
    draw, true, options = CASES[case]
    truth = true(*draw(rng, TRUTH if case != "persons" else TRUTH // 4))
    read, widths = {name: [] for name in truth}, {name: [] for name in truth}
    for release in range(releases):
        sample, seed = draw(rng, n), int(rng.integers(2**31))
        for name, one in evaluated(case, sample, n, eps, seed, options).items():
            read[name].append((one.lower <= truth[name] <= one.upper, one.says, one.upper - one.lower,
                               one.noise_sd, one.estimate - truth[name]))  # fmt: skip
        if release < 40:
            for name, one in evaluated(case, sample, n, math.inf, seed, options).items():
                widths[name].append(one.upper - one.lower)
    for name, found in read.items():
        held, says, width, noise, error = np.array(found, float).T
        said = says > 0
        yield dict(zip(FIELDS, (
            case, n, eps, name, f"{truth[name]:.5g}", releases, f"{held.mean():.3f}", f"{said.mean():.3f}",
            f"{np.median(width):.4g}", f"{np.median(widths[name]):.4g}",
            f"{np.median(noise[said]):.4g}" if said.any() else "", f"{error[said].mean():.2g}" if said.any() else "",
        ), strict=True))  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--releases", type=int, default=500)
    parser.add_argument("--case", action="append", choices=CASES)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    with open(chosen.path, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for case in chosen.case or CASES:
            for n, eps in SIZES:
                rng = np.random.default_rng([n, int(1000 * eps), len(case)])
                writer.writerows(study(case, n, eps, chosen.releases, rng))
                file.flush()


if __name__ == "__main__":
    main()
