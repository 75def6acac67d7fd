"""Privacy losses of pairs of neighbours, against formulas of their own."""

import numpy as np
import pytest

from dplr.auditor import log_density_ratio
from dplr.auditor.density import Logistic
from dplr.auditor.neighbours import Pair, Record
from dplr.auditor.trial import Duel, Trial
from dplr.estimators import estimator_of
from dplr.mechanisms import FunctionalMechanism, ObjectivePerturbation, OutputPerturbation
from margin_losses import SoftLogistic

pytestmark = pytest.mark.filterwarnings("ignore")


def duel(mechanism, delta=0.0, second=(-0.6, 0.8), y=0.0, **options):
    estimator = estimator_of(
        "logistic", classes=[0, 1], eps=1.0, delta=delta, mechanism=mechanism, fit_intercept=False, **options
    )
    others = tuple(Record(np.array([0.05 * k, 0.2]), float(k % 2)) for k in range(19))
    there = None if second is None else Record(np.array(second), y)
    return Duel(Trial(estimator, None, 1.0, False, False), Pair(Record(np.array([0.6, 0.8]), 1.0), there, others))


def rows(duel, which):
    table = duel.pair.table(which)
    return table.X, 2 * table.y - 1


def test_noise_in_the_objective_has_the_ratio_of_the_closed_form():
    fight = duel(ObjectivePerturbation(cut=None), l2=0.1)
    run = fight.run(0, 1)
    settings, block = fight.planned.settings, fight.statement.released["coef"]
    (X, y), (X2, y2) = rows(fight, 0), rows(fight, 1)
    points = np.vstack([run.done.coefs[0], np.random.default_rng(0).normal(size=(20, 2)) * 3])
    expected = log_density_ratio(
        X, y, X2, y2, points, loss=Logistic(), ridge=settings.ridge, scale=block.scale, law="gamma"
    )
    assert fight._density_ratio(run, 0, points) == pytest.approx(expected, abs=1e-6)
    assert fight.loss(0, run) == pytest.approx(expected[0], abs=1e-6)
    assert fight.exact(run).pure >= np.abs(expected[0])


def test_a_cut_loss_has_its_own_ratio():
    fight = duel(ObjectivePerturbation(cut=0.5), l2=0.1)
    run = fight.run(1, 1)
    settings, block = fight.planned.settings, fight.statement.released["coef"]
    (X, y), (X2, y2) = rows(fight, 0), rows(fight, 1)
    expected = log_density_ratio(
        X, y, X2, y2, run.done.coefs[0], loss=SoftLogistic(0.5), ridge=settings.ridge, scale=block.scale
    )
    assert fight.loss(1, run) == pytest.approx(float(expected), abs=1e-6)


@pytest.mark.parametrize("second", [(-0.6, 0.8), None])
def test_noise_on_sums_has_the_distance_of_the_noiseless_releases(second):
    options = {} if second else {"neighbouring": "add_remove", "n_rows": 20}
    fight = duel(FunctionalMechanism(), second=second, **options)
    plain = duel(FunctionalMechanism(), second=second, **options)
    plain.trial.eps = float("inf")
    exact = [plain.run(which, 0).done.parts[0] for which in (0, 1)]
    released = fight.statement.released
    away = sum(np.abs(exact[0][name] - exact[1][name]).sum() / released[name].scale for name in released)
    assert fight.exact(fight.run(0, 1)).pure == pytest.approx(away, rel=1e-6)  # sums are floored
    assert 0.1 < away <= 1


def test_losses_are_of_the_first_table_whichever_table_released():
    fight = duel(FunctionalMechanism())
    losses = [[fight.loss(which, fight.run(which, seed)) for seed in range(400)] for which in (0, 1)]
    assert np.mean(losses[0]) > 0 > np.mean(losses[1])
    assert np.abs(losses).max() <= 1


def test_output_perturbation_moves_by_the_distance_of_its_minima():
    fight, plain = duel(OutputPerturbation(), l2=0.1), duel(OutputPerturbation(), l2=0.1)
    plain.trial.eps = float("inf")
    minima = [plain.run(which, 0).done.coefs[0] for which in (0, 1)]
    away = np.linalg.norm(minima[0] - minima[1]) / fight.statement.released["coef"].scale
    assert fight.exact(fight.run(0, 1)).pure == pytest.approx(away, rel=1e-4)


def test_gaussian_noise_is_measured_by_mu():
    fight = duel(OutputPerturbation(noise="gaussian"), delta=1e-5, l2=0.1)
    loss = fight.exact(fight.run(0, 1))
    assert 0 < loss.mu <= fight.statement.guarantee.mu
    assert loss.pure == 0
