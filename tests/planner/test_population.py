"""Simulated rows lie inside the public bounds, have the layout of the user's, and know nothing else."""

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.bounds.columns import Numeric
from dplr.bounds.declared import coded_bounds
from dplr.planner.population import MadeUp, halves, read_sample
from dplr.rows.tables.encoder import Encoder
from planned_facts import facts_of

EVERY = {
    "age": (18, 99),
    "gain": {"lower": 0, "upper": 99999, "transform": "log1p", "missing": 40},
    "ratio": {"lower": 1, "upper": 64, "transform": "log", "missing": "indicator"},
    "size": {"lower": 0, "upper": 16, "transform": "sqrt"},
    "band": {"lower": 0, "upper": 99, "bins": [18, 30, 45], "reference": 20},
    "work": {"levels": ["none", "some", "full"], "missing": "indicator"},
    "place": {"levels": ["north", "south", "east"], "reference": "south", "missing": "south"},
    "sex": {"levels": ["f", "m"], "binary": True, "missing": "indicator"},
    "grade": {"levels": ["low", "middle", "high"], "ordinal": True},
}
PRODUCTS = [("age", "age"), ("age", "work"), ("sex", "gain"), ("work", "place")]
BOUNDS = dplr.Bounds(EVERY, target=("no", "yes"), products=PRODUCTS)


def made_up(bounds=BOUNDS, classes=2, target=(-1.0, 1.0), **assume):
    return MadeUp(bounds.columns, len(bounds.columns), classes, target, dplr.planner.Assumptions(**assume))


def table(n=300):
    """A frame with every kind of column."""
    rng = np.random.default_rng(1)
    return pd.DataFrame({
        "age": rng.uniform(18, 99, n), "gain": rng.uniform(0, 99999, n), "ratio": rng.uniform(1, 64, n),
        "size": rng.uniform(0, 16, n), "band": rng.uniform(0, 99, n), "work": rng.choice(["none", "some", "full"], n),
        "place": rng.choice(["north", "south", "east"], n), "sex": rng.choice(["f", "m"], n),
        "grade": rng.choice(["low", "middle", "high"], n),
    })  # fmt: skip


def test_coded_bounds_have_the_plan_of_the_users_bounds():
    """The noise and the ridge depend on bounds, and on nothing that numbering levels changes."""
    coded = coded_bounds(BOUNDS, 2, None)
    assert coded.names is None
    for mechanism in ("fm", "output", "objective"):
        ours, theirs = (dplr.plan(n_rows=900, bounds=b, eps=0.7, mechanism=mechanism) for b in (coded, BOUNDS))
        assert ours.problem.geometry == theirs.problem.geometry
        assert ours.settings == theirs.settings
        assert ours.released == theirs.released


def test_rows_lie_inside_the_bounds():
    (X, y), (held, _) = made_up().table(0, 4000, 1000)
    assert X.shape == (4000, len(EVERY))
    assert held.shape == (1000, len(EVERY))
    for values, column in zip(X.T, BOUNDS.columns, strict=True):
        known = values[~np.isnan(values)]
        if hasattr(column, "lower"):
            assert column.lower <= known.min() < known.max() <= column.upper
        else:
            assert set(known) == set(range(len(column.levels)))
        missing = np.isnan(values).mean()
        assert missing == 0 if column.missing is None else 0.02 < missing < 0.09
    assert set(y) == {0, 1}


def test_numbers_are_triangular_on_the_scale_of_the_model():
    (X, _), _ = made_up().table(0, 20_000, 10)
    for values, column in zip(X.T, BOUNDS.columns, strict=True):
        if isinstance(column, Numeric):
            low, high = column.range
            shares = (column.transformed(values[~np.isnan(values)]) - low) / (high - low)
            np.testing.assert_allclose(shares.mean(), 0.5, atol=0.01)
            np.testing.assert_allclose(shares.std(), 24**-0.5, atol=0.01)


def test_no_bounds_mean_rows_of_the_unit_ball():
    people = MadeUp(None, 3, 0, (-1.0, 1.0), dplr.planner.Assumptions())
    (X, y), _ = people.table(0, 5000, 10)
    norms = np.linalg.norm(X, axis=1)
    assert norms.max() <= 1
    np.testing.assert_allclose((norms**3).mean(), 0.5, atol=0.02)  # uniform in the ball
    assert np.abs(y).max() <= 1


@pytest.mark.parametrize("signal", [0.2, 0.7])
def test_the_signal_is_the_share_of_a_numeric_target_that_least_squares_explain(signal):
    bounds = dplr.Bounds([(0, 1)] * 4, target=(0, 100))
    (X, y), _ = made_up(bounds, 0, (0.0, 100.0), signal=signal).table(0, 20_000, 10)
    design = np.column_stack([X, np.ones(len(X))])
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(1 - left.var() / y.var(), signal, atol=0.02)


def test_the_share_of_the_second_label_is_what_was_assumed():
    (_, y), (_, held) = made_up(positive=0.1).table(3, 20_000, 5000)
    np.testing.assert_allclose(np.append(y, held).mean(), 0.1, atol=0.001)


def test_three_labels_are_about_equally_frequent():
    (_, y), _ = made_up(classes=3).table(0, 20_000, 10)
    shares = np.bincount(y) / len(y)
    assert len(shares) == 3
    assert shares.min() > 0.2


