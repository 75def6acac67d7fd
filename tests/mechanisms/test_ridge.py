"""The default ridge is a function of public facts, with the values that were measured."""

import math

import numpy as np
import pytest

import dplr
from dplr.auditor.density import Logistic, minimiser
from dplr.mechanisms.perturbation.noise import largest_noise_eps, logistic_loss, rank_one_loss
from dplr.mechanisms.perturbation.ridge import noise_norm, objective_ridge, output_ridge
from dplr.problem.losses import LOGISTIC, huber_svm
from loops import loop

R = math.sqrt(1.25)


@pytest.mark.parametrize(
    ("n", "q", "eps", "delta", "norm", "replaced", "added"),
    [
        (30_162, 105, 0.1, 0, R, (147.43908, 314.88745), (73.719538, 198.36666)),
        (30_162, 105, 1, 0, R, (14.743908, 67.840444), (7.3719538, 42.736802)),
        (30_162, 105, 1, 1e-5, R, (5.3424693, 34.480613), (2.6712347, 21.721425)),
        (296_000, 14, 0.8, 0, R, (5.4126588, 145.76446), (2.7063294, 91.825858)),
        (200, 3, 0.01, 0, R, (750, 3000), (187.5, 750)),
        (10_000_000, 2, 10, 0, 1.0, (0.2, 84.343267), (0.1, 53.132928)),
    ],
)
def test_default_ridges_at_the_values_of_the_study(n, q, eps, delta, norm, replaced, added):
    for signs, (objective, output) in ((2, replaced), (1, added)):
        assert objective_ridge(LOGISTIC, n, q, eps, delta, norm, signs, None) == pytest.approx(objective, rel=1e-7)
        assert output_ridge(LOGISTIC, n, q, eps, delta, norm, signs, None) == pytest.approx(output, rel=1e-7)


@pytest.mark.parametrize("loss", [LOGISTIC, huber_svm(0.5), huber_svm(0.01)], ids=lambda loss: loss.label)
@loop("signs", [1, 2])
@loop("eps", [0.01, 1, 10])
@loop("n", [1, 200, 10**7])
@loop("q", [1, 2, 500])
def test_the_default_ridge_never_leaves_less_than_three_quarters_of_eps_for_the_noise(loss, signs, eps, n, q):
    kappa = R**2 / objective_ridge(loss, n, q, eps, 0.0, R, signs, None)
    part = largest_noise_eps(lambda e: rank_one_loss(e, loss.smoothness * kappa), eps)
    assert part is not None
    assert part >= 0.75 * eps * (1 - 1e-9)
    if loss is LOGISTIC:
        assert largest_noise_eps(lambda e: logistic_loss(e, kappa, signs), eps) == pytest.approx(eps)


def test_the_bounds_behind_the_default_hold():
    """Lemmas 3 and 4: mean excess of the summed loss over many draws of the noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X /= np.linalg.norm(X, axis=1)[:, np.newaxis]
    y = np.where(X @ [3, -2, 1] + rng.logistic(size=300) > 0, 1.0, -1.0)

    def loss(coefs):
        return np.logaddexp(0, -y * (coefs @ X.T)).sum(-1)

    best = minimiser(X, y, loss=Logistic(), ridge=1e-3)
    norm = float(np.linalg.norm(best))
    c = noise_norm(3, 1.0, 0.0, 1.0, 2)
    direction = rng.normal(size=(400, 3))
    noise = direction / np.linalg.norm(direction, axis=1)[:, np.newaxis] * rng.gamma(3, 2, size=(400, 1))
    for ridge in (0.3 * c / norm, c / norm, 3 * c / norm):
        perturbed = np.array([minimiser(X, y, loss=Logistic(), ridge=ridge, w0=-b / ridge) for b in noise])
        excess = np.mean(loss(perturbed)) - loss(best)
        assert 0 < excess <= (ridge * norm**2 + c**2 / ridge) / 4
        plain = minimiser(X, y, loss=Logistic(), ridge=ridge)
        excess = np.mean(loss(plain + noise / ridge)) - loss(best)
        assert 0 < excess <= ridge * norm**2 / 4 + len(X) * c**2 / (8 * 3 * ridge**2)


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_a_public_guess_of_the_norm_moves_the_default_and_no_data_does(mechanism):
    spec = {"objective": dplr.ObjectivePerturbation, "output": dplr.OutputPerturbation}[mechanism]
    facts = {"n_rows": 10_000, "n_features": 20, "eps": 1.0}
    small, large = (dplr.plan(mechanism=spec(coef_norm=guess), **facts).settings.ridge for guess in (2.0, 20.0))
    assert small > large
    rng = np.random.default_rng(0)
    statements = []
    for scale in (0.01, 0.2):
        X = scale * rng.uniform(-1, 1, (10_000, 20))
        statements.append(dplr.fit(X, X[:, 0] > 0, mechanism=mechanism, eps=1.0).privacy_)
    assert statements[0] == statements[1]
