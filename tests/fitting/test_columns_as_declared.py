"""Which columns private ranges leave as declared, which fits use none, and what a table says where one does."""

import csv
import io
import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dplr
from dplr.bounds.scaling import layout_prep
from dplr.fitting import ranges
from dplr.mechanisms.protocol import CLIPS, RANGES
from dplr.report import report_html
from forgeries import forgery
from specs import spec_with

pytestmark = pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")

CODES = {"levels": [1, 2, 3, 4, 5], "ordinal": True}
BOUNDS = dplr.Bounds([(0, 100), (0, 1), CODES, (-1, 1)], target=(-100, 200))
NAMED = dplr.Bounds(
    {
        "a": (0, 100), "flag": (0, 1), "code": CODES, "yes": {"levels": ["n", "y"], "binary": True},
        "grade": {"levels": [1, 2, 3], "ordinal": True}, "kind": {"levels": ["x", "y"]},
    },
    target=(-100, 200),
)  # fmt: skip


def table(n=20_000, seed=0):
    """A number in wide bounds, a flag that is hardly ever 1, a code that is mostly 1, and a narrow number about 0."""
    rng = np.random.default_rng(seed)
    flag, code = rng.random(n) < 0.02, 1 + rng.choice(5, n, p=[0.9, 0.05, 0.03, 0.01, 0.01])
    X = np.column_stack([rng.normal(10, 2, n), flag, code, rng.normal(0, 0.05, n)])
    return X, 2 * X[:, 0] + 20 * flag - 5 * code + 10 * X[:, 3] + rng.normal(0, 2, n)


def plan(**facts):
    usual = {"n_rows": 20_000, "bounds": BOUNDS, "eps": 1.0, "model": "linear"}
    return dplr.plan(**usual | facts).statement


def ranged(**facts):
    """Whether a plan releases ranges."""
    return "range_sums" in plan(**facts).released


# ---- flags, codes and levels ----


@pytest.mark.parametrize(
    ("column", "measured"),
    [
        ((0, 1), False), ((False, True), False), (np.array([0, 1]), False), (np.array([False, True]), False),
        ((0.0, 1.0), True), ((0, 1.0), True), ((1, 2), True), ((1, 5), True), ((0, 6), True), ((0, 9), True),
        ((0, 10), True), ((-1, 1), True), ((0, 0.5), True), ((0.5, 1), True), ((18, 99), True), ((0, 100), True),
        ({"lower": 0, "upper": 1}, False), ({"lower": 0, "upper": 1, "missing": "indicator"}, False),
        ({"lower": 0.0, "upper": 1.0}, True), ({"lower": 0, "upper": 1, "transform": "sqrt"}, True),
        ({"lower": 0, "upper": 9, "transform": "log1p"}, True), ({"levels": ["n", "y"], "binary": True}, False),
        ({"levels": [0, 1, 2], "ordinal": True}, False), ({"levels": [0, 1]}, False),
        ({"lower": 0, "upper": 100, "bins": [50]}, False),
    ],
    ids=str,
)  # fmt: skip
def test_bounds_alone_say_whether_a_column_measures_something(column, measured):
    assert bool(dplr.Bounds([column]).layout.quantities) is measured


def test_a_product_has_a_range_where_both_factors_measure_something():
    known = {"a": (0, 100), "b": (-50, 50), "flag": (0, 1), "grade": {"levels": [1, 2, 3], "ordinal": True}}
    pairs = [("a", "a"), ("a", "b"), ("a", "flag"), ("b", "grade"), ("flag", "grade")]
    layout = dplr.Bounds(known, products=pairs).layout
    assert [layout.names[column] for column in layout.quantities] == ["a", "b", "a^2", "a*b"]


@pytest.mark.parametrize("dtype", [float, int, bool, object])
@pytest.mark.parametrize(
    "facts",
    [
        {"mechanism": dplr.FunctionalMechanism(ranges="on")}, {"mechanism": "objective"},
        {"mechanism": dplr.ObjectivePerturbation(ranges="on")}, {"mechanism": "ngd", "delta": 1e-6},
        {"mechanism": dplr.NoisyGradientDescent(ranges="on"), "delta": 1e-6},
    ],
    ids=str,
)  # fmt: skip
def test_flags_and_levels_keep_their_bounds_whatever_the_type_of_a_value(facts, dtype):
    pandas = pytest.importorskip("pandas")
    X, y = table(5_000)
    rng = np.random.default_rng(1)
    frame = pandas.DataFrame({"a": X[:, 0], "flag": X[:, 1].astype(dtype), "code": X[:, 2].astype(int)})
    frame["yes"], frame["grade"] = rng.choice(["n", "y"], len(X), p=[0.99, 0.01]), rng.choice([1, 2, 3], len(X))
    frame["kind"] = rng.choice(["x", "y"], len(X))
    est = dplr.fit(frame, y, model="linear", bounds=NAMED, eps=5.0, **facts)
    assert list(est.ranges_) == ["a"]


