"""A score that is read at a point away from the coefficients: what the curve of the loss adds on the way to them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from dplr.inference.expansion import expanded, widened
from dplr.inference.intervals import UNBOUNDED, intervals, score_test
from dplr.inference.reading import Curvature, Expansion, Reading
from dplr.inference.score import variances
from dplr.privacy.estimand import Estimand

SIZES = np.array([0.5, 0.5, 0.5])
LOGISTIC = Expansion(Curvature.LOGISTIC, 0.9, constant=True)


def rows(kind, n, rng):
    """Two columns of this kind in [-0.5, 0.5] and a constant."""
    columns = {
        "normal": lambda: np.clip(0.15 * rng.normal(size=(n, 2)), -0.5, 0.5),
        "uniform": lambda: rng.uniform(-0.5, 0.5, (n, 2)),
        "skewed": lambda: np.clip(rng.gamma(1.0, 0.15, (n, 2)), 0, 1) - 0.5,
        "two values": lambda: (rng.random((n, 2)) < 0.6) - 0.5,
        "rare flag": lambda: np.column_stack([rng.uniform(-0.5, 0.5, n), (rng.random(n) < 0.04) - 0.5]),
    }
    return np.column_stack([columns[kind](), np.full(n, 0.5)])


# (rows, coefficients, point): log odds of slopes 20 and -8; labels of 1 %; weeks that are 0 or 52; a flag of 4 %.
CASES = {
    "steep": ("uniform", [20.0, -8.0, 0.0], [14.5, -6.0, 0.0]),
    "rare labels": ("uniform", [2.5, 1.0, -9.0], [2.3, 1.0, -7.4]),
    "two values": ("two values", [3.0, 1.2, -6.0], [2.2, 0.9, -4.6]),
    "skewed": ("skewed", [4.0, -3.0, 1.0], [2.6, -2.0, 0.6]),
    "rare flag": ("rare flag", [1.0, 3.0, 1.0], [0.9, 2.0, 0.2]),
}


def at(V, labels, point, noise=(0.0, 0.0), rng=None):
    """The equation of labels at a point, with noise of these deviations on the score and on a cell of the Hessian."""
    p = special.expit(V @ point)
    q = V.shape[1]
    hessian, score = (V * (p * (1 - p))[:, None]).T @ V, V.T @ (labels - p)
    if rng is not None:
        cells = noise[1] * rng.normal(size=(q, q))
        hessian, score = hessian + np.triu(cells) + np.triu(cells, 1).T, score + noise[0] * rng.normal(size=q)
    values, vectors = np.linalg.eigh(hessian)
    return Reading(
        matrix=hessian, vector=score, cells=np.full((q, q), noise[1] ** 2), tied=np.zeros(q),
        vector_noise=noise[0] ** 2 * np.eye(q), sampling=(vectors * np.maximum(values, 0)) @ vectors.T, laplace=False,
        center=np.array(point), sizes=SIZES, estimand=Estimand.LOG_ODDS, n_rows=float(len(V)), expansion=LOGISTIC,
    )  # fmt: skip


def exact(kind, theta, point, n=20_000):
    """The equation with the mean of the labels in their place, and the Hessian at the coefficients."""
    V = rows(kind, n, np.random.default_rng(0))
    p = special.expit(V @ theta)
    return at(V, p, point), (V * (p * (1 - p))[:, None]).T @ V


@pytest.mark.parametrize("case", CASES)
def test_the_tangent_leads_to_the_coefficients_and_what_is_left_is_within_the_remainder(case):
    kind, theta, point = CASES[case]
    reading, there = exact(kind, theta, point)
    way = np.array(theta) - point
    tangent = expanded(reading)
    before, after = (one.vector - one.matrix @ way for one in (reading, tangent))
    assert after @ np.linalg.solve(tangent.remainder, after) < 1
    assert np.linalg.norm(after) < 0.5 * np.linalg.norm(before)
    # without the remainder the errors are those that the Hessian at the coefficients tells, and not the released one
    inverse = np.linalg.inv(reading.matrix)
    covariance = inverse @ (tangent.sampling - tangent.remainder) @ inverse
    far = [np.abs(np.log(np.linalg.eigvals(there @ one).real)).max() for one in (covariance, inverse)]
    assert far[0] < max(0.5 * far[1], 0.15)


def test_of_normal_rows_the_whole_curve_is_known():
    theta, point = np.array([6.0, -4.0, -2.0]), np.array([4.5, -3.0, -1.0])
    reading, _ = exact("normal", theta, point)
    tangent = expanded(reading)
    found, plain = (np.linalg.solve(one.matrix, one.vector) for one in (tangent, reading))
    assert np.abs(found - (theta - point)).max() < 0.1 * np.abs(plain - (theta - point)).max()


def test_an_error_of_unknown_sign_counts_as_a_variance():
    """The lemma by which a bound of the remainder is added to the sampling variance, at all levels from 91.7 %."""
    bias = np.linspace(0, 30, 3001)
    for z in (np.sqrt(3), 1.96, 2.576, 3.29, 5.25):
        wide = z * np.sqrt(1 + bias**2)
        missed = special.ndtr(bias - wide) + special.ndtr(-bias - wide)
        assert missed.max() <= 2 * special.ndtr(-z) * (1 + 1e-9)


@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_the_coefficients(case):
    """In the limit of proposition 2 (b): the score along the direction of a coefficient, in its own deviations."""
    kind, theta, point = CASES[case]
    rng = np.random.default_rng(1)
    V = rows(kind, 20_000, rng)
    p, way = special.expit(V @ theta), np.array(theta) - point
    held, plain = np.zeros(3), np.zeros(3)
    for _ in range(60):
        reading = at(V, rng.random(len(V)) < p, point, (8.0, 2.0), rng)
        for one, count in ((expanded(reading), held), (reading, plain)):
            x = np.linalg.solve(one.matrix, np.eye(3))
            total, _ = variances(one, x, np.tile(way, (3, 1)))
            count += np.abs(x @ (one.vector - one.matrix @ way)) <= 1.96 * np.sqrt(total)
    assert np.all(held >= 55)
    assert plain.min() < 54


def test_a_flat_model_loses_nothing():
    rng = np.random.default_rng(2)
    V = rows("uniform", 5000, rng)
    theta = np.array([0.8, -0.5, -0.2])
    for noise in ((0.0, 0.0), (20.0, 5.0)):
        reading = at(V, rng.random(len(V)) < special.expit(V @ theta), theta + 0.1, noise, rng)
        before, after = (intervals(one, np.eye(3)) for one in (reading, expanded(reading)))
        np.testing.assert_allclose(after.high - after.low, before.high - before.low, rtol=0.02)
        assert np.all(widened(expanded(reading), np.eye(3)) < 1.02)


def test_noise_of_the_way_lengthens_the_remainder():
    """A way that noise may hide counts as long as it may be: at its estimate alone the remainder would be 0 here."""
    reading, _ = exact(*CASES["rare labels"][:2], CASES["rare labels"][1])
    lengths = []
    for noise in (0.0, 20.0, 60.0):
        tangent = expanded(replace(reading, vector_noise=noise**2 * np.eye(3)))
        lengths.append(np.trace(tangent.remainder))
    assert lengths[2] > 5 * lengths[1] > 25 * lengths[0]


def test_more_rows_never_silence_a_line_that_speaks():
    """What a row adds stays, and the remainder with it: the interval stays long, and has an end."""
    kind, theta, point = CASES["steep"]
    reading, _ = exact(kind, theta, point)
    reading = replace(reading, vector_noise=100.0 * np.eye(3), cells=np.full((3, 3), 4.0))
    widths = []
    for times in (1.0, 10.0, 100.0):
        more = replace(reading, **{name: times * getattr(reading, name) for name in ("matrix", "vector", "sampling")})
        ends = intervals(expanded(more), np.eye(3), bounds=40.0)
        assert np.all(ends.verdict != UNBOUNDED)
        assert np.all((ends.low < theta) & (theta < ends.high))
        widths.append(ends.high - ends.low)
    assert np.all(np.diff(widths, axis=0) < 0)


def test_a_test_and_an_interval_count_the_same():
    kind, theta, point = CASES["steep"]
    tangent = expanded(exact(kind, theta, point)[0])
    ends = intervals(tangent, np.eye(3), bounds=40.0)
    for k, end in enumerate(ends.low):
        assert score_test(tangent, np.eye(3)[[k]], np.array([end]), 40.0).p_value == pytest.approx(0.05, rel=0.05)


@pytest.mark.parametrize("curve", [Curvature.EXPONENTIAL, Curvature.UNSIGNED])
def test_rates_and_residuals_bend_too(curve):
    reading, _ = exact(*CASES["rare labels"])
    about = replace(LOGISTIC, curvature=curve, steepness=2.0 if curve is Curvature.UNSIGNED else 1.0, at_point=False)
    tangent = expanded(replace(reading, expansion=about))
    assert np.trace(tangent.remainder) > 0
    found, odds = (np.linalg.solve(one.matrix, one.vector) for one in (tangent, expanded(reading)))
    if curve is Curvature.UNSIGNED:  # nothing is known of the direction
        np.testing.assert_allclose(found, np.linalg.solve(reading.matrix, reading.vector), rtol=1e-9)
        np.testing.assert_allclose(tangent.sampling, reading.sampling + tangent.remainder, rtol=1e-9)
    else:  # exp(s) of each row, which labels of 1 % nearly have as well
        np.testing.assert_allclose(found, odds, atol=0.05)


def test_without_a_constant_and_beside_a_direction_of_no_row_there_is_a_remainder():
    reading, _ = exact(*CASES["steep"])
    keep = np.array([0, 1])
    small = replace(reading._cut(keep), expansion=replace(LOGISTIC, constant=False))
    assert np.all(np.isfinite(expanded(small).remainder))
    matrix = reading.matrix * np.outer([0.0, 1.0, 1.0], [0.0, 1.0, 1.0])
    null = replace(reading, matrix=matrix, sampling=matrix)
    assert np.all(np.isfinite(expanded(null).remainder))
