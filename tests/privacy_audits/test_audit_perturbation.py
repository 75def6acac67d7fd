"""Audits of output and objective perturbation: sound on the package, red on copies in which one line was broken.

With 400,000 fits of each data set (200,000 of the first two named "objective") the script measured 0.70 for
"objective", 0.37 for "objective, one record", 0.76 for "output", 2.83 for "cm08, one record" (which claims 1 in print,
and states 4.0) and 0.25 for "cms11, one record". Tests take fewer fits and have lower floors. "objective" was measured
among 20,000 shared records. Among the 4,000 of today, which take a fifth of the time, and with the tests' runs two
pairs of seeds show 0.57 and 0.59 for "objective gaussian", 0.65 and 0.69 for "soft logistic", 0.64 and 0.67 for
"soft Huber".
"""

import math

import numpy as np
import pytest

import dplr
from dplr.auditor import search
from dplr.auditor.density import Logistic
from dplr.mechanisms import ObjectivePerturbation, OutputPerturbation
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC, SQUARED, huber_svm
from dplr.problem.problem import Problem
from hockey_sticks import hockey_stick
from margin_losses import HuberSVM, SoftHuber, SoftLogistic
from patched_copy import measure_on_a_patched_copy
from perturbation_audit import CASES, measure

# Lower bounds that a sound package reaches: less would be too much noise, or a blind audit. With so many fits the bound
# is above its floor for every seed tried (with 40,000 of "objective, one record" it lies between 0.12 and 0.30).
FLOORS = {
    "output": (80_000, 0.60),
    "output gaussian": (40_000, 0.55),
    "objective": (20_000, 0.50),
    "objective gaussian": (60_000, 0.50),
    "objective, one record": (120_000, 0.20),
    "objective, one record, small ridge": (80_000, 0.35),
    "cms11, one record": (40_000, 0.10),
    "soft logistic": (20_000, 0.30),
    "soft Huber": (20_000, 0.30),
    "own loss": (20_000, 0.30),
    "own loss, output": (20_000, 0.30),
    "gauge": (5_000, 0.40),
    "gauge, a ridge each": (5_000, 0.40),
    "gauge, a mark": (5_000, 0.40),
    "gauge, a mark, a ridge each": (5_000, 0.40),
    "gauge, a curve, a ridge each": (5_000, 0.30),
}


@pytest.mark.parametrize("name", FLOORS)
def test_neighbours_are_told_apart_by_at_most_eps_and_by_enough_for_the_audit_to_have_power(name):
    runs, floor = FLOORS[name]
    assert floor <= measure(CASES[name], runs) <= CASES[name].eps


def test_the_printed_algorithm_shows_more_than_it_claims_and_no_more_than_its_statement_says():
    case = CASES["cm08, one record"]
    stated = case.spec.plan(case.problem, case.eps, 0.0).statement.eps
    assert 2.2 < measure(case, 20_000) <= stated < 4.1


