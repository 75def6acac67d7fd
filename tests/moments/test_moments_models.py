"""Models of released moments: those of the rows without noise, honest intervals with it, and no further cost."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import dplr

pytestmark = pytest.mark.filterwarnings("ignore::dplr.DataWarning")

INF = float("inf")
BOUNDS = dplr.Bounds(
    {
        "age": (18, 99),
        "hours": {"lower": 0, "upper": 80, "missing": 40},
        "work": {"levels": ["a", "b", "c"], "reference": "a"},
        "town": {"levels": ["n", "s"]},
        "gap": {"lower": 0, "upper": 9, "missing": "indicator"},
        "wage": {"lower": 0, "upper": 100, "transform": "log1p"},
        "edu": {"levels": ["low", "mid", "high"], "ordinal": True},
        "sex": {"levels": ["F", "M"], "binary": True},
        "rent": {"lower": 0, "upper": 10, "bins": [3, 6]},
        "income": (0, 60_000),
    },
    products=[("age", "age"), ("age", "work"), ("hours", "sex")],
)


def table(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.uniform(18, 99, n), "hours": rng.uniform(0, 80, n)})
    X["work"], X["town"] = rng.choice(["a", "b", "c"], n), rng.choice(["n", "s"], n)
    X["gap"] = np.where(rng.random(n) < 0.3, np.nan, rng.uniform(0, 9, n))
    X["wage"], X["edu"] = rng.uniform(0, 100, n), rng.choice(["low", "mid", "high"], n)
    X["sex"] = np.where(rng.random(n) < 0.2 + 0.005 * X["hours"], "M", "F")
    X["rent"] = rng.uniform(0, 10, n)
    noise = rng.normal(0, 2000, n)
    X["income"] = 10_000 + 200 * X["age"] + 300 * X["hours"] + 2000 * (X["work"] == "b") + noise
    return X


X = table()
with warnings.catch_warnings(action="ignore"):
    EXACT = dplr.release_moments(X, bounds=BOUNDS, eps=INF)
AGE = X["age"] - 58.5
DESIGNS = {  # columns of a model -> its columns by hand
    ("age", "hours"): [X["age"], X["hours"]],
    ("work",): [X["work"] == "b", X["work"] == "c"],
    ("gap", "age"): [X["age"], X["gap"].fillna(4.5), X["gap"].isna()],
    ("wage", "edu"): [np.log1p(X["wage"]), X["edu"].map({"low": 0, "mid": 1, "high": 2})],
    ("sex", "age", ("age", "age")): [X["age"], X["sex"] == "M", AGE**2],
    ("age*work",): [AGE * (X["work"] == "b"), AGE * (X["work"] == "c")],
    (("sex", "hours"), "hours"): [X["hours"], (X["hours"] - 40) * ((X["sex"] == "M") - 0.5)],
}


@pytest.mark.parametrize("columns", DESIGNS)
def test_without_noise_a_regression_is_least_squares_on_the_rows(columns):
    design = np.column_stack(DESIGNS[columns]).astype(float)
    expected = LinearRegression().fit(design, X["income"])
    found = EXACT.regress("income", list(columns))
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=2e-4, atol=1e-3 * np.abs(expected.coef_).max())
    assert found.intercept_ == pytest.approx(expected.intercept_, abs=2)
    assert found.r2_ == pytest.approx(expected.score(design, X["income"]), abs=1e-4)
    np.testing.assert_allclose(found.predict(X), np.clip(expected.predict(design), 0, 60_000), atol=3)
    estimates = [line.estimate for line in found.summary().lines]
    np.testing.assert_allclose(estimates, [*found.coef_, found.intercept_], rtol=1e-6, atol=1e-6)


LEVELS = {
    ("sex", None): X["sex"] == "M",
    ("sex", "F"): X["sex"] == "F",
    ("work", "c"): X["work"] == "c",
    ("town", "n"): X["town"] == "n",
    ("rent", "[3, 6)"): (X["rent"] >= 3) & (X["rent"] < 6),
}


@pytest.mark.parametrize(("target", "level"), LEVELS)
def test_without_noise_a_probability_is_least_squares_on_an_indicator(target, level):
    expected = LinearRegression().fit(X[["age", "hours"]], LEVELS[target, level])
    found = EXACT.probability(target, ["age", "hours"], level=level)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)
    assert found.intercept_ == pytest.approx(expected.intercept_, abs=1e-4)
    np.testing.assert_allclose(found.predict(X), np.clip(expected.predict(X[["age", "hours"]]), 0, 1), atol=1e-4)
    assert found.target_name_.startswith(target)
    assert "not log odds" in str(found.summary())


def test_the_two_levels_of_a_column_have_opposite_slopes_and_intervals():
    released = dplr.release_moments(X, bounds=BOUNDS, eps=3.0, delta=1e-6)
    one, other = (released.probability("sex", ["hours"], level=level) for level in "MF")
    assert one.coef_ == pytest.approx(-other.coef_)
    assert one.intercept_ == pytest.approx(1 - other.intercept_)
    (low, high), (least, most) = (each.conf_int()["hours"] for each in (one, other))
    assert (low, high) == pytest.approx((-most, -least))


def test_without_columns_a_model_has_all_that_do_not_hold_the_target():
    names = EXACT.regress("hours").coef_names_
    assert {"age", "work=b", "work=c", "gap is missing", "income", "age^2"} <= set(names)
    assert not any("hours" in name for name in names)


def test_a_model_of_an_array_predicts_from_its_own_columns():
    rows = X[["age", "hours", "income"]].to_numpy()
    bounds = dplr.Bounds([(18, 99), (0, 80), (0, 60_000)])
    model = dplr.release_moments(rows, bounds=bounds, eps=INF).regress("column 2", ["column 1"])
    assert model.feature_names_in_ == ("column 1",)
    assert model.predict(rows[:, 1:2])[0] == pytest.approx(model.coef_[0] * rows[0, 1] + model.intercept_)
    with pytest.raises(ValueError, match="must have the columns"):
        model.predict(rows)


def test_a_table_of_fewer_columns_is_the_model_of_these():
    released = dplr.release_moments(X, bounds=BOUNDS, columns=["age", "hours", "income"], eps=3.0, delta=1e-6)
    large, small = released.regress("income", ["age", "hours"]), released.regress("income", ["age"])
    one, other = large.conf_int(columns=["age"]), small.conf_int()
    for name in one:
        assert one[name] == pytest.approx(other[name], rel=0.02)
    with pytest.raises(ValueError, match="`columns` must be"):
        small.summary(["hours"])


def test_a_level_without_a_column_of_its_own_is_the_reference_of_a_table():
    table = EXACT.regress("income", ["town", "rent", "work"]).summary()
    assert table.references == {"work": "a", "town": "n", "rent": "[0, 3)"}
    assert [line.name for line in table.lines][:3] == ["work=b", "work=c", "town=s"]


COVERED = {
    "a number": ("income", None, ["age", "hours", "work"]),
    "one of two": ("sex", "M", ["hours", "age"]),
    "a level": ("town", "s", ["hours", "age"]),
}


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("which", COVERED)
def test_intervals_hold_the_coefficients_of_the_population_as_often_as_they_say(which, delta):
    """Rows and noise are drawn anew; of 120 times 2 or 3 slopes at least 90 % are held, and not every one is."""
    target, level, columns = COVERED[which]
    kept = [*columns, target]
    truth = {"age": 200.0, "hours": 300.0, "work=b": 2000.0, "work=c": 0.0}
    truth = truth if level is None else {"hours": 0.005 if target == "sex" else 0.0, "age": 0.0}
    held = []
    for seed in range(120):
        rows = table(3000, seed + 1)
        released = dplr.release_moments(rows, bounds=BOUNDS, columns=kept, eps=4.0, delta=delta)
        model = released.regress(target, columns) if level is None else released.probability(target, columns)
        found = model.conf_int()
        held += [low <= truth[name] <= high for name, (low, high) in found.items() if name in truth]
    assert np.mean(held) >= 0.9
    if which == "a level":  # where noise does not dominate the classical interval is exact
        assert np.mean(held) < 1


def test_models_cost_nothing_and_need_no_entropy(tmp_path, entropy):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0, delta=1e-5)
    released = dplr.release_moments(X, bounds=BOUNDS, eps=1.0, delta=1e-6, ledger=ledger)
    spent, drawn = ledger.remaining(), entropy.bytes
    for l2 in ("auto", "cv", 0.1):
        model = released.regress("income", ["age", "hours"], l2=l2)
        model.summary()
        assert model.privacy_ is released.privacy_
    assert (ledger.remaining(), entropy.bytes) == (spent, drawn)


def test_ridges_are_public_rules_or_repeat_themselves():
    released = dplr.release_moments(X, bounds=BOUNDS, eps=1.0, delta=1e-6)
    usual = released.regress("income", ["age", "hours"])
    assert usual.ridge_ == pytest.approx(4 * released.noise_sd["diagonal"])
    assert released.regress("income", ["age"], l2=0.01).ridge_ == pytest.approx(40)
    halves = [released.regress("income", ["age", "hours"], l2="cv") for _ in range(2)]
    assert halves[0].ridge_ == halves[1].ridge_
    assert halves[0].ridge_ / usual.ridge_ in (0, 1 / 16, 1 / 4, 1 / 2, 1, 2, 4, 16)
    with pytest.raises(ValueError, match="Only Gaussian noise falls"):
        dplr.release_moments(X, bounds=BOUNDS, eps=1.0).regress("income", ["age"], l2="cv")


def test_halves_of_the_noise_are_independent_and_of_twice_the_variance():
    from dplr.moments.ridge import _like
    from dplr.noise import Source

    released = dplr.release_moments(X, bounds=BOUNDS, eps=1.0, delta=1e-6)
    reading = released.regress("income", ["age", "town"]).reading_
    drawn = [_like(reading, source) for source in [Source(seed=1)] for _ in range(4000)]
    noise = np.array([each for each, _ in drawn])
    assert np.array_equal(noise, noise.swapaxes(1, 2))
    np.testing.assert_allclose(noise.var(axis=0)[reading.cells > 0], reading.cells[reading.cells > 0], rtol=0.12)
    np.testing.assert_allclose(noise[:, 1, 1], reading.tied[1] * noise[:, 1, -1])
    vectors = np.array([each for _, each in drawn]).var(axis=0)
    np.testing.assert_allclose(vectors, np.diag(reading.vector_noise), rtol=0.12)


BAD = [
    ("regress", ("incom", ["age"]), ValueError, "`target` must be one of .* Did you mean 'income'"),
    ("regress", (3, ["age"]), TypeError, "`target` must be the name"),
    ("regress", ("work", ["age"]), ValueError, "`target` must be a number; .*probability"),
    ("regress", ("gap", ["age"]), ValueError, "whose missing values are marked"),
    ("regress", ("income", "age"), TypeError, "`columns` must be a list"),
    ("regress", ("income", []), ValueError, "`columns` must name at least one"),
    ("regress", ("income", ["age", "age"]), ValueError, "`columns` must name every column once"),
    ("regress", ("income", ["age", "income"]), ValueError, "`columns` must not hold the target"),
    ("regress", ("hours", ["age", "hours*sex"]), ValueError, "`columns` must not hold the target"),
    ("regress", ("income", ["age*hours"]), ValueError, "`columns` must hold products among .* declared before"),
    ("regress", ("income", [3]), TypeError, "`columns` must hold names"),
    ("regress", ("income", ["agee"]), ValueError, "`columns` must be one of .* Did you mean 'age'"),
    ("probability", ("income", ["age"]), ValueError, "`target` must be a column of levels or bins; .*regress"),
    ("probability", ("edu", ["age"]), ValueError, "`target` must be a column of levels or bins"),
    ("probability", ("rent", ["age"]), ValueError, "`level` must be one of"),
]


@pytest.mark.parametrize(("method", "given", "kind", "said"), BAD)
def test_bad_input_is_refused_with_a_remedy(method, given, kind, said):
    with pytest.raises(kind, match=said):
        getattr(EXACT, method)(*given)


def test_bad_levels_and_ridges_are_refused():
    with pytest.raises(ValueError, match="must not be the reference"):
        EXACT.probability("work", ["age"], level="a")
    with pytest.raises(ValueError, match="`level` must be one of"):
        EXACT.probability("work", ["age"], level="d")
    with pytest.raises(ValueError, match="`l2` must be one of"):
        EXACT.regress("income", ["age"], l2="best")
    with pytest.raises(ValueError, match="at least 0"):
        EXACT.regress("income", ["age"], l2=-1.0)
    with pytest.raises(ValueError, match="must have column names"):
        EXACT.regress("income", ["age"]).predict(np.zeros((2, 1)))


def test_where_noise_drowns_everything_the_table_says_so():
    released = dplr.release_moments(X[:100], bounds=BOUNDS, eps=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = released.regress("income")
        assert all(not line.bounded for line in model.summary().lines)
        assert np.isnan(model.r2_)
        assert np.isfinite(model.coef_).all()
        assert "cannot say" in str(model.summary())


def test_models_of_merged_releases_say_what_they_rest_on():
    north = dplr.release_moments(X[:2000], bounds=BOUNDS, eps=INF, party="north")
    south = dplr.release_moments(X[2000:], bounds=BOUNDS, eps=INF, party="south")
    both = (north + south).regress("income", ["age", "hours"])
    assert both.coef_ == pytest.approx(EXACT.regress("income", ["age", "hours"]).coef_)
    assert "2 parties" in str(both.summary())


def test_tables_test_several_columns_at_once():
    released = dplr.release_moments(X, bounds=BOUNDS, columns=["age", "town", "work", "income"], eps=4.0, delta=1e-6)
    model = released.regress("income", ["age", "town", "work"])
    assert model.wald_test(["age"]).p_value < 0.01
    assert model.wald_test("work").dof == 2
    assert 0 <= model.wald_test(["town"]).p_value <= 1
