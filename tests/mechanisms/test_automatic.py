"""`mechanism="auto"`: a function of public facts, named in the statement, the same in plan, fit and file."""

import inspect
import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dplr
from dplr.mechanisms.automatic import choose
from dplr.problem.losses import LOGISTIC, SQUARED, huber_svm

BOUNDS = dplr.Bounds([(-1, 1)] * 2)
SVM = huber_svm(0.5)


def table(n=2_000, classes=2):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.digitize(X[:, 0] + 0.2 * rng.normal(size=n), np.linspace(-0.9, 0.9, classes + 1)[1:-1])


@pytest.mark.parametrize(
    ("loss", "n", "classes", "eps", "delta", "name"),
    [
        (LOGISTIC, 2_000, 0, 1.0, 0.0, "objective"),
        (SQUARED, 2_000, 0, 1.0, 0.0, "objective"),
        (SVM, 2_000, 0, 1.0, 0.0, "objective"),
        (LOGISTIC, 2_000, 0, 1.0, 1e-6, "ngd"),
        (SQUARED, 2_000, 0, 1.0, 1e-6, "ngd"),
        (SVM, 2_000, 0, 1.0, 1e-6, "ngd"),
        (LOGISTIC, 2_500, 0, 0.1, 1e-6, "objective"),
        (LOGISTIC, 2_501, 0, 0.1, 1e-6, "ngd"),
        (SQUARED, 100, 0, 0.1, 1e-6, "ngd"),
        (LOGISTIC, 100, 3, 0.1, 1e-6, "ngd"),
        (LOGISTIC, 10_000, 8, 0.1, 0.0, "objective"),
        (LOGISTIC, 20_000, 10, 1.0, 0.0, "fm"),
        (LOGISTIC, 20_001, 10, 1.0, 0.0, "objective"),
        (SVM, 20_000, 10, 1.0, 0.0, "objective"),
        (LOGISTIC, None, 0, 1.0, 1e-6, "fm"),
        (SQUARED, None, 0, 1.0, 0.0, "fm"),
        (SVM, None, 0, 1.0, 0.0, "objective"),
        (LOGISTIC, 2_000, 0, math.inf, 0.0, "objective"),
    ],
)
def test_the_table(loss, n, classes, eps, delta, name):
    assert choose(loss, n, classes, eps, delta).name == name


@pytest.mark.parametrize("what", [dplr.fit, dplr.plan, dplr.LogisticRegression, dplr.LinearRegression, dplr.HuberSVC])
def test_it_is_the_default(what):
    assert inspect.signature(what).parameters["mechanism"].default == "auto"


