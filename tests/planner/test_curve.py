"""A curve holds what is proved and what a simulation says, of every mechanism, before a row is read."""

import csv
import inspect
import io
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.fitting.facts import public_facts
from dplr.fitting.run import release
from dplr.planner import PlanKeywords, simulation
from dplr.planner.simulation import Simulator, simulator
from dplr.planner.sweep import counts_of, deltas_of, levels_of
from dplr.utility._planned import excess_risk_of
from own_losses import own_log_cosh, own_logistic
from planned_facts import facts_of

BOUNDS = dplr.Bounds({"age": (18, 99), "hours": (0, 80), "work": {"levels": ["a", "b"]}}, target=("no", "yes"))
NUMBER = dplr.Bounds({"age": (18, 99), "hours": (0, 80)}, target=(0, 1000))
FEW = dplr.planner.Assumptions(tables=2, fits=2)


def curve_of(bounds=BOUNDS, **options):
    options = {"eps": [0.5], "delta": [0.0], "n_rows": [800], "assume": FEW} | options
    return dplr.plan_curve(bounds=bounds, **options)


def test_a_curve_has_every_mechanism_that_can_promise_it():
    points = curve_of(delta=[0.0, 1e-6]).points
    assert {(point.mechanism, point.delta) for point in points} == {
        ("fm", 0), ("output", 0), ("objective", 0), ("fm", 1e-6), ("output", 1e-6), ("objective", 1e-6), ("ngd", 1e-6),
        ("score", 1e-6),
    }  # fmt: skip
    linear = curve_of(NUMBER, model="linear", delta=[1e-6]).points
    assert {point.mechanism for point in linear} == {"fm", "output", "objective", "ngd"}
    svm = curve_of(model="svm").points  # whose loss has no quadratic that stands for it
    assert {point.mechanism for point in svm} == {"output", "objective"}


def test_the_mechanism_that_auto_takes_is_marked():
    for delta in (0.0, 1e-6):
        for point in curve_of(delta=[delta], n_rows=[300, 2000]).points:
            taken = dplr.plan(bounds=BOUNDS, eps=0.5, delta=delta, n_rows=point.n_rows).statement.mechanism
            assert point.auto == (point.mechanism == taken)


def test_one_mechanism_that_is_named_is_the_only_one():
    spec = dplr.FunctionalMechanism(approximation="taylor")
    assert {point.mechanism for point in curve_of(mechanism=spec).points} == {"fm"}
    with pytest.raises(ValueError, match="delta"):
        curve_of(mechanism="ngd")


def test_what_is_proved_is_that_of_the_plan():
    for point in curve_of().points:
        plan = dplr.plan(bounds=BOUNDS, eps=0.5, n_rows=800, mechanism=point.mechanism)
        assert point.noise == {name: block.deviation for name, block in plan.released.items()}
        assert point.excess_risk == excess_risk_of(plan)
    proved = {point.mechanism for point in curve_of().points if point.excess_risk is not None}
    assert proved == {"output", "objective"}


def test_what_is_proved_counts_what_rounding_adds_to_what_the_solver_misses():
    plan = dplr.plan(bounds=BOUNDS, eps=0.5, n_rows=800, mechanism="objective")
    solved = plan.settings
    assert solved.offset * solved.lattice > solved.tolerance / solved.ridge
    coarse = replace(plan, settings=replace(solved, offset=2 * solved.offset))
    assert excess_risk_of(coarse) > excess_risk_of(plan)


def test_without_noise_a_simulated_fit_is_the_one_without_privacy():
    simulated = simulator(facts_of(NUMBER, "linear", n_rows=800), FEW)
    (tables,) = simulated.fits("fm", [math.inf], 0.0, 800)
    for table, reference in zip(tables, simulated.references(800), strict=True):
        assert table.error == pytest.approx(reference.error, rel=1e-9)
        np.testing.assert_allclose(table.noise, 0, atol=1e-18)
        np.testing.assert_allclose(table.distance, 0, atol=1e-12)


def test_errors_without_a_model_are_roots_of_mean_squares():
    simulated = simulator(facts_of(NUMBER, "linear", n_rows=800), FEW)
    for number, reference in enumerate(simulated.references(800)):
        (_, y), (_, held) = simulated.population.table(number, 800, 10_000)
        assert reference.baseline == pytest.approx(math.sqrt(np.mean((held - y.mean()) ** 2)), rel=1e-12)


