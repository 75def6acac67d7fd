"""Pictures draw the numbers that were released, name them as the user does, and leave nothing behind."""

import copy
import dataclasses
import math
import subprocess
import sys
import types
import unicodedata

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from scipy.special import expit
from scipy.stats import norm

import dplr
from dplr import plots
from dplr.plots._coefficients import changed_words
from dplr.plots._view import printable, read_model
from dplr.privacy import calibration
from dplr.privacy.estimand import Estimand
from dplr.privacy.statement import best_guess
from made_models import BOUNDS, HOSTILE, fitted, of_three_labels


@pytest.fixture(scope="module")
def models():
    return {
        "objective": fitted("objective"),
        "output": fitted("output"),
        "linear": fitted("fm", "linear"),
        "precise": fitted("fm", "linear", eps=500.0),  # its table bounds every coefficient whatever the noise
        "svm": fitted("objective", "svm"),
        "ngd": fitted("ngd", delta=1e-6, with_public=True),
    }


@pytest.fixture(autouse=True)
def closed():
    """Pictures that a test leaves open are closed after it."""
    yield
    pyplot.close("all")


def texts(ax):
    """What a reader sees: title, axis labels, ticks, legend."""
    ax.figure.draw_without_rendering()
    legend = ax.get_legend()
    ticks = [label.get_text() for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    entries = [text.get_text() for text in legend.get_texts()] if legend else []
    return [ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel(), *ticks, *entries]


# ---- what every picture has ----


def by_size(sizes, values=None):
    values = sizes if values is None else values
    return np.array(values)[np.argsort(-np.abs(sizes), kind="stable")]


@pytest.mark.parametrize("name", ["objective", "output", "linear", "svm", "ngd"])
def test_every_picture_names_its_axes_and_its_privacy_loss(models, name):
    est = models[name][0]
    drawn = [plots.plot_coefficients(est), plots.plot_coefficients(est, per="range")]
    if name == "ngd":
        drawn += [plots.plot_history(est), plots.plot_history(est, what="public_loss")]
    for ax in drawn:
        assert ax.get_xlabel()
        assert "eps = 2" in ax.get_title(loc="left")
        assert ax.get_ylabel() or {label.get_text() for label in ax.get_yticklabels()} == set(BOUNDS)


@pytest.mark.parametrize("draw", ["coefficients", "history", "curve"])
def test_a_new_picture_is_the_current_one_of_pyplot_and_on_axes_that_are_given_none_is_opened(models, draw):
    drawn = {
        "coefficients": lambda ax: plots.plot_coefficients(models["objective"][0], ax),
        "history": lambda ax: plots.plot_history(models["ngd"][0], ax),
        "curve": lambda ax: plots.plot_curve(
            dplr.plan_curve(n_rows=[500], n_features=1, eps=[1.0], delta=[0.0], mechanism="fm"), ax
        ),
    }[draw]
    given = Figure().subplots()
    assert drawn(given) is given
    assert pyplot.get_fignums() == []
    assert drawn(None) is pyplot.gca()
    assert len(pyplot.get_fignums()) == 1


def test_a_picture_is_drawn_where_the_caller_says(models):
    ax = Figure().subplots()
    assert plots.plot_coefficients(models["objective"][0], ax) is ax
    assert plots.plot_history(models["ngd"][0], Figure().subplots()).lines


def test_importing_plots_and_report_does_not_import_matplotlib_or_jinja2():
    code = "import dplr.plots, dplr.report, sys; print(sorted({'matplotlib', 'jinja2', 'sklearn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_without_matplotlib_the_error_names_the_extra(models, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match=r'`plot_coefficients` needs matplotlib.*pip install "\.\[plots\]"'):
        plots.plot_coefficients(models["objective"][0])


def test_only_fitted_linear_models_are_drawn():
    with pytest.raises(ValueError, match=r"`est` must be a fitted linear model.*Call `fit` first"):
        plots.plot_coefficients(dplr.LogisticRegression())


# ---- names ----


def test_hostile_names_are_drawn_as_they_are_and_not_as_formulas():
    coef = np.arange(1.0, 13.0)[None, :]
    labels = ["x", "$\\frac{$"]
    est = types.SimpleNamespace(coef_=coef, intercept_=[0.0], classes_=labels, feature_names_in_=HOSTILE)
    ax = plots.plot_coefficients(est)
    shown = texts(ax)
    for name in HOSTILE:
        assert printable(name, 28) in shown
    assert "score for “$\\frac{$”" in ax.get_xlabel()


def test_every_label_is_in_the_legend_whatever_it_is():
    shown = texts(plots.plot_coefficients(of_three_labels()))
    assert {"red", "_green", "$blue$"} <= set(shown)


def test_printable_text_is_one_line_of_visible_characters_and_never_empty():
    everything = [chr(code) for code in range(0x30000)]
    for start in range(0, len(everything), 64):
        text = printable("".join(everything[start : start + 64]))
        assert text
        for char in text:
            assert char in "\u200c\u200d" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn")
    assert printable("plain name") == "plain name"
    assert printable("") == printable("\n") == "(no name)"
    assert len(printable("a" * 500, 28)) == 28


def test_names_are_those_of_the_coefficients_then_of_the_columns_then_numbers():
    est = types.SimpleNamespace(coef_=np.ones((1, 2)), intercept_=0.0)
    assert read_model(est).names == ("x0", "x1")
    est.feature_names_in_ = np.array(["a", "b"], dtype=object)
    assert read_model(est).names == ("a", "b")
    est.coef_names_ = ("a=1", "a=2")
    assert read_model(est).names == ("a=1", "a=2")


# ---- coefficients ----


@pytest.mark.parametrize("name", ["objective", "output", "svm"])
def test_points_are_the_released_coefficients_in_the_users_units(models, name):
    est = models[name][0]
    (points,) = [line for line in plots.plot_coefficients(est).lines if len(line.get_xdata()) == 3]
    reach = np.array([81, 80, 1]) if name == "output" else np.ones(3)  # beside the noise, which grows as 1/reach
    np.testing.assert_allclose(points.get_xdata(), by_size(np.ravel(est.coef_) * reach, np.ravel(est.coef_)))
    (points,) = [line for line in plots.plot_coefficients(est, per="range").lines if len(line.get_xdata()) == 3]
    widths = dict(zip(est.coef_names_, [81, 80, 1], strict=True))
    widths |= {name: high - low for name, (low, high) in est.ranges_.items()}  # a narrow range may be released
    np.testing.assert_array_equal(points.get_xdata(), by_size(np.ravel(est.coef_) * list(widths.values())))


def test_ranges_are_those_of_the_models_columns():
    bounds = dplr.Bounds({"age": (18, 99), "work": {"levels": ["a", "b"]}, "gain": {"lower": 0, "upper": 9,
                          "transform": "log1p"}}, target=("no", "yes"))  # fmt: skip
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": rng.uniform(18, 99, 50), "work": rng.choice(["a", "b"], 50), "gain": rng.uniform(0, 9, 50)}
    )
    model = read_model(dplr.fit(X, np.where(X["age"] > 50, "yes", "no"), eps=1.0, bounds=bounds))
    assert model.names == ("age", "work=a", "work=b", "log1p(gain)")
    np.testing.assert_allclose(model.widths("range"), [81, 1, 1, math.log(10)])


