"""Measures of an evaluation without noise are those of scikit-learn, and intervals hold the truth with it."""

import math

import numpy as np
import pytest
from sklearn import metrics

import dplr
from dplr.evaluation.measures import Ratio, Sums, mean

pytestmark = pytest.mark.filterwarnings("ignore:rng is set")
EXACT = math.inf


@pytest.fixture(scope="module")
def labels():
    rng = np.random.default_rng(0)
    u = rng.normal(-1.0, 1.5, 20_000)
    return 1 / (1 + np.exp(-u)), (rng.random(20_000) < 1 / (1 + np.exp(-u))).astype(int)


def test_measures_of_labels_without_noise(labels):
    score, y = labels
    result = dplr.evaluate(score, None, y, eps=EXACT)
    clipped, decided = np.clip(score, 0.001, 0.999), score >= 0.5
    expected = {
        "brier": metrics.brier_score_loss(y, score), "log_loss": metrics.log_loss(y, clipped),
        "prevalence": y.mean(), "accuracy": metrics.accuracy_score(y, decided),
        "recall": metrics.recall_score(y, decided), "precision": metrics.precision_score(y, decided),
        "f1": metrics.f1_score(y, decided), "specificity": metrics.recall_score(1 - y, ~decided),
    }  # fmt: skip
    for name, value in expected.items():
        assert result.measures[name].estimate == pytest.approx(value, abs=1e-5), name
    assert result.auc.estimate == pytest.approx(metrics.roc_auc_score(y, score), abs=0.001)
    assert result.average_precision.estimate == pytest.approx(metrics.average_precision_score(y, score), abs=0.004)
    assert all(one.noise_sd == 0 for one in result.measures.values())


def test_thresholds_and_curves_without_noise(labels):
    score, y = labels
    result = dplr.evaluate(score, None, y, eps=EXACT, thresholds=(0.2,))
    shares = result.confusion(0.2)
    table = metrics.confusion_matrix(y, score >= 0.2) / len(y)
    names = (("true_negatives", "false_positives"), ("false_negatives", "true_positives"))
    for i, row in enumerate(names):
        for j, name in enumerate(row):
            assert shares[name].estimate == pytest.approx(table[i, j])
    threshold, alarms, hits = next(point for point in result.roc() if point[0] == 0.2)
    assert alarms.estimate == pytest.approx((score[y == 0] >= threshold).mean())
    assert hits.estimate == pytest.approx((score[y == 1] >= threshold).mean())
    for low, high, share in result.calibration(8):
        inside = (score >= low) & ((score < high) | (high == 1.0))
        assert share.estimate == pytest.approx(y[inside].mean())
    best = result.threshold(cost_false_positive=1.0, cost_false_negative=3.0)
    costs = [((score >= edge) & (y == 0)).mean() / 3 + ((score < edge) & (y == 1)).mean() for edge in result.edges]
    assert best.threshold == result.edges[int(np.argmin(costs))]
    assert best.cost.estimate == pytest.approx(min(costs))
    assert best.lower <= 0.25 <= best.upper
    with pytest.raises(ValueError, match="The nearest are"):
        result.confusion(0.21)


def test_measures_of_numbers_without_noise():
    rng = np.random.default_rng(1)
    guess = rng.uniform(10, 90, 20_000)
    y = guess + rng.normal(1, 8, 20_000)
    result = dplr.evaluate(guess, None, y, eps=EXACT, target_bounds=(0, 100))
    y = np.clip(y, 0, 100)
    assert result.r2.estimate == pytest.approx(metrics.r2_score(y, guess), abs=1e-4)
    assert result.rmse.estimate == pytest.approx(metrics.root_mean_squared_error(y, guess), rel=1e-3)
    assert result.mae.estimate == pytest.approx(metrics.mean_absolute_error(y, guess), rel=1e-3)
    assert result.mean_error.estimate == pytest.approx((y - guess).mean(), rel=1e-3)
    assert result.within(12.5).estimate == pytest.approx((np.abs(y - guess) <= 12.5).mean(), abs=1e-3)
    with pytest.raises(ValueError, match="must be one of"):
        result.within(12.0)


