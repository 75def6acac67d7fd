"""What mechanisms plan and release where a unit is a person, or rows count less than whole."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import fits as fitting
from dplr.bounds.scaling import ball_prep, box_prep
from dplr.fitting.ranges import clippable, missing
from dplr.ledger.budget import NullLedger
from dplr.mechanisms import (
    FunctionalMechanism,
    NoisyGradientDescent,
    NoPrivacy,
    ObjectivePerturbation,
    OutputPerturbation,
    ScoreRelease,
)
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.unit import ROW, Unit
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows, RowWeights

PERSON, SEVERAL = Unit("id"), Unit("id", rows_per_person=3)
WEIGHTED, CLASSES = Unit(weight_max=4.0), Unit(class_weights=(("0", 1.0), ("1", 3.0)))
UNITS = [PERSON, SEVERAL, WEIGHTED, CLASSES]
REPLACE, ADD = Neighbouring.REPLACE_ONE, Neighbouring.ADD_REMOVE
BOUNDS = [(-1.0, 1.0)] * 2


def problem_of(unit, relation=REPLACE, loss=LOGISTIC, **facts):
    labels = (0.0, 1.0) if loss is LOGISTIC else None
    return Problem(loss, box_prep(BOUNDS, True, labels).geometry, relation, 1000, facts.pop("l2", None), (),
                   unit=unit, **facts)  # fmt: skip


@pytest.mark.parametrize("unit", [ROW, *UNITS], ids=str)
@pytest.mark.parametrize(
    ("mechanism", "eps", "delta"),
    [(FunctionalMechanism(), 1.0, 0.0), (FunctionalMechanism(), 1.0, 1e-6), (OutputPerturbation(), 1.0, 0.0),
     (ObjectivePerturbation(), 1.0, 0.0), (NoisyGradientDescent(), 1.0, 1e-6), (ScoreRelease(), 1.0, 1e-6),
     (NoPrivacy(), math.inf, 0.0)],
    ids=lambda value: getattr(getattr(value, "about", None), "name", None),
)  # fmt: skip
def test_statements_say_whom_they_protect(mechanism, eps, delta, unit):
    assert mechanism.plan(problem_of(unit), eps, delta).statement.unit == unit


@pytest.mark.parametrize(("unit", "relation"), list(itertools.product([ROW, *UNITS], Neighbouring)), ids=str)
def test_the_count_is_released_unless_it_is_public(unit, relation):
    released = FunctionalMechanism().plan(problem_of(unit, relation), 1.0, 0.0).statement.released
    public = relation is REPLACE and unit in (ROW, PERSON)
    assert released["diagonal"].shape == (2 if public else 3,)


def test_without_noise_moments_are_those_of_the_weighted_rows():
    rng, prep = np.random.default_rng(0), box_prep(BOUNDS, True, (0.0, 1.0))
    X, y, persons = rng.uniform(-1, 1, (60, 2)), rng.integers(0, 2, 60).astype(float), np.repeat(np.arange(20), 3)
    for unit, weights in ((PERSON, np.full(60, 1 / 3)), (WEIGHTED, rng.random(60))):
        ids = persons if unit is PERSON else None
        weights = np.floor(weights * 2**30) / 2**30
        rows = ArrayRows(X, y, prep, weights=RowWeights(weights, ids, 20 if unit is PERSON else 60))
        problem = replace(problem_of(unit), n_rows=rows.units)
        fit = fitting.run(rows, problem, FunctionalMechanism(), math.inf, 0.0, NullLedger(), Source())
        v = np.column_stack([X / math.sqrt(2), np.full(60, 0.5)])
        matrix, vector = v.T @ (weights[:, None] * v), v.T @ (weights * (2 * y - 1))
        assert fit.released["linear"] == pytest.approx(vector, abs=1e-3)
        diagonal = np.diag(matrix) if unit is WEIGHTED else np.diag(matrix)[:2]
        assert fit.released["diagonal"] == pytest.approx(diagonal, abs=1e-3)


def test_noise_of_whole_persons_is_that_of_rows_and_of_counts_that_are_private_at_least_as_much():
    for delta in (0.0, 1e-6):
        scales = {
            unit: FunctionalMechanism().plan(problem_of(unit), 1.0, delta).statement.released["linear"].scale
            for unit in (ROW, PERSON, SEVERAL, WEIGHTED)
        }
        assert scales[ROW] == scales[PERSON] <= scales[SEVERAL] == scales[WEIGHTED]


def test_a_private_count_is_charged_where_it_moves_more_than_a_replaced_row():
    spec = FunctionalMechanism(coef_norm=1e3)
    moved = {unit: spec.plan(problem_of(unit), 1.0, 0.0).statement.sensitivity for unit in (ROW, PERSON, SEVERAL)}
    assert moved[ROW] == moved[PERSON]
    assert moved[PERSON] * 1.01 < moved[SEVERAL]


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_output_perturbation_has_the_noise_of_rows(unit):
    plan = OutputPerturbation().plan(problem_of(unit, l2=0.1), 1.0, 0.0)
    assert (
        plan.statement.noise_scale == OutputPerturbation().plan(problem_of(ROW, l2=0.1), 1.0, 0.0).statement.noise_scale
    )


def test_objective_perturbation_charges_the_determinant_of_a_person():
    of = {
        unit: ObjectivePerturbation(cut=None).plan(problem_of(unit, l2=0.001), 1.0, 0.0)
        for unit in (ROW, PERSON, WEIGHTED)
    }
    scales = {unit: plan.statement.noise_scale for unit, plan in of.items()}
    assert scales[ROW] == scales[WEIGHTED] < scales[PERSON]
    assert "persons, whose Hessians have ranks up to 3" in of[PERSON].statement.calibration


def test_a_ridge_too_small_for_persons_says_the_least_that_would_do():
    spec, facts = ObjectivePerturbation(cut=0.5), {"loss": SQUARED}
    with pytest.raises(ValueError, match=r"`l2` must be above .* for this eps") as refused:
        spec.plan(problem_of(PERSON, l2=0.0005, **facts), 1.0, 0.0)
    least = float(str(refused.value).split("above ")[1].split(" ")[0])
    spec.plan(problem_of(PERSON, l2=least * 1.02, **facts), 1.0, 0.0)
    with pytest.raises(ValueError, match="must be above"):
        spec.plan(problem_of(PERSON, l2=least * 0.98, **facts), 1.0, 0.0)


def test_noise_in_the_objective_of_persons_is_pure():
    plan = ObjectivePerturbation().plan(problem_of(PERSON), 1.0, 1e-6)
    assert plan.statement == ObjectivePerturbation().plan(problem_of(PERSON), 1.0, 0.0).statement
    assert ObjectivePerturbation().plan(problem_of(WEIGHTED), 1.0, 1e-6).statement.delta == 1e-6


@pytest.mark.parametrize(
    ("mechanism", "unit", "delta", "words"),
    [
        (ObjectivePerturbation(noise="gaussian"), PERSON, 1e-6, '`noise` must be "smaller" with persons'),
        (ObjectivePerturbation(calibration="cm08"), PERSON, 0.0, '`calibration` must be "tight" with persons'),
        (ObjectivePerturbation(calibration="cms11"), SEVERAL, 0.0, '`calibration` must be "tight" with persons'),
        (ObjectivePerturbation(intervals="on"), PERSON, 0.0, '`intervals` must be "off" with persons'),
        (NoisyGradientDescent(standardise="on"), SEVERAL, 1e-6, "`standardise` must be 'auto' or 'off' where the sum"),
        (NoisyGradientDescent(batch=2000), PERSON, 1e-6, "`batch` must be at most the number of persons"),
    ],
)
def test_what_no_theorem_covers_is_refused_with_the_reason(mechanism, unit, delta, words):
    with pytest.raises(ValueError, match=words):
        mechanism.plan(problem_of(unit), 1.0, delta)
    if delta == 0:
        with pytest.raises(ValueError, match=words):
            mechanism.check(problem_of(unit))


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_intervals_of_whole_rows_are_not_given_for_other_rows(unit):
    moments = FunctionalMechanism()
    said = moments.lacks_intervals(moments.plan(problem_of(unit, loss=SQUARED), 1.0, 1e-6))
    assert ("one person" if unit.person else "count differently") in said
    squares = ScoreRelease().plan(problem_of(unit), 1.0, 1e-6).released["meat_diagonal"]
    assert squares.sensitivity == pytest.approx(math.sqrt(2) * problem_of(unit).geometry.row_norm ** 2, rel=1e-4)
    assert "meat_diagonal" not in ScoreRelease().plan(problem_of(ROW), 1.0, 1e-6).released
    assert "target_square" not in FunctionalMechanism().plan(problem_of(unit, loss=SQUARED), 1.0, 0.0).released
    if unit.person is None:
        robust = FunctionalMechanism(intervals="robust")
        assert robust.lacks_intervals(robust.plan(problem_of(unit, loss=SQUARED), 1.0, 1e-6)) == ""


def test_rows_are_standardised_where_the_sum_of_the_weights_is_public():
    for unit in (ROW, *UNITS):
        plan = NoisyGradientDescent().plan(problem_of(unit), 1.0, 1e-6)
        assert plan.settings.standardised is (unit in (ROW, PERSON))


def test_a_cap_of_weights_is_taken_for_twice_their_mean_and_a_ridge_stays_that_of_units():
    problem = problem_of(WEIGHTED, l2=0.1)
    assert (problem.reference_total, problem_of(PERSON).reference_total) == (500.0, 1000.0)
    assert replace(problem, n_rows=None).reference_total is None
    descent = NoisyGradientDescent().plan(problem, 1.0, 1e-6).settings
    assert descent.rows * descent.l2 == pytest.approx(0.1 * 1000)
    assert descent.rows == 500
    for mechanism in (OutputPerturbation(), ObjectivePerturbation()):
        assert mechanism.plan(problem, 1.0, 0.0).settings.ridge == 100.0


def test_ranges_need_a_public_sum_of_the_weights():
    prep = box_prep(BOUNDS, True, None)
    for unit in (ROW, *UNITS):
        problem, public = problem_of(unit, loss=SQUARED), unit in (ROW, PERSON)
        assert (missing(problem, prep) is None) is public
        assert clippable("auto", problem, prep) == ((0, 1) if public else ())


def test_units_are_counted_where_a_reference_bounds_their_number():
    """Seventeen persons with one reference are too many, and sixteen with a hundred rows each are not."""
    prep, problem = ball_prep(1, False, (0.0, 1.0)), replace(problem_of(PERSON, ADD), n_rows=1)
    for count in (16, 17):
        ids = np.repeat(np.arange(count), 100)
        weights = RowWeights(np.full(len(ids), math.floor(2**30 / 100) / 2**30), ids, count)
        rows = ArrayRows(np.zeros((len(ids), 1)), np.zeros(len(ids)), prep, weights=weights)
        if count == 16:
            OutputPerturbation().check_rows(rows, problem)
        else:
            with pytest.raises(ValueError, match="`n_rows` must be at least a 16th of the number of persons"):
                OutputPerturbation().check_rows(rows, problem)