OUTPUT, OBJECTIVE, NOISE = "mechanisms/perturbation/output.py", "mechanisms/perturbation/objective.py", "noise/ideal.py"
LINEAR_TERM = "mechanisms/perturbation/noise.py"
KNOTS = "problem/knots.py"
NOISE_EPS = "tight = largest_noise_eps(cost, eps * (1 - _LACKING))"
SENSITIVITY, GEOMETRY, NATIVE = "privacy/sensitivity.py", "problem/geometry.py", "rows/tables/encoder.py"
# As few fits as leave the bound a tenth above eps; a ridge each needs more for less.
BROKEN = [
    ("output", 6_000, SENSITIVITY, "return (gradient(records, lipschitz", "return (0.5 * gradient(records, lipschitz"),
    ("output", 6_000, NOISE, "_sum(reals.exponentials[:size]), reals", "_sum(reals.exponentials[:1]), reals"),
    ("output gaussian", 6_000, OUTPUT, "Law.GAUSSIAN, guarantee.mu", "Law.GAUSSIAN, 2 * guarantee.mu"),
    ("objective", 6_000, SENSITIVITY, "return records * lipschitz * row_norm", "return lipschitz * row_norm"),
    ("objective gaussian", 6_000, LINEAR_TERM, "(ridge, Law.GAUSSIAN, sigma,", "(ridge, Law.GAUSSIAN, sigma / 2,"),
    ("objective, one record, tiny ridge", 6_000, LINEAR_TERM,
     NOISE_EPS, "tight = eps"),
    ("soft logistic", 6_000, LINEAR_TERM, "moved = sensitivity.gradient(records, loss.lipschitz,",
     "moved = sensitivity.gradient(records, loss.lipschitz ** 2,"),
    ("own loss", 20_000, KNOTS, "largest = float(np.abs(self.values).max())",
     "largest = float(np.abs(self.values).max()) / 2"),
    ("own loss, output", 6_000, KNOTS, "largest = float(np.abs(self.values).max())",
     "largest = float(np.abs(self.values).max()) / 2"),
    ("gauge", 5_000, GEOMETRY, "[units * weight / GRID for", "[units * weight / GRID / 2 for"),
    ("gauge", 5_000, SENSITIVITY, "return records * lipschitz\n", "return lipschitz\n"),
    ("gauge", 5_000, NOISE, "_sum(reals.exponentials[size + len(groups) :])", "_sum(reals.exponentials[-1:])"),
    ("gauge, a ridge each", 20_000, OBJECTIVE, "plan.problem.weighted(solved.weights).geometry\n        units",
     "plan.problem.geometry\n        units"),
    ("gauge, a mark", 5_000, SENSITIVITY, "return records * lipschitz\n", "return lipschitz\n"),
    # A number that stays beside its mark: half of the gauge too much.
    ("gauge, a mark, a ridge each", 20_000, NATIVE, "column.missing is None else column.filler",
     "column.missing is None else column.range[1]"),
    # Shares that add up to 2.
    ("gauge, a curve, a ridge each", 20_000, "bounds/scaling.py", "ends = {True: units, False: units - 1}",
     "ends = {True: units, False: 2 * units}"),
    ("gauge, tiny ridge", 6_000, LINEAR_TERM, NOISE_EPS,
     "tight = eps"),
    ("soft Huber", 6_000, SENSITIVITY, "return records * lipschitz * row_norm", "return lipschitz * row_norm"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "runs", "file", "line", "broken"), BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(name, runs, file, line, broken, tmp_path):
    (found,) = measure_on_a_patched_copy("perturbation_audit.py", [name], runs, file, line, broken, tmp_path)
    assert found > CASES[name].eps


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("iota", [0.0, 0.5])
@pytest.mark.parametrize("width", [None, 0.5])
@pytest.mark.parametrize(("eps", "ridge"), [(0.1, 60.0), (1.0, 0.6), (1.0, 4.0), (4.0, 0.05), (4.0, 1.0)])
def test_no_density_ratio_of_a_plan_exceeds_its_eps(eps, ridge, width, iota, relation):
    """The exact auditor searches neighbours for the ridge and the noise that a plan states."""
    loss, twin = (LOGISTIC, Logistic()) if width is None else (huber_svm(width), HuberSVM(width))
    if width:
        ridge *= 4
    problem = Problem(loss, Geometry(2, intercept=iota), relation, 100, ridge / 100, ())
    facts = {"loss": twin, "neighbouring": str(relation), "iota": iota, "pairs": 100_000}
    plan = ObjectivePerturbation(cut=None).plan(problem, eps, 0.0)
    found = search(2, ridge=plan.settings.ridge, scale=plan.statement.noise_scale, **facts)
    assert 0.9 * eps <= found.log_ratio <= eps
    plan = OutputPerturbation().plan(problem, eps, 0.0)
    # Each pair costs two minimisers. Of these plans 20,000 pairs find 0.999 eps or more, as 100,000 do.
    facts["pairs"] = 20_000
    found = search(2, ridge=ridge, scale=plan.statement.noise_scale, mechanism="output", **facts)
    assert 0.99 * eps <= found.log_ratio <= eps


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("iota", [0.0, 0.5])
@pytest.mark.parametrize(("loss", "twin", "cut"), [(LOGISTIC, SoftLogistic, 0.5), (LOGISTIC, SoftLogistic, 0.9),
                                                   (SQUARED, SoftHuber, 0.3), (SQUARED, SoftHuber, 2.0)])  # fmt: skip
@pytest.mark.parametrize(("eps", "ridge"), [(0.1, 60.0), (1.0, 1.2), (1.0, 4.0), (4.0, 0.4)])
def test_no_density_ratio_of_a_plan_with_a_cut_exceeds_its_eps(eps, ridge, loss, twin, cut, iota, relation):
    problem = Problem(loss, Geometry(2, intercept=iota), relation, 100, ridge / 100, ())
    plan = ObjectivePerturbation(cut=cut).plan(problem, eps, 0.0)
    facts = {"loss": twin(cut), "neighbouring": str(relation), "iota": iota, "pairs": 100_000}
    found = search(2, ridge=plan.settings.ridge, scale=plan.statement.noise_scale, **facts)
    assert 0.9 * eps <= found.log_ratio <= eps


@pytest.mark.parametrize(("loss", "twin"), [(LOGISTIC, SoftLogistic), (SQUARED, SoftHuber)])
def test_the_auditor_sees_a_plan_whose_curvature_was_not_charged(loss, twin):
    problem = Problem(loss, Geometry(2), Neighbouring.REPLACE_ONE, 100, 0.7 / 100, ())
    plan = ObjectivePerturbation(cut=0.5).plan(problem, 1.0, 0.0)
    uncharged = plan.statement.released["coef"].sensitivity / 1.0
    assert search(2, loss=twin(0.5), ridge=0.7, scale=uncharged, pairs=20_000).log_ratio > 1.01


@pytest.mark.parametrize("ridge", [0.05, 0.2, 1.0])
def test_the_printed_algorithm_exceeds_its_eps_and_keeps_to_its_statement(ridge):
    problem = Problem(LOGISTIC, Geometry(2), Neighbouring.REPLACE_ONE, 100, ridge / 100, ())
    plan = ObjectivePerturbation(calibration="cm08").plan(problem, 1.0, 0.0)
    found = search(2, loss=Logistic(), ridge=ridge, scale=plan.statement.noise_scale, pairs=100_000)
    assert 1.0 < found.log_ratio <= plan.statement.eps


@pytest.mark.parametrize("relation", list(Neighbouring))
def test_gaussian_plans_keep_their_delta_in_one_dimension(relation):
    """The exact delta of one record against an empty one; sharper pairs are in test_audit_exact.py."""
    problem = Problem(LOGISTIC, Geometry(1), relation, 1, 5.0, ())
    eps = 0.4
    plan = ObjectivePerturbation(cut=None).plan(problem, eps, 1e-3)
    one, other = (np.array([[1.0]]), np.array([1.0])), (np.zeros((1, 1)), np.array([1.0]))
    scale, ridge = plan.statement.noise_scale, plan.settings.ridge
    exact = [
        hockey_stick(*left, *right, eps=eps, loss=Logistic(), ridge=ridge, scale=scale, law="gaussian")
        for left, right in ((one, other), (other, one))
    ]
    assert 0 < max(exact) <= 1e-3


def test_defaults_pass_the_auditor_too():
    for eps in (0.1, 1.0, 10.0):
        for relation in Neighbouring:
            facts = {
                "n_rows": 1000,
                "n_features": 2,
                "neighbouring": str(relation),
                "mechanism": ObjectivePerturbation(cut=None),
            }
            plan = dplr.plan(eps=eps, **facts)
            found = search(2, loss=Logistic(), ridge=plan.settings.ridge, scale=plan.statement.noise_scale,
                           neighbouring=str(relation), iota=0.5, pairs=30_000)  # fmt: skip
            assert found.log_ratio <= eps * (1 + 1e-12)
            assert math.isfinite(found.log_ratio)