def test_a_rare_flag_has_the_coefficient_of_the_flag():
    """A range of (0, .42) made it 2.4 times as large."""
    X, y = table(50_000)
    expected = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    for choice in ("on", "off"):
        est = dplr.fit(
            X, y, model="linear", bounds=BOUNDS, eps=math.inf, mechanism=dplr.FunctionalMechanism(ranges=choice), l2=0.0
        )
        assert_allclose(est.coef_[1:3], expected[1:3], rtol=0.02)


# ---- which fits use none ----


def test_fits_with_intervals_and_those_for_coefficients_use_no_ranges():
    labels = {"model": "logistic", "bounds": dplr.Bounds([(0, 100), (0, 1)])}
    assert ranged(mechanism="objective")
    assert ranged(mechanism="output")
    assert ranged(**labels)
    assert not ranged(mechanism="fm")
    assert not ranged(mechanism="fm", **labels)
    assert ranged(mechanism=dplr.FunctionalMechanism(intervals="off"))
    assert not ranged(mechanism=dplr.ObjectivePerturbation(intervals="on"), **labels)
    assert not ranged(mechanism="score", delta=1e-6, **labels)
    assert ranged(mechanism=dplr.FunctionalMechanism(ranges="on"))
    assert ranged(mechanism=dplr.ObjectivePerturbation(intervals="on", ranges="on"), **labels)


@pytest.mark.parametrize("facts", [{"mechanism": "fm"}, {"mechanism": "fm", "delta": 1e-6}], ids=str)
def test_an_aim_at_coefficients_uses_no_ranges_unless_asked(facts):
    assert not ranged(aim="coefficients", **facts)
    assert ranged(aim="coefficients", **facts | {"mechanism": dplr.FunctionalMechanism(ranges="on")})


def test_an_aim_at_coefficients_leaves_columns_as_declared_whatever_a_mechanism_would_do():
    assert ranges.choice_for("coefficients", "auto") == "off"
    assert [ranges.choice_for("coefficients", each) for each in ("on", "off")] == ["on", "off"]
    assert [ranges.choice_for("prediction", each) for each in RANGES] == list(RANGES)


# ---- when it pays ----


def test_auto_spends_nothing_where_the_noise_alone_fills_the_bounds():
    """Of one number a mean has noise sqrt(2) 9/4 / (.15 n eps); three roots of it reach the bounds at 1/9."""
    needed = 9 * math.sqrt(2) * 2.25 / 0.15
    number = {"mechanism": "objective", "bounds": dplr.Bounds([(0, 100)], target=(0, 1))}
    labels = {"mechanism": "objective", "model": "logistic", "bounds": dplr.Bounds([(0, 100)])}
    for facts in (number, labels):
        assert ranged(n_rows=math.ceil(needed), eps=1.0, **facts)
        assert not ranged(n_rows=math.floor(needed), eps=1.0, **facts)
        assert ranged(n_rows=10 * math.ceil(needed), eps=0.1001, **facts)
    many = {"mechanism": "objective", "bounds": dplr.Bounds([(0, 100)] * 5 + [(0, 1)] * 20, target=(0, 1))}
    assert ranged(n_rows=math.ceil(5 * needed), **many)
    assert not ranged(n_rows=math.floor(5 * needed), **many)


def test_labels_have_ranges_where_half_of_the_columns_measure_something():
    """A block of levels is one column, and so is a number with a mark of what is missing."""
    number, flag, levels = (0, 100), (0, 1), {"levels": ["x", "y", "z"]}
    marked = {"lower": 0, "upper": 100, "missing": "indicator"}
    for columns, wanted in (
        ([number], True), ([number, flag], True), ([number, levels], True), ([number, flag, levels], False),
        ([number, number, flag, levels], True), ([marked, flag], True), ([marked, flag, flag], False),
    ):  # fmt: skip
        assert ranged(model="logistic", bounds=dplr.Bounds(columns)) is wanted
        assert ranged(mechanism="objective", bounds=dplr.Bounds(columns, target=(0, 1)))


