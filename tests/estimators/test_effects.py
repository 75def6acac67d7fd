"""What a reader is shown of curves: values with intervals, importance, monotone curves, pictures, files."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import dplr
import every_column

KNOTS = np.linspace(0, 100, 6)
BASE = np.array([20.0, 5.0, -10.0, -15.0, 0.0, 15.0])
EXTRA = np.array([5.0, 0.0, 10.0, -5.0, 0.0, 5.0])
BOUNDS = dplr.Bounds(
    {"a": {"lower": 0, "upper": 100, "knots": 6}, "b": (0, 50), "w": {"levels": ["p", "q"], "reference": "q"}},
    target=(-80, 80),
    products=[("a", "w")],
)
LINES = dplr.Bounds([(0, 10), (0, 20)], target=(-20, 20))
NUMBERS = (np.random.default_rng(3).uniform(0, 10, (5000, 2)), np.random.default_rng(4).normal(0, 3, 5000))


def rows(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.uniform(0, 100, n), "b": rng.uniform(0, 50, n), "w": rng.choice(["p", "q"], n)})
    group = (X["w"] == "p").to_numpy()
    y = np.interp(X["a"], KNOTS, BASE) + group * np.interp(X["a"], KNOTS, EXTRA) + 0.4 * X["b"]
    return X, y + rng.normal(0, 4, n)


def centred(values):
    weights = np.ones(len(values))
    weights[[0, -1]] = 0.5
    return values - np.average(values, weights=weights)


def fitted(eps=float("inf"), mechanism="fm", **options):
    return dplr.fit(*rows(), model="linear", bounds=BOUNDS, mechanism=mechanism, eps=eps, **options)


def test_effects_are_the_curves_that_made_the_rows():
    effects = fitted().effects(level=None)
    assert [(curve.column, curve.group) for curve in effects] == [("a", ""), ("a", "w=p"), ("b", "")]
    a, p, b = effects
    assert_allclose(a.values, centred(BASE), atol=0.6)
    assert_allclose(p.values, centred(BASE + EXTRA), atol=0.6)
    assert_allclose(b.values, [-10, 10], atol=0.3)
    assert_allclose((b.slope, a.slope), (0.4, -0.05), atol=0.02)
    assert a.knots == tuple(KNOTS)
    assert effects["b"] is b
    assert list(effects.importance()) == ["a", "b"]
    assert_allclose(b.variation, 0.4 * 50 / np.sqrt(12), rtol=0.02)


def test_differences_of_an_effect_are_those_of_predictions():
    est = every_column.model("regression", "auto")
    layout = est._record.prep.layout
    X = every_column.table(3, seed=2)
    for curve in est.effects(level=None):
        if curve.group:
            continue
        part = X.iloc[[0] * len(curve.knots)].copy().reset_index(drop=True)
        for feature, column in zip(layout.features, layout.columns, strict=True):
            if column.number is None:  # no level, and no share of a knot
                part[feature] = 0.0 if part[feature].dtype == float else "no level"
            else:
                part[feature] = np.nan
        if any(curve.column in (layout.features[j] for j in p.places) for p in layout.products):
            continue  # what stays of a product depends on the other column
        values = np.array(curve.values)
        encoded = np.zeros((len(values), layout.width))
        first = layout.features.index(curve.column)
        start, width = layout.firsts[first], layout.widths[first]
        whole = np.asarray(
            dplr.preprocessing.BoundsEncoder(est._record.bounds).transform(
                every_column.table(len(values), seed=3).assign(**{curve.column: curve.knots})
            )
        )
        encoded[:, start : start + width] = whole[:, start : start + width]
        margins = est._record.prep.counted(encoded)[:, start : start + width] @ est.coef_[start : start + width]
        assert_allclose(np.diff(values), np.diff(margins), rtol=1e-6, atol=1e-6)


def test_intervals_of_values_and_slopes_cover():
    truth = {"a": centred(BASE), "w=p": centred(BASE + EXTRA), "b": np.array([-10.0, 10.0])}
    slopes = {"a": -0.05, "w=p": -0.05, "b": 0.4}
    inside, sloped = [], []
    for seed in range(40):
        est = dplr.fit(*rows(seed=seed), model="linear", bounds=BOUNDS, mechanism="fm", eps=20.0, delta=1e-6)
        for curve in est.effects():
            key = curve.group or curve.column
            low, high = np.array(curve.low), np.array(curve.high)
            inside.append(np.mean((low <= truth[key]) & (truth[key] <= high)))
            sloped.append(curve.slope_low <= slopes[key] <= curve.slope_high)
    assert 0.91 < np.mean(inside) < 0.985  # 560 intervals of 95 %, those of one fit depend on each other
    assert np.mean(sloped) > 0.89


def test_moments_have_curves_with_intervals():
    X, y = rows()
    bounds = dplr.Bounds({**BOUNDS.to_dict()["features"], "y": (-80, 80)}, products=[("a", "w")])
    released = dplr.release_moments(X.assign(y=y), bounds=bounds, eps=50.0, delta=1e-6)
    curve = released.regress("y", ["a", "b", "w"]).effects()["a"]
    assert all(low <= value <= high for low, value, high in zip(curve.low, curve.values, curve.high, strict=True))
    both = np.interp(KNOTS, KNOTS, BASE + EXTRA / 2)
    assert_allclose(curve.values, centred(both), atol=4)
    assert curve.slope_low < (both[-1] - both[0]) / 100 < curve.slope_high


def test_a_table_compares_knots_with_the_line_and_gives_no_odds_ratio_for_them():
    X, y = rows()
    bounds = dplr.Bounds(
        {**BOUNDS.to_dict()["features"], "c": {"lower": 0, "upper": 100, "knots": 3, "line": False}},
        products=[("a", "w")],
    )
    X = X.assign(c=X["a"] / 2)
    est = dplr.fit(X, y > 0, bounds=bounds, eps=50.0, delta=1e-6, mechanism="score", aim="coefficients")
    table = est.summary()
    names = [line.name for line in table.lines]
    assert {"a at 0", "a at 100", "w=p*a at 0", "c at 0"}.isdisjoint(names)
    assert {"a (line)", "a at 20", "w=p*a at 20", "c at 50"} <= set(names)
    assert {ratio.name for ratio in table.odds_ratios()} == {"b", "w=p", "c at 50", "c at 100"}
    assert {line.name: line.reference for line in table.lines}["a at 20"] == "its line"
    assert any("average slope" in note for note in table.notes)


@pytest.mark.parametrize("direction", ["increasing", "decreasing"])
@pytest.mark.parametrize("ranges", ["off", "on"])
def test_monotone_curves_predict_in_one_direction_and_are_the_nearest(direction, ranges):
    est = dplr.fit(*rows(), model="linear", bounds=BOUNDS, mechanism=dplr.FunctionalMechanism(ranges=ranges), eps=5.0)
    sign = 1 if direction == "increasing" else -1
    model = est.monotone({"a": direction})
    grid = np.linspace(-10, 110, 500)
    for level in ("p", "q", "none"):
        X = pd.DataFrame({"a": grid, "b": 20.0, "w": level})
        assert (sign * np.diff(model.predict(X)) >= -1e-9).all()
        assert not (sign * np.diff(est.predict(X)) >= -1e-9).all()
    before, after = (np.array(one.effects(level=None)["b"].values) for one in (est, model))
    assert_allclose(before, after)
    assert model.privacy_.released == est.privacy_.released
    assert "curves made monotone: a " + direction in model.privacy_.solution
    again = model.monotone({"a": direction})
    assert_allclose(again.coef_, model.coef_, atol=1e-9)
    assert again.privacy_.solution == model.privacy_.solution
    assert est._monotone == {}


def test_a_curve_that_rises_already_stays_and_a_missing_value_too():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.where(rng.random(5000) < 0.2, np.nan, rng.uniform(0, 100, 5000))})
    bounds = dplr.Bounds({"a": {"lower": 0, "upper": 100, "knots": 4, "missing": "indicator"}}, target=(-1, 20))
    y = X["a"].fillna(150) / 10
    est = dplr.fit(X, y, model="linear", bounds=bounds, mechanism="fm", eps=float("inf"))
    model = est.monotone({"a": "increasing"})
    assert_allclose(model.predict(X), est.predict(X), atol=1e-6)


@pytest.mark.parametrize("other", [(0, 1), (0, 50)])
def test_a_curve_whose_line_is_multiplied_is_not_made_monotone(other):
    """Its line would tilt it for other values of the other column."""
    bounds = dplr.Bounds({"a": (0, 100), "b": other}, target=(-80, 80), products=[("a", "b")])
    X, y = rows(2000)
    est = dplr.fit(X, y, model="linear", bounds=bounds, curves=5, eps=1.0)
    with pytest.raises(ValueError, match="whose line is no factor"):
        est.monotone({"a": "increasing"})


def test_a_part_of_a_curve_is_not_made_monotone():
    """A file refuses coefficients outside the columns of the model."""
    with pytest.raises(ValueError, match="as a whole"):
        fitted().refit(columns=["a (line)", "a at 0", "b"]).monotone({"a": "increasing"})


def test_monotone_curves_are_the_nearest_over_the_bounds():
    """Of monotone sums of shares none is nearer, places alike; an end knot has half the share of another."""
    X = np.linspace(0, 100, 3001)[:, np.newaxis]
    bounds = dplr.Bounds([{"lower": 0, "upper": 100, "knots": 3, "line": False}], target=(0, 10))
    est = dplr.fit(X, 5 - 4 * (X[:, 0] < 50) * (1 - X[:, 0] / 50), model="linear", bounds=bounds, eps=float("inf"),
                   mechanism="fm")  # fmt: skip
    model = est.monotone({"column 0": "decreasing"})
    before, after = (np.array(one.effects(level=None)[0].values) for one in (est, model))
    level = model.predict(X)
    assert np.ptp(after) < 1e-6 < np.ptp(before)
    assert_allclose(level, 1 * 0.25 + 5 * 0.5 + 5 * 0.25, atol=0.05)


def test_monotone_models_have_no_intervals_of_another_equation_and_survive_a_file(tmp_path):
    X, y = rows()
    est = dplr.fit(X, y > 0, bounds=BOUNDS.to_dict()["features"], eps=50.0, delta=1e-6, mechanism="score")
    model = est.monotone({"a": "decreasing"})
    assert "made monotone" in model.summary().obstacle
    assert model.effects().bands == ""
    with pytest.raises(ValueError, match="made monotone"):
        model.conf_int()
    dplr.save_model(model, tmp_path / "m.json")
    loaded = dplr.load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert "made monotone" in loaded.summary().obstacle
    loaded._monotone = {"a": "increasing"}
    with pytest.raises(
        dplr.model_file.ModelFileError, match="directions that the curves have"
    ):  # every file is read back
        dplr.save_model(loaded, tmp_path / "forged.json")


@pytest.mark.parametrize(
    ("directions", "error", "words"),
    [
        ({"b": "increasing"}, ValueError, "must name curves"),
        ({"a": "up"}, ValueError, "increasing"),
        ({}, TypeError, "mapping"),
        ("a", TypeError, "mapping"),
    ],
)
def test_what_is_no_direction_is_refused(directions, error, words):
    with pytest.raises(error, match=words):
        fitted().monotone(directions)


def test_records_are_a_table_for_auditors():
    effects = fitted(eps=50.0).effects()
    frame = effects.to_frame()
    assert list(frame) == ["column", "group", "label", "knot", "value", "low", "high"]
    assert len(frame) == 14
    assert "95% confidence" in str(effects)
    with pytest.raises(KeyError, match="must be one of"):
        effects["c"]


def test_effects_need_declared_columns():
    est = dplr.fit(np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2)), np.arange(200) > 99, eps=1.0)
    with pytest.raises(ValueError, match="must be declared for curves"):
        est.effects()


def test_reports_and_pictures_show_curves():
    plots = pytest.importorskip("dplr.plots")
    pytest.importorskip("matplotlib").use("Agg")
    from dplr.report import report_html

    est = fitted(eps=50.0)
    drawn = plots.plot_curves(est, most=1)
    strengths = {curve.column: 0.0 for curve in est.effects()}
    for curve in est.effects():
        ratios = zip(curve.values, curve.low, curve.high, strict=True)
        strengths[curve.column] = max(strengths[curve.column], *(2 * abs(v) / (high - low) for v, low, high in ratios))
    strongest = max(strengths, key=strengths.get)
    assert [ax.get_title() for ax in drawn] == [ax.get_title() for ax in drawn[0].figure.axes] == [strongest]
    (a, *_) = [ax for ax in plots.plot_curves(est) if ax.get_title() == "a"]
    assert len(a.lines) == 3  # zero, all rows, one level
    assert {line.get_linestyle() for line in plots.plot_curves(est, level=None)[0].lines[1:]} == {":"}
    page = report_html(est)
    assert "effect on the mean less its mean over the bounds" in page
    assert "The line of a curve is its average slope" in page


def test_reports_without_a_table_say_what_knots_are():
    from dplr.report import report_html

    options = {"model": "linear", "bounds": LINES, "curves": 5, "eps": 50.0}
    whole, narrow = (
        report_html(dplr.fit(*NUMBERS, mechanism=dplr.OutputPerturbation(ranges=ranges), **options))
        for ranges in ("off", "on")
    )
    assert "The line of a curve is its average slope" in whole
    assert "Levels are compared" not in whole
    assert "The line and the knots of a curve say something together alone" in narrow


def test_a_model_without_numbers_has_no_curves_to_draw():
    plots = pytest.importorskip("dplr.plots")
    pytest.importorskip("matplotlib").use("Agg")
    X, y = rows(2000)
    est = dplr.fit(X, y, model="linear", bounds=dplr.Bounds({"w": {"levels": ["p", "q"]}}, target=(-80, 80)), eps=1.0)
    assert len(est.effects()) == 0
    with pytest.raises(ValueError, match="must have columns of numbers"):
        plots.plot_curves(est)


def test_a_refitted_model_has_no_curves_of_columns_that_it_lacks():
    effects = fitted().refit(columns=["a"]).effects()
    assert {curve.column for curve in effects} == {"a"}


@pytest.mark.parametrize("mechanism", ["fm", "output"])
def test_a_level_out_of_range_is_refused_with_and_without_bands(mechanism):
    with pytest.raises(ValueError, match="level"):
        fitted(50.0, mechanism).effects(level=1.0)