def test_noise_is_the_variance_over_fits_and_distance_is_from_the_fit_without_privacy(monkeypatch):
    simulated = simulator(facts_of(NUMBER, "linear", n_rows=800), FEW)
    (reference, _) = simulated.references(800)
    monkeypatch.setattr(simulation, "in_units", lambda away: (reference.coef + away, np.zeros(1)))
    monkeypatch.setattr(Simulator, "_predicted", lambda self, away, X: np.full(len(X), 500.0))
    fits = [np.array([3.0, -1.0]), np.array([5.0, -1.0])]
    result = simulated._result(fits, 0, 800)
    np.testing.assert_allclose(result.noise, [2, 0], atol=1e-9)
    np.testing.assert_allclose(result.distance, [17, 1], rtol=1e-9)


@pytest.mark.parametrize(("bounds", "model"), [(BOUNDS, "logistic"), (BOUNDS, "svm"), (NUMBER, "linear")])
def test_the_error_falls_with_eps_towards_that_without_privacy(bounds, model):
    points = curve_of(bounds, model=model, mechanism="objective", eps=[0.02, 0.5, 10.0], n_rows=[3000]).points
    low, middle, high = points
    assert low.error > middle.error
    assert low.error > high.error
    assert high.non_private * 0.95 < high.error < high.non_private * 1.1
    assert low.kept < 0.8 < high.kept < 1.2
    assert low.non_private == high.non_private < high.baseline


def test_the_error_without_a_model_is_that_of_the_most_frequent_label():
    (point,) = curve_of(mechanism="fm", assume=dplr.planner.Assumptions(tables=2, positive=0.2)).points
    assert point.baseline == pytest.approx(0.2, abs=0.01)


@pytest.mark.filterwarnings("ignore")
def test_the_noise_on_coefficients_is_that_of_output_perturbation_in_the_users_units():
    """The one mechanism that adds its noise to the coefficients themselves: there it is known exactly."""
    assume = dplr.planner.Assumptions(tables=2, fits=300)
    (point,) = curve_of(dplr.Bounds([(18, 99), (0, 8)], target=(0, 1)), mechanism="output", assume=assume).points
    X = np.column_stack([np.linspace(18, 99, 800), np.linspace(0, 8, 800)])
    bounds = dplr.Bounds([(18, 99), (0, 8)])
    est = dplr.fit(X, X[:, 0] > 50, eps=0.5, mechanism="output", bounds=bounds, rng=0)  # its ranges have noise
    deviation = est._record.mechanism.coef_noise(est.privacy_)
    exact = np.abs(est._record.prep.to_user_units(np.full(3, deviation))[0])
    np.testing.assert_allclose(point.coef_noise, exact, rtol=0.12)
    assert exact[1] == pytest.approx(exact[0] * 81 / 8)


def test_a_shift_of_all_levels_is_not_noise():
    """With a coefficient for every level, all of them and the intercept may move without any change of the model."""
    simulated = simulator(facts_of(BOUNDS), FEW)
    coefs = np.array([[1.0, 2.0, 5.0, 9.0], [1.0, 2.0, 7.0, 11.0]])
    found = simulated._identified(coefs)
    np.testing.assert_array_equal(found, [[1, 2, -2, 2]] * 2)
    np.testing.assert_array_equal(coefs[0], [1, 2, 5, 9])


