"""What one person adds to the sums that kernels make: clipped gradients, columns, scores and squared residuals."""

import math

import numpy as np
import pytest

from dplr.bounds.scaling import ball_prep, box_prep
from dplr.privacy import sensitivity
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.rows import ArrayRows, RowWeights
from dplr.rows.exact import ClippedGradient, ColumnMoments, Moments, on_coef_grid
from dplr.rows.scores_at import ScoreMoments, meat_moments

PERSONS, ROWS = 60, 4


def persons(rng, d, alike):
    """Rows, labels and weights (persons, rows, ...) at the rim; every second person has one row several times."""
    X = rng.normal(size=(PERSONS, ROWS, d))
    X = X / np.linalg.norm(X, axis=2, keepdims=True)
    y = rng.choice([-1.0, 1.0], (PERSONS, ROWS))
    weights = rng.dirichlet(np.ones(ROWS), PERSONS) * rng.choice([1.0, 0.3], (PERSONS, 1))
    weights[::2] = 1 / ROWS
    if alike:
        X[::2], y[::2] = X[::2, :1], y[::2, :1]
    return X, y, np.floor(weights * 2**30) / 2**30


def sums(query, point, prep, X, y, weights):
    """The sum over each person alone, of all cells of the query."""
    found = []
    for rows, labels, of_rows in zip(X, y, weights, strict=True):
        unit = RowWeights(of_rows, np.zeros(ROWS, np.int64), 1)
        total = ArrayRows(rows, labels, prep, weights=unit).total(query, point)
        found.append(np.asarray(total.integers(total.exponent), np.float64) * 2.0**total.exponent)
    return np.array(found)


def largest(shares):
    """The largest norm of a share, and of the difference of two."""
    apart = np.linalg.norm(shares[:, None] - shares[None, :], axis=2)
    return np.linalg.norm(shares, axis=1).max(), apart.max()


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=["logistic", "squared"])
@pytest.mark.parametrize("clip", [0.2, 0.9])
def test_clipped_gradients_of_a_person_are_at_most_as_long_as_the_clip_and_reach_it(loss, clip):
    rng, labels = np.random.default_rng(0), (-1.0, 1.0) if loss is LOGISTIC else None
    X, y, weights = persons(rng, 2, alike=True)
    query = ClippedGradient(loss, 2, False, clip)
    shares = sums(query, on_coef_grid(rng.normal(size=2) * 20), ball_prep(2, False, labels), X, y, weights)
    one, two = largest(shares)
    assert 0.99 * clip <= one <= clip
    assert 1.8 * clip <= two <= 2 * clip


def test_columns_of_whole_persons_move_by_at_most_their_sensitivity_and_reach_it():
    rng, prep = np.random.default_rng(1), box_prep([(-1.0, 1.0)] * 2, True, (-1.0, 1.0))
    X, y = rng.choice([-1.0, 1.0], (PERSONS, ROWS, 2)), np.ones((PERSONS, ROWS))
    X[::2] = X[::2, :1]
    weights, c = np.full((PERSONS, ROWS), 1 / ROWS), prep.geometry.half_width
    shares = sums(ColumnMoments(2, True), None, prep, X, y, weights) * [1.0, 1.0, 1 / c, 1 / c, c]
    assert (np.abs(shares[:, 4] - c) < c * 2.0**-18).all()  # a person counts as one record, whatever the rows are
    (one, _), (_, two) = largest(shares), largest(shares[:, :4])
    assert 0.99 * sensitivity.columns_add_remove(2, 0, c) <= one <= sensitivity.columns_add_remove(2, 0, c)
    assert 0.99 * sensitivity.columns_replace_one(2, [], c) <= two <= sensitivity.columns_replace_one(2, [], c)


