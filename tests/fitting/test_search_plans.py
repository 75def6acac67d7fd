"""Plans of whole searches: what their statements promise is recomputed from the plans of their runs."""

import math

import numpy as np
import pytest

import dplr
from dplr.estimators import _search, _trials
from dplr.fitting import search
from dplr.noise import Source
from dplr.privacy.calibration import continuous_delta, continuous_target, discrete_eps
from dplr.privacy.gaussian import gaussian_eps, pure_mu
from dplr.privacy.search.calibration import gaussian_search_eps, largest_mu, renyi_eps
from dplr.privacy.search.counts import law_of
from dplr.privacy.search.selection import SCORE_UNITS

EPS, DELTA, ROWS = 1.0, 1e-6, 2_000
PER_STEP = dplr.NoisyGradientDescent(steps=50, composition="per-step")
MECHANISMS = {
    "fm": dplr.FunctionalMechanism(noise="gaussian"),
    "score": dplr.ScoreRelease(),
    "ngd": dplr.NoisyGradientDescent(steps=300),
    "output": dplr.OutputPerturbation(noise="gaussian"),
    "per-step": PER_STEP,
    "batches": dplr.NoisyGradientDescent(steps=20, batch=100),
}


def planned(names, law, eps=EPS, delta=DELTA):
    estimators = [dplr.LogisticRegression(eps=eps, delta=delta, mechanism=MECHANISMS[name]) for name in names]
    X, y = np.zeros((ROWS, 5)), np.zeros(ROWS)
    facts = [_trials.Trial.of(estimator, {}, X, y, eps).ready.facts for estimator in estimators]
    return search.plan_stopping(facts, eps, law)


CANDIDATES = [["fm"], ["score"], ["ngd"], ["output"], ["ngd", "fm"], ["output", "ngd", "score"]]


@pytest.mark.parametrize("names", CANDIDATES, ids=" ".join)
@pytest.mark.parametrize(("runs", "shape"), [(2.0, 0.0), (10.0, 1.0), (5.0, 2.0)])
@pytest.mark.parametrize("eps", [0.3, 3.0])
def test_a_search_with_gaussian_runs_costs_what_it_states_and_hardly_less(names, runs, shape, eps):
    law = law_of(runs, shape)
    plan = planned(names, law, eps)
    assert plan.statement.source.endswith("theorem 3")
    score = SCORE_UNITS / plan.noise
    fits = [fit.statement for fit in plan.planned]
    mu = math.hypot(max(fit.guarantee.mu for fit in fits), pure_mu(score))
    numbers = max(sum(math.prod(block.shape) for block in fit.released.values() if block.law.gaussian) for fit in fits)
    assert numbers > 0
    assert gaussian_search_eps(law, mu, DELTA, numbers) <= plan.statement.eps == eps
    assert plan.statement.delta == DELTA
    assert mu >= 0.999 * largest_mu(law, eps, DELTA)
    assert pure_mu(score) ** 2 >= 0.099 * mu**2  # a tenth is the score's


@pytest.mark.parametrize("names", CANDIDATES, ids=" ".join)
def test_a_search_with_a_poisson_number_of_runs_costs_what_it_states_and_hardly_less(names):
    law = law_of(6.0, math.inf)
    plan = planned(names, law)
    assert plan.statement.source.endswith("theorem 4")
    score = SCORE_UNITS / plan.noise
    rho = max(fit.statement.guarantee.mu**2 / 2 for fit in plan.planned) + score * math.tanh(score / 2)
    assert 0.998 * EPS <= renyi_eps(law, rho, DELTA) <= EPS


@pytest.mark.parametrize("names", [["per-step"], ["fm", "per-step"]], ids=" ".join)
def test_fits_that_cost_more_than_their_share_are_refused(names):
    with pytest.raises(ValueError, match=r"must keep to its share of eps|has no plan"):
        planned(names, law_of(4.0, 1.0))
    with pytest.raises(ValueError, match="must be finite unless"):
        planned(names, law_of(4.0, math.inf))


