"""Intervals of every measure hold the truth and are no wider than that needs, where noise is most and where least.

Both are counted over releases of rows that are drawn from a population whose measures are known.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

import dplr
from dplr.evaluation import ranking
from dplr.evaluation.grids import ScoreGrid, log_odds_edges
from dplr.evaluation.measures import Sums

pytestmark = pytest.mark.filterwarnings("ignore:rng is set")

POPULATION = 20_000
RNG = np.random.default_rng(0)
SCORE = 1 / (1 + np.exp(-RNG.normal(-0.5, 1.5, POPULATION)))
Y = (RNG.random(POPULATION) < SCORE).astype(int)
THIRDS = RNG.dirichlet([0.5, 0.7, 1.0], POPULATION)
THIRD = (RNG.random(POPULATION)[:, None] > np.cumsum(THIRDS, axis=1)).sum(axis=1).clip(0, 2)
GUESS = RNG.uniform(0.1, 0.9, POPULATION)
NUMBER = np.clip(GUESS + RNG.normal(0.02, 0.1, POPULATION), 0, 1)
NEAR = [np.clip(one + RNG.normal(0, 0.15, POPULATION), 0, 1) for one in (SCORE, GUESS)]
LEAVES = np.random.default_rng(1)
TREE = LEAVES.choice([0.02, 0.1, 0.3, 0.6, 0.9], POPULATION, p=[0.3, 0.3, 0.2, 0.15, 0.05])
OF_TREE = (LEAVES.random(POPULATION) < TREE).astype(int)
KINDS = {
    "labels": (SCORE, Y, {}),
    "tied scores": (TREE, OF_TREE, {}),
    "classes": (THIRDS, THIRD, {"classes": (0, 1, 2)}),
    "decisions": (THIRDS.argmax(axis=1), THIRD, {"classes": (0, 1, 2), "decisions": True}),
    "numbers": (GUESS, NUMBER, {"target_bounds": (0, 1)}),
    "two models": (SCORE, Y, {"against": NEAR[0]}),
    "two models of numbers": (GUESS, NUMBER, {"target_bounds": (0, 1), "against": NEAR[1]}),
}
# Rows and eps: sampling alone, mostly noise, and both.
REGIMES = {"sampling": (400, math.inf), "noise": (10_000, 0.03), "both": (2000, 0.5)}
# How wide intervals may be, over the spread of the estimates, where bounds of variances are known to be loose: squares
# of losses within their cells, and (a + b)^2 <= 2 a^2 + 2 b^2 of differences; or where an end is that of other ties.
WIDE = {
    ("labels", "noise", "average_precision"): 1.6, ("tied scores", "noise", "average_precision"): 1.6,
    ("classes", "sampling", "log_loss"): 4.5, ("classes", "sampling", "brier"): 1.6,
    ("numbers", "sampling", "r2"): 2.4, ("two models of numbers", "sampling", "r2"): 2.2,
    ("two models of numbers", "both", "r2"): 1.8, ("two models of numbers", "noise", "r2"): 2.5,
}  # fmt: skip


def released(kind, rows, eps, seed=None):
    answers, y, options = KINDS[kind]
    options = {name: value[rows] if name == "against" else value for name, value in options.items()}
    return dplr.evaluate(answers[rows], None, y[rows], eps=eps, rng=seed, **options)


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_the_truth_and_are_no_wider_than_that_needs(kind, regime):
    """At .95, five standard errors below it; the width over that of estimates' own spread."""
    n, eps = REGIMES[regime]
    truth = {name: one.estimate for name, one in released(kind, slice(None), math.inf).measures.items()}
    if "auc" in truth:
        answers, y, _ = KINDS[kind]
        truth["auc"] = metrics.roc_auc_score(y, answers)
        truth["average_precision"] = metrics.average_precision_score(y, answers)
    runs = 70 if "auc" in truth else 100
    draws = np.random.default_rng(7).integers(0, POPULATION, (runs, n))
    found = [released(kind, rows, eps, seed).measures for seed, rows in enumerate(draws)]
    for name, true in truth.items():
        told = np.array([(one[name].estimate, one[name].lower, one[name].upper) for one in found])
        assert np.mean((told[:, 1] <= true) & (true <= told[:, 2])) >= 0.95 - 5 * math.sqrt(0.95 * 0.05 / runs), name
        says = told[~np.isnan(told[:, 0])]
        assert len(says) > runs / 2, name
        spread = 2 * 1.96 * math.sqrt(np.mean((says[:, 0] - true) ** 2))
        width = np.median(says[:, 2] - says[:, 1]) / spread
        assert 0.75 < width < WIDE.get((kind, regime, name), 1.45), (name, width)


LEVELS = (0.5, 0.8, 0.95, 0.999, 1 - 1e-9, 1 - 1e-12, np.nextafter(1, 0))


