"""Noise that drowns a fit is said before eps is spent."""

import csv
import math
import pathlib
import warnings

import numpy as np
import pytest

import dplr
from declared_units import declared
from dplr.problem.outlook import DROWNED, USEFUL
from specs import spec_with

MECHANISMS = [("objective", 0.0), ("output", 0.0), ("fm", 0.0), ("ngd", 1e-6), ("score", 1e-6), ("output", 1e-6)]


def _rows(n, d=3, model="linear"):
    rng = np.random.default_rng(n)
    X = rng.uniform(-1, 1, (n, d))
    y = 0.4 * X[:, 0] + rng.normal(0, 0.2, n)
    bounds = dplr.Bounds([(-1, 1)] * d, target=(-1, 1) if model == "linear" else (0, 1))
    return X, np.clip(y, -1, 1) if model == "linear" else (y > 0).astype(int), bounds


@pytest.mark.parametrize("model", ["linear", "logistic"])
@pytest.mark.parametrize(("n", "d", "eps"), [(80, 13, 0.5), (500, 3, 0.05), (3, 3, 1.0)])
def test_a_fit_that_noise_drowns_warns(model, n, d, eps):
    X, y, bounds = _rows(n, d, model)
    with pytest.warns(dplr.UtilityWarning, match="Noise drowns this fit.* no better than always giving the m"):
        dplr.fit(X, y, model=model, bounds=bounds, eps=eps)
    with pytest.warns(dplr.UtilityWarning, match="Noise drowns this fit"):
        plan = dplr.plan(n_rows=n, model=model, bounds=bounds, eps=eps)
    assert "outlook" in str(plan)


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_a_fit_with_rows_enough_warns_of_nothing(model):
    X, y, bounds = _rows(20_000, 3, model)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dplr.UtilityWarning)
        dplr.fit(X, y, model=model, bounds=bounds, eps=0.5)
        plan = dplr.plan(n_rows=20_000, model=model, bounds=bounds, eps=0.5)
    assert plan.outlook.ratio < 0.2
    assert "outlook" not in str(plan)


@pytest.mark.parametrize(("mechanism", "delta"), MECHANISMS)
@pytest.mark.filterwarnings("ignore::dplr.UtilityWarning")
def test_every_mechanism_is_judged_and_needs_fewer_rows_at_a_larger_eps(mechanism, delta):
    facts = {"bounds": dplr.Bounds([(-1, 1)] * 4), "mechanism": mechanism, "delta": delta}
    ratios = [[dplr.plan(n_rows=n, eps=eps, **facts).outlook.ratio for n in (1_000, 10_000)] for eps in (0.1, 1.0)]
    (few, many), (fewer, more) = ratios
    assert few > many > more
    assert few > fewer > more


GRID = [(3, 1.0, 2), (80, 0.5, 2), (500, 0.05, 2), (100, 0.1, 10), (200, 0.1, 10), (50, 0.2, 30), (300, 0.05, 4)]


@pytest.mark.parametrize(
    ("mechanism", "delta", "model"),
    [(*each, "logistic") for each in (*MECHANISMS, ("ngd", 1e-9))]
    + [(*each, "linear") for each in (*MECHANISMS, ("ngd", 1e-9)) if each[0] != "score"],
)
def test_the_remedy_is_one(mechanism, delta, model):
    """Neither the advised eps nor the advised number of rows warns again."""
    judged = 0
    for n, eps, d in GRID:
        target = (-1, 1) if model == "linear" else (0, 1)
        facts = {"bounds": dplr.Bounds([(-1, 1)] * d, target=target), "mechanism": mechanism, "delta": delta}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dplr.UtilityWarning)
            outlook = dplr.plan(n_rows=n, eps=eps, model=model, **facts).outlook
        advice = [(round(outlook.useful_rows), eps), *([(n, outlook.useful_eps)] if outlook.useful_eps <= 10 else [])]
        for rows, more in advice if outlook.drowned else ():
            with warnings.catch_warnings():
                warnings.filterwarnings("error", "Noise drowns this fit", dplr.UtilityWarning)
                assert dplr.plan(n_rows=rows, eps=more, model=model, **facts).outlook.ratio < 0.65 * DROWNED
            judged += 1
    assert judged > 5


def test_the_remedy_is_where_most_fits_of_the_study_kept_half_of_what_a_model_gains():
    for model in ("linear", "logistic"):
        cells = [(float(cell["kept"]), float(cell["ratio"])) for cell in _study() if cell["model"] == model]
        for low, high in ((0.2, 0.3), (0.3, 0.4), (0.4, USEFUL)):
            assert np.mean([kept >= 0.5 for kept, ratio in cells if low <= ratio < high]) > 0.5
        assert np.mean([kept >= 0.5 for kept, ratio in cells if 1 <= ratio < DROWNED]) < 0.4


def test_the_words_do_not_promise_use_at_the_limit_of_the_warning():
    with pytest.warns(dplr.UtilityWarning):
        outlook = dplr.plan(n_rows=80, eps=0.5, bounds=dplr.Bounds([(0, 1)] * 2)).outlook
    times = outlook.ratio / USEFUL
    assert (outlook.useful_rows / 80, outlook.useful_eps / 0.5) == pytest.approx((times, times))
    words = f"A useful model takes an eps of about {0.5 * times:.2g}, or about {round(80 * times, -1):.0f} records"
    assert words in str(outlook)


