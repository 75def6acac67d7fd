"""The price of a whole search, added up from what its runs release: noise, sensitivities, the law of their number.

Nothing here asks the package what noise costs. A run's price is a sum of fractions of released blocks and of the
score's scale; the price of a search follows by the theorems of Papernot and Steinke, and of Liu and Talwar's curves, as
they are printed. It is never more than the statement charges, and not much less.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, special

import dplr
from dplr.estimators import _search, _trials
from dplr.fitting import search
from dplr.noise import Source
from dplr.privacy.law import Law
from dplr.privacy.search.counts import NegativeBinomial, law_of
from run_counts import pmf

ROWS, DELTA = 2_000, 1e-6
SCORE = 2**20  # a record's score: a whole number up to this one
SPECS = {
    "fm": dplr.FunctionalMechanism(),
    "fm, Gaussian": dplr.FunctionalMechanism(noise="gaussian"),
    "score": dplr.ScoreRelease(),
    "ngd": dplr.NoisyGradientDescent(steps=30),
    "output": dplr.OutputPerturbation(),
    "output, Gaussian": dplr.OutputPerturbation(noise="gaussian"),
}
PURE, GAUSSIAN = ["fm", "output"], ["fm, Gaussian", "score", "ngd", "output, Gaussian"]
BINOMIAL = [(2.0, 0.0), (10.0, 1.0), (5.0, 2.0), (4.0, -0.5)]


def parts_of(statement):
    """The blocks of each release of a fit, which come one after the other: steps, rounds, or all of them at once."""
    parts = {}
    for name, block in statement.released.items():
        before = name in ("means", "squares", "records")
        label = name[: name.index("_", len("round_"))] if name.startswith("round_") else name.startswith("meat")
        parts.setdefault("columns" if before else label, []).append(block)
    return [
        blocks
        for blocks in parts.values()
        for _ in range(blocks[0].shape[0] if len(blocks[0].shape) == 2 else 1)  # a step in each row
    ]


def ratio(blocks):
    """How far one record moves a release, in scales of its noise: all blocks have the same noise over their weights."""
    return max(Fraction(block.sensitivity) / (Fraction(block.weight) * Fraction(block.scale)) for block in blocks)


def eps_of(statement):
    """The eps of a fit whose noise is pure, exactly."""
    assert all(block.law in (Law.DISCRETE_LAPLACE, Law.NORM_GAMMA) for block in statement.released.values())
    return sum(map(ratio, parts_of(statement)), Fraction(0))


def square_of(statement):
    """The mu^2 of a fit with Gaussian noise, exactly."""
    assert all(block.law in (Law.DISCRETE_GAUSSIAN, Law.GAUSSIAN) for block in statement.released.values())
    return sum((ratio(blocks) ** 2 for blocks in parts_of(statement)), Fraction(0))


def searched(law, worse):
    """log of how often a search takes what a run takes, over how often its neighbour does: the largest.

    K runs take a result of mass q, above a mass x, with odds q E K x^(K - 1) where q is small; `worse` is that mass of
    the neighbour. For a negative binomial number E K x^(K - 1) is proportional to (1 - (1 - gamma) x)^-(1 + shape).
    """
    gamma, shape = float(law.gamma), float(law.shape)

    def log(x):
        return math.log((1 - (1 - gamma) * worse(x)) / (1 - (1 - gamma) * x))

    points = 1 - np.concatenate([np.geomspace(1e-14, 0.5, 2_000), np.linspace(0.5, 1, 1_000)])
    place = max(range(1, len(points) - 1), key=lambda place: log(points[place]))
    around = np.linspace(points[place - 1], points[place + 1], 1_000)
    return (1 + shape) * max(map(log, around))


def pure_search(law, eps):
    """Papernot and Steinke 2022, theorem 2, sharpened: neither x nor 1 - x changes by more than the factor e^eps."""
    return eps + searched(law, lambda x: max(x * math.exp(-eps), 1 - math.exp(eps) * (1 - x)))


def gaussian_delta(eps, mu):
    """The delta of mu-GDP at eps (Dong, Roth and Su 2022)."""
    return special.ndtr(mu / 2 - eps / mu) - math.exp(eps) * special.ndtr(-mu / 2 - eps / mu)


def gaussian_eps(mu, delta):
    """The eps of mu-GDP at delta."""
    return optimize.brentq(lambda eps: gaussian_delta(eps, mu) - delta, 0.0, 60.0, xtol=1e-14)


def lost_by_a_run(law, delta):
    """The delta of each run, of which the mean number of runs may be lost."""
    return delta / float((pmf(law, 20_000) * np.arange(1, 20_001)).sum())


def gaussian_search(law, mu, delta):
    """A run is mu-GDP, and loses its part of delta at its own eps."""
    return gaussian_eps(mu, lost_by_a_run(law, delta)) + searched(
        law, lambda x: special.ndtr(special.ndtri(x) - mu) if 0 < x < 1 else x
    )


def poisson_search(law, rho, delta):
    """Papernot and Steinke 2022, theorem 6: the Renyi divergence of a Poisson number of rho-zCDP runs."""

    def delta_at(eps):  # Canonne, Kamath and Steinke 2020, proposition 12
        a = 1 + np.geomspace(1e-4, 1e6, 4_000)
        return math.exp(np.min((a - 1) * (a * rho - eps) + (a - 1) * np.log1p(-1 / a) - np.log(a)))

    rate = float(law.rate)
    best = math.inf
    for a in 1 + np.geomspace(1e-2, 1e4, 600):
        divergence = a * rho + rate * min(delta_at(math.log1p(1 / (a - 1))), 1.0)
        divergence += math.log(rate / -math.expm1(-rate)) / (a - 1)
        best = min(best, divergence + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1))
    return best


def pure_rho(eps):
    """The rho of eps-DP: that of a coin which falls with odds e^eps, eps tanh(eps / 2)."""
    return eps * math.tanh(eps / 2)


def pure_mu(eps):
    """The mu of eps-DP: that of the Gaussian test which errs as often as the coin."""
    return 2 * special.ndtri(1 / (1 + math.exp(-eps)))


def price(plan, delta):
    """eps of a search from what its runs release, at the delta that they may lose."""
    statements, score, law = [fit.statement for fit in plan.planned], Fraction(SCORE, plan.noise), plan.law
    gaussian = [all(block.law.gaussian for block in fit.released.values()) for fit in statements]
    if all(gaussian):
        square = float(max(map(square_of, statements)))
        if isinstance(law, NegativeBinomial):
            return gaussian_search(law, math.sqrt(square + pure_mu(float(score)) ** 2), delta)
        return poisson_search(law, square / 2 + pure_rho(float(score)), delta)
    share, prices = lost_by_a_run(law, delta) if delta else 0.0, []
    for fit, is_gaussian in zip(statements, gaussian, strict=True):
        assert fit.delta <= share * (1 + 1e-9)
        prices.append(gaussian_eps(math.sqrt(square_of(fit)), fit.delta) if is_gaussian else float(eps_of(fit)))
    return pure_search(law, max(prices) + float(score))


def planned(names, law, eps, delta):
    models = [dplr.LogisticRegression(eps=eps, delta=delta, mechanism=SPECS[name], ranges="off") for name in names]
    facts = [_trials.Trial.of(model, {}, np.zeros((ROWS, 3)), np.zeros(ROWS), eps).ready.facts for model in models]
    return search.plan_stopping(facts, eps, law)


def check_price(plan, eps, delta):
    assert (plan.statement.eps, plan.statement.delta) == (eps, delta)
    found = price(plan, delta)
    assert found <= eps * (1 + 1e-8)
    assert found >= 0.999 * eps


@pytest.mark.parametrize("names", [*([name] for name in PURE), PURE], ids=" and ".join)
@pytest.mark.parametrize(("runs", "shape"), BINOMIAL)
@pytest.mark.parametrize("eps", [0.2, 6.0])
def test_runs_with_pure_noise_cost_no_more_than_the_search_states(names, runs, shape, eps):
    check_price(planned(names, law_of(runs, shape), eps, 0.0), eps, 0.0)


@pytest.mark.parametrize("names", [*([name] for name in GAUSSIAN), ["ngd", "score"]], ids=" and ".join)
@pytest.mark.parametrize(("runs", "shape"), [*BINOMIAL, (6.0, math.inf)])
@pytest.mark.parametrize("eps", [0.3, 2.0])
def test_runs_with_gaussian_noise_cost_no_more_than_the_search_states(names, runs, shape, eps):
    plan = planned(names, law_of(runs, shape), eps, DELTA)
    assert plan.statement.source.endswith(("theorem 3", "theorem 4"))
    check_price(plan, eps, DELTA)


@pytest.mark.parametrize(("runs", "shape"), BINOMIAL)
def test_runs_with_noise_of_both_kinds_cost_no_more_than_the_search_states(runs, shape):
    plan = planned(["ngd", "output"], law_of(runs, shape), 1.0, DELTA)
    assert plan.statement.source.endswith("theorem 2")
    check_price(plan, 1.0, DELTA)


@pytest.mark.parametrize(
    ("options", "name", "delta"),
    [({"shape": 1.0}, "fm", 0.0), ({"shape": 1.0}, "fm, Gaussian", 1e-3), ({"shape": math.inf}, "fm, Gaussian", 1e-3)],
    ids=["pure", "curve", "Renyi"],
)
def test_every_run_draws_the_noise_that_was_priced(options, name, delta, monkeypatch):
    """Each run draws for its fit what the plan of a candidate has, then one number for its score, and nothing else."""
    plans, drawn, stopping = [], [], search.plan_stopping
    monkeypatch.setattr(_search, "plan_stopping", lambda *facts: plans.append(stopping(*facts)) or plans[-1])
    for kind in ("laplace", "gaussian"):
        plain = getattr(Source, kind)
        drawing = lambda self, scale, size, kind=kind, plain=plain: (  # noqa: E731
            drawn.append((kind, scale, size)) or plain(self, scale, size)
        )
        monkeypatch.setattr(Source, kind, drawing)
    monkeypatch.setattr("dplr.privacy.search.counts.NegativeBinomial.draw", lambda *_: 7)
    monkeypatch.setattr("dplr.privacy.search.counts.TruncatedPoisson.draw", lambda *_: 7)
    model = dplr.LogisticRegression(mechanism=SPECS[name], eps=1.0, delta=delta, large_delta=True, ranges="off")
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (400, 2))
    candidates = [{"l2": 0.1}, {"l2": 1.0}]
    dplr.PrivateSearch(model, candidates, method="random_stopping", runs=4, **options).fit(X, X[:, 0] > 0)
    (plan,) = plans
    check_price(plan, 1.0, delta)
    kind = "gaussian" if delta else "laplace"
    fit = [(kind, block.units, block.shape[0]) for block in plan.planned[0].statement.released.values()]
    assert plan.planned[1].statement.released == plan.planned[0].statement.released
    assert drawn == 7 * [*fit, ("laplace", plan.noise, 1)]


class Worst:
    """Coins of a choice that come to the last place first, take it, and note with which odds."""

    def __init__(self):
        self.exponents = []

    def below(self, bound):
        return bound - 1

    def happens_exp(self, exponent):
        self.exponents.append(exponent)
        return True


@pytest.mark.parametrize("eps", [0.25, 3.0])
def test_a_partition_costs_the_eps_of_a_fit_or_of_its_choice(eps, monkeypatch):
    """Parts are apart: a record is in one. A choice costs twice the exponent by which a record moves it."""
    coins, plans, choose, partition = Worst(), [], _search.choose, search.plan_partition
    monkeypatch.setattr(_search, "choose", lambda costs, eps, _: choose(costs, eps, coins))
    monkeypatch.setattr(_search, "cost", lambda fitted, _: round(fitted.l2 * SCORE))
    monkeypatch.setattr(_search, "plan_partition", lambda *facts: plans.append(partition(*facts)) or plans[-1])
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (400, 2))
    model = dplr.LogisticRegression(mechanism="fm", eps=eps, ranges="off")
    found = dplr.PrivateSearch(model, [{"l2": 1.0}, {"l2": 2.0}]).fit(X, X[:, 0] > 0)
    assert found.best_params_ == {"l2": 2.0}
    (moved,) = coins.exponents  # by one record of score 1
    assert 0.999 * eps <= 2 * moved <= Fraction(eps)
    assert found.privacy_.eps == eps
    assert 0.999 * eps <= max(eps_of(fit.statement) for fit in plans[0].planned) <= Fraction(eps)
