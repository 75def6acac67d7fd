"""`aim="coefficients"` takes the options that bias coefficients less; a statement names what shrinks them."""

import math

import numpy as np
import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main
from specs import spec_with

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 10, (20_000, 3))
TRUE = np.array([3.0, -2.0, 0.5])
NUMBER = X @ TRUE + RNG.normal(0, 1, len(X))
LABEL = RNG.uniform(size=len(X)) < 1 / (1 + np.exp(-(X @ [0.8, -0.5, 0.2] - 2.5)))
BOUNDS = dplr.Bounds([(0, 10)] * 3)
LINEAR = {"model": "linear", "bounds": dplr.Bounds([(0, 10)] * 3, target=(-25, 40))}


def fits(aim, repeats=15, **options):
    found = dplr.fit_many(
        X, NUMBER, eps=[0.3], repeats=repeats, mechanism=dplr.FunctionalMechanism(ranges="off"), aim=aim, **options
    )
    return np.array([est.coef_ for est in found])


def test_coefficients_of_a_regression_are_biased_less():
    bias = {aim: np.median(fits(aim, 150, **LINEAR), axis=0) - TRUE for aim in ("prediction", "coefficients")}
    assert np.linalg.norm(bias["coefficients"]) < np.linalg.norm(bias["prediction"]) / 3


def test_lengths_of_logistic_coefficients_are_closer_to_the_truth_without_noise():
    true = dplr.fit(X, LABEL, eps=math.inf, mechanism="none", bounds=BOUNDS, l2=1e-7).coef_[0]
    length = {
        aim: dplr.fit(X, LABEL, eps=math.inf, mechanism="fm", bounds=BOUNDS, aim=aim).coef_[0] @ true / (true @ true)
        for aim in ("prediction", "coefficients")
    }
    assert abs(1 - length["coefficients"]) < abs(1 - length["prediction"]) / 2


def test_fm_keeps_the_options_that_were_set():
    def solution(mechanism):
        given = {"n_rows": 20_000, "eps": 1.0, "bounds": BOUNDS, "aim": "coefficients"}
        return dplr.plan(mechanism=mechanism, **given).statement.solution

    taylor = dplr.FunctionalMechanism(approximation="taylor")
    assert "the stein quadratic in place of the logistic loss" in solution("fm")
    assert "the taylor quadratic in place of the logistic loss" in solution(taylor)


def test_the_statement_names_ridge_and_trimming_and_those_of_a_refit():
    est = dplr.fit(X, NUMBER, eps=1.0, mechanism="fm", **LINEAR)
    shrunk = "coefficients are shrunk by "
    both = "a ridge of 4 deviations of the noise and dropping directions up to 4 deviations of the noise"
    assert shrunk + both in est.privacy_.solution
    other = est.refit(aim="coefficients")
    assert f"{shrunk}dropping directions up to 2 deviations of the noise" in other.privacy_.solution
    assert (other.privacy_.eps, other.released_["linear"].tolist()) == (1.0, est.released_["linear"].tolist())
    back = other.refit(aim="prediction")
    assert back.coef_.tolist() == est.coef_.tolist()
    assert shrunk + both in back.privacy_.solution
    ridged = est.refit(l2=0.1)
    assert "ridge of" not in str(ridged.privacy_.solution)
    assert "l2 = 0.1" in ridged.privacy_.solution
    assert shrunk not in str(dplr.plan(n_rows=9, n_features=2, eps=math.inf, mechanism="fm").statement)


def test_what_was_trimmed_is_counted():
    bounds = {"model": "linear", "bounds": dplr.Bounds([(0, 1000)] * 3, target=(-25, 40))}  # hardly any variance
    est = dplr.fit(X, NUMBER, eps=0.05, mechanism=dplr.FunctionalMechanism(ranges="off"), **bounds)
    spec = dplr.FunctionalMechanism(ridge_deviations=0.0, floor_deviations=1e6)
    assert dplr.fit(X, NUMBER, eps=0.05, mechanism=spec_with(spec, "off"), **bounds).trimmed_ == 4
    assert 0 <= est.refit(aim="coefficients").trimmed_ <= 4
    assert dplr.fit(X, NUMBER, eps=100.0, mechanism="fm", **LINEAR).trimmed_ == 0
    assert dplr.fit(X, NUMBER, eps=1.0, **LINEAR).trimmed_ is None
    three = np.digitize(NUMBER, [0, 5])
    assert dplr.fit(X, three, eps=100.0, mechanism="fm", bounds=BOUNDS, classes=(0, 1, 2)).trimmed_ == 0


def test_a_model_file_keeps_the_options(tmp_path):
    est = dplr.fit(X, NUMBER, eps=1.0, mechanism="fm", aim="coefficients", **LINEAR)
    dplr.save_model(est, tmp_path / "model.json")
    loaded = dplr.load_model(tmp_path / "model.json")
    assert loaded.privacy_ == est.privacy_
    assert loaded.refit().coef_.tolist() == est.coef_.tolist()
    assert loaded.trimmed_ == est.trimmed_


def test_an_aim_that_is_unknown_is_refused(entropy):
    with pytest.raises(ValueError, match="`aim` must be one of 'prediction', 'coefficients'; got 'truth'"):
        dplr.fit(X, LABEL, eps=1.0, bounds=BOUNDS, aim="truth")
    with pytest.raises(ValueError, match="`aim` must be one of"):
        dplr.fit(X, LABEL, eps=1.0, mechanism="fm", bounds=BOUNDS).refit(aim="truth")


def test_the_command_line_has_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dplr.Bounds({"a": (0, 1)}, target=("no", "yes")).to_toml("bounds.toml")
    options = ["plan", "--bounds", "bounds.toml", "--n-rows", "1000", "--eps", "1", "--aim", "coefficients"]
    done = CliRunner().invoke(main, options)
    assert done.exit_code == 0
    assert 'aim = "coefficients"' in done.stdout


def test_the_statement_of_a_refit_names_the_quadratic_that_it_solved():
    est = dplr.fit(X, LABEL, eps=1.0, mechanism="fm", bounds=BOUNDS)
    for other, name in (
        (est, "minimax"),
        (est.refit(aim="coefficients"), "stein"),
        (est.refit(approximation="taylor"), "taylor"),
        (est.refit(aim="coefficients").refit(aim="prediction"), "minimax"),
    ):
        for statement in (other.privacy_, other._record.plan.statement):
            quadratics = [words for words in statement.solution if "quadratic" in words]
            assert quadratics == [f"the {name} quadratic in place of the logistic loss"]