def test_bounds_of_other_columns_give_no_ranges(models):
    known = {name: value for name, value in vars(models["objective"][0]).items() if name != "_record"}
    other = types.SimpleNamespace(coef_names_=tuple(BOUNDS), **known)
    for names in (["hours", "age", "married"], ["age", "hours"], ["age", "hours", "other"]):
        other.bounds = dplr.Bounds(dict.fromkeys(names, (0, 1)))
        assert read_model(other).ranges is None
        with pytest.raises(ValueError, match='`per` must be "unit" where a model has no declared bounds'):
            plots.plot_coefficients(other, per="range")


def test_bounds_from_a_mapping_or_a_file_give_the_ranges_of_the_fit(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).uniform(0, 10, (500, 2)), columns=["age", "hours"])
    columns = {"age": (0, 10), "hours": (0, 20)}
    dplr.Bounds(columns).to_toml(tmp_path / "bounds.toml")
    for form in (columns, tmp_path / "bounds.toml"):
        est = dplr.LogisticRegression(eps=1.0, mechanism="fm", bounds=form).fit(X, X["age"] > 5)
        assert read_model(est).ranges.tolist() == [[0, 10], [0, 20]]
    (tmp_path / "bounds.toml").unlink()  # the picture is of the fit, whatever became of the file
    assert read_model(est).ranges.tolist() == [[0, 10], [0, 20]]


def test_three_labels_give_three_series_that_differ_in_colour_and_marker():
    ax = plots.plot_coefficients(of_three_labels())
    series = ax.lines[1:]  # the first is the line at zero
    order = np.argsort(-np.abs(of_three_labels().coef_).max(axis=0), kind="stable")
    np.testing.assert_array_equal([line.get_xdata() for line in series], of_three_labels().coef_[:, order])
    assert len({line.get_color() for line in series}) == len({line.get_marker() for line in series}) == 3