def test_labels_gain_where_bounds_are_wide():
    """Error of 10 fits: 0.28 without ranges and 0.21 with them; deviations below 0.01."""
    X, y = table()
    labels = y > np.median(y)
    bounds = dplr.Bounds([(0, 1000), (0, 1), (1, 5), (-1, 1)])
    error = {}
    for choice in ("auto", "off"):
        fits = dplr.fit_many(
            X, labels, bounds=bounds, eps=[1.0], repeats=10, mechanism=dplr.ObjectivePerturbation(ranges=choice)
        )
        error[choice] = 1 - np.mean([est.score(X, labels) for est in fits])
    assert error["auto"] < error["off"] - 0.02


# ---- inside the bounds, in every bit ----

NASTY = [
    (0.1, 0.7), (-0.1, 0.3), (1e-3, 1e16), (-1e16, 3.0), (1e15, 1e15 + 3), (1 / 3, 2 / 3), (-7.1e-9, 3.3e-9),
    (-1e300, 1e300), (5e-324 * 2**60, 1e-300), (99.9, 100.1), (-2.2, -1.1), (1e8 + 0.1, 1e8 + 0.7),
]  # fmt: skip


@pytest.mark.parametrize("pair", NASTY, ids=str)
@pytest.mark.parametrize("how", ["narrowed", "clipped"])
def test_ranges_lie_inside_the_declared_bounds_in_every_bit(pair, how):
    prep = layout_prep(dplr.Bounds([pair, (0, 100)]).layout, True, None)
    c, rng, (lower, upper) = prep.geometry.half_width, np.random.default_rng(0), pair
    for half in (*rng.uniform(0.05, 1, 300), np.nextafter(1, 0), 0.05):
        for middle in (half - 1, 1 - half, rng.uniform(half - 1, 1 - half)):
            ends = getattr(prep, how)(np.array([middle * c, 0.0]), np.array([half * c, c])).limits
            low, high = (float(end[0]) for end in ends)
            assert lower <= low <= high <= upper
            assert ends[0][1] == -np.inf
            assert ends[1][1] == np.inf


@pytest.mark.parametrize("mechanism", ["objective", "ngd"])
def test_ranges_of_fits_lie_inside_the_declared_bounds(mechanism, tmp_path):
    rng = np.random.default_rng(0)
    pairs = [(0.1, 0.7), (-0.1, 0.3), (1 / 3, 2 / 3), (99.9, 100.1)]
    X = np.column_stack([rng.choice([low, high], 3_000, p=[0.97, 0.03]) for low, high in pairs])
    bounds = dplr.Bounds(pairs, target=(0, 1))
    options = {"model": "linear", "bounds": bounds, "mechanism": mechanism, "delta": 1e-6, "eps": 20.0}
    for seed in range(5):
        est = dplr.fit(X, X[:, 0], rng=seed, **options)
        assert est.ranges_
        for (low, high), (lower, upper) in zip(est.ranges_.values(), pairs, strict=True):
            assert lower <= low < high < upper
            assert low == pytest.approx(lower, rel=1e-12)
    dplr.save_model(est, tmp_path / "model.json")
    assert dplr.load_model(tmp_path / "model.json").ranges_ == est.ranges_


# ---- what a table says ----


def test_a_table_of_clipped_columns_says_so_with_both_intervals_beside_each_name():
    X, y = table()
    options = {"model": "linear", "mechanism": "fm", "bounds": BOUNDS, "eps": 3.0}
    est = dplr.fit(X, y, **options | {"mechanism": dplr.FunctionalMechanism(ranges="on")})
    found = est.summary()
    assert "about clipped columns" in found.title
    assert list(found.clipped) == ["column 0", "column 3"] == list(est.ranges_)
    for name, declared in (("column 0", (0.0, 100.0)), ("column 3", (-1.0, 1.0))):
        each = found.clipped[name]
        assert (each.low, each.high) == est.ranges_[name]
        assert (each.lower, each.upper) == declared
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(found.to_csv()))}
    assert float(rows["column 0"]["clipped_high"]) == est.ranges_["column 0"][1]
    assert (rows["column 0"]["declared_lower"], rows["column 0"]["declared_upper"]) == ("0.0", "100.0")
    assert rows["column 1"]["clipped_low"] == rows["(intercept)"]["declared_upper"] == ""
    plain = json.loads(found.to_json())["clipped"]["column 0"]
    assert plain == {"low": est.ranges_["column 0"][0], "high": est.ranges_["column 0"][1], "lower": 0, "upper": 100}
    for text in (str(found), found.to_html(), found.to_latex()):
        assert "about clipped columns" in text
        assert "clipped to" in text
        assert "[0, 100]" in text
        assert "[-1, 1]" in text


