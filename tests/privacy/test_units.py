"""Sensitivities of persons with several rows, and of rows that count less than whole (unit.md)."""

import math

import numpy as np
import pytest

from dplr.bounds.scaling import ball_prep
from dplr.mechanisms import ObjectivePerturbation
from dplr.mechanisms.functional.moments import (
    blocks,
    joint_l2_sensitivity,
    joint_sensitivity,
    square_l2_weight,
    square_weight,
)
from dplr.mechanisms.perturbation.noise import largest_noise_eps, logistic_loss, ranked
from dplr.privacy import sensitivity
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.unit import ROW, Unit
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows, RowWeights
from dplr.rows.exact import Moments
from unit_search import norm_of, shares, weights_of, worst_person_score, worst_persons, worst_ratio

PERSON = Unit("id")
WIDTH = math.sqrt(0.5)
# (case, geometry, by how much the L2 sensitivity may exceed the search: a one-hot block fills a part of the ball).
GEOMETRIES = [
    ("ball", Geometry(2), 1.05),
    ("ball, intercept", Geometry(3, intercept=0.5), 1.05),
    ("cube", Geometry(2, half_width=WIDTH), 1.07),
    ("cube, intercept", Geometry(2, half_width=WIDTH, intercept=0.5), 1.05),
    ("one-hot", Geometry(4, half_width=WIDTH, blocks=((1, 3),), intercept=0.5), 1.1),
    ("one-hot without intercept", Geometry(5, half_width=WIDTH, blocks=((0, 2), (2, 3))), 1.05),
    ("mark", Geometry(3, half_width=WIDTH, marked=(1,), intercept=0.5), 1.05),
    ("shared", Geometry(4, half_width=WIDTH, shared=((1, 3),), intercept=0.5), 1.05),
    ("shared without intercept", Geometry(4, half_width=WIDTH, shared=((0, 2),), blocks=((2, 2),)), 1.05),
    ("hats", Geometry(4, half_width=WIDTH, hats=((1, 3, 3),), intercept=0.5), 1.05),
    ("hats without intercept", Geometry(5, half_width=WIDTH, hats=((0, 3, 3),), blocks=((3, 2),)), 1.05),
]
PRIVATE = [("replace_one", True), ("replace_one", False), ("add_remove", False)]


@pytest.mark.grid(4)
@pytest.mark.parametrize(("relation", "whole"), PRIVATE)
@pytest.mark.parametrize(("geometry", "slack"), [case[1:] for case in GEOMETRIES], ids=[case[0] for case in GEOMETRIES])
def test_search_over_persons_never_exceeds_the_sensitivity_of_the_computed_integers_and_reaches_it(
    geometry, slack, relation, whole
):
    """Whole persons have weights that add up to 1, and no count cell under replace-one."""
    counted = relation == "add_remove" or not whole
    for weight in (0.25, 1.0, 4.0):
        proved = {
            1: joint_sensitivity(geometry, Neighbouring(relation), weight, counted=counted),
            2: joint_l2_sensitivity(geometry, Neighbouring(relation), weight),
        }
        for order, most in ((1, 1.05), (2, slack)):
            found = worst_persons(geometry, relation, norm_of(geometry, counted, weight, order), whole)
            assert found <= proved[order] * (1 + 1e-12)
            assert proved[order] <= found * most


@pytest.mark.parametrize(("relation", "whole"), PRIVATE)
@pytest.mark.parametrize("geometry", [Geometry(2), Geometry(2, half_width=WIDTH, intercept=0.5)], ids=["ball", "cube"])
def test_search_over_persons_never_exceeds_moments_with_sum_y_squared(geometry, relation, whole):
    counted = relation == "add_remove" or not whole
    for weight in (0.25, 4.0):
        for order, of in ((1, square_weight), (2, square_l2_weight)):
            square, proved = of(geometry, Neighbouring(relation), weight, *([counted] if order == 1 else []))
            norm = norm_of(geometry, counted, weight, order, square)
            found = worst_persons(geometry, relation, norm, whole, numbers=True)
            assert found <= proved * (1 + 1e-12)
            assert proved <= found * 1.08