@pytest.mark.parametrize(
    ("bounds", "options"),
    [
        (BOUNDS, {"neighbouring": "add_remove"}),
        (BOUNDS, {"fit_intercept": False}),
        (None, {"n_features": 2}),
        (None, {"n_features": 2, "model": "linear"}),
        (NUMBER, {"model": "linear", "mechanism": dplr.ObjectivePerturbation(ranges="on")}),
        (NUMBER, {"model": "huber"}),
        (NUMBER, {"model": "poisson"}),
        (NUMBER, {"model": own_log_cosh()}),
        (BOUNDS, {"model": own_logistic()}),
        (dplr.Bounds({"age": (18, 99)}, target=("a", "b", "c")), {}),
        (dplr.Bounds({"age": (18, 99)}, target={"threshold": 5}), {"aim": "coefficients"}),
    ],
)
def test_simulated_fits_have_the_plan_that_they_stand_for(bounds, options, monkeypatch):
    seen = []
    monkeypatch.setattr(simulation, "release", lambda *given: seen.append(release(*given)) or seen[-1])
    options = {"mechanism": "objective"} | options
    (point,) = curve_of(bounds, **options).points
    planned = dplr.plan(bounds=bounds, n_rows=800, eps=0.5, **options)
    private = [done.statement for fits in seen for done in fits if done.statement.eps == 0.5]
    assert len(private) == FEW.tables * FEW.fits
    for statement in private:
        assert list(statement.released.values()) == list(planned.released.values())  # names may hold labels
        assert statement.guarantee == planned.statement.guarantee
    assert point.noise == {name: block.deviation for name, block in planned.released.items()}


def test_a_seed_makes_a_curve_that_can_be_made_again():
    first, again, other = (
        curve_of(mechanism="fm", assume=dplr.planner.Assumptions(tables=2, seed=seed)).points for seed in (0, 0, 5)
    )
    assert first == again
    assert first[0].error != other[0].error


def test_a_curve_spends_nothing_and_asks_for_no_entropy(entropy):
    curve_of(delta=[0.0, 1e-6])
    assert entropy.bytes == 0