@pytest.mark.filterwarnings("ignore::dplr.UtilityWarning")
@pytest.mark.parametrize(("mechanism", "delta"), MECHANISMS)
def test_a_fitted_model_and_its_file_have_the_outlook_of_the_plan(mechanism, delta, tmp_path):
    X, y, bounds = _rows(200, 3, "logistic")
    est = dplr.fit(X, y, bounds=bounds, eps=0.3, mechanism=mechanism, delta=delta)
    planned = dplr.plan(n_rows=200, bounds=bounds, eps=0.3, mechanism=mechanism, delta=delta).outlook
    dplr.save_model(est, tmp_path / "model.json")
    for each in (est, dplr.load_model(tmp_path / "model.json")):
        assert each._record.plan.outlook_at(each.privacy_.eps) == planned


def test_the_outlook_reads_no_row():
    X, y, bounds = _rows(80)
    with pytest.warns(dplr.UtilityWarning) as one:
        dplr.fit(X, y, model="linear", bounds=bounds, eps=0.1)
    with pytest.warns(dplr.UtilityWarning) as other:
        dplr.fit(np.zeros_like(X), np.ones_like(y), model="linear", bounds=bounds, eps=0.1)
    texts = [[str(w.message) for w in each if w.category is dplr.UtilityWarning] for each in (one, other)]
    assert texts[0] == texts[1]


def test_it_is_said_before_the_budget_is_touched(tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0)
    X, y, bounds = _rows(80)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dplr.UtilityWarning)
        with pytest.raises(dplr.UtilityWarning):
            dplr.fit(X, y, model="linear", bounds=bounds, eps=0.1, ledger=ledger)
    assert ledger.remaining()[0] == 1.0


def test_classes_persons_ranges_and_a_reference_have_an_outlook():
    facts = {"bounds": dplr.Bounds([(-1, 1)] * 3, target=["a", "b", "c"])}
    two = {"bounds": dplr.Bounds([(-1, 1)] * 3, target=["a", "b"])}
    alone, several = (dplr.plan(n_rows=3_000, eps=0.5, **each).outlook for each in (two, facts))
    assert several.ratio > 2 * alone.ratio  # three models share eps
    assert several.eps == 0.5
    person = dplr.plan(n_rows=3_000, eps=0.5, person="id", **declared({**two, "rows_per_person": 5})).outlook
    assert person.many == "persons"
    reference = dplr.plan(n_rows=3_000, eps=0.5, neighbouring="add_remove", **two).outlook
    assert reference.ratio < alone.ratio  # one record is half as much as two
    ranged = dplr.plan(
        n_rows=3_000,
        eps=0.5,
        model="linear",
        mechanism=spec_with("objective", "on"),
        bounds=dplr.Bounds([(-1, 1)], target=(0, 1)),
    )
    assert ranged.outlook.eps == pytest.approx(0.5)


def test_where_public_facts_do_not_tell_nothing_is_said():
    bounds = dplr.Bounds([(-1, 1)], target=(0, 1))
    assert dplr.plan(eps=0.01, bounds=bounds, neighbouring="add_remove", model="linear").outlook is None
    for mechanism in ("none", "fm", "output"):
        assert dplr.plan(eps=math.inf, n_rows=3, bounds=bounds, mechanism=mechanism).outlook is None
    assert dplr.plan(eps=0.01, n_rows=30, bounds=bounds, public=([0.5], 0.0)).outlook is None


def test_a_search_is_warned_of_too():
    X, y, bounds = _rows(80, 3, "logistic")
    model = dplr.LogisticRegression(eps=0.1, bounds=bounds)
    with pytest.warns(dplr.UtilityWarning):
        dplr.PrivateSearch(model, [{"l2": 0.1}, {"l2": 1.0}], method="partition").fit(X, y)


def test_a_check_says_from_which_eps_on_a_fit_is_not_drowned():
    few, many = (_rows(n) for n in (80, 20_000))
    assert "below an eps of about 0." in dplr.check(*few[:2], bounds=few[2], model="linear").noise
    found = dplr.check(*many[:2], bounds=many[2], model="linear")
    assert found.noise in str(found)
    assert "below an eps of about 0.01" in found.noise


def test_a_loop_of_fits_warns_once_by_default():
    X, y, bounds = _rows(80)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(20):
            dplr.fit(X, y, model="linear", bounds=bounds, eps=0.1)
    assert [each.category for each in told].count(dplr.UtilityWarning) == 1


RESULTS = pathlib.Path(__file__).parents[2] / "bench" / "results" / "drowned.csv"


def _study():
    with open(RESULTS, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("model", "most_missed", "most_warned"), [("linear", 0.04, 0.02), ("logistic", 0.07, 0.05)])
def test_fits_worse_than_none_are_foreseen_and_good_ones_hardly_warned(model, most_missed, most_warned):
    """The study bench/studies/drowned.py: 4,200 cells of made-up rows."""
    cells = [(float(cell["kept"]), float(cell["ratio"]) > DROWNED) for cell in _study() if cell["model"] == model]
    bad, good = [warned for kept, warned in cells if kept <= 0], [warned for kept, warned in cells if kept >= 0.5]
    assert len(bad) > 1_000
    assert len(good) > 500
    assert 1 - np.mean(bad) <= most_missed
    assert np.mean(good) <= most_warned


@pytest.mark.filterwarnings("ignore::dplr.UtilityWarning")
def test_the_study_is_about_the_outlook_of_this_version():
    for cell in _study()[::97]:
        bounds = dplr.Bounds([(-1, 1)] * int(cell["d"]), target=(-1, 1) if cell["model"] == "linear" else (0, 1))
        facts = {name: float(cell[name]) for name in ("eps", "delta")} | {"n_rows": int(cell["n"]), "bounds": bounds}
        plan = dplr.plan(model=cell["model"], mechanism=spec_with(cell["mechanism"], "off"), **facts)
        assert plan.outlook.ratio == pytest.approx(float(cell["ratio"]), rel=1e-3)