def test_a_unit_that_counts_less_moves_the_moments_further_than_two_whole_ones():
    """Where the count is private, replace-one costs what add-remove does if that is more: here with a large weight."""
    geometry, weight = Geometry(1, half_width=1.0, intercept=1.0), 16.0
    replaced, added = (joint_sensitivity(geometry, relation, weight) for relation in Neighbouring)
    found = worst_persons(geometry, "replace_one", norm_of(geometry, True, weight, 1), False)
    assert replaced * 1.05 < found
    assert found <= joint_sensitivity(geometry, Neighbouring.REPLACE_ONE, weight, counted=True) == added


@pytest.mark.parametrize("geometry", [Geometry(1), Geometry(3, intercept=0.5), Geometry(1, intercept=8.0)], ids=str)
def test_in_l2_a_replaced_unit_costs_more_than_one_that_is_added(geometry):
    for weight in 2.0 ** np.arange(-6, 7):
        for of in (joint_l2_sensitivity, lambda *facts: square_l2_weight(*facts)[1]):
            assert of(geometry, Neighbouring.ADD_REMOVE, weight) <= of(geometry, Neighbouring.REPLACE_ONE, weight)


@pytest.mark.parametrize("geometry", [Geometry(1, half_width=1.0, intercept=1.0), Geometry(2)], ids=str)
def test_sums_by_class_cost_what_two_persons_of_different_classes_move(geometry):
    for weight in (0.25, 16.0):
        both = joint_sensitivity(geometry, Neighbouring.REPLACE_ONE, weight, True, True)
        assert both == max(
            joint_sensitivity(geometry, Neighbouring.REPLACE_ONE, weight, True),
            joint_sensitivity(geometry, Neighbouring.ADD_REMOVE, weight, True),
        )


@pytest.mark.parametrize("whole", [True, False])
def test_shares_are_the_integers_that_the_kernel_sums(whole):
    rng, prep = np.random.default_rng(0), ball_prep(3, True, None)
    rows, targets, weights = rng.normal(size=(40, 3, 3)), rng.uniform(-1, 1, (40, 3)), weights_of(rng, 40, 3, whole)
    rows = np.trunc(rows / np.linalg.norm(rows, axis=2, keepdims=True) * 2**19) / 2**20
    targets = np.trunc(targets * 2**20) / 2**20
    total = shares(rows, targets, weights, prep.geometry).sum(axis=0)
    persons = RowWeights(weights.ravel(), np.repeat(np.arange(40), 3), 40)
    summed = ArrayRows(rows.reshape(-1, 3), targets.ravel(), prep, weights=persons).total(Moments(3, True))
    for name, cells in blocks(prep.geometry, True).items():
        assert (summed.integers(-40, cells) == np.rint(total[cells] * 2**40)).all(), name


# eps', of eps and kappa, for a Hessian of any rank: the closed forms of the bound by the trace, replace-one first.
BY_TRACE = [
    (2, 1.0, 2.0, 0.6491), (2, 1.0, 1.0, 0.9282), (2, 1.0, 0.5, 1.0), (2, 0.5, 1.0, 0.3246), (2, 0.5, 0.5, 0.4641),
    (1, 1.0, 2.0, 0.8284), (1, 1.0, 1.0, 1.0), (1, 0.5, 1.0, 0.4142),
]  # fmt: skip


@pytest.mark.parametrize(("signs", "eps", "kappa", "noise_eps"), BY_TRACE)
def test_noise_of_persons_lies_between_that_of_rows_and_the_bound_by_the_trace(signs, eps, kappa, noise_eps):
    def of(rank):
        loss = ranked(lambda e, k: logistic_loss(e, k, signs), rank)
        return largest_noise_eps(lambda e: loss(e, kappa), eps)

    found = [of(rank) for rank in (1, 2, 5, 50, 10**6)]
    assert found[-1] == pytest.approx(noise_eps, abs=6e-5)
    assert found == sorted(found, reverse=True)
    assert found[0] == largest_noise_eps(lambda e: logistic_loss(e, kappa, signs), eps)


