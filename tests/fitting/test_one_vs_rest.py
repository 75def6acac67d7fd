"""More than two classes: one model of each against the rest, and one statement of what all of them cost."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine

import dplr
from dplr.fitting import one_vs_rest
from dplr.ledger.budget import NullLedger
from dplr.mechanisms.functional import moments
from dplr.mechanisms.functional.moments import joint_l2_sensitivity, joint_sensitivity
from dplr.privacy import composition
from dplr.privacy.accounting import poisson_eps
from dplr.privacy.gaussian import gaussian_log_delta
from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, Pure
from specs import spec_with

CLASSES = ("a", "b", "c")
D = 3
CUBE = dplr.Bounds([(-1, 1)] * D)
PRINTED = dplr.FunctionalMechanism(calibration="paper")
NGD = dplr.NoisyGradientDescent(steps=5)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    centers = np.array([[0.6, 0, 0], [-0.4, 0.5, 0], [-0.4, -0.5, 0.2]])
    y = rng.integers(0, 3, 6000)
    return (centers[y] + rng.normal(0, 0.25, (6000, D))).clip(-1, 1), np.array(CLASSES)[y]


def fit(data, mechanism="fm", **options):
    return dplr.fit(*data, mechanism=mechanism, **{"eps": 1.0, "classes": CLASSES, "bounds": CUBE, **options})


def exact_blocks(X, y, mechanism, **options):
    """What would be released without noise."""
    return fit((X, y), mechanism, eps=math.inf, **options).released_


def neighbours(bounds, rng):
    """A common row and two records at corners of the domain, of any two classes."""
    corners = rng.choice([-1.0, 1.0], (2, D))
    corners[1] *= rng.choice([0.0, 1.0, 1.0, 1.0], D)
    if bounds is None:  # the unit ball
        corners /= np.maximum(np.linalg.norm(corners, axis=1, keepdims=True), 1e-9)
    common = np.zeros((1, D))
    labels = rng.choice(CLASSES, 2)
    return [
        (np.vstack([common, record]), np.array(["a", label])) for record, label in zip(corners, labels, strict=True)
    ]


def largest_loss(mechanism, delta, neighbouring, bounds, fit_intercept=True, eps=1.0):
    """Largest privacy loss seen (Laplace) or squared mu (Gaussian), over eps or squared mu of the statement."""
    options = {"bounds": bounds, "neighbouring": neighbouring, "fit_intercept": fit_intercept}
    rng, worst, statement = np.random.default_rng(0), 0.0, None
    if bounds is not None:
        facts = {"n_rows": 2, "neighbouring": neighbouring, "fit_intercept": fit_intercept, "delta": delta}
        target = dplr.Bounds(bounds.to_dict()["features"], target=CLASSES)
        statement = dplr.plan(eps=eps, bounds=target, mechanism=mechanism, **facts).statement
    for _ in range(150):
        (X, y), (other_X, other_y) = neighbours(bounds, rng)
        if neighbouring == "add_remove":
            other_X, other_y = X[:1], y[:1]
        statement = statement or fit((X, y), mechanism, eps=eps, delta=delta, **options).privacy_
        here, there = (exact_blocks(*pair, mechanism, **options) for pair in ((X, y), (other_X, other_y)))
        change = {name: np.abs(here[name] - there[name]) for name in here}
        if delta:
            # the triangle is released once, so an off-diagonal cell counts once
            loss = sum(((change[name] / block.scale) ** 2).sum() for name, block in statement.released.items())
            worst = max(worst, loss / statement.guarantee.mu**2)
        else:
            loss = sum((change[name] / block.scale).sum() for name, block in statement.released.items())
            worst = max(worst, loss / statement.eps)
    return worst


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("bounds", [CUBE, None])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_pair_of_neighbours_costs_more_than_the_statement_says_and_some_cost_nearly_that(
    delta, neighbouring, bounds, fit_intercept
):
    spec = dplr.FunctionalMechanism(noise="gaussian")  # with a delta; else it is Laplace noise, as ever
    worst = largest_loss(spec, delta, neighbouring, bounds, fit_intercept)
    assert 0.8 < worst <= 1


def test_composed_releases_cost_what_the_statement_says():
    assert 0.05 < largest_loss(PRINTED, 0.0, "replace_one", CUBE) <= 1


@pytest.mark.thorough
def test_audit_goes_red_where_every_class_gets_the_whole_budget(monkeypatch):
    spec = dplr.FunctionalMechanism(unbounded="rerun")  # each run, which is what the audit sees, has half of eps
    honest = largest_loss(spec, 0.0, "replace_one", CUBE)
    monkeypatch.setattr(composition, "equal_shares", lambda k, eps, delta, kind: (eps, delta))
    assert 0.4 < honest <= 0.5
    assert largest_loss(spec, 0.0, "replace_one", CUBE) > 1


def test_audit_goes_red_where_class_sums_are_charged_as_one_sum(monkeypatch):
    found = moments.best_weight
    monkeypatch.setattr(moments, "best_weight", lambda *facts: found(*facts[:4], 1, facts[5]))
    assert largest_loss("fm", 0.0, "replace_one", CUBE) > 1


@pytest.mark.parametrize("neighbouring", list(Neighbouring))
@pytest.mark.parametrize("d", [1, 2, 5, 30])
@pytest.mark.parametrize("bounds", [True, False])
def test_sums_of_classes_cost_little_more_than_one_sum(neighbouring, d, bounds):
    plan = dplr.plan(n_rows=10, n_features=d, bounds=dplr.Bounds([(0, 1)] * d) if bounds else None, eps=1.0)
    geometry = plan.problem.geometry
    for weight in (0.1, 1.0, 4.0):
        one, several = (joint_sensitivity(geometry, neighbouring, weight, many) for many in (False, True))
        assert one <= several <= (1 if neighbouring is Neighbouring.ADD_REMOVE else 2) * one
        one, several = (joint_l2_sensitivity(geometry, neighbouring, weight, many) for many in (False, True))
        assert several == one


# --- the statement -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "delta", "guarantee"),
    [
        ("fm", 0.0, Pure(1.0)),
        (PRINTED, 0.0, Pure(1.0)),
        ("output", 0.0, Pure(1.0)),
        ("objective", 0.0, Approx(1.0, 3 * 2.0**-64)),
        ("objective", 1e-6, Approx(1.0, 3 * 2.0**-64)),  # pure noise is smaller
        (dplr.ObjectivePerturbation(noise="gaussian"), 1e-6, Approx(1.0, 1e-6)),
    ],
)
def test_statement_is_one_for_all_classes_and_its_eps_and_delta_are_the_totals(data, mechanism, delta, guarantee):
    est = fit(data, spec_with(mechanism, "off"), delta=delta)
    statement = est.privacy_
    stated = guarantee.delta if isinstance(guarantee, Approx) else delta  # 2^-64 a model, where none was asked for
    assert (statement.eps, statement.delta, statement.guarantee) == (1.0, stated, guarantee)
    assert "3 models, each of one class against the rest" in statement.assumptions[-1]
    assert "the labels ['a', 'b', 'c'], declared" in statement.assumptions
    assert {name: block.shape for name, block in est.released_.items()} == {
        name: block.shape for name, block in statement.released.items() if name in est.released_
    }
    for label in CLASSES:
        assert any(name.endswith(f"['{label}']") for name in statement.released)


@pytest.mark.parametrize("mechanism", ["fm", "output", NGD])
@pytest.mark.parametrize("k", [3, 10])
def test_gaussian_models_compose_exactly(mechanism, k):
    bounds = dplr.Bounds([(0, 1)] * 4, target=tuple(range(k)))
    whole = dplr.plan(n_rows=5000, bounds=bounds, eps=1.0, delta=1e-6, mechanism=mechanism).statement
    assert isinstance(whole.guarantee, Gaussian)
    assert gaussian_log_delta(1.0, whole.guarantee.mu) <= math.log(1e-6)
    assert gaussian_log_delta(0.999, whole.guarantee.mu) > math.log(1e-6)  # and nothing is left over
    # the noise of all blocks together, each class with a sensitivity of its own where each was released alone
    if mechanism != "fm":
        joint = {name: block for name, block in whole.released.items() if not name.startswith("squares")}  # with means
        each = [block.sensitivity / block.scale for block in joint.values()]
        each = [mu * math.sqrt(NGD.steps) if "grad" in name else mu for name, mu in zip(joint, each, strict=True)]
        assert len(each) == (2 * k if mechanism is NGD else k)
        assert math.hypot(*each) <= whole.guarantee.mu * (1 + 1e-9)
        assert math.hypot(*each) > 0.999 * whole.guarantee.mu


def test_composed_statement_agrees_with_dp_accounting():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    bounds = dplr.Bounds([(0, 1)] * 4, target=tuple(range(6)))
    whole = dplr.plan(n_rows=5000, bounds=bounds, eps=1.0, delta=1e-6, mechanism="output").statement
    block = next(iter(whole.released.values()))
    one = pld.from_gaussian_mechanism(block.scale / block.sensitivity, value_discretization_interval=1e-3)
    assert one.self_compose(6).get_epsilon_for_delta(1e-6) == pytest.approx(1.0, rel=5e-3)


@pytest.mark.thorough
def test_poisson_batches_of_all_classes_are_within_the_statement(data):
    spec = dplr.NoisyGradientDescent(steps=4, batch=500)
    statement = fit(data, spec, delta=1e-5, eps=0.25).privacy_
    assert statement.guarantee == Poisson(statement.guarantee.rate, statement.guarantee.noise_multiplier, 12)
    assert poisson_eps(statement.guarantee, 1e-5, Neighbouring.REPLACE_ONE) <= statement.eps == 0.25


@pytest.mark.parametrize(("k", "relation"), [(3, "replace_one"), (10, "add_remove")])
def test_steps_of_all_classes_take_what_the_accountant_allows_and_no_more(k, relation, monkeypatch):
    eps = 0.25  # the accountant takes seconds for the little noise of a large eps
    spec = dplr.NoisyGradientDescent(steps=20, batch=500)
    bounds = dplr.Bounds([(0, 1)] * 2, target=tuple(range(k)))
    facts = {"n_rows": 20_000, "bounds": bounds, "delta": 1e-5, "mechanism": spec, "neighbouring": relation}
    planned = dplr.plan(eps=eps, **facts)
    guarantee, neighbouring = planned.statement.guarantee, Neighbouring(relation)
    assert guarantee.steps == 20 * k
    assert 0.98 * eps < poisson_eps(guarantee, 1e-5, neighbouring) <= eps
    shares = composition.equal_shares(k, eps, 1e-5, "approx")
    apart = spec.plan(planned.problem, *shares).statement.guarantee
    assert apart.noise_multiplier > (1.5 if k == 3 else 2.5) * guarantee.noise_multiplier
    assert "composed by the accountant" in planned.statement.assumptions[-1]
    # The check sees steps of which only one class's were counted.
    monkeypatch.setattr(one_vs_rest, "_all_steps", lambda plan, _: plan.statement.guarantee)
    broken = dplr.plan(eps=eps, **facts).statement.guarantee
    assert poisson_eps(dataclasses.replace(broken, steps=20 * k), 1e-5, neighbouring) > 1.2 * eps


def test_many_models_may_compose_as_zcdp_where_delta_pays_and_no_profile_is_known(monkeypatch):
    bounds = dplr.Bounds([(0, 1)] * 2, target=tuple(range(150)))
    spec = dplr.ObjectivePerturbation(noise="gaussian")
    facts = {"n_rows": 5000, "bounds": bounds, "eps": 1.0, "mechanism": spec}
    assert "composed as privacy profiles" in dplr.plan(**facts, delta=1e-4).statement.assumptions[-1]
    monkeypatch.setattr(dplr.ObjectivePerturbation, "profiles", lambda *_: ())
    assert "composed as zCDP" in dplr.plan(**facts, delta=1e-4).statement.assumptions[-1]
    assert "eps and delta add up" in dplr.plan(**facts).statement.assumptions[-1]


@pytest.mark.parametrize(("mechanism", "delta"), [("fm", 0.0), ("fm", 1e-6), ("objective", 0.0), (NGD, 1e-6)])
def test_plan_carries_the_statement_of_the_fit(data, mechanism, delta):
    target = dplr.Bounds([(-1, 1)] * D, target=("c", "a", "b"))
    est = fit(data, mechanism, delta=delta, classes=None, bounds=target)
    plan = dplr.plan(n_rows=len(data[0]), bounds=target, eps=1.0, delta=delta, mechanism=mechanism)
    assert dict(plan.statement.released) == dict(est.privacy_.released)
    assert (plan.statement.guarantee, plan.statement.calibration) == (est.privacy_.guarantee, est.privacy_.calibration)


# --- the order of a fit -------------------------------------------------------------------------------------------


class Book:
    """A ledger that writes down what happens."""

    def __init__(self):
        self.events = []

    def reserve(self, *statements):
        self.events.append(("reserve", *(statement.eps for statement in statements)))
        return self

    def draw(self):
        self.events.append("draw")

    def commit(self, outbox):
        self.events.append("commit")

    def refund(self):
        self.events.append("refund")


@pytest.fixture
def book(monkeypatch):
    book = Book()
    monkeypatch.setattr(NullLedger, "reserve", lambda self, *statements: book.reserve(*statements))
    return book


@pytest.mark.parametrize("mechanism", ["fm", "output", "objective"])
def test_whole_fit_is_one_reservation(data, mechanism, book):
    fit(data, mechanism)
    assert book.events == [("reserve", 1.0), "draw", "commit"]


def test_ledger_keeps_one_entry_for_all_classes(data, tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=2.5, delta=1e-12)
    for mechanism in ("fm", "objective"):
        fit(data, mechanism, ledger=ledger)
    assert [entry.delta for entry in ledger.entries()] == [0.0, 3 * 2.0**-64]
    with pytest.raises(dplr.BudgetExceeded):
        fit(data, ledger=ledger)
    assert [entry.eps for entry in ledger.entries()] == [1.0, 1.0]
    with pytest.raises(ValueError, match="only its labels"):
        fit((data[0], np.where(data[1] == "a", "d", data[1])), eps=0.25, ledger=ledger)
    assert ledger.entries()[-1].state == "refunded"


@pytest.mark.parametrize("mechanism", ["fm", "output", "objective", NGD])
@pytest.mark.parametrize("fault", ["label", "row"])
def test_fault_in_the_data_gives_the_budget_back_before_any_noise(data, mechanism, fault, book, entropy):
    X, y = data[0].copy(), data[1].copy()
    if fault == "label":
        y[7] = "d"
    else:
        X[7, 1] = np.nan
    with pytest.raises(ValueError, match="of 6000 rows with"):
        fit((X, y), mechanism, delta=1e-6)
    assert book.events == [("reserve", 1.0), "refund"]
    assert entropy.bytes == 0


def test_break_after_the_first_class_stays_spent(data, book, monkeypatch):
    calls = []
    real = dplr.OutputPerturbation.run

    def second_breaks(self, *arguments):
        calls.append(self)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(self, *arguments)

    monkeypatch.setattr(dplr.OutputPerturbation, "run", second_breaks)
    with pytest.raises(KeyboardInterrupt):
        fit(data, "output")
    assert book.events == [("reserve", 1.0), "draw"]


def test_labels_of_the_data_are_never_taken_for_more_than_two_classes(data, entropy):
    with pytest.raises(ValueError, match=r"must hold two labels; got 3 classes\. .* declare them with `classes=`"):
        fit(data, classes="from_data")
    with pytest.raises(ValueError, match=r"`y` must hold (only its labels|booleans, or the numbers 0 and 1)"):
        fit(data, classes=None)
    with pytest.raises(ValueError, match="`public` must be None with more than two classes"):
        fit(data, public=(np.zeros(D), 0.0))
    with pytest.raises(ValueError, match="`classes` must agree with the bounds"):
        fit(data, bounds=dplr.Bounds([(-1, 1)] * D, target=("a", "b")))
    with pytest.raises(ValueError, match="`bounds` must have lower and upper as target"):
        fit((data[0], np.ones(6000)), model="linear", classes=None, bounds=dplr.Bounds([(-1, 1)] * D, target=(0, 1, 2)))
    assert entropy.bytes == 0


def test_printed_calibrations_that_exceed_their_eps_are_refused(data, entropy):
    printed = dplr.ObjectivePerturbation(calibration="cm08")
    with pytest.raises(ValueError, match="`mechanism` must keep to its share of eps"):
        fit(data, printed, l2=1e-6)
    per_step = dplr.NoisyGradientDescent(steps=5, composition="per-step")
    with pytest.raises(ValueError, match="`mechanism` must keep to its share of eps"):
        fit(data, per_step, delta=1e-6)
    assert entropy.bytes == 0


# --- the models ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["fm", "output", "objective", NGD, "none"])
@pytest.mark.parametrize("model", ["logistic", "svm"])
def test_without_noise_each_class_is_the_binary_fit_against_the_rest(data, mechanism, model):
    if (mechanism, model) == ("fm", "svm"):
        return
    options = {"eps": math.inf, "model": model, "l2": 0.01}
    whole = fit(data, mechanism, **options)
    for label, coef, intercept in zip(whole.classes_, whole.coef_, whole.intercept_, strict=True):
        alone = fit((data[0], data[1] == label), mechanism, classes=None, **options)
        assert_allclose(coef, alone.coef_[0], rtol=1e-9)
        assert_allclose(intercept, alone.intercept_[0], rtol=1e-9)


@pytest.mark.parametrize("mechanism", ["fm", "output", "objective", NGD])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_classifier_of_many_classes_has_everything_a_classifier_has(data, mechanism, neighbouring):
    X, y = data
    est = fit(data, mechanism, eps=5.0, delta=1e-6, neighbouring=neighbouring, n_rows=len(y))
    assert (est.coef_.shape, est.intercept_.shape, est.decision_function(X).shape) == ((3, D), (3,), (len(y), 3))
    assert_array_equal(est.predict(X), est.classes_[est.decision_function(X).argmax(axis=1)])
    each = 1 / (1 + np.exp(-est._record.link.log_odds(est.decision_function(X))))
    assert_allclose(est.predict_proba(X), each / each.sum(axis=1, keepdims=True))
    assert_allclose(np.log(est.predict_proba(X)), est.predict_log_proba(X))
    assert est.score(X, y) > 0.85


def test_probabilities_add_to_one_where_every_class_is_hopeless(data):
    est = fit(data)
    est.coef_[:], est.intercept_[:] = 0, [-2000.0, -1000.0, -3000.0]
    assert_allclose(est.predict_proba(data[0][:2]), [[0, 1, 0]] * 2)


def test_labels_may_be_numbers_of_any_kind_and_declared_in_any_order(data):
    X, y = data
    codes = np.searchsorted(CLASSES, y) * 5 - 3
    for labels, classes in [(codes, (7, -3, 2)), (codes.astype(float), (2.0, 7.0, -3.0)), (codes, (-3, 2, 7))]:
        est = fit((X, labels), eps=math.inf, classes=classes)
        assert list(est.classes_) == [-3, 2, 7]
        assert_array_equal(est.coef_, fit(data, eps=math.inf).coef_)
    named = fit((pd.DataFrame(X, columns=["u", "v", "w"]), pd.Series(y, dtype="category")))
    assert list(named.classes_) == list(CLASSES)


def test_classes_that_one_float_among_the_labels_would_merge_are_refused(data, entropy):
    codes = np.where(data[1] == "a", 2**53, 2**53 + 1)
    with pytest.raises(ValueError, match="`classes` must differ as float64"):
        fit((data[0], codes), classes=(0, 2**53, 2**53 + 1))
    assert entropy.bytes == 0


def test_declared_class_without_a_row_is_fitted_too(data):
    est = fit(data, classes=(*CLASSES, "never"), eps=20.0)
    assert est.coef_.shape == (4, D)
    assert est.score(*data) > 0.85


def test_refit_of_all_classes_needs_no_data_and_no_further_eps(data, book):
    est = fit(data, eps=5.0)
    same = est.refit()
    assert_array_equal(same.coef_, est.coef_)
    shrunk = est.refit(l2=10.0)
    assert np.linalg.norm(shrunk.coef_) < 0.5 * np.linalg.norm(est.coef_)
    assert shrunk.privacy_.solution[-1].startswith("another model from an earlier release")
    assert shrunk.released_["linear['a']"] is est.released_["linear['a']"]
    assert len(book.events) == 3
    printed = fit(data, PRINTED, eps=5.0)
    assert_array_equal(printed.refit().coef_, printed.coef_)


def test_history_is_there_for_each_class(data):
    est = fit(data, NGD, delta=1e-6)
    assert set(est.history_) == set(CLASSES)
    assert est.history_["b"].coefs.shape == (6, D)
    assert_array_equal(est.history_["b"].gradients, est.released_["gradients['b']"])


@pytest.mark.parametrize("mechanism", ["fm", "objective"])
def test_many_fits_of_many_classes_have_noise_of_their_own(data, mechanism):
    fits = dplr.fit_many(*data, eps=[1.0, 2.0], repeats=2, mechanism=mechanism, classes=CLASSES, bounds=CUBE)
    assert [est.privacy_.eps for est in fits] == [1.0, 1.0, 2.0, 2.0]
    assert len({est.coef_.tobytes() for est in fits}) == 4
    assert len(np.unique([est.coef_ for est in fits])) == 4 * 3 * D


def test_noise_of_a_seed_repeats_itself_and_the_statement_says_so(data):
    with pytest.warns(dplr.PrivacyWarning, match="protects nobody"):
        first, second = (fit(data, "objective", rng=1) for _ in range(2))
    assert_array_equal(first.coef_, second.coef_)
    assert first.privacy_.reproducible


def test_one_release_of_class_sums_has_less_noise_than_a_release_for_each_class():
    bounds = dplr.Bounds([(0, 1)] * 4, target=tuple(range(5)))
    joint = dplr.plan(n_rows=1000, bounds=bounds, eps=1.0, mechanism="fm").statement.released
    alone = dplr.plan(n_rows=1000, bounds=dplr.Bounds([(0, 1)] * 4), eps=0.2, mechanism="fm").statement.released
    assert math.sqrt(5) * joint["linear[0]"].scale < 0.7 * alone["linear"].scale
    assert joint["diagonal"].scale < 0.5 * alone["diagonal"].scale


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_known_flowers_and_wines_are_told_apart(load):
    X, y = load(return_X_y=True)
    bounds = dplr.Bounds(list(zip(np.floor(X.min(0)), np.ceil(X.max(0)), strict=True)))
    scores = [
        dplr.fit(X, y, eps=30.0, mechanism="objective", classes=(0, 1, 2), bounds=bounds).score(X, y) for _ in range(5)
    ]
    assert np.mean(scores) > 0.8