@pytest.mark.parametrize("weight", [1.0, 3.3])
def test_scores_and_hessians_of_a_person_move_by_at_most_their_sensitivity(weight):
    rng, prep = np.random.default_rng(2), ball_prep(2, False, (-1.0, 1.0))
    X, y, weights = persons(rng, 2, alike=True)
    query, cells = ScoreMoments(LOGISTIC, 2, False, prep.geometry.row_norm), np.triu(np.ones((3, 3), bool))
    factors = np.full((3, 3), weight * math.sqrt(2))
    np.fill_diagonal(factors, weight)
    factors[:2, 2] = 1.0
    found = []
    for scale in (1.0, 5.0, 60.0):
        point = on_coef_grid(rng.normal(size=2) * scale)
        shares = sums(query, point, prep, X, y, weights).reshape(PERSONS, 3, 3) * factors
        shares[:, 2, 2] = 0.0
        found.append(largest(shares[:, cells]))
    one, two = np.max(found, axis=0)
    assert 0.95 * sensitivity.score_add_remove(1.0, weight) <= one <= sensitivity.score_add_remove(1.0, weight)
    assert 0.7 * sensitivity.score_replace_one(1.0, weight) <= two <= sensitivity.score_replace_one(1.0, weight)


def test_a_score_of_persons_is_that_of_their_weighted_rows():
    rng, prep = np.random.default_rng(3), ball_prep(2, True, (-1.0, 1.0))
    X, y, weights = persons(rng, 2, alike=False)
    point = on_coef_grid(rng.normal(size=3))
    v = np.concatenate([X, np.full((PERSONS, ROWS, 1), 0.5)], axis=2)
    p = 1 / (1 + np.exp(y * (v @ point)))
    hessian = np.einsum("pm,pmi,pmj->pij", weights * p * (1 - p), v, v)
    score = np.einsum("pm,pmi->pi", weights * p * y, v)
    found = sums(ScoreMoments(LOGISTIC, 2, True, prep.geometry.row_norm), point, prep, X, y, weights)
    found = found.reshape(PERSONS, 4, 4)
    assert np.triu(found[:, :3, :3]) == pytest.approx(np.triu(hessian), abs=2e-5)
    assert found[:, :3, 3] == pytest.approx(score, abs=2e-5)


def test_squared_residuals_of_weighted_rows_move_by_at_most_their_sensitivity():
    """Rows of a unit of their own: a row of weight a has a u for its residual u."""
    rng, prep = np.random.default_rng(4), ball_prep(2, False, None)
    X, y, weights = persons(rng, 2, alike=False)
    weights[:, 1:] = 0.0
    query = meat_moments(2, False, prep.geometry.row_norm)
    shares = sums(query, on_coef_grid(np.zeros(2)), prep, X, y, weights).reshape(PERSONS, 3, 3)[:, :2, :2]
    expected = weights[:, 0, None, None] ** 2 * X[:, 0, :, None] * X[:, 0, None, :]
    assert np.triu(shares) == pytest.approx(np.triu(expected), abs=1e-5)
    full = np.triu(shares) + np.triu(shares, 1).transpose(0, 2, 1)
    _, two = largest(full.reshape(PERSONS, 4))
    assert two <= sensitivity.meat_replace_one(1.0)


@pytest.mark.parametrize("weight", [0.0, 2.0**-30, 1.0, *np.random.default_rng(5).random(20)])
def test_the_constant_and_the_label_of_a_weighted_row_are_what_they_are(weight):
    """Lemma 2: the cells of a row of weight a are those of a row of the same domain, times one number of at most a."""
    prep = box_prep([(-1.0, 1.0)], True, (-1.0, 1.0))
    rows = ArrayRows(np.array([[0.7]]), np.array([1.0]), prep, weights=RowWeights(np.array([weight]), None, 1))
    cells = np.array([0, 1, 1, 2]), np.array([1, 1, 2, 2])
    x, one, label, square = rows.total(Moments(1, True)).integers(-40, cells).tolist()
    assert label == 2 * one
    assert square == 2 * label
    assert one <= weight * 2**38
    assert (one == 0) == (weight == 0)
    assert abs(x) <= 2 * one