def test_a_sample_is_what_tables_are_drawn_from():
    """A sample whose target is one of its columns: nearly no error without privacy, as no made-up rows have."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(18, 99, 300), "hours": rng.uniform(0, 80, 300), "work": ["a", "b"] * 150})
    y = np.where(X["age"] > 60, "yes", "no")
    curve = curve_of(mechanism="objective", assume=dplr.planner.Assumptions(sample=(X, y), tables=2))
    assert curve.points[0].non_private < 0.05
    assert "300 public rows" in curve.assumptions[0]


def test_public_rows_are_split_between_the_start_and_the_tables():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (200, 2))
    y = (X[:, 0] > 0.5).astype(int)
    bounds = dplr.Bounds([(0, 1), (0, 1)], target=(0, 1))
    curve = curve_of(bounds, mechanism="objective", eps=[0.02], public=(X, y))
    assert "100 public rows" in curve.assumptions[0]
    alone = curve_of(
        bounds, mechanism="objective", eps=[0.02], assume=dplr.planner.Assumptions(sample=(X, y), tables=2)
    )
    assert curve.points[0].error < alone.points[0].error  # it starts from what public rows teach


def test_public_coefficients_need_a_sample():
    with pytest.raises(ValueError, match=r"`public` must be rows and targets.*Assumptions\(sample="):
        curve_of(dplr.Bounds([(0, 1)]), public=([1.0], 0.0))


def test_private_rows_have_no_way_in():
    """No plan takes rows beside those that are declared public."""
    for call in (dplr.plan, dplr.plan_curve, dplr.plan_target):
        for name in ("X", "data", "rows"):
            with pytest.raises(TypeError, match=f"`{name}` is no parameter of {call.__name__}\\."):
                call(n_rows=10, n_features=1, eps=1.0, **{name: np.ones((10, 1))})


def test_usual_values_stand_beside_the_one_that_is_asked_for():
    assert levels_of(None) == [0.1, 0.2, 0.5, 1, 2, 5]
    assert levels_of(0.8) == [0.1, 0.2, 0.5, 0.8, 1, 2, 5]
    assert levels_of([3, 1, 3]) == [1, 3]
    assert counts_of(1000) == [250, 1000, 4000]
    assert counts_of(30) == [30, 120]
    assert counts_of([7]) == [7]
    assert deltas_of(0.0, 100) == [0, 1e-6]
    assert deltas_of(1e-5, 100) == [0, 1e-5]
    assert deltas_of(0.0, 5_000_000) == [0, pytest.approx(1e-8)]
    assert deltas_of([0.0], 100) == [0]


def test_large_tables_are_stood_for_by_smaller_ones_and_it_is_said():
    curve = curve_of(mechanism="fm", n_rows=[500, 2000], assume=dplr.planner.Assumptions(tables=2, rows=600))
    assert [point.simulated_rows for point in curve.points] == [500, 600]
    assert "2000+" in str(curve)
    assert "simulated with 600 rows" in str(curve)
    assert "+: " not in str(curve_of(mechanism="fm"))


def test_records_are_flat_and_the_csv_holds_them(tmp_path):
    curve = curve_of(eps=[0.5, 1.0])
    frame = pd.DataFrame(curve.records())
    assert len(frame) == len(curve.points)
    assert list(frame["error"]) == [point.error for point in curve.points]
    assert "coef_noise: hours" in frame
    read = list(csv.DictReader(io.StringIO(curve.to_csv(tmp_path / "a.csv").read_text())))
    assert [float(line["eps"]) for line in read] == [point.eps for point in curve.points]


def test_the_table_says_what_was_assumed():
    text = str(curve_of())
    assert "objective*" in text
    assert "Assumed: columns are independent." in text
    assert "proved excess" in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_rows": None}, "`n_rows` is required"),
        ({"eps": []}, "`eps` must hold at least one value"),
        ({"eps": [1.0, math.inf]}, "`eps` must be finite for a curve"),
        ({"eps": [0.0]}, "`eps` must be positive"),
        ({"delta": [1.5]}, "`delta` must be in"),
        ({"delta": [0.01]}, "`delta` must be below 1/n"),
        ({"n_rows": [0]}, "`n_rows` must be at least 1"),
        ({"eps": np.linspace(0.1, 9, 401)}, "at most 400 points"),
        ({"mechanism": "foo"}, "`mechanism` must be one of"),
    ],
)
def test_what_breaks_a_rule_is_refused_by_name(options, said):
    with pytest.raises(ValueError, match=said):
        curve_of(**options)


@pytest.mark.parametrize(
    ("assume", "error", "said"),
    [
        ({"signal": 1.0}, ValueError, "`signal` must be above 0 and below 1"),
        ({"positive": 0}, ValueError, "`positive` must be above 0"),
        ({"tables": 1}, ValueError, "`tables` must be at least 2"),
        ({"fits": 0}, ValueError, "`fits` must be at least 1"),
        ({"rows": 5}, ValueError, "`rows` must be at least 100"),
        ({"seed": -1}, ValueError, "`seed` must be at least 0"),
        ({"sample": [1, 2, 3]}, TypeError, "`sample` must be a pair"),
        ({"signal": "much"}, TypeError, "`signal` must be a real number"),
    ],
)
def test_assumptions_outside_their_range_are_refused_by_name(assume, error, said):
    with pytest.raises(error, match=said):
        dplr.planner.Assumptions(**assume)


def test_what_only_a_simulation_uses_is_refused_elsewhere():
    for name, value in (("assume", FEW), ("progress", True)):
        with pytest.raises(TypeError, match=f"`{name}` is no parameter of plan\\."):
            dplr.plan(n_rows=10, n_features=1, eps=1.0, **{name: value})
    with pytest.raises(TypeError, match=r"`assume` must be a dplr.planner.Assumptions"):
        curve_of(assume={"signal": 0.1})


OWN = {
    dplr.plan: ["class_weight"],
    dplr.plan_curve: ["assume", "progress", "intervals"],
    dplr.plan_target: ["assume", "error", "width", "interval"],
}


@pytest.mark.parametrize("call", OWN, ids=lambda call: call.__name__)
def test_what_belongs_to_one_plan_alone_is_no_parameter_of_the_others(call):
    flags = {name for names in OWN.values() for name in names} | {"curve"}
    for name in sorted(flags - {*OWN[call]}):
        with pytest.raises(TypeError, match=f"`{name}` is no parameter of {call.__name__}\\."):
            call(n_rows=10, n_features=1, eps=1.0, **{name: None})


def test_simulations_pass_on_every_fact_of_a_plan_with_its_default():
    facts = {name: each.default for name, each in inspect.signature(dplr.plan).parameters.items()}
    handed_on = inspect.signature(public_facts).parameters
    assert {name: each.default for name, each in handed_on.items()} == {name: facts[name] for name in handed_on}
    assert {*handed_on} == {*facts} - {"eps"}
    assert {*PlanKeywords.__annotations__} == {*handed_on} - {"n_rows", "delta", "class_weight"}
