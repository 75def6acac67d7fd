"""The exact auditor: right densities, the printed algorithm caught, the corrected ones never, the bounds reached."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from dplr.auditor import log_density_ratio, search
from dplr.auditor.density import Logistic, log_density, minimiser
from dplr.auditor.sampled import eps_lower_bound, gaussian_eps, mu_lower_bound
from hockey_sticks import hockey_stick
from margin_losses import HuberSVM, SoftHuber, SoftLogistic

LOGISTIC = Logistic()
SOFT = [SoftLogistic(0.3), SoftLogistic(0.9), SoftLogistic(1.0), SoftHuber(0.2), SoftHuber(2.0)]
RELATIONS = ["replace_one", "add_remove"]
ROUNDING = 1e-9  # of a log ratio: 1e-15 times a gradient over the scale

# CM08, Algorithm 2, as printed on D = {(1, +1)} against D' = {x = 0}: the largest log ratio by (eps, Lam).
PRINTED = {
    (0.1, 0.01): 3.233,
    (0.1, 0.05): 1.767,
    (0.1, 0.1): 1.228,
    (0.1, 0.5): 0.392,
    (0.1, 1.0): 0.235,
    (0.5, 0.01): 3.138,
    (0.5, 0.05): 1.676,
    (0.5, 0.1): 1.145,
    (1.0, 0.01): 3.027,
    (1.0, 0.05): 1.578,
    (1.0, 0.1): 1.073,
    (2.0, 0.01): 2.832,
}
# The largest eps' for which objective perturbation of the logistic loss is eps-DP, replace_one, R = 1.
CORRECTED = {
    (1.0, 0.2): 0.2498,
    (1.0, 0.5): 0.7573,
    (1.0, 1.0): 0.9456,
    (1.0, 2.0): 1.0,
    (0.5, 1.0): 0.3560,
    (0.5, 2.0): 0.4690,
    (2.0, 0.1): 0.9692,
    (0.1, 10.0): 0.0930,
}


def noise_eps(eps, kappa, relation):
    """eps' by brute force, an oracle: the largest with loss <= eps, kappa = R^2 / Lam; None where there is none.

    Loss: (eps'/2)(1 + p) + log(1 + kappa p (1 - p)) under replace_one, eps' p + log(...) under add_remove, at the
    worst p in [0, 1]; it is concave in p.
    """
    constant, slope = (0.5, 0.5) if relation == "replace_one" else (0.0, 1.0)

    def excess(candidate):
        def loss(p):
            return candidate * (constant + slope * p) + math.log1p(kappa * p * (1 - p))

        best = optimize.minimize_scalar(lambda p: -loss(p), bounds=(0, 1), method="bounded", options={"xatol": 1e-9})
        return max(loss(best.x), loss(1.0)) - eps

    if excess(0.0) >= 0:
        return None
    return eps if excess(eps) <= 0 else optimize.brentq(excess, 0.0, eps, xtol=1e-13) - 1e-9


def kinds(pairs):
    """All kinds of pairs: columns, intercept, number of rows, free or zero w0; and how many of each to search."""
    for d, iota, n_rows, public_start in itertools.product((1, 2, 3), (0.0, 1.0), (1, 3), (True, False)):
        yield {"d": d, "iota": iota, "n_rows": n_rows, "public_start": public_start, "pairs": pairs}


def largest(loss, eps_of_noise, ridge, relation, *, mechanism="objective", pairs=6000):
    """Largest log ratio over all kinds of pairs, for Lam = ridge * R^2, and the number of pairs."""
    found = []
    for kind in kinds(pairs):
        radius = math.hypot(1, kind["iota"])
        change = radius * (2 if relation == "replace_one" else 1)  # of a sum of gradients
        ridge_here = ridge * radius**2
        scale = change / eps_of_noise / (ridge_here if mechanism == "output" else 1)
        options = {"mechanism": mechanism, "neighbouring": relation}
        found.append(search(loss=loss, ridge=ridge_here, scale=scale, **options, **kind))
    return max(pair.log_ratio for pair in found), sum(pair.pairs for pair in found)


@pytest.mark.parametrize(("eps", "ridge"), PRINTED)
def test_algorithm_2_as_printed_has_the_log_ratio_of_the_closed_form_far_above_eps(eps, ridge):
    w = np.concatenate([np.linspace(-5, 5, 100_001), np.linspace(-500, 500, 100_001)])
    pair = ([[1.0]], [1.0], [[0.0]], [1.0])
    ratios = log_density_ratio(*pair, w[:, None], loss=LOGISTIC, ridge=ridge, scale=2 / eps)
    p = special.expit(-w)
    closed = eps / 2 * (np.abs(ridge * w) - np.abs(p - ridge * w)) + np.log1p(p * (1 - p) / ridge)
    np.testing.assert_allclose(ratios, closed, rtol=0, atol=1e-12)
    assert np.abs(ratios).max() == pytest.approx(PRINTED[eps, ridge], abs=5e-4)


def test_no_event_needs_more_delta_than_the_hockey_stick_says():
    """eps = 1, Lam = 0.01: the event |w| <= 0.67 has chances 0.0655 and 0.00334; another needs more delta still."""
    pair = ([[1.0]], [1.0], [[0.0]], [1.0])
    options = {"loss": LOGISTIC, "ridge": 0.01, "scale": 2.0, "law": "gamma"}
    w = (np.arange(100_000) + 0.5) / 100_000 * 1.34 - 0.67
    chances = [
        np.exp(log_density(X, y, w[:, None], **options)).mean() * 1.34 for X, y in (([[1.0]], [1.0]), ([[0.0]], [1.0]))
    ]
    assert chances == pytest.approx([0.0655, 0.00334], rel=2e-3)
    delta = hockey_stick(*pair, eps=1.0, points=100_001, **options)
    assert chances[0] - math.e * chances[1] <= delta <= 1


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("law", ["gamma", "gaussian"])
@pytest.mark.parametrize("loss", [LOGISTIC, HuberSVM(0.5), HuberSVM(0.1), SOFT[0], SOFT[3]])
@pytest.mark.parametrize("d", [1, 2])
def test_density_integrates_to_one(d, loss, law, mechanism):
    rng = np.random.default_rng(d)
    X, y, w0 = rng.uniform(-0.7, 0.7, size=(4, d)), np.array([1.0, -1.0, 1.0, 1.0]), rng.normal(size=d)
    options = {"ridge": 0.8, "scale": 0.7, "law": law, "mechanism": mechanism, "w0": w0}
    mass = hockey_stick(X, y, X, y, eps=-math.inf, loss=loss, points=20_001 if d == 1 else 601, **options)
    # The corner of the gamma law at b = 0, and the jumps of the Huber weight, cost the midpoint rule a few digits.
    assert mass == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("loss", [LOGISTIC, HuberSVM(0.5), SOFT[1], SOFT[3]])
@pytest.mark.parametrize("law", ["gamma", "gaussian"])
def test_density_is_that_of_the_algorithm_itself(loss, law):
    """Draw b, minimise the perturbed objective, and compare with the distribution function by the density."""
    rng = np.random.default_rng(5)
    X, y, ridge, scale, draws = np.array([[1.0], [0.6], [-0.9]]), np.array([1.0, -1.0, 1.0]), 0.3, 0.5, 20_000
    b = rng.laplace(scale=scale, size=(draws, 1)) if law == "gamma" else rng.normal(scale=scale, size=(draws, 1))
    # b.w + ridge ||w||^2 / 2 is the ridge towards -b / ridge, up to a constant.
    released = minimiser(np.broadcast_to(X, (draws, 3, 1)), y, loss=loss, ridge=ridge, w0=-b / ridge)
    w = np.linspace(-60, 60, 240_001)
    density = np.exp(log_density(X, y, w[:, None], loss=loss, ridge=ridge, scale=scale, law=law))
    cumulative = np.cumsum(density) * (w[1] - w[0])
    assert stats.kstest(released[:, 0], lambda at: np.interp(at, w, cumulative)).pvalue > 1e-3
    without_jacobian = np.cumsum(density / np.gradient(_gradient(X, y, w, loss, ridge), w)) * (w[1] - w[0])
    wrong = stats.kstest(released[:, 0], lambda at: np.interp(at, w, without_jacobian / without_jacobian[-1]))
    assert wrong.pvalue < 1e-6  # and the test has the power to see a missing Jacobian


def _gradient(X, y, w, loss, ridge):
    return ridge * w + (loss.residual(w[:, None] * X[:, 0], y) * X[:, 0]).sum(1)


@pytest.mark.parametrize("loss", [LOGISTIC, HuberSVM(0.5), HuberSVM(0.01)])
def test_derivatives_of_the_losses_agree_with_differences(loss):
    value = {
        Logistic: lambda m: np.logaddexp(0, -m),
        HuberSVM: lambda m: np.where(
            np.abs(1 - m) <= loss.width,
            (1 + loss.width - m) ** 2 / (4 * getattr(loss, "width", 1)),
            np.maximum(1 - m, 0),
        ),
    }[type(loss)]
    z, y = np.linspace(-3, 3, 6001)[:, None] + 3e-4, np.array([-1.0, 1.0])
    step = 1e-6
    slope = (value(y * (z + step)) - value(y * (z - step))) / (2 * step)
    np.testing.assert_allclose(loss.residual(z, y), slope, atol=1e-7)
    bend = (loss.residual(z + step, y) - loss.residual(z - step, y)) / (2 * step)
    np.testing.assert_allclose(np.broadcast_to(loss.weight(z, y), bend.shape), bend, atol=1e-6)


@pytest.mark.parametrize("loss", SOFT)
def test_derivatives_of_the_soft_losses_agree_with_differences(loss):
    """Of their values, as `Loss` says them; and the weight is the function of the slope that it should be."""
    z, y, step = np.linspace(-8, 8, 8001)[:, None] + 3e-4, np.array([-1.0, 1.0]), 1e-6
    value = soft_logistic_value if isinstance(loss, SoftLogistic) else soft_huber_value
    slope = (value(loss, z + step, y) - value(loss, z - step, y)) / (2 * step)
    np.testing.assert_allclose(loss.residual(z, y), slope, atol=1e-8)
    bend = (loss.residual(z + step, y) - loss.residual(z - step, y)) / (2 * step)
    np.testing.assert_allclose(np.broadcast_to(loss.weight(z, y), bend.shape), bend, atol=1e-8)
    size, end = np.abs(loss.residual(z, y)), loss_end(loss)
    law = np.minimum(size * (1 - size), end - size) if isinstance(loss, SoftLogistic) else 1 - size / end
    np.testing.assert_allclose(loss.weight(z, y), law, atol=1e-15)


def loss_end(loss):
    return loss.cut if isinstance(loss, SoftLogistic) else loss.width


def soft_logistic_value(loss, z, y):
    v, s = y * z, 1 - math.sqrt(1 - loss.cut)
    if s == 1:
        return np.logaddexp(0, -v)
    u = np.maximum(math.log((1 - s) / s) - v, 0)
    beyond = math.log1p(s / (1 - s)) + loss.cut * u - (loss.cut - s) * (1 - np.exp(-u))
    return np.where(u > 0, beyond, np.logaddexp(0, -v))


def soft_huber_value(loss, z, y):
    r = np.abs(z - y)
    return loss.width * (r + loss.width * (np.exp(-r / loss.width) - 1))


@pytest.mark.parametrize("loss", [LOGISTIC, HuberSVM(0.5), HuberSVM(0.01), *SOFT])
@pytest.mark.parametrize("ridge", [1e-3, 0.1, 10.0])
def test_minimiser_has_no_gradient_left_and_solves_many_problems_as_one(loss, ridge):
    rng = np.random.default_rng(0)
    X, y, w0 = rng.uniform(-1, 1, (500, 5, 3)), rng.choice([-1.0, 1.0], (500, 5)), 10 * rng.normal(size=(500, 3))
    coef = minimiser(X, y, loss=loss, ridge=ridge, w0=w0)
    margin = np.einsum("pnd,pd->pn", X, coef)
    gradient = ridge * (coef - w0) + np.einsum("pn,pnd->pd", loss.residual(margin, y), X)
    assert np.abs(gradient).max() < 1e-9
    alone = minimiser(X[7], y[7], loss=loss, ridge=ridge, w0=w0[7])
    np.testing.assert_allclose(coef[7], alone, rtol=0, atol=1e-9 / ridge)


@pytest.mark.parametrize(("eps", "ridge"), CORRECTED)
def test_oracle_of_the_noise_eps_has_the_values_of_the_theorem(eps, ridge):
    assert noise_eps(eps, 1 / ridge, "replace_one") == pytest.approx(CORRECTED[eps, ridge], abs=5.1e-5)
    assert noise_eps(1.0, 2.0, "add_remove") == pytest.approx(0.9030, abs=5.1e-5)
    assert noise_eps(0.1, 4 * math.expm1(0.1) + 1e-6, "replace_one") is None  # log(1 + kappa / 4) >= eps


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("eps", "ridge"), [*CORRECTED, (3.0, 0.05), (0.1, 25.0), (1.0, 100.0)])
def test_corrected_objective_perturbation_is_never_above_eps_and_reaches_it(eps, ridge, relation):
    """More than 10^5 pairs for each line: d <= 3, with and without intercept, one row or three, w0 free or zero."""
    found, pairs = largest(LOGISTIC, noise_eps(eps, 1 / ridge, relation), ridge, relation)
    assert pairs >= 100_000
    assert 0.97 * eps <= found <= eps + ROUNDING


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("eps", "ridge"), [*PRINTED, (1.0, 0.5), (0.1, 10.0), (1.0, 2.0), (0.1, 20.0), (0.1, 30.0)])
def test_printed_objective_perturbation_is_private_only_where_the_ridge_is_large(eps, ridge, relation):
    """Exactly where n * lambda >= 2 R^2 / eps (R^2 / eps under add_remove), which CM08 does not ask for."""
    found, _ = largest(LOGISTIC, eps, ridge, relation)
    enough = ridge >= (2 if relation == "replace_one" else 1) / eps
    assert (found <= eps + ROUNDING) == enough
    assert found >= 0.97 * max(eps, PRINTED.get((eps, ridge), 0.0))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("eps", "ridge", "width"), [(1.0, 1.0, 0.5), (2.0, 0.5, 0.5), (0.5, 5.0, 0.25), (1.0, 40, 0.02)]
)
def test_rank_one_correction_of_the_huber_svm_is_never_above_eps_and_reaches_it(eps, ridge, width, relation):
    correction = math.log1p(1 / (2 * width) / ridge)
    found, pairs = largest(HuberSVM(width), eps - correction, ridge, relation)
    assert pairs >= 100_000
    assert 0.97 * eps <= found <= eps + ROUNDING
    uncorrected, _ = largest(HuberSVM(width), eps, ridge, relation, pairs=2000)
    assert uncorrected > eps


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", [LOGISTIC, HuberSVM(0.5)])
def test_output_perturbation_is_never_above_eps_and_reaches_it(loss, relation):
    found, _ = largest(loss, 0.7, 0.5, relation, mechanism="output")
    assert 0.97 * 0.7 <= found <= 0.7 + ROUNDING


def test_output_perturbation_with_half_the_sensitivity_is_caught():
    found = search(2, loss=LOGISTIC, ridge=0.5, scale=(1 / 0.5) / 0.7, mechanism="output", pairs=5000)
    assert found.log_ratio > 1.9 * 0.7


def test_what_the_search_found_is_a_pair_of_neighbours_that_shows_the_ratio():
    options = {"loss": LOGISTIC, "ridge": 0.3, "scale": 4.0}
    for relation in RELATIONS:
        worst = search(3, **options, neighbouring=relation, n_rows=4, iota=0.5, radius=2.0, pairs=3000)
        ratio = log_density_ratio(worst.X, worst.y, worst.X2, worst.y2, worst.coef, w0=worst.w0, **options)
        assert abs(ratio) == worst.log_ratio
        assert worst.pairs >= 3000
        np.testing.assert_array_equal(worst.X[:3], worst.X2[:3])
        np.testing.assert_array_equal(worst.y[:3], worst.y2[:3])
        assert worst.X2.shape == ((4, 4) if relation == "replace_one" else (3, 4))
        for rows in (worst.X, worst.X2):
            assert (np.linalg.norm(rows[:, :3], axis=1) <= 2 + 1e-12).all()
            assert (rows[:, 3] == 0.5).all()
    again = search(3, **options, neighbouring="add_remove", n_rows=4, iota=0.5, radius=2.0, pairs=3000)
    assert again.log_ratio == worst.log_ratio


def hockey(s, eps):
    """H_s(eps), the hockey stick of N(0, 1) and N(s, 1), from its definition."""
    return stats.norm.cdf(s / 2 - eps / s) - math.exp(eps) * stats.norm.cdf(-s / 2 - eps / s)


def gaussian_pairs(d, relation, count, rng):
    """Random pairs of one row or three on or in the ball; every fourth has the label that a far w0 gets wrong."""
    for index in range(count):
        n = 1 if index % 2 else 3
        X = rng.normal(size=(n + 1, d))
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        X /= np.maximum(norms, 1) if index % 3 else norms
        w0 = rng.normal(size=d) * 10 ** rng.uniform(-1, 1.5)
        y = -np.sign(X @ w0) if index % 4 == 1 else rng.choice([-1.0, 1.0], size=n + 1)
        other = [*range(n - 1), n] if relation == "replace_one" else [*range(n - 1)]
        yield (X[:n], y[:n], X[other], y[other]), w0


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize(("loss", "smoothness"), [(LOGISTIC, 0.25), (HuberSVM(0.5), 1.0)])
def test_gaussian_objective_perturbation_needs_no_more_delta_than_the_bound(loss, smoothness, d, relation):
    """delta <= H_s(eps - ld) under add_remove, H_2s(eps - ld) + 2 H_s(eps - ld) under replace_one.

    ld = log(1 + smoothness / Lam) is charged for the Jacobian, s = R / sigma.
    """
    rng = np.random.default_rng(11)
    for pair, w0 in gaussian_pairs(d, relation, 40 if d == 1 else 12, rng):
        ridge, s = rng.choice([0.1, 0.5, 1.0, 4.0]), rng.choice([0.1, 0.3, 1.0, 2.0])
        shift = math.log1p(smoothness / ridge)
        eps = shift + rng.choice([1e-4, 0.1, s * s / 2 + s])
        bound = hockey(s, eps - shift)
        if relation == "replace_one":
            bound = hockey(2 * s, eps - shift) + 2 * bound
        points = 4001 if d == 1 else 301
        for order in (pair, (*pair[2:], *pair[:2])):
            delta = hockey_stick(*order, eps=eps, loss=loss, ridge=ridge, scale=1 / s, w0=w0, points=points)
            assert delta <= bound


def test_gaussian_objective_perturbation_needs_more_delta_than_its_noise_alone():
    """So the bound's charge for the Jacobian is needed: delta exceeds that of the Gaussian at the same eps."""
    one, none = ([[1.0]], [1.0]), (np.zeros((0, 1)), np.zeros(0))
    eps, s = math.log1p(0.25 / 0.5) + 1e-4, 0.3
    delta = hockey_stick(*one, *none, eps=eps, loss=LOGISTIC, ridge=0.5, scale=1 / s, w0=-10.0, points=4001)
    assert 1.2 * hockey(s, eps) < delta < hockey(s, 1e-4)


def test_hockey_stick_of_pure_noise_is_that_of_two_gaussians():
    """Output perturbation releases a Gaussian around the minimiser: the closed form."""
    X, y, other = [[1.0, 0.0]], [1.0], [[0.0, 1.0]]
    options = {"loss": LOGISTIC, "ridge": 1.0}
    distance = np.linalg.norm(minimiser(X, y, **options) - minimiser(other, y, **options))
    for eps in (0.0, 0.2, 1.0):
        delta = hockey_stick(X, y, other, y, eps=eps, scale=0.5, mechanism="output", points=801, **options)
        assert delta == pytest.approx(hockey(distance / 0.5, eps), abs=1e-5)


@pytest.mark.parametrize("eps", [0.5, 2.0])
def test_event_bound_is_below_the_truth_and_close_to_it(eps):
    noise = np.random.default_rng(1).laplace(size=(2, 200_000)) / eps
    assert 0.9 * eps <= eps_lower_bound(noise[0] + 1, noise[1]) <= eps
    assert eps_lower_bound(noise[0], noise[1]) <= 0.02


def test_event_bound_never_chooses_its_threshold_on_the_scores_that_it_counts():
    """The first halves tell nothing; whoever looks at the second ones finds a threshold that tells everything."""
    constant = np.zeros(1000)
    assert eps_lower_bound(np.append(constant, constant + 1), np.append(constant, constant)) <= 0
    # Nor are thresholds offered that only the second halves suggest.
    assert eps_lower_bound(np.append(constant, constant - 1), np.append(constant, constant)) == -math.inf


def test_event_bound_fails_no_more_often_than_its_confidence_says():
    """Randomised response: the truth is eps exactly, so half of all point estimates are above it."""
    rng = np.random.default_rng(2)
    p = special.expit(0.4)
    failures = sum(
        eps_lower_bound(rng.random(400) < p, rng.random(400) < 1 - p, confidence=0.8) > 0.4 for _ in range(1000)
    )
    assert failures <= stats.binom.ppf(0.999, 1000, 0.2)


def test_bounds_of_a_score_that_never_errs_are_those_of_clopper_and_pearson():
    """All n second halves right: P >= (alpha/2)^(1/n), Q <= 1 - (alpha/2)^(1/n), alpha = 1 - confidence."""
    edge = (0.05 / 2) ** (1 / 50)
    found = eps_lower_bound(np.ones(100), np.zeros(100), confidence=0.95)
    assert found == pytest.approx(math.log(edge / (1 - edge)), rel=1e-12)
    found = eps_lower_bound(np.ones(100), np.zeros(100), confidence=0.95, delta=0.1)
    assert found == pytest.approx(math.log((edge - 0.1) / (1 - edge)), rel=1e-12)
    edge = (0.05 / 2) ** (1 / 90)
    assert mu_lower_bound(np.ones(100), np.zeros(100), confidence=0.95) == pytest.approx(-2 * stats.norm.ppf(1 - edge))


def test_gaussian_bound_is_below_the_truth_and_close_to_it_where_events_are_not():
    noise = np.random.default_rng(3).normal(size=(2, 200_000))
    mu = mu_lower_bound(noise[0] + 0.7, noise[1])
    assert 0.66 <= mu <= 0.7
    truth = gaussian_eps(0.7, 1e-5)
    assert 0.9 * truth <= gaussian_eps(mu, 1e-5) <= truth
    assert eps_lower_bound(noise[0] + 0.7, noise[1], delta=1e-5) < 0.8 * truth
    assert mu_lower_bound(noise[0], noise[1]) <= 0
    assert gaussian_eps(-math.inf, 1e-5) == 0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"X": [1.0]}, ValueError, "`X` must have rows and columns as its last two axes"),
        ({"y": [1.0, 1.0]}, ValueError, "`y` must have 1 entries on its last axis, a target a row"),
        ({"coef": [0.0, 0.0]}, ValueError, "`coef` must have 1 entries on its last axis, as X has"),
        ({"w0": [0.0, 0.0]}, ValueError, "`w0` must be 0 or have 1 entries on its last axis"),
        ({"ridge": 0.0}, ValueError, "`ridge` must be positive and finite; got 0.0. It is l2"),
        ({"scale": math.inf}, ValueError, "`scale` must be positive and finite; got inf"),
        ({"scale": "1"}, TypeError, "`scale` must be a real number"),
        ({"law": "laplace"}, ValueError, "`law` must be one of 'gamma', 'gaussian', 'gauge'; got 'laplace'"),
        ({"mechanism": "fm"}, ValueError, "`mechanism` must be one of 'objective', 'output'; got 'fm'"),
    ],
)
def test_density_refuses_what_it_cannot_mean(change, error, message):
    call = {"X": [[1.0]], "y": [1.0], "coef": [0.0], "loss": LOGISTIC, "ridge": 1.0, "scale": 1.0} | change
    with pytest.raises(error, match=message):
        log_density(call.pop("X"), call.pop("y"), call.pop("coef"), **call)


def test_the_other_audits_refuse_what_they_cannot_mean():
    options = {"loss": LOGISTIC, "ridge": 1.0, "scale": 1.0}
    with pytest.raises(ValueError, match="`X` must be one data set of at most 2 columns"):
        hockey_stick(np.zeros((1, 3)), [1.0], np.zeros((1, 3)), [1.0], eps=1.0, **options)
    with pytest.raises(ValueError, match="`neighbouring` must be one of"):
        search(1, neighbouring="replace", **options)
    with pytest.raises(ValueError, match="`radius` must be positive"):
        search(1, radius=0.0, **options)
    with pytest.raises(ValueError, match="`iota` must be at least 0"):
        search(1, iota=-1.0, **options)
    with pytest.raises(ValueError, match="`positive` must be one-dimensional, at least two scores, none of them NaN"):
        eps_lower_bound([0.0, math.nan], [0.0, 1.0])
    with pytest.raises(ValueError, match="`confidence` must be between 0 and 1"):
        mu_lower_bound([0.0, 1.0], [0.0, 1.0], confidence=1.0)
    with pytest.raises(ValueError, match="`delta` must be between 0 and 1"):
        gaussian_eps(1.0, 0.0)