def test_quantiles_are_those_of_tails():
    normal = Sums(np.array([10.0]), np.array([2.0]), 1, None, laplace=False)
    noisy = Sums(np.array([10.0]), np.array([2.0]), 1, None)
    for level in LEVELS:
        assert stats.norm.logsf(normal.quantile(level, np.ones(1), 2.0)) == pytest.approx(math.log((1 - level) / 2))
        tail = -math.sqrt(2) * noisy.quantile(level, np.ones(1), 2.0)  # the logarithm of one of Laplace noise
        assert tail <= math.log(1 - level)
    assert math.log(20) < math.sqrt(2) * noisy.quantile(0.95, np.ones(1), 2.0) < 1.05 * math.log(20)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_a_higher_level_hold_those_of_a_lower_one(kind):
    result = released(kind, slice(3000), 1.0, 5)
    read = [result.at(level) for level in LEVELS]
    for low, high in itertools.pairwise(read):
        for name, inner in low.measures.items():
            outer = high.measures[name]
            assert outer.lower <= inner.lower <= inner.upper <= outer.upper, (name, high.level)
        if kind == "labels":
            inner, outer = (one.threshold(cost_false_positive=1, cost_false_negative=2) for one in (low, high))
            assert outer.lower <= inner.lower <= inner.upper <= outer.upper
    with pytest.raises(ValueError, match="level"):
        result.at(1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_noise_that_is_said_is_that_of_releases_of_the_same_rows(kind):
    """Mean distances are .71 (Laplace) to .80 (normal) of a standard error."""
    found = [released(kind, slice(2000), 0.5, seed).measures for seed in range(60)]
    for name in found[0]:
        told = np.array([(one[name].estimate, one[name].noise_sd) for one in found])
        distance = np.abs(told[:, 0] - np.median(told[:, 0])).mean()
        assert 0.5 < distance / np.median(told[:, 1]) < 1.1, name


def _masses(cells, scores, negatives, positives):
    """A grid, and its sums without noise from the shares of rows of each score."""
    grid, rows = ScoreGrid(tuple(log_odds_edges(cells))), 1e9
    counts = np.zeros(grid.size)
    for code, shares in enumerate((negatives, positives)):
        np.add.at(counts, grid.place(scores, np.full(len(scores), code))[0], shares * rows)
    return grid, Sums(counts, np.zeros(grid.size), grid.size, None, laplace=False)


def _ranks(scores, negatives, positives):
    """Area and average precision of scikit-learn."""
    of = np.repeat([0, 1], len(scores)), np.tile(scores, 2)
    weights = np.concatenate([negatives, positives])
    return (metrics.roc_auc_score(*of, sample_weight=weights),
            metrics.average_precision_score(*of, sample_weight=weights))  # fmt: skip


@pytest.mark.parametrize("cells", [8, 20, 54])
def test_ranks_of_calibrated_scores_are_held_however_rows_are_tied(cells):
    """Of one score to many, even or drawn; 10^9 rows, so that nothing but their order is unknown."""
    rng = np.random.default_rng(cells)
    for count in (1, 2, 3, 5, 12, 300):
        for _ in range(8):
            scores = 1 / (1 + np.exp(-rng.normal(rng.uniform(-3, 1), rng.uniform(0.2, 2), count)))
            shares = rng.dirichlet(np.full(count, 0.5))
            negatives, positives = shares * (1 - scores), shares * scores
            grid, sums = _masses(cells, scores, negatives, positives)
            area, precision = _ranks(scores, negatives, positives)
            one, two = ranking.auc(grid, sums).read(sums, 0.95), ranking.average_precision(grid, sums, 0.95)
            assert one.lower - 1e-9 <= area <= one.upper, (count, area, one)
            assert two.lower - 1e-9 <= precision <= two.upper, (count, precision, two)


@pytest.mark.parametrize("middle", [-10, -8, -7, 9])
def test_ranks_beyond_the_end_cells_are_held(middle):
    """Rare labels have most scores below the lowest edge."""
    scores = stats.logistic.cdf(np.random.default_rng(0).normal(middle, 1.5, 20_000))
    grid, sums = _masses(54, scores, 1 - scores, scores)
    area, precision = _ranks(scores, 1 - scores, scores)
    one, two = ranking.auc(grid, sums).read(sums, 0.95), ranking.average_precision(grid, sums, 0.95)
    assert one.lower <= area <= one.upper
    assert two.lower <= precision <= two.upper


def test_the_lower_end_of_average_precision_is_that_of_one_score_in_each_cell():
    scores = np.linspace(0.002, 0.998, 4000)
    negatives, positives = 1 - scores, scores
    grid, sums = _masses(20, scores, negatives, positives)
    cells = np.searchsorted(grid.edges, scores, "right") / 20
    found = ranking.average_precision(grid, sums, 0.95)
    assert found.lower == pytest.approx(_ranks(cells, negatives, positives)[1], abs=2e-4)
    spread = _ranks(scores, negatives, positives)[1]
    assert found.estimate == pytest.approx(spread, abs=1e-3)
    assert spread < found.upper < spread + 0.006


def test_positives_far_above_all_others_are_held_where_noise_hides_them():
    """Their cells are counted in one below them."""
    rng, held = np.random.default_rng(3), []
    for seed in range(40):
        scores = np.where(rng.random(2000) < 0.02, 0.97, rng.choice([0.05, 0.1], 2000))
        found = dplr.evaluate(scores, None, (rng.random(2000) < scores).astype(int), eps=0.5, rng=seed)
        held.append(found.average_precision.lower <= 0.268 <= found.average_precision.upper)
    assert np.mean(held) > 0.9