def test_of_many_columns_the_largest_are_drawn_and_the_largest_is_on_top():
    est = types.SimpleNamespace(coef_=np.array([5.0, -1.0, 3.0, -9.0]), intercept_=0.0)
    ax = plots.plot_coefficients(est, most=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x3", "x0"]
    assert ax.get_ylabel() == "the 2 largest of 4 columns"


def bars(ax):
    """Ends of the grey bars, from above."""
    found = [item for item in ax.collections if isinstance(item, LineCollection) and item.get_linewidth()[0] == 5]
    return np.array([segment[:, 0] for item in found for segment in item.get_segments()])


def points(ax):
    (found,) = [line for line in ax.lines if line.get_label() != "_child0"]
    return found.get_xdata()


def test_noise_bars_are_two_deviations_in_the_users_units_and_only_where_noise_was_added_to_coefficients(models):
    est = models["output"][0]
    ends = bars(plots.plot_coefficients(est))
    reach = np.array([81, 80, 1]) / 2 * math.sqrt(3)  # a scaled column is (x - middle) / reach
    order = np.argsort(-np.abs(np.ravel(est.coef_)) * reach, kind="stable")
    np.testing.assert_allclose(
        (ends[:, 1] - ends[:, 0]) / 2, 2 * est.privacy_.released["coef"].deviation / reach[order], rtol=1e-5
    )
    np.testing.assert_allclose(ends.mean(axis=1), points(plots.plot_coefficients(est)))
    for name in ("objective", "ngd"):
        ax = plots.plot_coefficients(models[name][0])
        assert not [item for item in ax.collections if isinstance(item, LineCollection)]  # neither bars nor stems
    projected, _, _ = fitted(dplr.OutputPerturbation(projection=1.0))
    assert len(bars(plots.plot_coefficients(projected))) == 0


@pytest.mark.parametrize("per", ["unit", "range"])
def test_where_a_release_has_intervals_points_and_bars_are_those_of_the_table(models, per):
    est = models["precise"][0]
    widths = dict(zip(BOUNDS, [81, 80, 1] if per == "range" else [1, 1, 1], strict=True))
    lines = [line for line in est.summary().lines if line.name in BOUNDS]
    assert all(line.bounded for line in lines)
    wanted = sorted(((line.estimate, line.low, line.high) * np.full(3, widths[line.name]) for line in lines),
                    key=lambda line: -abs(line[1] + line[2]) / (line[2] - line[1]))  # fmt: skip
    ax = plots.plot_coefficients(est, per=per)
    np.testing.assert_allclose(points(ax), [line[0] for line in wanted])
    np.testing.assert_allclose(bars(ax), [line[1:] for line in wanted])


def test_a_coefficient_that_no_released_number_bounds_is_said_so_and_has_no_point(models):
    est = copy.copy(models["precise"][0])
    table = est.summary()
    unbounded = dataclasses.replace(table.lines[1], estimate=math.nan, low=-math.inf, high=math.inf)
    est.summary = lambda: dataclasses.replace(table, lines=(table.lines[0], unbounded, *table.lines[2:]))
    ax = plots.plot_coefficients(est)
    assert [text.get_text().strip() for text in ax.texts] == ["cannot say"]
    assert ax.get_yticklabels()[-1].get_text() == unbounded.name  # last, as nobody knows how large it is
    assert np.isfinite(points(ax)).tolist() == [True, True, False]
    assert len(bars(ax)) == 2


def with_levels(mechanism, reference=None, **options):
    """Levels of which each has a column, unless one is declared as the reference."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"age": rng.uniform(18, 99, 3000), "loan": rng.choice(["no", "yes", "other"], 3000)})
    y = 0.2 * X["age"] + 10 * (X["loan"] == "yes") + rng.normal(0, 3, 3000)
    levels = {"levels": ["no", "yes", "other"]} | ({"reference": reference} if reference else {})
    bounds = dplr.Bounds({"age": (18, 99), "loan": levels}, target=(-10, 50))
    return dplr.LinearRegression(eps=500.0, bounds=bounds, mechanism=mechanism, **options).fit(X, y)


@pytest.mark.parametrize("mechanism", ["fm", "output", "objective"])
@pytest.mark.parametrize("reference", [None, "other"])
def test_levels_are_drawn_as_differences_to_the_reference_level_and_not_beside_it(mechanism, reference):
    est = with_levels(mechanism, reference)
    ax = plots.plot_coefficients(est)
    drawn = dict(zip([label.get_text() for label in ax.get_yticklabels()], points(ax), strict=True))
    assert set(drawn) == {"age"} | {f"loan={level}" for level in ("no", "yes", "other")} - {f"loan={reference or 'no'}"}
    coef = dict(zip(est.coef_names_, est.coef_, strict=True))
    if mechanism != "fm":  # whose table has no ridge
        assert drawn["loan=yes"] == pytest.approx(coef["loan=yes"] - coef.get("loan=no" if not reference else "", 0.0))
    assert drawn["loan=yes"] > 5


def test_the_noise_of_a_difference_is_that_of_both_levels():
    est = with_levels("output")
    ax = plots.plot_coefficients(est)
    ends = dict(zip([label.get_text() for label in ax.get_yticklabels()], bars(ax), strict=True))
    low, high = ends["loan=yes"]
    per_unit = est._record.prep.to_user_units(np.eye(5)[1])[0][1] - est._record.prep.to_user_units(np.zeros(5))[0][1]
    both = math.sqrt(2) * est.privacy_.released["coef"].deviation * abs(per_unit)
    assert (high - low) / 4 == pytest.approx(both, rel=1e-6)


# ---- history ----


def test_history_shows_released_gradients_beside_their_noise(models):
    est = models["ngd"][0]
    released, noise = plots.plot_history(est).lines
    np.testing.assert_allclose(released.get_ydata(), np.linalg.norm(est.released_["gradients"], axis=1))
    block = est.privacy_.released["gradients"]
    draws = np.random.default_rng(0).normal(0, block.scale, (20_000, block.shape[1]))
    np.testing.assert_allclose(noise.get_ydata()[0], np.sqrt(np.mean(np.sum(draws**2, axis=1))), rtol=0.02)
    (loss,) = plots.plot_history(est, what="public_loss").lines
    np.testing.assert_array_equal(loss.get_ydata(), est.history_.public_loss)


def test_history_needs_a_descent_and_public_rows_for_their_loss(models):
    with pytest.raises(ValueError, match='must be fitted with mechanism="ngd"'):
        plots.plot_history(models["objective"][0])
    with pytest.raises(ValueError, match="needs a fit with public rows"):
        plots.plot_history(fitted("ngd", delta=1e-6)[0], what="public_loss")


# ---- the words for a guarantee ----


@pytest.mark.parametrize("eps", [0.01, 0.8, 3.0, 20.0, 1000.0])
def test_the_best_guess_is_that_of_randomised_response(eps):
    """Randomised response is the worst mechanism of pure eps: its truth is told with probability expit(eps)."""
    assert best_guess(eps, 0.0) == pytest.approx(expit(eps), rel=1e-12)


@pytest.mark.parametrize("eps", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
def test_no_gaussian_release_is_guessed_better_than_the_best_guess(eps, delta):
    """Between N(0, 1) and N(mu, 1) the best test is right with probability Phi(mu / 2)."""
    assert norm.cdf(calibration.gaussian_mu(eps, delta) / 2) <= best_guess(eps, delta)
    assert best_guess(0.0, delta) == pytest.approx(0.5 + delta / 2)


def test_a_curve_is_drawn_with_one_colour_for_each_mechanism():
    assume = dplr.planner.Assumptions(tables=2)
    options = {"n_rows": [300, 900], "n_features": 2, "eps": [0.5, 2.0], "assume": assume}
    curve = dplr.plan_curve(delta=[0.0, 1e-6], **options)
    colours = {}
    for delta in (0.0, 1e-6):
        ax = plots.plot_curve(curve, delta=delta, n_rows=300)
        lines = {line.get_label(): line for line in ax.get_lines()}
        points = [point for point in curve.points if (point.delta, point.n_rows) == (delta, 300)]
        for name in {point.mechanism for point in points}:
            wanted = [point.error for point in points if point.mechanism == name]
            np.testing.assert_array_equal(lines[name].get_ydata(), wanted)
            assert colours.setdefault(name, lines[name].get_color()) == lines[name].get_color()
        assert lines["without privacy"].get_ydata()[0] == points[0].non_private
    assert len(set(colours.values())) == len(colours) == 5
    assert "900 records, delta = 1e-06" in curve.plot().get_title(loc="left")
    with pytest.raises(ValueError, match="`delta` must be one of the curve's"):
        plots.plot_curve(curve, delta=0.5)


@pytest.mark.parametrize(
    ("estimand", "words"), [("log-odds", "log odds of “yes”"), ("probability", "probability of “yes”")]
)
def test_the_axis_of_coefficients_spells_its_quantity_as_the_table_does(estimand, words):
    effects = types.SimpleNamespace(estimand=Estimand(estimand), values=[[0.0]])
    assert changed_words(types.SimpleNamespace(labels=["yes"]), effects) == words
