"""Sensitivities of scores of numbers against a search over records, and their test vectors."""

import math

import numpy as np
import pytest

from dplr.mechanisms import ScoreRelease
from dplr.mechanisms.score.noise import RATE_WEIGHT, round_anywhere
from dplr.mechanisms.score.spec import smooth
from dplr.privacy import sensitivity
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import Geometry
from dplr.problem.losses import huber_residual, poisson
from dplr.problem.problem import Problem

COUNT = 40_000


def records(rng, norm, pairs):
    """Rows of up to this norm, many of them at it and some of them alike, and their pairs (slope, curvature)."""
    rows = rng.normal(size=(2, COUNT, 3))
    rows[1, ::2] = rows[0, ::2] * rng.choice([-1.0, 1.0], (COUNT // 2, 1)) + 0.05 * rng.normal(size=(COUNT // 2, 3))
    rows *= norm * rng.choice([1.0, 0.8], (2, COUNT, 1)) / np.linalg.norm(rows, axis=2, keepdims=True)
    return rows, np.array(pairs)[rng.integers(0, len(pairs), (2, COUNT))]


def largest_change(rows, pairs, weight, relation):
    """Of (sum u v, weight * sum h v v') in L2."""
    scores = pairs[..., :1] * rows
    matrices = pairs[..., 1, None, None] * rows[..., :, None] * rows[..., None, :]
    if relation is Neighbouring.REPLACE_ONE:
        scores, matrices = scores[0] - scores[1], matrices[0] - matrices[1]
    else:
        scores, matrices = scores[0], matrices[0]
    return float(np.sqrt((scores**2).sum(axis=-1) + weight**2 * (matrices**2).sum(axis=(-2, -1))).max())


def huber_pairs(largest):
    t = np.linspace(0, 1, 41)
    return [(sign * largest * s, 1 - s) for s in t for sign in (-1, 1)]


def rate_pairs(least, most):
    return [(h - y, h) for h in np.linspace(0, most, 4) for y in np.linspace(least, most, 4)]


def huber(norm, weight, relation, largest=0.4):
    replaced = relation is Neighbouring.REPLACE_ONE
    stated = sensitivity.huber_score_replace_one if replaced else sensitivity.huber_score_add_remove
    return stated(norm, weight, largest), huber_pairs(largest)


def rates(norm, weight, relation, least=0.25, most=2.25):
    replaced = relation is Neighbouring.REPLACE_ONE
    stated = sensitivity.rate_score_replace_one if replaced else sensitivity.rate_score_add_remove
    return stated(norm, weight, least, most), rate_pairs(least, most)


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("norm", [1.0, 1.118])
@pytest.mark.parametrize("weight", [0.0, 0.3, 0.6, 2.0])
@pytest.mark.parametrize("of", [huber, rates])
def test_a_search_never_exceeds_the_sensitivity_and_reaches_most_of_it(of, norm, weight, relation):
    bound, pairs = of(norm, weight, relation)
    found = largest_change(*records(np.random.default_rng(0), norm, pairs), weight, relation)
    assert found <= bound * (1 + 1e-9)
    # Under replace-one opposite rows have long scores and no change of the Hessian: the two are bounded one by one.
    assert found >= bound * (0.99 if relation is Neighbouring.ADD_REMOVE or weight < 0.4 else 0.75)


def test_the_hessian_of_a_huber_loss_is_free_up_to_its_weight_and_not_beyond():
    assert sensitivity.huber_score_add_remove(1.0, 0.4, 0.4) == 0.4
    assert sensitivity.huber_score_add_remove(1.0, 0.41, 0.4) > 0.4
    assert sensitivity.huber_score_replace_one(1.0, 0.4 * math.sqrt(2), 0.4) == pytest.approx(0.8, rel=1e-15)
    assert sensitivity.huber_score_replace_one(1.0, 0.41 * math.sqrt(2), 0.4) > 0.8


@pytest.mark.parametrize("relation", list(Neighbouring))
def test_squares_of_scores_are_charged_for_the_largest_slope_over_its_power_of_two(relation):
    """Huber, C = .3 and L = 1/2: (3/5)^2 of what rows would be charged for."""
    geometry = Geometry(3, intercept=0.5)
    plan = ScoreRelease().plan(Problem(huber_residual(0.3), geometry, relation, 1000, None, ()), 1.0, 1e-6)
    rows = math.sqrt(2) if relation is Neighbouring.REPLACE_ONE else 1.0
    block = plan.released["meat_diagonal"]
    assert block.sensitivity == pytest.approx(0.36 * rows * geometry.row_norm**2, rel=1e-4)
    assert block.sensitivity >= 0.36 * rows * geometry.row_norm**2


def test_vectors_of_score_md():
    assert sensitivity.rate_score_add_remove(1.0, 0.5, 0.0, 2.0) == pytest.approx(math.sqrt(5))
    assert sensitivity.rate_score_replace_one(1.0, 0.5, 0.0, 2.0) == pytest.approx(math.sqrt(18))
    geometry = Geometry(3, intercept=0.5)
    for relation, huber_moved, rate_moved in (("add_remove", 0.3, math.sqrt(5)), ("replace_one", 0.6, math.sqrt(18))):
        problem = smooth(Problem(huber_residual(0.3), geometry, Neighbouring(relation), 1000, None, ()))
        weight, moved = round_anywhere(geometry, problem.loss, Neighbouring(relation))
        free = 0.3 * (math.sqrt(2) if relation == "replace_one" else 1.0)
        assert (weight, moved) == pytest.approx((free / geometry.row_norm, huber_moved * geometry.row_norm), rel=1e-9)
        weight, moved = round_anywhere(geometry, poisson(0, 8), Neighbouring(relation))
        assert (weight, moved) == pytest.approx(
            (RATE_WEIGHT / geometry.row_norm, rate_moved * geometry.row_norm), rel=1e-9
        )
