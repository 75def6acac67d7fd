"""Utility of CM08's algorithms: printed and proved figures, inverses that agree, bounds that hold and are sharp."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dplr.auditor.density import Logistic, minimiser
from dplr.utility import excess_risk, expected_excess_risk, expected_sample_size, noise_norm_quantile, sample_size

MECHANISMS = ["objective", "output"]
FACTS = {"d": 10, "l2": 0.01, "eps": 0.1}


@pytest.mark.parametrize(
    ("d", "failure", "corrected", "printed"), [(10, 0.05, 15.7, 53.0), (50, 0.01, 67.9, 425.9), (1, 0.05, 2.996, 2.996)]
)
def test_noise_norm_quantiles_are_those_of_the_gamma_law_and_of_lemma_5(d, failure, corrected, printed):
    found = noise_norm_quantile(d, failure)
    assert found == pytest.approx(corrected, abs=0.05)
    assert stats.gamma.sf(found, d) == pytest.approx(failure, rel=1e-9)
    assert noise_norm_quantile(d, failure, statement="cm08") == pytest.approx(printed, abs=0.05)


@pytest.mark.parametrize(
    ("mechanism", "statement", "bound"),
    [
        ("objective", "corrected", 0.0493),
        ("objective", "cm08", 2.25),
        ("output", "corrected", 1.28),
        ("output", "cm08", 56.7),
    ],
)
def test_excess_of_ten_thousand_rows_and_ten_columns(mechanism, statement, bound):
    found = excess_risk(10_000, mechanism=mechanism, statement=statement, **FACTS)
    assert found == pytest.approx(bound, rel=3e-3)


@pytest.mark.parametrize(("l2", "eps", "d", "failure"), [(0.01, 0.1, 10, 0.05), (0.5, 2.0, 3, 0.001)])
def test_printed_lemmas_have_the_printed_formulas(l2, eps, d, failure):
    facts = {"d": d, "l2": l2, "eps": eps, "failure": failure, "statement": "cm08"}
    log = math.log(d / failure)
    lemma_3 = 2 * d**2 * (1 + l2) * log**2 / (l2**2 * 5000**2 * eps**2)
    lemma_4 = 8 * d**2 * log**2 / (l2 * 5000**2 * eps**2)
    assert excess_risk(5000, mechanism="output", **facts) == pytest.approx(lemma_3, rel=1e-12)
    assert excess_risk(5000, mechanism="objective", **facts) == pytest.approx(lemma_4, rel=1e-12)


def test_corrected_lemma_4_is_a_quarter_of_the_printed_one_at_the_same_noise():
    corrected, printed = (excess_risk(10_000, statement=kind, **FACTS) for kind in ("corrected", "cm08"))
    noise = noise_norm_quantile(10, 0.05) / noise_norm_quantile(10, 0.05, statement="cm08")
    assert corrected / printed == pytest.approx(noise**2 / 4, rel=1e-12)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_corrected_statements_never_ask_for_more_than_the_printed_ones(mechanism):
    for d, l2, eps, failure in itertools.product((1, 2, 10, 100), (1e-3, 0.1), (0.1, 2.0), (0.3, 1e-6)):
        facts = {"d": d, "l2": l2, "eps": eps, "failure": failure, "mechanism": mechanism}
        assert excess_risk(10**6, **facts) <= excess_risk(10**6, statement="cm08", **facts)


def excesses(mechanism, *, n, d, l2, eps, radius, draws, seed=0):
    """J(w) - min J of private fits of random rows on the sphere, by Newton's method; b.w moves the ridge's centre."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X *= radius / np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(rng.random(n) < 0.7, np.sign(X[:, 0]), -1.0)
    best = minimiser(X, y, loss=Logistic(), ridge=n * l2)
    directions = rng.normal(size=(draws, d))
    norms = rng.gamma(d, 2 * radius / eps, size=(draws, 1))
    b = norms * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    if mechanism == "output":
        released = best + b / (n * l2)
    else:
        released = np.array([minimiser(X, y, loss=Logistic(), ridge=n * l2, w0=-noise / (n * l2)) for noise in b])

    def objective(w):
        return np.logaddexp(0, -(w @ X.T) * y).mean(-1) + l2 / 2 * (w**2).sum(-1)

    return objective(released) - objective(best)


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    "facts",
    [
        {"n": 400, "d": 3, "l2": 0.05, "eps": 0.5, "radius": 1.0},
        {"n": 300, "d": 5, "l2": 0.02, "eps": 2.0, "radius": 2.0},
    ],
)
def test_corrected_bound_holds_with_the_promised_probability(facts, mechanism):
    found = excesses(mechanism, draws=1500, **facts)
    bound = excess_risk(facts["n"], failure=0.1, mechanism=mechanism, **{k: v for k, v in facts.items() if k != "n"})
    assert (found >= -1e-12).all()
    # Not more failures than 0.1 can explain: the 99.9 % point of their number.
    assert (found > bound).sum() <= stats.binom.ppf(0.999, len(found), 0.1)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_corrected_bound_is_sharp_where_the_ridge_is_all_of_the_curvature(mechanism):
    """l2 = 25 against a curvature of at most 1/4: a bound 10 % lower fails more often than promised."""
    facts = {"d": 3, "l2": 25.0, "eps": 0.5, "radius": 1.0}
    found = excesses(mechanism, n=50, draws=20_000 if mechanism == "output" else 4000, **facts)
    bound = excess_risk(50, failure=0.2, mechanism=mechanism, **facts)
    most = stats.binom.ppf(0.999, len(found), 0.2)
    assert (found > bound).sum() <= most
    assert (found > 0.9 * bound).sum() > most


