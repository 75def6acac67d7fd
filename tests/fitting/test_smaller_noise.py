"""Where a delta was asked for, a mechanism has its pure noise if that is smaller, and says so."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dplr
from dplr.fitting.facts import public_facts
from dplr.mechanisms import as_mechanism
from dplr.mechanisms.perturbation import objective
from dplr.noise import Source
from dplr.privacy.guarantees import Approx, Gaussian, Pure
from forgeries import forgery
from specs import spec_with

BOTH = ("fm", "objective", "output")
SPECS = {
    "fm": dplr.FunctionalMechanism,
    "objective": dplr.ObjectivePerturbation,
    "output": dplr.OutputPerturbation,
}


def planned(d, delta, mechanism="objective", n=5_000, eps=1.0, **facts):
    bounds = dplr.Bounds([(-1, 1)] * d, target=(-1, 1) if facts.get("model") == "linear" else None)
    mechanism = spec_with(mechanism, facts.pop("ranges", "off"))
    facts = public_facts(n_rows=n, bounds=bounds, delta=delta, mechanism=mechanism, **facts)
    return facts.planned(eps)  # large deltas too


def table(n=3_000, classes=2):
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), np.linspace(-0.8, 0.8, classes + 1)[1:-1])


@pytest.mark.parametrize("mechanism", BOTH)
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_more_delta_is_never_more_noise(mechanism, relation):
    """Over dimensions, eps and delta the noise is that of the smaller law, and both laws occur."""
    spec, laws = as_mechanism(mechanism), set()
    gaussian = SPECS[mechanism](noise="gaussian")
    for d in (1, 2, 5, 20, 90):
        for eps, delta in ((0.1, 1e-9), (1.0, 1e-5), (5.0, 0.01)):
            facts = {"d": d, "eps": eps, "neighbouring": relation}
            plans = [planned(delta=delta, mechanism=each, **facts) for each in (spec, gaussian)]
            pure = planned(delta=0.0, mechanism=spec, **facts)
            noises = [spec.noise_of(plan) for plan in (*plans, pure)]
            assert noises[0] == min(noises[1:])
            laws.add("Gaussian" in next(iter(plans[0].released.values())).law)
            assert isinstance(plans[1].statement.guarantee, Gaussian | Approx)
            assert plans[1].statement.delta == delta
    assert len(laws) == 2


@pytest.mark.parametrize(
    ("size", "ratio", "off", "auto"),
    [(40, 0.97, "smaller", "smaller"), (50, 1.05, "gauge", "gauge"), (60, 1.12, "", "gauge"), (80, 1.25, "", "")],
)
def test_pure_noise_in_the_gauge_of_blocks_may_be_a_little_larger(size, ratio, off, auto):
    """Up to 1.07 times as large as Gaussian noise, and up to 1.25 times with ranges."""
    known = {"x": (-10, 10), "y": (0, 60), "m": {"levels": list(range(12))}, "b": {"levels": list(range(size))}}
    facts = {"n_rows": 20_000, "bounds": dplr.Bounds(known, target=(0, 1)), "eps": 0.1, "model": "linear"}
    spec, gaussian = dplr.ObjectivePerturbation(), dplr.ObjectivePerturbation(noise="gaussian")
    pure = dplr.plan(mechanism=spec_with(spec, "off"), delta=0.0, **facts)
    other = dplr.plan(mechanism=spec_with(gaussian, "off"), delta=1e-6, **facts)
    assert spec.noise_of(pure) / spec.noise_of(other) == pytest.approx(ratio, abs=0.006)
    for ranges, taken in (("off", off), ("auto", auto)):
        statement = dplr.plan(mechanism=spec_with(spec, ranges), delta=1e-6, **facts).statement
        assert (statement.delta < 1e-18) is bool(taken)
        assert ("smaller than Gaussian noise for delta = 1e-06" in statement.calibration) is (taken == "smaller")
        assert ("in place of Gaussian noise for delta = 1e-06" in statement.calibration) is (taken == "gauge")


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("noise", ["smaller", "gaussian"])
def test_noise_is_measured_in_gradients(mechanism, noise):
    """Noise of both laws is in one unit: root mean square of the linear term, or of the noise times the ridge."""
    plan, source = planned(3, 1e-6, SPECS[mechanism](noise=noise)), Source(0)
    if mechanism == "objective":
        weights = np.asarray(plan.settings.weights or 1.0)
        draws = [objective._linear(plan, source) / weights for _ in range(4_000)]
        unit = plan.problem.loss.lipschitz
    else:
        block, unit = plan.released["coef"], 1 / plan.settings.ridge
        draw = source.normals if noise == "gaussian" else source.norm_gamma
        draws = [draw(Fraction(block.scale) / Fraction(block.grid), 4) * block.grid for _ in range(4_000)]
    found = np.sqrt(np.mean(np.square(draws))) / unit
    assert found == pytest.approx(as_mechanism(mechanism).noise_of(plan), rel=0.03)
    assert SPECS[mechanism](noise="gaussian").noise_of(plan) is None


def test_the_noise_of_moments_is_what_draws_have():
    """Root mean square of (noisy quadratic) w - (noisy linear) over directions of w, from independent draws."""
    rng, spec = np.random.default_rng(0), dplr.FunctionalMechanism()
    for delta in (0.0, 1e-6):
        plan = planned(4, delta, "fm", n=100_000, eps=0.5, neighbouring="add_remove")
        released, q = plan.released, 5
        found = []
        for _ in range(4_000):
            matrix = np.diag(rng.normal(0, released["diagonal"].deviation, q))
            upper = np.triu_indices(q, 1)
            matrix[upper] = rng.normal(0, released["off_diagonal"].deviation, len(upper[0]))
            matrix += np.triu(matrix, 1).T
            w = rng.normal(size=q)
            w *= spec.coef_norm / np.linalg.norm(w)
            found.append(np.mean((matrix @ w - rng.normal(0, released["linear"].deviation, q)) ** 2))
        assert np.sqrt(np.mean(found)) == pytest.approx(spec.noise_of(plan), rel=0.03)


@pytest.mark.parametrize("mechanism", BOTH)
def test_a_fit_is_the_pure_one_bit_for_bit(mechanism, tmp_path):
    X, y = table()
    facts = {"bounds": dplr.Bounds([(-1, 1)] * 2), "eps": 1.0, "mechanism": mechanism, "rng": 3, "classes": [0, 1]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = (dplr.fit(X, y, delta=delta, **facts) for delta in (1e-6, 0.0))
    assert_array_equal(one.coef_, other.coef_)
    assert one.privacy_.guarantee == other.privacy_.guarantee
    assert one.privacy_.delta == other.privacy_.delta < 1e-6
    assert "at the same eps smaller than Gaussian noise for delta = 1e-06" in one.privacy_.calibration
    dplr.save_model(one, tmp_path / "model.json")
    loaded = dplr.load_model(tmp_path / "model.json")
    assert loaded.delta == 1e-6
    assert_array_equal(loaded.coef_, one.coef_)
    assert loaded.privacy_ == one.privacy_


def test_a_file_has_the_delta_that_was_asked_for(tmp_path):
    X, y = table()
    bounds = dplr.Bounds([(-1, 1)] * 2)
    est = dplr.fit(X, y, bounds=bounds, eps=1.0, delta=1e-6, mechanism="objective", classes=[0, 1])
    path = forgery(est, tmp_path / "model.json", lambda model: model["parameters"].update(delta=1e-5))
    with pytest.raises(ValueError, match="delta` must be that of the statement"):
        dplr.load_model(path)


def test_a_statement_has_the_delta_that_is_not_used_as_a_number():
    facts = {"n_rows": 20_000, "n_features": 2, "eps": 1.0}
    for mechanism, delta, unused in (
        ("objective", 1e-6, 1e-6), ("objective", 0.0, 0.0), ("fm", 1e-6, 1e-6), ("output", 1e-6, 1e-6),
        (dplr.FunctionalMechanism(noise="gaussian"), 1e-6, 0.0), ("ngd", 1e-6, 0.0),
    ):  # fmt: skip
        assert dplr.plan(mechanism=mechanism, delta=delta, **facts).statement.unused_delta == unused


def test_ranges_are_those_of_pure_noise():
    facts = {"n": 20_000, "model": "linear", "mechanism": "objective", "ranges": "auto"}
    one, other = (planned(3, delta, **facts) for delta in (1e-6, 0.0))
    assert set(one.released) == {"range_sums", "range_squares", "coef"}
    assert one.released == other.released


def test_a_ledger_is_charged_for_what_was_released(tmp_path):
    X, y = table()
    ledger = dplr.Ledger(tmp_path / "budget", eps=2.0, delta=1e-6)
    for noise, spent in (("smaller", (1.0, 0.0)), ("gaussian", (2.0, 1e-6))):
        dplr.fit(
            X, y, bounds=dplr.Bounds([(-1, 1)] * 2), eps=1.0, delta=1e-6, ledger=ledger, classes=[0, 1],
            mechanism=dplr.FunctionalMechanism(noise=noise),
        )  # fmt: skip
        assert ledger.spent() == pytest.approx(spent)


def test_several_classes_take_what_is_smaller_for_all_of_them():
    """Pure shares are eps/K, those of Gaussian noise mu/sqrt(K): with many classes Gaussian noise wins."""
    laws = []
    for k in (3, 40):
        known = {"a": (-1, 1), "b": (-1, 1)}
        bounds = dplr.Bounds(known, target=list(range(k)))
        plan = dplr.plan(
            n_rows=5_000, bounds=bounds, eps=1.0, delta=1e-6, mechanism=dplr.OutputPerturbation(ranges="off")
        )
        laws.append(next(iter(plan.released.values())).law)
    assert laws == ["norm-Gamma", "Gaussian"]


def test_a_share_that_pure_noise_cannot_pay_for_keeps_gaussian_noise():
    """A small ridge costs each of 100 classes more than eps/100; Gaussian noise leaves each more than that."""
    bounds = dplr.Bounds({"a": (-1, 1), "b": (-1, 1)}, target=list(range(100)))
    facts = {"n_rows": 5_000, "bounds": bounds, "eps": 1.0, "mechanism": dplr.ObjectivePerturbation(cut=None)}
    ridge = 0.004
    with pytest.raises(ValueError, match="`l2` must be above"):
        dplr.plan(**facts, l2=ridge)
    plan = dplr.plan(**facts, l2=ridge, delta=1e-6)
    assert next(iter(plan.released.values())).law == "Gaussian in the objective"


def test_a_ridge_that_ranges_leave_too_little_for_has_none_unless_they_are_asked_for():
    bounds = dplr.Bounds([(-1, 1)], target=(-1, 1))
    facts = {"model": "linear", "n_rows": 2_000, "bounds": bounds, "eps": 1.0, "mechanism": "objective", "l2": 4.125e-4}
    for delta in (0.0, 1e-6):
        plan = dplr.plan(**facts, delta=delta)
        assert list(plan.released) == ["coef"]
        assert plan.released["coef"].law == "gauge in the objective"
    with pytest.raises(ValueError, match="`l2` must be above"):
        dplr.plan(**facts | {"mechanism": dplr.ObjectivePerturbation(ranges="on")})


@pytest.mark.parametrize("mechanism", BOTH)
def test_options(mechanism):
    with pytest.raises(ValueError, match="`noise` must be one of"):
        SPECS[mechanism](noise="pure")
    assert isinstance(planned(2, 0.0, SPECS[mechanism](noise="gaussian")).statement.guarantee, Pure | Approx)
