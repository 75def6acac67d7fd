"""What a private model is worth: the committed ACS figures, and a synthetic twin that always runs."""

import csv
import math
import os
import pathlib

import numpy as np
import pytest

import dplr

RESULTS = pathlib.Path(__file__).parents[1] / "bench" / "results" / "acs_accuracy.csv"
ADULT_RESULTS = RESULTS.with_name("adult_accuracy.csv")
# eps -> largest mean test error of 20 fits of noisy gradient descent on Adult, delta = 1e-5.
ADULT_LIMITS = {0.1: 0.172, 0.5: 0.161, 1.0: 0.159, 2.0: 0.1585}
# (model, eps, delta) -> largest mean test error of 200 fits.
LIMITS = {
    ("logistic", 0.8, 0.0): 0.2265,
    ("logistic", 0.1, 0.0): 0.240,
    ("linear", 0.8, 0.0): 0.158,
    ("logistic", 0.8, 1e-6): 0.226,
    ("logistic", 0.1, 1e-6): 0.232,
}


@pytest.fixture(scope="module")
def acs():
    if not os.environ.get("DPLR_DATA"):
        pytest.skip("DPLR_DATA does not name the data folder")
    from bench.accuracy import acs

    return acs, acs.load(os.environ["DPLR_DATA"])


@pytest.mark.thorough
@pytest.mark.realdata
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("model", "eps", "delta"), LIMITS)
def test_acs_error_of_200_fits_stays_below_its_limit_and_none_explodes(acs, model, eps, delta):
    script, data = acs
    found = script.errors(model, eps, *data, delta=delta)
    assert len(found) == 200
    assert found.mean() <= LIMITS[model, eps, delta]
    assert found.max() <= 2 * np.median(found)


@pytest.fixture(scope="module")
def adult():
    if not os.environ.get("DPLR_DATA"):
        pytest.skip("DPLR_DATA does not name the data folder")
    from bench.data import adult

    return adult.load(os.environ["DPLR_DATA"])


@pytest.mark.thorough
@pytest.mark.realdata
@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
@pytest.mark.parametrize("eps", ADULT_LIMITS)
def test_adult_error_of_100_noisy_descents_stays_below_its_limit(adult, eps):
    """With a seed: at eps = 2 the mean of 200 fits was .1584, and that of 40 above .1585 in one draw of five."""
    X, y, X_test, y_test = adult
    fits = dplr.fit_many(X, y, eps=[eps], repeats=100, delta=1e-5, mechanism="ngd", rng=0)
    assert 1 - np.mean([est.score(X_test, y_test) for est in fits]) <= ADULT_LIMITS[eps]


def test_committed_adult_figures_meet_the_limits():
    with open(ADULT_RESULTS) as file:
        rows = {
            (row["model"], row["mechanism"], float(row["eps"]), float(row["delta"])): row
            for row in csv.DictReader(file)
        }
    for eps, limit in ADULT_LIMITS.items():
        row = rows["logistic", "ngd", eps, 1e-5]
        assert int(row["fits"]) == 20
        assert float(row["mean_error"]) <= limit


def test_committed_acs_figures_meet_the_limits():
    with open(RESULTS) as file:
        rows = {
            (row["model"], row["calibration"], float(row["eps"]), float(row["delta"])): row
            for row in csv.DictReader(file)
        }
    for (model, eps, delta), limit in LIMITS.items():
        row = rows[model, "tight", eps, delta]
        assert int(row["fits"]) == 200
        assert float(row["mean"]) <= limit
        assert float(row["worst"]) <= 2 * float(row["median"])
    exact, truncated = (rows["logistic", name, math.inf, 0.0] for name in ("non-private", "tight"))
    assert float(exact["mean"]) < float(truncated["mean"]) < float(rows["logistic", "paper", 0.8, 0.0]["mean"])


@pytest.fixture(scope="module")
def population():
    """13 features like those of a survey: half of them binary, some skewed, all with wide public bounds."""
    rng = np.random.default_rng(11)
    n, d = 80_000, 13
    X = rng.beta(rng.uniform(0.5, 3, d), rng.uniform(1, 4, d), (n, d)) * 10
    X[:, :6] = np.where(X[:, :6] > 4, 10, 0)
    z = (X - X.mean(0)) @ (rng.normal(size=d) / 6)
    return X, (z + rng.logistic(size=n) > 0), np.clip(z / 4 + rng.normal(0, 0.2, n), -1, 1)


BOUNDS = {
    kind: dplr.Bounds([(0, 10)] * 13, target=target) for kind, target in {"logistic": None, "linear": (-1, 1)}.items()
}


def synthetic_errors(population, model, eps, fits, **spec):
    X, label, number = population
    train, test = slice(0, 60_000), slice(60_000, None)
    found = []
    for _ in range(fits):
        y = label if model == "logistic" else number
        est = dplr.fit(
            X[train], y[train], model=model, eps=eps, bounds=BOUNDS[model], mechanism=dplr.FunctionalMechanism(**spec)
        )
        wrong = (
            est.predict(X[test]) != label[test] if model == "logistic" else (est.predict(X[test]) - number[test]) ** 2
        )
        found.append(wrong.mean())
    return np.array(found)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("model", "eps", "excess"), [("logistic", 0.8, 1.02), ("logistic", 0.1, 1.08), ("linear", 0.8, 1.06)]
)
def test_synthetic_error_of_200_fits_is_close_to_the_noise_free_one_and_none_explodes(population, model, eps, excess):
    exact = synthetic_errors(population, model, math.inf, 1)[0]
    found = synthetic_errors(population, model, eps, 200)
    assert found.mean() <= excess * exact
    assert found.max() <= 2 * np.median(found)


def test_tight_calibration_is_worth_it(population):
    exact = synthetic_errors(population, "linear", math.inf, 1)[0]
    tight, paper = (synthetic_errors(population, "linear", 0.8, 20, calibration=name) for name in ("tight", "paper"))
    assert tight.mean() - exact < (paper.mean() - exact) / 2


def test_without_a_positive_floor_some_fits_explode(population):
    """The reason for trimming at four standard deviations and not at zero, as FM12 has it."""
    X, _, number = population
    found = {}
    for floor in (0.0, 4.0):
        spec = dplr.FunctionalMechanism(floor_deviations=floor)
        norms = [
            np.linalg.norm(
                dplr.fit(X[:500], number[:500], model="linear", eps=0.5, bounds=BOUNDS["linear"], mechanism=spec).coef_
            )
            for _ in range(200)
        ]
        found[floor] = max(norms) / np.median(norms)
    assert found[4.0] < 10 < found[0.0]
