"""Curves and thresholds of evaluations: how often an interval of the ROC curve, a bin or a cost holds the truth.

    python -m bench.studies.evaluation_curves bench/results/evaluation_curves.csv           (some minutes)

Shares are over all edges or bins of all releases. The best threshold is the edge with the least cost in the truth, a
sample of two million rows.
"""

import csv
import sys
import warnings

import numpy as np

import dplr
from bench.studies.evaluation import CASES, TRUTH

RELEASES = 500
COSTS = {"cost_false_positive": 1.0, "cost_false_negative": 4.0}
FIELDS = ("case", "n", "eps", "releases", "false_positive_rate", "true_positive_rate", "calibration", "threshold",
          "edges_in_set", "edges")  # fmt: skip


def rates(result, negatives, positives):
    """Whether the intervals of both rates hold the truth, at every edge; scores of each label are sorted."""
    for edge, alarms, hits in result.roc():
        pair = [1 - np.searchsorted(of, edge) / len(of) for of in (negatives, positives)]
        yield [one.lower <= true <= one.upper for one, true in zip((alarms, hits), pair, strict=True)]


def bins(result, negatives, positives):
    """Whether the interval of each bin holds the truth."""
    for low, high, share in result.calibration():
        zero, one = (np.searchsorted(of, np.nextafter(high, 2) if high == 1 else high) - np.searchsorted(of, low)
                     for of in (negatives, positives))  # fmt: skip
        if zero + one:
            yield share.lower <= one / (zero + one) <= share.upper


def study(case, n, eps, rng):
    draw, _, options = CASES[case]
    score, y = draw(rng, TRUTH)
    by_label = np.sort(score[y == 0]), np.sort(score[y == 1])
    best, found = None, {name: [] for name in FIELDS[4:]}
    for _ in range(RELEASES):
        sample = draw(rng, n)
        result = dplr.evaluate(sample[0], None, sample[1], eps=eps, rng=int(rng.integers(2**31)), **options)
        both = np.array(list(rates(result, *by_label)))
        found["false_positive_rate"].append(both[:, 0].mean())
        found["true_positive_rate"].append(both[:, 1].mean())
        found["calibration"].append(np.mean(list(bins(result, *by_label))))
        best = best or min(result.edges, key=lambda edge: cost(score, y, edge))
        one = result.threshold(**COSTS)
        found["threshold"].append(one.lower <= best <= one.upper)
        found["edges_in_set"].append(sum(one.lower <= edge <= one.upper for edge in result.edges))
        found["edges"].append(len(result.edges))
    return dict(zip(FIELDS, (case, n, eps, RELEASES, *(f"{np.mean(of):.3f}" for of in found.values())), strict=True))


def cost(score, y, edge):
    return ((score >= edge) & (y == 0)).mean() + 4 * ((score < edge) & (y == 1)).mean()


def main():
    warnings.simplefilter("ignore")
    with open(sys.argv[1], "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for case in ("balanced", "20 % positive", "rare", "not calibrated"):
            for n, eps in ((5000, 0.2), (5000, 1.0), (20_000, 1.0)):
                writer.writerow(study(case, n, eps, np.random.default_rng([n, len(case)])))
                file.flush()


if __name__ == "__main__":
    main()