def test_measures_of_classes_without_noise():
    rng = np.random.default_rng(2)
    p = rng.dirichlet([0.5, 0.7, 1.0], 20_000)
    y = (rng.random(20_000)[:, None] > np.cumsum(p, axis=1)).sum(axis=1).clip(0, 2)
    result = dplr.evaluate(p, None, y, eps=EXACT, classes=(0, 1, 2))
    decided = p.argmax(axis=1)
    assert result.accuracy.estimate == pytest.approx((decided == y).mean())
    assert result.brier.estimate == pytest.approx(((p - np.eye(3)[y]) ** 2).sum(axis=1).mean(), abs=1e-5)
    assert result.log_loss.estimate == pytest.approx(-np.log(np.maximum(p[range(20_000), y], 0.001)).mean(), abs=1e-5)
    assert result.recall(1).estimate == pytest.approx((decided[y == 1] == 1).mean())
    assert result.precision(2).estimate == pytest.approx((y[decided == 2] == 2).mean())
    assert result.confusion()[0, 1].estimate == pytest.approx(((decided == 0) & (y == 1)).mean())
    low, high, right = result.calibration()[0]
    inside = (p.max(axis=1) >= low) & (p.max(axis=1) < high)
    assert right.estimate == pytest.approx((decided == y)[inside].mean())
    with pytest.raises(ValueError, match="label"):
        result.recall(7)


def test_a_pair_without_noise(labels):
    score, y = labels
    worse = np.clip(score + np.random.default_rng(3).normal(0, 0.3, len(y)), 0, 1)
    found = dplr.evaluate(worse, None, y, against=score, eps=EXACT).measures
    one, two = worse >= 0.5, score >= 0.5
    assert found["accuracy"].estimate == pytest.approx((two == y).mean() - (one == y).mean())
    assert found["recall"].estimate == pytest.approx(two[y == 1].mean() - one[y == 1].mean())
    target = score + np.random.default_rng(4).normal(0, 0.1, len(y))
    numbers = dplr.evaluate(worse, None, target, against=score, eps=EXACT, target_bounds=(0, 1))
    gain = metrics.r2_score(np.clip(target, 0, 1), score) - metrics.r2_score(np.clip(target, 0, 1), worse)
    assert numbers.measures["r2"].estimate == pytest.approx(gain, abs=1e-3)
    assert numbers.against_is_better("r2") is True
    back = dplr.evaluate(score, None, target, against=worse, eps=EXACT, target_bounds=(0, 1))
    assert back.against_is_better("r2") is False
    assert str(back).startswith("The model of `against` minus `model`. Evaluation on new rows; 95 % intervals")


def test_the_public_number_of_rows_lowers_the_noise():
    noisy, variances = np.array([5.0, 7.0, 4.0]), np.full(3, 2.0)
    free, known = Sums(noisy, variances, 3, None), Sums(noisy, variances, 3, 13.0)
    assert known.values.sum() == pytest.approx(13)
    form = np.array([1.0, 1.0, 0.0])
    assert free.noise(form, form) == pytest.approx(4)
    assert known.noise(form, form) == pytest.approx(4 - 16 / 6)
    assert known.noise(np.ones(3), np.ones(3)) == pytest.approx(0)


def test_a_drowned_denominator_says_nothing():
    sums = Sums(np.array([1.0, 3.0, 5000.0]), np.full(3, 900.0), 3, None)
    one = mean("recall", sums, np.array([1.0, 0, 0]), np.array([1.0, 1.0, 0.0])).read(sums, 0.95)
    assert not one.says
    assert (one.lower, one.upper) == (0.0, 1.0)
    assert str(one) == "recall: the release cannot say"
    below = Ratio("x", 1.0, -2.0, np.zeros(3), np.zeros(3), (0, 0, 0)).read(sums, 0.95)
    assert not below.says
