"""The tolerance of objective perturbation: what pays for it is lost beside the linear term, whatever the rows."""

import math

import numpy as np
import pytest

import dplr
from dplr.mechanisms.perturbation.minimisation import TOLERANCE
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC, huber_svm
from dplr.problem.problem import Problem
from dplr.solvers.certificate import least_tolerance

BUDGETS = [(1.0, 0.0), (0.1, 0.0), (1.0, 1e-6), (0.1, 1e-6)]


def planned(n, d=13, eps=1.0, delta=0.0, l2=None, loss=LOGISTIC, relation="replace_one", calibration="tight"):
    problem = Problem(loss, Geometry(d, intercept=0.5), Neighbouring(relation), n, l2, ())
    return dplr.ObjectivePerturbation(calibration, cut=None).plan(problem, eps, delta)


def share(plan, hessian):
    """Excess loss of the noise that pays for the tolerance, in that of the linear term: quadratic model."""
    block, q = plan.released["coef"], len(hessian)
    own = (1 if block.law.startswith("Gaussian") else q + 1) * block.scale**2
    return 2 * plan.settings.tolerance_noise**2 * np.trace(hessian) / own / np.trace(np.linalg.inv(hessian))


# By hand: 2^-13 sqrt(1.25) sqrt(15 / 28) / (33 / 32) / (255 / 256) Lam / (Lam + n 1.25 / 4 / 14); half of it under
# add_remove.
@pytest.mark.parametrize(
    ("n", "relation", "tau"),
    [
        (10**3, "replace_one", 1.152128e-05),
        (10**5, "replace_one", 1.305219e-07),
        (10**7, "replace_one", 1.306956e-09),
        (10**5, "add_remove", 6.526096e-08),
    ],
)
def test_the_tolerance_is_that_of_a_hand(n, relation, tau):
    plan = planned(n, eps=1.0, l2=3 / n, relation=relation)
    assert plan.settings.tolerance == pytest.approx(tau, rel=1e-6)


@pytest.mark.parametrize(("eps", "delta"), BUDGETS)
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("loss", [LOGISTIC, huber_svm(0.5)], ids=lambda loss: loss.name)
@pytest.mark.parametrize(("n", "d"), [(200, 2), (20_000, 13), (10**6, 3), (10**7, 50)])
def test_what_pays_for_the_tolerance_adds_at_most_a_thousandth_whatever_the_rows(n, d, loss, relation, eps, delta):
    plan, rng = planned(n, d, eps, delta, loss=loss, relation=relation), np.random.default_rng(0)
    ridge, q = plan.settings.ridge, d + 1
    most = n * loss.smoothness * plan.problem.geometry.row_norm**2
    for spread in (0.0, 1.0, 10.0):  # of the logarithms of the curvatures; their sum is that of the steepest rows
        weights = np.exp(spread * rng.normal(size=q))
        basis, _ = np.linalg.qr(rng.normal(size=(q, q)))
        hessian = ridge * np.eye(q) + (basis * (most * weights / weights.sum())) @ basis.T
        assert share(plan, hessian) <= 2.0**-10 * (1 + 1e-6)


@pytest.mark.parametrize(("eps", "delta"), BUDGETS)
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_the_share_is_attained_where_all_directions_are_as_steep_as_they_can_be(relation, eps, delta):
    plan = planned(10**6, 3, eps, delta, relation=relation)
    steepest = plan.settings.ridge + 10**6 * plan.problem.geometry.row_norm**2 / 4 / 4
    found = share(plan, steepest * np.eye(4)) * 2.0**10  # up to what rounding to whole units adds
    assert (1 - 2.0**-5) ** 2 <= found <= 1


@pytest.mark.parametrize("calibration", ["cm08", "cms11"])
def test_printed_algorithms_keep_their_tolerance_where_it_is_smaller(calibration):
    assert (
        planned(20, 3, l2=0.5, calibration=calibration).settings.tolerance
        == 2.0**-20 * planned(20, 3).problem.geometry.row_norm
    )
    many = planned(10**6, 3, l2=1e-5, calibration=calibration).settings.tolerance
    assert many < 2.0**-20


@pytest.mark.parametrize("n", [10**6, 10**8, 10**9])
def test_output_perturbation_pays_for_no_more_than_a_share_of_a_record_however_many_there_are(n):
    plan = dplr.plan(n_rows=n, n_features=13, eps=1.0, mechanism="output")
    norm = plan.problem.geometry.row_norm
    assert plan.settings.tolerance == TOLERANCE * norm
    if n >= 10**8:
        assert least_tolerance(LOGISTIC, n, 13, norm, plan.settings.ridge, 0.0, 0.0, fine=False) > TOLERANCE * norm


@pytest.mark.parametrize("n", [20_000, 370_000, 2_000_000, 10**8])
@pytest.mark.parametrize(("eps", "delta"), BUDGETS)
def test_rounding_does_not_raise_the_tolerance_up_to_a_hundred_million_rows(n, eps, delta):
    plan = planned(n, 13, eps, delta)
    norm, ridge = plan.problem.geometry.row_norm, plan.settings.ridge
    assert least_tolerance(LOGISTIC, n, 13, norm, ridge, 0.0, 0.0) < plan.settings.tolerance / 3


def test_without_noise_the_tolerance_is_the_plain_share():
    assert planned(1000, eps=math.inf).settings.tolerance == TOLERANCE * planned(1000).problem.geometry.row_norm