@pytest.mark.parametrize("statement", ["corrected", "cm08"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("n", [2001, 10_000, 123_457, 10**9])
def test_records_to_excess_to_records_comes_back(n, mechanism, statement):
    facts = {**FACTS, "mechanism": mechanism, "statement": statement}
    assert sample_size(excess_risk(n, **facts), **facts) == n


@pytest.mark.parametrize("statement", ["corrected", "cm08"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("excess", [1e-6, 0.01, 0.3])
def test_sample_size_is_the_smallest_that_reaches_the_excess(excess, mechanism, statement):
    facts = {**FACTS, "mechanism": mechanism, "statement": statement}
    n = sample_size(excess, **facts)
    assert excess_risk(n, **facts) <= excess < excess_risk(n - 1, **facts)


def test_objective_perturbation_without_enough_ridge_needs_the_eps_of_its_noise():
    """n * l2 < 2 R^2 / eps: noise of eps itself would not be private."""
    with pytest.raises(ValueError, match=r"`n_rows` must be at least 2 R\^2 / \(l2 eps\) = 2000; got 1999"):
        excess_risk(1999, **FACTS)
    assert excess_risk(2000, **FACTS) > 0
    assert sample_size(1e9, **FACTS) == 2000
    half = excess_risk(1000, noise_eps=0.05, **FACTS)
    assert half == pytest.approx(16 * excess_risk(2000, **FACTS), rel=1e-12)  # half the eps', half the rows
    assert sample_size(half, noise_eps=0.05, **FACTS) == 1000


@pytest.mark.parametrize(
    ("target", "norm", "eps", "radius"), [(0.1, 3.0, 0.1, 1.0), (0.01, 2.0, 1.0, 1.5), (0.4, 50, 1e-4, 1)]
)
def test_expected_sample_size_has_the_explicit_terms(target, norm, eps, radius):
    d, failure = 10, 0.05
    facts = {"d": d, "norm": norm, "eps": eps, "radius": radius, "failure": failure}
    quantile = stats.gamma.isf(failure / 2, d)
    sampling = 64 * radius**2 * (32 + math.log(2 / failure)) * norm**2 / target**2
    objective = 4 * radius * quantile * norm / (eps * target)
    enough_ridge = 2 * radius**2 * norm**2 / (eps * target)
    output = 4 * radius * quantile * norm**2 * math.sqrt(target / norm**2 + radius**2 / 4) / (eps * target**1.5)
    found = {kind: expected_sample_size(target, mechanism=kind, **facts) for kind in MECHANISMS}
    assert found["objective"] == math.ceil(max(sampling, objective, enough_ridge) * (1 - 1e-14))
    assert found["output"] == math.ceil(max(sampling, output) * (1 - 1e-14))


def test_expected_sample_size_leaves_objective_perturbation_private():
    """A reference of large norm and a tiny eps: the ridge that the noise needs decides, not the two other terms."""
    facts = {"d": 1, "norm": 1000.0, "eps": 1e-4}
    n = expected_sample_size(0.5, **facts)
    l2 = 0.5 / 1000.0**2
    assert n * l2 >= 2 / 1e-4 * (1 - 1e-12)
    assert n == pytest.approx(4e10)
    excess_risk(n, d=1, l2=l2, eps=1e-4)  # not refused


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("target", "eps", "norm"), [(0.1, 0.1, 3.0), (1e-3, 1.0, 10.0), (0.5, 1e-3, 30.0)])
def test_records_to_expected_excess_to_records_comes_back(mechanism, target, eps, norm):
    for extra in ({}, {"statement": "cm08", "constant": 10.0}):
        facts = {"d": 7, "norm": norm, "eps": eps, "mechanism": mechanism, **extra}
        n = expected_sample_size(target, **facts)
        found = expected_excess_risk(n, **facts)
        assert found == pytest.approx(target, rel=2 / n + 1e-11)
        assert expected_sample_size(found, **facts) == pytest.approx(n, abs=1, rel=1e-11)


def test_printed_theorems_have_the_printed_terms():
    d, norm, eps, target, failure = 10, 3.0, 0.001, 0.1, 0.05
    facts = {"d": d, "norm": norm, "eps": eps, "failure": failure, "statement": "cm08", "constant": 2.0}
    noise = d * math.log(d / failure) * norm / (target * eps)
    assert expected_sample_size(target, **facts) == math.ceil(2 * noise)
    assert expected_sample_size(target, mechanism="output", **facts) == math.ceil(2 * noise * norm / math.sqrt(target))
    easy = {**facts, "eps": 1e6}
    assert expected_sample_size(target, **easy) == math.ceil(2 * norm**2 * math.log(1 / failure) / target**2)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"l2": 0.0}, ValueError, "`l2` must be positive and finite; got 0.0"),
        ({"eps": -1.0}, ValueError, "`eps` must be positive"),
        ({"d": 0}, ValueError, "`d` must be at least 1"),
        ({"failure": 1.0}, ValueError, "`failure` must be between 0 and 1; got 1.0"),
        ({"mechanism": "fm"}, ValueError, "`mechanism` must be one of 'output', 'objective'; got 'fm'"),
        ({"statement": "printed"}, ValueError, "`statement` must be one of 'corrected', 'cm08'"),
        ({"radius": 2.0, "statement": "cm08"}, ValueError, "`radius` must be 1 with statement='cm08'; got 2.0. Scale"),
        ({"noise_eps": 0.2}, ValueError, "`noise_eps` must be positive and at most eps = 0.1; got 0.2"),
        ({"noise_eps": 0.05, "mechanism": "output"}, ValueError, "`noise_eps` is of the corrected objective"),
        ({"l2": "0.1"}, TypeError, "`l2` must be a real number"),
    ],
)
def test_statements_refuse_what_they_cannot_mean(change, error, message):
    for function, first in ((excess_risk, 10_000), (sample_size, 0.1)):
        with pytest.raises(error, match=message):
            function(first, **FACTS | change)


def test_first_arguments_and_the_open_constant_are_checked():
    facts = {"d": 2, "norm": 1.0, "eps": 1.0}
    for call, message in (
        (lambda: excess_risk(0, **FACTS), "`n_rows` must be positive"),
        (lambda: sample_size(math.inf, **FACTS), "`excess` must be positive and finite"),
        (lambda: expected_sample_size(0.0, **facts), "`target` must be positive"),
        (lambda: expected_excess_risk(-5, **facts), "`n_rows` must be positive"),
        (lambda: expected_sample_size(0.1, statement="cm08", **facts), "`constant` is required by statement='cm08'"),
        (lambda: expected_sample_size(0.1, constant=1.0, **facts), "`constant` is of statement='cm08' only"),
        (lambda: expected_sample_size(0.1, **facts | {"norm": 0.0}), "`norm` must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