def test_one_seed_gives_one_table_and_another_seed_another():
    first, again, other, seeded = (
        made_up(seed=seed).table(number, 50, 5)[0] for seed, number in ((0, 0), (0, 0), (0, 1), (1, 0))
    )
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0], equal_nan=True)
    assert not np.array_equal(first[0], seeded[0], equal_nan=True)


def test_a_sample_becomes_rows_that_are_encoded_as_it_is():
    """Levels become positions, numbers stay, and what is missing stays missing."""
    X = table()
    X.loc[:20, "ratio"], X.loc[5:30, "work"], X.loc[8:40, "sex"], X.loc[9:50, "gain"] = np.nan, None, None, np.nan
    sample = read_sample((X, np.array(["no", "yes"] * 150)), facts_of(BOUNDS), 0, "sample")
    coded = coded_bounds(BOUNDS, 2, None)
    mine, _ = Encoder(sample.X, coded.layout).block()
    theirs, _ = Encoder(dplr.rows.as_table(X), BOUNDS.layout).block()
    np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(sample.y, [0, 1] * 150)


def test_a_missing_value_counts_as_the_level_that_was_declared():
    """The last one of three, so that no position is right by chance."""
    column = {"levels": ["north", "south", "east"], "missing": "east"}
    coded = coded_bounds(dplr.Bounds({"place": column}), 2, None)
    np.testing.assert_array_equal(Encoder(np.array([[np.nan]]), coded.layout).block()[0], [[0, 0, 1]])


def test_a_value_that_is_not_a_declared_level_stays_none_of_them():
    bounds = dplr.Bounds({"work": {"levels": ["none", "some"]}}, target=("no", "yes"))
    X = pd.DataFrame({"work": ["none", "some", "else"] * 20})
    with pytest.warns(dplr.DataWarning, match="no declared level"):
        sample = read_sample((X, ["no", "yes"] * 30), facts_of(bounds), 0, "sample")
    np.testing.assert_array_equal(sample.X[:3, 0], [0, 1, -1])


def test_scored_rows_of_a_sample_are_never_drawn():
    X = np.arange(90.0)[:, np.newaxis]
    sample = read_sample((X, X[:, 0]), facts_of(dplr.Bounds([(0, 90)], target=(0, 90)), "linear"), 4, "sample")
    (drawn, y), (held, _) = sample.table(0, 2000, 10_000)
    assert set(drawn[:, 0]) | set(held[:, 0]) == set(range(90))
    assert not set(drawn[:, 0]) & set(held[:, 0])
    np.testing.assert_array_equal(drawn[:, 0], y)
    assert len(held) == 30


def test_halves_have_no_row_in_common():
    X = np.arange(91.0)[:, np.newaxis]
    sample = read_sample((X, X[:, 0]), facts_of(dplr.Bounds([(0, 91)], target=(0, 91)), "linear"), 4, "sample")
    (start, _), rest = halves(sample)
    assert sorted([*start[:, 0], *rest.X[:, 0]]) == list(range(91))


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        (([[1.0]] * 10, [0] * 10), "`sample` must have at least 30 rows; got 10"),
        ((np.ones((40, 2)), np.zeros(40)), "`sample` must have the 1 columns of X"),
        ((np.ones((40, 1)), np.full(40, 7)), "`sample` must hold only the labels"),
        ((np.full((40, 1), np.nan), np.zeros(40)), "`sample` must be finite"),
    ],
)
def test_a_sample_that_does_not_fit_is_refused_by_name(sample, said):
    facts = facts_of(dplr.Bounds([(0, 1)], target=(0, 1)))
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        read_sample(sample, facts, 0, "sample")


def test_labels_above_a_threshold_are_told_apart_in_a_sample():
    bounds = dplr.Bounds([(0, 1)], target={"threshold": 50})
    sample = read_sample((np.full((40, 1), 0.5), np.arange(40.0) * 2), facts_of(bounds), 0, "sample")
    np.testing.assert_array_equal(sample.y, np.arange(40) * 2 > 50)


def test_made_up_rows_are_said_to_be_so():
    said = " ".join(made_up(signal=0.3, positive=0.2).facts)
    assert "30%" in said
    assert "20% of the labels" in said
    assert "missing" in said


@pytest.mark.parametrize(("target_spread", "mean"), [(None, 2.5), (0.1, 0.6 * 4.0)])
def test_counts_are_poisson_with_the_mean_and_the_share_that_are_assumed(target_spread, mean):
    bounds = dplr.Bounds({"age": (0, 1), "size": (0, 1)}, target=(3, 23))
    assume = dplr.planner.Assumptions(signal=0.4, target_spread=target_spread)
    made = MadeUp(bounds.columns, 2, 0, (3.0, 23.0), assume, ("age", "size"), counts=True)
    (_, y), _ = made.table(0, 200_000, 1)
    assert set(np.unique(y)) <= set(range(3, 24))
    assert np.mean(y - 3) == pytest.approx(mean, rel=0.02)
    # Poisson counts of mean m beside a share s that columns explain have the variance m / (1 - s).
    assert np.var(y) == pytest.approx(mean / 0.6, rel=0.08)
    assert f"the counts are Poisson, and {mean:.3g} in the mean" in made.facts
    options = {"model": "poisson", "mechanism": "score", "eps": 5.0, "delta": 1e-6, "intervals": True}
    plan = dplr.plan_curve(bounds=bounds, n_rows=5000, **options)
    assert "the counts are Poisson, and 2.5 in the mean" in str(plan)
