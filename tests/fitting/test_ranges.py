"""Private ranges: what they cost, when they are released, and that fit, predictions and file use the same ones."""

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dplr
from dplr.bounds.scaling import box_prep
from dplr.fitting import ranges
from dplr.noise import Source
from dplr.plots._view import read_model
from dplr.privacy import Neighbouring, sensitivity
from dplr.privacy.guarantees import Approx, Pure
from dplr.privacy.statement import Release
from dplr.problem.geometry import Geometry
from dplr.problem.losses import SQUARED
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows
from dplr.rows.exact import Moments
from dplr.rows.losses import LossGradient
from forgeries import forgery
from specs import spec_with

BOUNDS = dplr.Bounds({"a": (0, 100), "b": (-50, 50), "kind": {"levels": ["x", "y"]}}, target=(-100, 200))
NUMBERS = dplr.Bounds([(0, 100), (-50, 50)], target=(-100, 200))
ON = dplr.ObjectivePerturbation(ranges="on")


def table(n=20_000, seed=0):
    """Numbers that fill little of their bounds, off their middle, and a target that depends on them."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(10, 2, n), rng.normal(30, 1, n)])
    return X, 2 * X[:, 0] - 3 * (X[:, 1] - 30) + rng.normal(0, 2, n)


def frame(n=20_000):
    pandas = pytest.importorskip("pandas")
    X, y = table(n)
    return pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": np.resize(["x", "y", "y"], n)}), y


def problem(**changes):
    facts = {
        "loss": SQUARED, "geometry": Geometry(3, half_width=0.5, intercept=0.5, blocks=((1, 2),)),
        "neighbouring": Neighbouring.REPLACE_ONE, "n_rows": 1000, "l2": None, "assumptions": (),
    }  # fmt: skip
    return Problem(**facts | changes)


# ---- what it costs ----


@pytest.mark.parametrize("c", [1.0, 0.25, 0.5773502])
def test_sensitivities_are_reached_and_never_exceeded(c):
    ends = np.linspace(-c, c, 401)
    x, other = np.meshgrid(ends, ends)
    replaced = np.abs(x - other) + np.abs(x**2 - other**2) / c
    assert replaced.max() <= sensitivity.ranges_replace_one(1, c) * (1 + 1e-12)
    assert replaced.max() >= 0.9999 * sensitivity.ranges_replace_one(1, c)
    added = np.abs(x) + x**2 / c  # to the sums of one column; and c to c times the number of records
    assert_allclose(added.max() + c, sensitivity.ranges_add_remove(1, c))
    assert_allclose(7 * added.max() + c, sensitivity.ranges_add_remove(7, c))
    assert sensitivity.ranges_replace_one(7, c) == 7 * sensitivity.ranges_replace_one(1, c)


def test_noise_scales_of_a_plan():
    """Two numbers in cubes of half-width sqrt(1/3): 9/2 c over 15 % of eps for sums, c times that for squares."""
    plan = dplr.plan(n_rows=2_000, bounds=BOUNDS, eps=1.0, model="linear", mechanism="objective")
    c = plan.problem.geometry.half_width
    assert_allclose(c, math.sqrt(1 / 3), atol=1e-6)
    assert 4.5 * math.sqrt(2) / 2_000 / 0.15 < 0.2  # the noise of a mean, in half-widths
    assert_allclose(plan.released["range_sums"].scale, 4.5 * c / 0.15, rtol=1e-4)
    assert_allclose(plan.released["range_squares"].scale, 4.5 * c * c / 0.15, rtol=1e-4)
    many = dplr.plan(n_rows=200_000, bounds=BOUNDS, eps=1.0, model="linear", mechanism="objective")
    assert_allclose(many.released["range_sums"].scale / 200_000, 0.002 * c / math.sqrt(2), rtol=1e-4)


@pytest.mark.parametrize("eps", [1e-3, 0.1, 0.3, 1.0, 1 / 3, 2.0, 7.7, 1 + 2**-52, 64.0])
@pytest.mark.parametrize("n", [10, 1000, 10**6])
def test_parts_add_up_to_at_most_eps_exactly(eps, n):
    prep = box_prep([(0.0, 1.0)] * 2, True, None)
    parts = ranges.plan_ranges(spec_with("fm", "on"), problem(geometry=prep.geometry, n_rows=n), prep, eps, 0.0)
    assert Fraction(eps) * (1 - Fraction(1, 2**50)) <= Fraction(parts.eps) + Fraction(parts.remainder) <= Fraction(eps)
    assert 0 < parts.eps <= 0.15 * eps * (1 + 1e-12)


def test_one_statement_says_the_total_and_both_parts():
    facts = {"n_rows": 20_000, "bounds": BOUNDS, "eps": 1.0}
    pure = dplr.plan(**facts, model="linear", mechanism=spec_with("fm", "on")).statement
    assert (pure.guarantee, pure.eps, pure.delta) == (Pure(1.0), 1.0, 0.0)
    assert list(pure.released)[:2] == ["range_sums", "range_squares"]
    assert "ranges that are released before" in pure.assumptions[-1]
    tiny = dplr.plan(**facts, mechanism=ON).statement
    assert tiny.guarantee == Approx(1.0, 2.0**-64)
    gaussian = dplr.plan(**facts, mechanism=spec_with("fm", "on"), delta=1e-6).statement
    assert gaussian.guarantee == Approx(1.0, 1e-6)


def test_the_ledger_pays_the_total_once(tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.5, delta=1e-9)
    X, y = table(2_000)
    dplr.fit(
        X, y, model="linear", mechanism=dplr.ObjectivePerturbation(ranges="on"), bounds=NUMBERS, eps=1.0, ledger=ledger
    )
    assert_allclose(ledger.spent()[0], 1.0)
    with pytest.raises(dplr.BudgetExceeded):
        dplr.fit(
            X,
            y,
            model="linear",
            mechanism=dplr.ObjectivePerturbation(ranges="on"),
            bounds=NUMBERS,
            eps=1.0,
            ledger=ledger,
        )


# ---- when ----


def released(**facts):
    """Whether a plan releases ranges by itself: see test_columns_as_declared.py too."""
    usual = {"n_rows": 20_000, "bounds": BOUNDS, "eps": 1.0, "model": "linear", "mechanism": "objective"}
    return "range_sums" in dplr.plan(**usual | facts).released


def test_auto_is_for_fits_without_intervals_and_with_little_noise():
    assert released()
    assert not released(mechanism="fm")
    assert released(mechanism=dplr.FunctionalMechanism(intervals="off"))
    assert not released(mechanism=dplr.ObjectivePerturbation(ranges="off"))
    assert not released(mechanism=dplr.FunctionalMechanism(calibration="paper"))
    assert released(model="logistic", bounds=dplr.Bounds({"a": (0, 100)}))
    assert released(delta=1e-6)  # pure noise is smaller, and so are its ranges
    assert not released(delta=1e-6, mechanism=dplr.FunctionalMechanism(intervals="off"))  # Gaussian noise composes
    assert not released(delta=1e-6, mechanism=dplr.ObjectivePerturbation(noise="gaussian"))
    assert not released(delta=1e-6, mechanism="ngd")
    assert not released(eps=math.inf)
    assert not released(eps=0.018)  # 15 % of it leaves a noise of 0.118 half-widths
    assert not released(fit_intercept=False)
    assert not released(bounds=None, n_features=3)
    assert not released(bounds=dplr.Bounds({"kind": {"levels": ["x", "y"]}}, target=(-1, 1)))
    assert not released(public=(np.zeros(4), 0.0))
    assert not released(neighbouring="add_remove", n_rows=None, mechanism="fm")
    assert released(neighbouring="add_remove")


@pytest.mark.parametrize(
    ("facts", "missing"),
    [
        ({"bounds": None, "n_features": 2}, "without bounds"),
        ({"fit_intercept": False}, "without an intercept"),
        ({"bounds": dplr.Bounds({"kind": {"levels": ["x", "y"]}}, target=(-1, 1))}, "where no column measures"),
        ({"bounds": dplr.Bounds([(0, 1), (False, True)], target=(-1, 1))}, "where no column measures"),
        ({"public": (np.zeros(4), 0.0)}, "with `public`"),
        ({"neighbouring": "add_remove", "n_rows": None}, "without n_rows"),
    ],
)
def test_ranges_that_cannot_be_had_are_refused_with_a_remedy(facts, missing):
    usual = {"n_rows": 2_000, "bounds": BOUNDS, "eps": 1.0, "model": "linear", "mechanism": ON}
    with pytest.raises(ValueError, match=f'`ranges` must be "off" or "auto" {missing}.*[.] .+[.]'):
        dplr.plan(**usual | facts)


@pytest.mark.parametrize("choice", ["yes", True, None, 1])
def test_another_choice_is_refused_before_anything_is_spent(choice):
    X, y = table(100)
    with pytest.raises((ValueError, TypeError), match="ranges"):
        dplr.fit(X, y, model="linear", bounds=NUMBERS, eps=1.0, mechanism=dplr.ObjectivePerturbation(ranges=choice))


# ---- what is made of the numbers ----


def test_ranges_are_a_function_of_what_was_released(tmp_path):
    X, y = frame()
    for mechanism in ("fm", "objective"):
        est = dplr.fit(X, y, model="linear", mechanism=spec_with(mechanism, "on"), bounds=BOUNDS, eps=1.0)
        assert list(est.ranges_) == ["a", "b"]
        assert list(est.released_)[:2] == ["range_sums", "range_squares"]
        dplr.save_model(est, tmp_path / f"{mechanism}.json")
        other = dplr.load_model(tmp_path / f"{mechanism}.json")
        assert other.ranges_ == est.ranges_
        assert other.privacy_ == est.privacy_
        assert_array_equal(other.predict(X), est.predict(X))
        assert_array_equal(other.released_["range_sums"], est.released_["range_sums"])


@pytest.mark.parametrize("declared", [14_000, 20_000, 100_000])
def test_ranges_hold_the_data_where_the_reference_is_not_the_number_of_records(declared):
    """Under add_remove means are over the number of records, which is released beside the sums."""
    X, y = frame(20_000)
    facts = {"model": "linear", "mechanism": dplr.ObjectivePerturbation(ranges="on"), "bounds": BOUNDS, "eps": 4.0}
    est = dplr.fit(X, y, neighbouring="add_remove", n_rows=declared, **facts)
    assert list(est.released_)[:3] == ["range_sums", "range_squares", "range_records"]
    assert_allclose(est.released_["range_records"], 20_000, atol=500)
    for name, (low, high) in est.ranges_.items():
        assert low <= np.quantile(X[name], 0.1)
        assert high >= np.quantile(X[name], 0.9)


def test_ranges_hold_nearly_all_numbers_and_little_else():
    """Every range holds 99 % of the numbers; their widths, of 100, are below 25 in the mean of 20 (18 expected)."""
    X, y = table(200_000)
    options = {
        "model": "linear",
        "mechanism": dplr.FunctionalMechanism(ranges="on"),
        "bounds": NUMBERS,
        "eps": [1.0],
        "repeats": 20,
    }
    ends = np.array([list(est.ranges_.values()) for est in dplr.fit_many(X, y, **options)])
    for column, low, high in zip(X.T, *ends.transpose(2, 1, 0), strict=True):
        assert min(((column >= one) & (column <= other)).mean() for one, other in zip(low, high, strict=True)) > 0.99
        assert (high - low).mean() < 25


def test_exact_ranges_are_the_mean_and_three_deviations():
    X, y = table()
    est = dplr.fit(X, y, model="linear", mechanism=dplr.FunctionalMechanism(ranges="on"), bounds=NUMBERS, eps=math.inf)
    for (low, high), column, narrowest in zip(est.ranges_.values(), X.T, (5, 5), strict=True):
        assert_allclose(
            [(low + high) / 2, (high - low) / 2], [column.mean(), max(3 * column.std(), narrowest / 2)], rtol=1e-4
        )


def test_noise_that_drowns_the_data_leaves_the_bounds():
    X, y = table(50)
    options = {
        "model": "linear",
        "mechanism": dplr.FunctionalMechanism(ranges="on"),
        "bounds": NUMBERS,
        "eps": [0.01],
        "repeats": 20,
    }
    fits = dplr.fit_many(X, y, **options)
    assert all("range_sums" in est.released_ for est in fits)
    assert [est.ranges_ for est in fits] == [{}] * 20


def test_narrowed_rows_fill_the_old_half_width_and_lie_in_it():
    prep = box_prep([(0.0, 100.0), (-1.0, 1.0), (0.0, 1.0), (0.0, 1.0)], True, None, (-1.0, 1.0), ((2, 2),))
    c = prep.geometry.half_width
    middles, half_widths = np.array([-c / 2, 0, 0, 0]), np.array([c / 4, c, c, c])
    narrow = prep.narrowed(middles, half_widths)
    assert narrow.geometry == prep.geometry
    assert_allclose(narrow.limits, [[12.5, *[-np.inf] * 3], [37.5, *[np.inf] * 3]])
    values = np.array([0.0, 12.5, 25.0, 31.25, 37.5, 100.0])
    scaled = np.clip((values - narrow.shift[0]) * narrow.scale[0], narrow.low[0], narrow.high[0]) / 2**20
    assert_allclose(scaled, np.array([-1, -1, 0, 0.5, 1, 1]) * c)
    for name in ("shift", "scale", "low", "high"):
        assert_array_equal(getattr(narrow, name)[1:], getattr(prep, name)[1:])
    assert (prep.limits, prep.shift[0]) == (None, 50.0)


MARKED = dplr.Bounds(
    {"a": {"lower": -90, "upper": 110.1, "missing": "indicator"}, "b": (-50, 50)}, target=(-100, 200)
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:missing values of X count")
def test_a_number_with_a_mark_has_a_range_about_the_middle_of_its_bounds_where_missing_ones_stay():
    X, y = frame(5_000)
    X.loc[::5, "a"] = np.nan
    options = {
        "model": "linear",
        "mechanism": dplr.FunctionalMechanism(ranges="on"),
        "bounds": MARKED,
        "eps": math.inf,
        "l2": 0.0,
    }
    est = dplr.fit(X, y, **options)
    low, high = est.ranges_["a"]
    assert low + high == pytest.approx(20.1, rel=1e-6)
    assert 4 < low < 5
    prep = est._record.prep
    assert prep.geometry.marked == (0,)
    rows = ArrayRows(X[:1].drop(columns="kind"), np.zeros(1), prep)
    sums = rows.total(Moments(3, True))
    assert sums.hi[0].tolist() == sums.lo[0].tolist() == [0] * 5  # as the missing number is 0
    missing, seen = X["a"].isna(), X["a"].clip(low, high).fillna(10.05)
    columns = np.column_stack([seen, missing, X["b"].clip(*est.ranges_["b"]), np.ones(len(X))])
    expected = np.linalg.lstsq(columns, y, rcond=None)[0]
    assert_allclose([*est.coef_, est.intercept_], expected, rtol=1e-3)
    assert_allclose(est.predict(X), columns @ expected, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize(("mean", "reach"), [(0.3, 0.5), (-0.35, 0.5), (0.1, 0.3), (-0.1, 0.3), (0.0, 0.2)])
def test_a_range_of_a_marked_number_reaches_as_far_to_both_sides_of_the_middle(mean, reach):
    geometry, n = Geometry(4, half_width=0.5, intercept=0.5, marked=(0,)), 1000
    blocks = dict.fromkeys(ranges.BLOCKS, Release((2,), 1.0, "none", 0.0, 2.0**-40))
    sums = {"range_sums": np.full(2, mean) * n, "range_squares": np.full(2, mean**2 + (0.2 / 3) ** 2) * n}
    middles, half_widths = ranges.intervals(sums, blocks, problem(geometry=geometry), (0, 2))
    assert middles[0] == 0  # to the last bit: the middle is what missing numbers count as
    assert_allclose(half_widths[0], reach)
    ends = np.clip([mean - 0.2, mean + 0.2], -0.5, 0.5)
    assert_allclose([middles[2] - half_widths[2], middles[2] + half_widths[2]], ends)
    assert_array_equal(half_widths[[1, 3]], 0.5)


def test_fit_and_predictions_clip_in_the_same_way():
    """Without noise: least squares of the clipped columns."""
    X, y = table(5_000)
    est = dplr.fit(
        X, y, model="linear", mechanism=dplr.FunctionalMechanism(ranges="on"), bounds=NUMBERS, eps=math.inf, l2=0.0
    )
    ends = np.array(list(est.ranges_.values()))
    clipped = np.clip(X, ends[:, 0], ends[:, 1])
    expected = np.linalg.lstsq(np.column_stack([clipped, np.ones(len(X))]), y, rcond=None)[0]
    assert_allclose([*est.coef_, est.intercept_], expected, rtol=1e-4)
    assert_array_equal(est.predict(X), est.predict(clipped))
    far = np.array([[1e9, 30.0], [ends[0, 1], 30.0]])
    assert np.ptp(est.predict(far)) == 0


def test_it_pays_where_bounds_are_wide():
    """R^2 of 20 fits is 0.86 with ranges, and 0.54 with a deviation of 0.05 without."""
    X, y = table()
    options = {"model": "linear", "bounds": NUMBERS, "eps": [2.0], "repeats": 20}
    scores = {
        choice: np.mean(
            [est.score(X, y) for est in dplr.fit_many(X, y, mechanism=spec_with("objective", choice), **options)]
        )
        for choice in ("auto", "off")
    }
    assert scores["off"] < 0.8 < scores["auto"]


# ---- with everything else ----


def test_every_fit_has_ranges_of_its_own():
    X, y = table(2_000)
    fits = dplr.fit_many(X, y, model="linear", mechanism="objective", bounds=NUMBERS, eps=[0.1, 2.0], repeats=2)
    assert [bool(est.ranges_) for est in fits] == [False, False, True, True]
    assert [est.privacy_.eps for est in fits] == [0.1, 0.1, 2.0, 2.0]
    assert fits[2].ranges_ != fits[3].ranges_


@pytest.mark.parametrize("mechanism", ["fm", "objective", "output"])
def test_classes_share_one_release_of_ranges(mechanism, tmp_path):
    X, y = table(5_000)
    options = {
        "bounds": dplr.Bounds(NUMBERS.layout.pairs),
        "classes": [0, 1, 2],
        "mechanism": spec_with(mechanism, "on"),
    }
    est = dplr.fit(X, np.digitize(y, [10, 25]), eps=3.0, **options)
    blocks = [name for name in est.privacy_.released if name.startswith("range")]
    assert blocks == ["range_sums", "range_squares"]
    assert est.privacy_.eps == 3.0
    dplr.save_model(est, tmp_path / "model.json")
    assert_array_equal(dplr.load_model(tmp_path / "model.json").predict_proba(X), est.predict_proba(X))


def test_noisy_gradient_descent_standardises_within_the_ranges(tmp_path):
    X, y = table(5_000)
    bounds = dplr.Bounds(NUMBERS.layout.pairs)
    est = dplr.fit(X, y > 20, eps=1.0, delta=1e-6, mechanism=dplr.NoisyGradientDescent(ranges="on"), bounds=bounds)
    assert list(est.released_) == ["range_sums", "range_squares", "means", "squares", "gradients"]
    assert est.privacy_.guarantee == Approx(1.0, 1e-6)
    dplr.save_model(est, tmp_path / "model.json")
    assert_array_equal(dplr.load_model(tmp_path / "model.json").history_.coefs, est.history_.coefs)


def test_another_model_from_the_release_has_its_ranges():
    X, y = table(5_000)
    est = dplr.fit(X, y, model="linear", mechanism=dplr.FunctionalMechanism(ranges="on"), bounds=NUMBERS, eps=1.0)
    other = est.refit(l2=0.1)
    assert other.ranges_ == est.ranges_
    assert_array_equal(other.released_["range_squares"], est.released_["range_squares"])


def test_warnings_are_about_the_declared_bounds_alone():
    X, y = table(5_000)
    X[:50, 0] = 1_000
    with pytest.warns(UserWarning, match="outside their bounds") as told:
        dplr.fit(X, y, model="linear", mechanism="objective", bounds=NUMBERS, eps=1.0)
    (message,) = {str(each.message) for each in told}
    assert "column 0 1.00%" in message
    assert "column 1" not in message


def test_faulty_rows_are_refused_before_any_noise(tmp_path):
    X, y = table(2_000)
    X[7, 1] = math.nan
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0)
    with pytest.raises(ValueError, match="must be finite"):
        dplr.fit(X, y, model="linear", mechanism="fm", bounds=NUMBERS, eps=1.0, ledger=ledger)
    assert ledger.spent()[0] == 0


def test_sums_do_not_depend_on_the_order_of_rows():
    X, y = table(3_000)
    prep, order = box_prep([(0.0, 100.0), (-50.0, 50.0)], True, None, (-100.0, 200.0)), np.argsort(y)
    one, other = (ranges.moments_of(ArrayRows(*rows, prep)) for rows in ((X, y), (X[order], y[order])))
    assert_array_equal(one.integers(-40), other.integers(-40))


def test_plain_numbers_of_a_table_and_of_its_array_give_the_same_ranges():
    X, y = frame(2_000)
    options = {"model": "linear", "mechanism": dplr.FunctionalMechanism(ranges="on"), "eps": math.inf}
    one = dplr.fit(X, y, bounds=BOUNDS, **options)
    bounds = dplr.Bounds({"a": (0, 100), "b": (-50, 50), "kind": {"levels": [0, 1]}}, target=(-100, 200))
    other = dplr.fit(X.assign(kind=(X["kind"] == "y").astype(int)), y, bounds=bounds, **options)
    assert one.ranges_ == other.ranges_
    assert_array_equal(one.predict(X[:10]), other.predict(X.assign(kind=(X["kind"] == "y").astype(int))[:10]))


# ---- files ----


def drop(model):
    model["ranges"] = None


def cut(model):
    model["ranges"][0]["numbers"] = model["ranges"][0]["numbers"][:1]


def swap(model):
    model["statement"]["released"][0]["law"] = "gauge in the objective"


def forbid(model):
    model["parameters"]["mechanism"]["ranges"] = "off"


def cheaper(model):
    for block in model["statement"]["released"][:2]:
        block["scale"] /= 1024
        block["units"] //= 1024


def cheaper_and_consistent(model):
    for block in model["statement"]["released"][:2]:
        block["sensitivity"] /= 1024
        block["scale"] /= 1024
        block["units"] //= 1024


def heavier(model):
    for block in model["statement"]["released"][:2]:
        block["weight"] *= 1024
        block["scale"] /= 1024
        block["units"] //= 1024


def alone(model):
    model["statement"]["released"] = model["statement"]["released"][1:]


@pytest.mark.parametrize("change", [drop, cut, swap, forbid, cheaper, cheaper_and_consistent, heavier, alone])
def test_files_whose_ranges_do_not_fit_are_refused(change, tmp_path):
    X, y = table(2_000)
    est = dplr.fit(X, y, model="linear", mechanism="objective", bounds=NUMBERS, eps=1.0)
    with pytest.raises(dplr.model_file.ModelFileError):
        dplr.load_model(forgery(est, tmp_path / "model.json", change))


def test_a_column_is_released_whatever_the_others_hold():
    X, y = table(1_000)
    prep = box_prep([(0.0, 100.0), (-50.0, 50.0)], True, None, (-100.0, 200.0))
    parts = ranges.plan_ranges(spec_with("fm", "on"), problem(geometry=prep.geometry), prep, math.inf, 0.0)
    scaled = np.rint((X - prep.shift[:2]) * prep.scale[:2]) / 2**20
    for kept, changed in itertools.permutations(range(2)):
        other = X.copy()
        other[:, changed] = 0.0
        total = ranges.moments_of(ArrayRows(other, y, prep))
        found = ranges.drawn(total, parts, Source())
        assert_allclose(found["range_sums"][kept], scaled[:, kept].sum(), rtol=1e-12)
        assert_allclose(found["range_squares"][kept], (scaled[:, kept] ** 2).sum(), rtol=1e-12)


LEVELS = dplr.Bounds(
    {
        "a": (0, 100), "b": (-50, 50), "yes": {"levels": ["n", "y"], "binary": True},
        "kind": {"levels": ["x", "y", "z"]},
        "grade": {"levels": ["low", "middle", "high"], "ordinal": True},
        "gain": {"lower": 0, "upper": 99999, "transform": "log1p", "missing": "indicator"},
    },
    target=(-100, 200),
)  # fmt: skip


def levels(n=4_000):
    X, y = frame(n)
    rng = np.random.default_rng(1)
    gain = np.where(rng.random(n) < 0.1, np.nan, rng.exponential(50, n))
    grade, yes = rng.choice(["low", "middle", "high"], n), rng.choice(["n", "y"], n, p=[0.99, 0.01])
    return X.assign(yes=yes, grade=grade, gain=gain), y


SPECS = [
    dplr.FunctionalMechanism(),
    dplr.FunctionalMechanism(calibration="paper"),
    dplr.ObjectivePerturbation(),
]


@pytest.mark.filterwarnings("ignore:missing values of X count")
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("mechanism", SPECS, ids=["tight", "paper", "objective"])
def test_what_is_released_was_paid_for(mechanism, relation, tmp_path):
    """Numbers alone have ranges, whatever geometry the models see; every block has the shape that is stated."""
    X, y = levels()
    options = {"model": "linear", "mechanism": spec_with(mechanism, "on"), "bounds": LEVELS, "neighbouring": relation}
    est = dplr.fit(X, y, eps=1.0, n_rows=None if relation == "replace_one" else 4_000, **options)
    stated = {name: block.shape for name, block in est.privacy_.released.items()}
    assert {name: numbers.shape for name, numbers in est.released_.items()}.items() <= stated.items()
    assert set(est.ranges_) <= {"a", "b", "log1p(gain)"}
    assert stated["range_sums"] == stated["range_squares"] == (3,)
    moved = {"range_sums": 1.5, "range_squares": 0.75} if relation == "replace_one" else dict.fromkeys(ranges.BLOCKS, 1)
    c = est._record.prep.geometry.half_width
    reach = {"range_sums": c, "range_squares": c * c, "range_records": 1.0}
    blocks = [(name, block) for name, block in est.privacy_.released.items() if name in ranges.BLOCKS]
    assert ("range_records" in stated) is (relation == "add_remove")
    shown = sum(est.released_[name].size * moved[name] * reach[name] / block.scale for name, block in blocks)
    assert 0.1499 < shown <= 0.15  # what all released numbers show of a record that moves them as far as it can
    dplr.save_model(est, tmp_path / "model.json")
    assert_array_equal(dplr.load_model(tmp_path / "model.json").predict(X), est.predict(X))


def test_more_rows_than_declared_are_refused_before_any_noise(tmp_path):
    X, y = table(4_000)
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0, delta=1e-9, neighbouring="add_remove")
    options = {"model": "linear", "mechanism": ON, "bounds": NUMBERS, "neighbouring": "add_remove"}
    with pytest.raises(ValueError, match="16th of the number of rows"):
        dplr.fit(X, y, eps=1.0, n_rows=200, ledger=ledger, **options)
    assert ledger.spent()[0] == 0


def test_bounds_that_cannot_be_stretched_are_left_alone():
    facts = {"n_rows": 20_000, "model": "linear", "eps": 1.0, "bounds": dplr.Bounds([(0, 3e-302)], target=(0, 1))}
    assert "range_sums" not in dplr.plan(**facts).released
    with pytest.raises(ValueError, match="bounds are that close"):
        dplr.plan(**facts, mechanism=ON)


def test_the_least_share_has_noise_that_can_be_drawn():
    facts = {"n_rows": 10**18, "model": "linear", "eps": 1.0, "bounds": NUMBERS, "neighbouring": "add_remove"}
    assert dplr.plan(**facts, mechanism=dplr.FunctionalMechanism(ranges="on")).released["range_sums"].scale < 2**40


def test_a_model_with_ranges_is_no_public_start():
    X, y = table(5_000)
    est = dplr.fit(X, y, model="linear", mechanism="objective", bounds=NUMBERS, eps=5.0)
    assert est.ranges_
    with pytest.raises(ValueError, match=r'`public` must have no ranges of its own.*ranges="off"'):
        dplr.fit(X, y, model="linear", mechanism="fm", bounds=NUMBERS, eps=1.0, public=est)


def test_plain_models_of_several_classes_warn_of_nothing():
    pandas = pytest.importorskip("pandas")
    X, y = table(5_000)
    X = pandas.DataFrame(X, columns=["a", "b"])
    bounds = dplr.Bounds({"a": (0, 100), "b": (-50, 50)})
    est = dplr.fit(X, np.digitize(y, [10, 25]), eps=3.0, mechanism=ON, bounds=bounds, classes=[0, 1, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_allclose(est.to_sklearn().predict_proba(X), est.predict_proba(X), rtol=1e-9)


def test_a_report_reads_the_ranges_of_a_model():
    X, y = table(5_000)
    bounds = dplr.Bounds(NUMBERS.layout.pairs)
    est = dplr.fit(X, y > 20, eps=3.0, mechanism=dplr.ObjectivePerturbation(ranges="on"), bounds=bounds)
    model = read_model(est)
    assert_array_equal(model.ranges, NUMBERS.layout.pairs)
    assert_array_equal(model.reach, list(est.ranges_.values()))


def test_a_prediction_clips_as_the_fit_did():
    X, y = table(5_000)
    bounds = dplr.Bounds(NUMBERS.layout.pairs)
    est = dplr.fit(X, y > 20, eps=3.0, mechanism=dplr.ObjectivePerturbation(ranges="on"), bounds=bounds)
    low, high = est.ranges_["column 0"]
    rows = np.tile(np.array(bounds.layout.pairs)[:, 0], (3, 1))
    beyond = rows.copy()
    rows[:, 0], beyond[:, 0] = [low, high, high], [-1.0, high, 1e9]
    assert_array_equal(est.decision_function(beyond), est.decision_function(rows))


def test_labels_may_have_ranges_too():
    X, y = table(20_000)
    est = dplr.fit(
        X, y > 20, eps=1.0, mechanism=dplr.ObjectivePerturbation(ranges="on"), bounds=dplr.Bounds(NUMBERS.layout.pairs)
    )
    assert est.score(X, y > 20) > 0.8


@pytest.mark.parametrize(("choice", "looks"), [("on", 0), ("off", 1)])
@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_rows_are_looked_at_once_before_any_noise_of_a_fit(mechanism, choice, looks, monkeypatch):
    """Sums of ranges meet every row; without them the gradient at the start does."""
    X = np.random.default_rng(0).normal(0, 0.2, (500, 2))
    options = {"eps": 2.0, "mechanism": spec_with(mechanism, choice), "bounds": dplr.Bounds([(-5, 5)] * 2)}
    sums, draws = [], []
    real = ArrayRows.sum
    monkeypatch.setattr(ArrayRows, "sum", lambda self, query, *a: sums.append(type(query)) or real(self, query, *a))
    for law in ("laplace", "norm_gamma", "in_body"):
        draw = getattr(Source, law)
        monkeypatch.setattr(Source, law, lambda self, *a, draw=draw: draws.append(len(sums)) or draw(self, *a))
    dplr.fit(X, X[:, 0] > 0, **options)
    assert sums.count(LossGradient) == looks
    assert min(draws) >= 1
    draws.clear()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        dplr.fit(X, X[:, 0] > 0, **options)
    assert not draws