def test_a_table_of_declared_columns_has_no_such_columns():
    X, y = table()
    found = dplr.fit(X, y, model="linear", mechanism="fm", bounds=BOUNDS, eps=3.0).summary()
    assert found.clipped == {}
    assert "clipped columns" not in found.title
    assert "declared" not in str(found)
    assert "clipped" not in found.to_csv()
    columns = dplr.fit(
        X, y, model="linear", mechanism=dplr.FunctionalMechanism(ranges="on"), bounds=BOUNDS, eps=3.0
    ).summary(["column 1"])
    assert columns.clipped == {}


def test_a_data_frame_has_the_ranges_of_a_table():
    pytest.importorskip("pandas")
    X, y = table()
    est = dplr.fit(X, y, model="linear", mechanism=dplr.FunctionalMechanism(ranges="on"), bounds=BOUNDS, eps=3.0)
    frame = est.summary().to_frame()
    assert tuple(frame.loc["column 0", ["clipped_low", "clipped_high"]]) == est.ranges_["column 0"]
    assert tuple(frame.loc["column 3", ["declared_lower", "declared_upper"]]) == (-1.0, 1.0)
    assert frame.loc["column 1", "clipped_low":].isna().all()


# ---- files ----


@pytest.mark.parametrize("facts", [{"mechanism": "fm", "delta": 1e-6}, {"mechanism": "fm"}], ids=str)
def test_fits_for_coefficients_are_saved(facts, tmp_path):
    X, y = table(2_000)
    est = dplr.fit(X, y, model="linear", bounds=BOUNDS, eps=3.0, aim="coefficients", **facts)
    dplr.save_model(est, tmp_path / "model.json")
    loaded = dplr.load_model(tmp_path / "model.json")
    assert loaded.mechanism.ranges == "off"
    assert loaded.ranges_ == {}
    assert_array_equal(loaded.predict(X), est.predict(X))


def test_a_file_whose_sums_clip_flags_is_refused(tmp_path):
    X, y = table(5_000)
    est = dplr.fit(X, y, model="linear", bounds=BOUNDS, eps=5.0, delta=1e-6, mechanism="ngd")
    assert list(est.ranges_) == ["column 0", "column 3"]

    def of_all_numbers(model):
        facts = model["statement"]["assumptions"]
        facts[facts.index(CLIPS)] = "numbers are clipped to ranges made of released sums, for no further eps"

    path = forgery(est, tmp_path / "model.json", of_all_numbers)
    with pytest.raises(dplr.model_file.ModelFileError, match="must say that numbers are clipped where they are"):
        dplr.load_model(path)


def test_no_file_has_released_ranges_of_flags(tmp_path, monkeypatch):
    X, y = table(5_000)
    options = {"model": "linear", "mechanism": "objective", "bounds": BOUNDS, "eps": 5.0}
    monkeypatch.setattr(ranges, "columns_of", lambda prep: [0, 1, 3])
    est = dplr.fit(X, y, **options)
    assert len(est.ranges_) == 3
    monkeypatch.undo()
    with pytest.raises(dplr.model_file.ModelFileError, match=r"must be about the blocks \[\('range_sums', \(2,\)\)"):
        dplr.save_model(est, tmp_path / "model.json")


# ---- what else shows them ----


def test_the_report_shows_each_range_inside_its_bounds():
    X, y = table()
    est = dplr.fit(X, y, model="linear", mechanism="objective", bounds=BOUNDS, eps=3.0)
    low, high = est.ranges_["column 0"]
    assert f"column 0 {low:.4g} to {high:.4g} of 0 to 100" in report_html(est)


def test_ranges_show_nothing_of_the_target():
    """The same seed, other labels: the same sums, in every bit."""
    X, y = table(5_000)
    options = {"bounds": dplr.Bounds([(0, 100), (0, 1), CODES, (-1, 1)]), "eps": 3.0, "rng": 1}
    fits = [
        dplr.fit(X, labels, mechanism=spec_with("objective", "on"), **options) for labels in (y > 20, y > 1e9, y < 20)
    ]
    for name in (ranges.SUMS, ranges.SQUARES):
        assert_array_equal(fits[0].released_[name], fits[1].released_[name])
        assert_array_equal(fits[0].released_[name], fits[2].released_[name])
    assert fits[0].ranges_ == fits[1].ranges_ != {}