def test_noise_of_persons_with_three_coefficients_has_these_values():
    loss = ranked(lambda e, k: logistic_loss(e, k, 2), 3)
    for eps, kappa, noise_eps in ((1.0, 2.0, 0.6934), (1.0, 1.0, 0.9350), (0.5, 1.0, 0.3363), (0.5, 0.5, 0.4659)):
        assert largest_noise_eps(lambda e, k=kappa: loss(e, k), eps) == pytest.approx(noise_eps, abs=6e-5)


# By hand for rank 2: 1 - p = 1/2 is best for e = 0, so 2 log(1 + kappa/8); and e = 0.7, kappa = 3 by a fine grid.
def test_the_loss_of_rank_two_is_the_largest_of_its_bracket():
    p = np.linspace(0, 1, 1_000_001)
    for signs in (1, 2):
        loss = ranked(lambda e, k, signs=signs: logistic_loss(e, k, signs), 2)
        assert loss(0.0, 3.0) == pytest.approx(2 * math.log1p(3 / 8))
        bracket = (signs - 1) * 0.7 / signs + 0.7 / signs * p + 2 * np.log1p(1.5 * p * (1 - p))
        assert loss(0.7, 3.0) == pytest.approx(bracket.max(), rel=1e-9)


def sigmoid(z):
    return 1 / (1 + np.exp(np.clip(z, -700, 700)))


LOSSES = {
    "logistic": (LOGISTIC, None, (lambda z: -sigmoid(z), lambda z: sigmoid(z) * (1 - sigmoid(z)))),
    "soft Huber": (
        SQUARED,
        0.5,
        (lambda z: -np.sign(1 - z) * 0.5 * -np.expm1(-np.abs(1 - z) / 0.5), lambda z: np.exp(-np.abs(1 - z) / 0.5)),
    ),
}


def ratio(name, geometry, relation, eps, ridge, unit):
    """The largest log density ratio of persons that a search found for the noise of a plan."""
    loss, cut, twin = LOSSES[name]
    problem = Problem(loss, geometry, Neighbouring(relation), 100, ridge / 100, (), unit=unit)
    plan = ObjectivePerturbation(cut=cut).plan(problem, eps, 0.0)
    scale, q = plan.statement.released["coef"].scale, geometry.n_coefs
    return worst_ratio(q, relation, ridge, scale, *twin, m=q, half_width=geometry.half_width)


SQUARE, BALL = Geometry(2, half_width=WIDTH), Geometry(3)


@pytest.mark.grid(3)
@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("geometry", [SQUARE, BALL], ids=["gauge", "ball"])
@pytest.mark.parametrize(
    ("name", "eps", "ridge", "reached"),
    [("logistic", 1.0, 0.6, 0.9), ("logistic", 4.0, 0.05, 0.75), ("logistic", 4.0, 1.0, 0.95),
     ("soft Huber", 1.0, 3.0, 0.9), ("soft Huber", 4.0, 0.3, 0.8)],
)  # fmt: skip
def test_no_density_ratio_of_persons_exceeds_the_eps_of_a_plan(name, eps, ridge, reached, geometry, relation):
    assert reached * eps <= ratio(name, geometry, relation, eps, ridge, PERSON) <= eps


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize(("name", "ridge"), [("logistic", 0.05), ("soft Huber", 0.1)])
def test_persons_exceed_the_eps_of_a_plan_whose_determinant_is_that_of_one_row(name, ridge, relation):
    """Three rows at right angles: the search sees a plan for single rows."""
    assert ratio(name, BALL, relation, 4.0, ridge, ROW) > 4.0 * 1.02


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("kappa", [0.0, 1.0, 3.33, 4.7])
def test_search_over_persons_never_exceeds_the_sensitivity_of_a_score_and_reaches_it(kappa, relation):
    of = sensitivity.score_replace_one if relation is Neighbouring.REPLACE_ONE else sensitivity.score_add_remove
    found = worst_person_score(2, relation, kappa)
    assert found <= of(1.0, kappa) * (1 + 1e-9)
    assert of(1.0, kappa) <= found * 1.05


def test_the_rank_of_a_person_is_the_number_of_coefficients():
    assert (ROW.rank(7), Unit(weight_max=2.0).rank(7), PERSON.rank(7)) == (1, 1, 7)