@pytest.mark.parametrize("model", ["logistic", "linear", "svm"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_has_the_plan_of_its_facts_and_says_what_was_taken(model, delta, classes, tmp_path):
    X, y = table(classes=classes)
    linear = model == "linear"
    target = (0, classes - 1) if linear else tuple(range(classes))
    facts = {"eps": 1.0, "delta": delta, "model": model, "bounds": dplr.Bounds([(-1, 1)] * 2, target=target)}
    est = dplr.fit(X, y, **facts)
    planned = dplr.plan(n_rows=len(X), **facts).statement
    name = "ngd" if delta else "objective"
    assert est.privacy_.mechanism == planned.mechanism == name
    assert est.mechanism == "auto"
    assert planned.released == est.privacy_.released
    said = [fact for fact in est.privacy_.assumptions if fact.startswith('mechanism = "auto"')]
    reason = "delta = 0" if not delta else "delta > 0"
    if delta and model != "linear" and classes == 2:
        reason += ", and n eps is above 250"
    assert said == [f'mechanism = "auto": {name}, as {reason}']
    assert said[0] in planned.assumptions
    by_name = dplr.plan(n_rows=len(X), mechanism=name, **facts).statement
    assert by_name.released == planned.released
    dplr.save_model(est, tmp_path / "model.json")
    read = dplr.load_model(tmp_path / "model.json")
    assert read.mechanism == name
    assert_array_equal(read.predict(X), est.predict(X))


def test_one_call_may_take_two_mechanisms_in_any_order():
    X, y = table()
    for levels in itertools.permutations([0.1, 1.0]):
        fits = dplr.fit_many(X, y, eps=levels, repeats=2, delta=1e-6, bounds=BOUNDS, classes=[0, 1])
        found = [(est.privacy_.eps, est.privacy_.mechanism, est.history_ is None) for est in fits]
        expected = {0.1: ("objective", True), 1.0: ("ngd", False)}
        assert found == [(eps, *expected[eps]) for eps in levels for _ in range(2)]
        for est in fits:
            alone = dplr.plan(n_rows=len(X), bounds=BOUNDS, eps=est.privacy_.eps, delta=1e-6)
            assert alone.released == dict(est.privacy_.released)


def test_fits_by_two_mechanisms_are_reserved_together(tmp_path):
    X, y = table()
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0, delta=1e-5)
    facts = {"delta": 1e-6, "bounds": BOUNDS, "classes": [0, 1], "ledger": ledger}
    with pytest.raises(dplr.BudgetExceeded):
        dplr.fit_many(X, y, eps=[0.1, 1.0], **facts)
    assert ledger.spent() == (0.0, 0.0)
    dplr.fit_many(X, y, eps=[0.1, 0.5], **facts)
    assert [entry.statement["mechanism"] for entry in ledger.entries()] == ["objective", "ngd"]
    assert ledger.spent()[0] == pytest.approx(0.6)


@pytest.mark.parametrize("levels", [[10.0, 0.5], [0.5, 10.0]])
def test_rows_that_one_mechanism_refuses_cost_nothing_of_another(levels, tmp_path, entropy):
    """Objective perturbation takes 16 times the declared rows at most; descent takes more."""
    X, y = table(3_400)
    ledger = dplr.Ledger(tmp_path / "budget", eps=100.0, delta=1e-3, neighbouring="add_remove")
    facts = {"neighbouring": "add_remove", "n_rows": 200, "classes": [0, 1], "bounds": BOUNDS, "ledger": ledger}
    with pytest.raises(ValueError, match="`n_rows` must be at least a 16th"):
        dplr.fit_many(X, y, eps=levels, delta=1e-6, **facts)
    assert [entry.state for entry in ledger.entries()] == ["refunded"] * 2
    assert entropy.bytes == 0


def test_add_remove_never_chooses_by_the_number_of_rows():
    for n in (500, 5_000):
        X, y = table(n)
        est = dplr.fit(X, y, eps=0.3, delta=1e-6, bounds=BOUNDS, classes=[0, 1], neighbouring="add_remove")
        assert est.privacy_.mechanism == "fm"
        known = {"n_rows": 4_000, "neighbouring": "add_remove"}
        est = dplr.fit(X, y, eps=0.3, delta=1e-6, bounds=BOUNDS, classes=[0, 1], **known)
        assert est.privacy_.mechanism == "ngd"


def test_a_ledger_without_a_delta_says_why_it_refuses_the_default(tmp_path):
    X, y = table()
    ledger = dplr.Ledger(tmp_path / "pure", eps=1.0, delta=0.0)
    with pytest.raises(dplr.BudgetExceeded, match=r"Objective perturbation always needs a delta of 2\^-64"):
        dplr.fit(X, y, eps=0.5, bounds=BOUNDS, classes=[0, 1], ledger=ledger)
    usual = dplr.Ledger(tmp_path / "usual", eps=1.0)
    dplr.fit(X, y, eps=0.5, bounds=BOUNDS, classes=[0, 1], ledger=usual)
    assert usual.spent() == (0.5, 2.0**-64)
    with pytest.raises(ValueError, match="`delta` must be positive with composition='zcdp'"):
        dplr.Ledger(tmp_path / "no delta", eps=1.0, composition="zcdp")