def test_a_partition_states_the_loss_of_a_fit_that_costs_more_than_its_eps():
    estimator = dplr.LogisticRegression(eps=EPS, delta=DELTA, mechanism=PER_STEP)
    facts = _trials.Trial.of(estimator, {}, np.zeros((ROWS, 5)), np.zeros(ROWS), EPS).ready.facts
    plan = search.plan_partition([facts], [ROWS // 2], EPS, 0)
    assert plan.statement.eps == plan.planned[0].statement.eps > 2 * EPS


def test_batches_beside_gaussian_noise_are_charged_with_their_delta():
    plan = planned(["batches", "fm"], law_of(4.0, 1.0))
    assert plan.statement.source.endswith("theorem 2")
    assert sum(1 for fit in plan.planned if fit.statement.delta > 0) == 2
    assert max(fit.statement.delta for fit in plan.planned) * law_of(4.0, 1.0).mean <= plan.statement.delta


@pytest.mark.parametrize("numbers", [1, 10**6, 10**9])
@pytest.mark.parametrize(("mu", "delta"), [(0.01, 1e-12), (0.3, 1e-6), (3.0, 0.01)])
def test_the_eps_of_discrete_numbers_is_that_of_lemma_5_and_no_less(mu, delta, numbers):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(80):
        s, eps, m = mpmath.mpf(2) ** 20, mpmath.mpf(discrete_eps(mu, delta, numbers)), mpmath.mpf(mu)

        def lost(t):
            left = eps - numbers * (1 + t * t) / (24 * s * s)
            curve = mpmath.ncdf(m / 2 - left / m) - mpmath.exp(left) * mpmath.ncdf(-m / 2 - left / m)
            tail = 2 * numbers * mpmath.exp(eps) * mpmath.ncdf(-t + 1 / (2 * s))
            return mpmath.exp(numbers / (24 * s * s)) * (curve + tail)

        least = min(lost(t) for t in range(12, 60))
        assert least <= mpmath.mpf(delta)
        assert least >= mpmath.mpf(delta) * (1 - mpmath.mpf(10) ** -5) - mpmath.mpf(10) ** -20 or numbers == 10**9


@pytest.mark.parametrize(("mu", "delta"), [(0.01, 1e-9), (0.3, 1e-6), (2.0, 1e-3)])
def test_the_eps_of_discrete_numbers_is_the_way_back_of_their_target(mu, delta):
    eps = discrete_eps(mu, delta, 1_000)
    assert continuous_target(eps, delta, 1_000)[0] == pytest.approx(
        gaussian_eps(mu, continuous_delta(delta, 1_000)), rel=1e-9
    )


def fitted(method, monkeypatch):
    """A search of two candidates, the scales of its draws of noise with Laplace's law, and the eps of its choices."""
    scales, choices = [], []
    laplace, choose = Source.laplace, _search.choose
    monkeypatch.setattr(Source, "laplace", lambda self, scale, size: scales.append(scale) or laplace(self, scale, size))
    monkeypatch.setattr(_search, "choose", lambda costs, eps, coins: choices.append(eps) or choose(costs, eps, coins))
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (400, 2))
    estimator = dplr.LogisticRegression(mechanism="output", eps=EPS, bounds=dplr.Bounds([(-1, 1)] * 2))
    found = dplr.PrivateSearch(estimator, [{"l2": 0.1}, {"l2": 1.0}], method=method)
    return found.fit(X, X[:, 0] > 0), scales, choices


def test_every_score_of_random_stopping_has_the_noise_that_the_plan_charges(monkeypatch):
    plans = []
    stopping = search.plan_stopping
    monkeypatch.setattr(_search, "plan_stopping", lambda *a: plans.append(stopping(*a)) or plans[-1], raising=False)
    monkeypatch.setattr(search, "plan_stopping", lambda *a: plans.append(stopping(*a)) or plans[-1])
    _, scales, _ = fitted("random_stopping", monkeypatch)
    assert scales
    assert set(scales) == {plans[0].noise}
    share = max(fit.statement.eps for fit in plans[0].planned)
    assert share + SCORE_UNITS / plans[0].noise <= EPS


def test_a_partition_is_chosen_with_the_eps_of_its_statement(monkeypatch):
    _, _, choices = fitted("partition", monkeypatch)
    assert choices == [EPS]


@pytest.mark.parametrize(
    ("runs", "shape", "named"), [(10, 1e9, "`shape` must be at most 1000"), (1 + 1e-12, 0.0, "`runs` is too small")]
)
def test_laws_that_no_coin_of_these_units_draws_are_refused(runs, shape, named):
    with pytest.raises(ValueError, match=named):
        law_of(runs, shape)
