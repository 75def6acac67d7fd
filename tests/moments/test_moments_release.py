"""A release of second moments: exact sums, the noise that is stated, and nothing spent on bad input."""

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dplr
import every_column
from dplr.rows import encoded

pytestmark = pytest.mark.filterwarnings("ignore::dplr.DataWarning")

INF = float("inf")
BOUNDS = dplr.Bounds(
    {
        "age": (18, 99),
        "work": {"levels": ["a", "b", "c"]},
        "gap": {"lower": 0, "upper": 9, "missing": "indicator"},
        "wage": {"lower": 0, "upper": 100, "transform": "log1p"},
    },
    products=[("age", "age"), ("age", "work")],
)


def table(n=500, seed=0):
    rng = np.random.default_rng(seed)
    gap = np.where(rng.random(n) < 0.2, np.nan, rng.uniform(-1, 10, n))
    columns = {"age": rng.uniform(10, 110, n), "work": rng.choice(["a", "b", "c", "d"], n), "gap": gap}
    return pd.DataFrame({**columns, "wage": rng.uniform(0, 120, n)})


def sums_by_hand(X, bounds):
    """Encode, scale, clip and round in NumPy."""
    released = dplr.release_moments(X, bounds=bounds, eps=INF)
    prep = released.prep
    rows = (encoded(as_table(X), released.layout) - prep.shift[:-1]) * prep.scale[:-1]
    rows = np.rint(np.clip(rows, prep.low[:-1], prep.high[:-1])) / 2**20
    u = np.column_stack([rows, np.full(len(rows), 0.5)])
    return released.matrix, u.T @ u


def as_table(X):
    from dplr.rows import as_table as read

    return read(X)


@pytest.mark.parametrize("bounds", [BOUNDS, dplr.Bounds(every_column.COLUMNS, products=every_column.PRODUCTS)])
def test_without_noise_the_moments_are_those_of_the_encoded_rows(bounds):
    X = table() if bounds is BOUNDS else every_column.table(300)
    found, expected = sums_by_hand(X, bounds)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas])
def test_every_library_gives_the_same_sums_in_every_bit(make):
    X = table()
    one, other = (dplr.release_moments(each, bounds=BOUNDS, eps=INF) for each in (X, make(X)))
    assert all(np.array_equal(one.released_[name], other.released_[name]) for name in one.released_)


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_has_the_stated_deviation(delta, relation):
    X, options = table(), {"bounds": BOUNDS, "neighbouring": relation}
    exact = dplr.release_moments(X, **options, eps=INF)
    noises = {name: [] for name in exact.released_}
    for _ in range(60):
        noisy = dplr.release_moments(X, **options, eps=1.0, delta=delta)
        for name, numbers in noisy.released_.items():
            noises[name].append((numbers - exact.released_[name]) / noisy.noise_sd[name])
    for scaled in noises.values():
        count, kurtosis = np.size(scaled), 3.0 if delta == 0 else 0.0
        assert abs(np.mean(np.square(scaled)) - 1) < 4 * math.sqrt((kurtosis + 2) / count)


def test_a_release_is_paid_for_once_and_its_models_are_free(tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0)
    released = dplr.release_moments(table(), bounds=BOUNDS, eps=0.7, ledger=ledger)
    assert ledger.remaining()[0] == pytest.approx(0.3)
    assert [entry.statement["mechanism"] for entry in ledger.entries()] == ["moments"]
    for columns in (["age"], ["age", "work"]):
        released.regress("wage", columns)
    assert ledger.remaining()[0] == pytest.approx(0.3)
    with pytest.raises(dplr.BudgetExceeded):
        dplr.release_moments(table(), bounds=BOUNDS, eps=0.7, ledger=ledger)


BAD = [
    ({"eps": 0}, ValueError, "`eps` must be positive"),
    ({"eps": 1.0, "delta": 1.0}, ValueError, "`delta` must be in"),
    ({"delta": 0.01}, ValueError, "`delta` must be below 1/n"),
    ({"bounds": None}, ValueError, "`bounds` must be declared"),
    ({"bounds": dplr.Bounds({"age": (0, 1)}, target=(0, 1))}, ValueError, "`bounds` must have no target"),
    ({"columns": ["age", "wages"]}, ValueError, "`columns` must name columns of the bounds once"),
    ({"columns": ["age", "age"]}, ValueError, "`columns` must name columns of the bounds once"),
    ({"columns": "age"}, TypeError, "`columns` must be a list"),
    ({"columns": ["age"], "bounds": dplr.Bounds([(0, 1)] * 4)}, ValueError, "`columns` needs bounds that name"),
    ({"neighbouring": "swap"}, ValueError, "`neighbouring` must be one of"),
    ({"n_rows": 3}, ValueError, "`n_rows` must be len"),
    ({"party": ""}, ValueError, "`party` must be None or a name"),
    ({"party": "a\nb"}, ValueError, "`party` must be None or a name"),
    ({"rng": 0.5}, TypeError, "`rng` must be None or an int"),
    ({"X": table().drop(columns="age")}, ValueError, "`X` must have every column"),
    ({"X": table()[:0]}, ValueError, "`X` must have at least one row"),
    ({"X": table().astype({"work": "category"}).assign(age="x")}, ValueError, "`X` must have numeric columns"),
    ({"X": [[1, 2], ["a", 3]], "bounds": dplr.Bounds([(0, 1)] * 2)}, ValueError, "`X` must be a data frame, or"),
    ({"X": table().assign(age=np.nan)}, ValueError, "`X` must be finite; got 500 of 500 rows"),
]


@pytest.mark.parametrize(("given", "kind", "said"), BAD, ids=[said for *_, said in BAD])
def test_bad_input_is_refused_before_noise_and_costs_nothing(given, kind, said, tmp_path, entropy):
    ledger = dplr.Ledger(tmp_path / "budget", eps=2.0, delta=0.5)
    drawn = entropy.bytes
    with pytest.raises(kind) as caught:
        dplr.release_moments(**({"X": table(), "bounds": BOUNDS, "eps": 1.0, "ledger": ledger} | given))
    assert str(caught.value).startswith(said)
    assert "`y`" not in str(caught.value)
    assert entropy.bytes == drawn
    assert ledger.remaining()[0] == 2.0


def test_a_seed_is_warned_of_and_repeats_the_noise():
    with pytest.warns(dplr.PrivacyWarning, match="protects nobody"):
        one, other = (dplr.release_moments(table(), bounds=BOUNDS, eps=1.0, rng=3) for _ in range(2))
    assert np.array_equal(one.matrix, other.matrix)
    assert one.privacy_.reproducible


def test_chosen_columns_keep_their_products_and_leave_the_rest_unread():
    X = table().drop(columns="wage")
    released = dplr.release_moments(X, bounds=BOUNDS, columns=["work", "age"], eps=1.0)
    assert released.columns == ("age", "work")
    assert released.layout.names[-4:] == ("age^2", "age*work=a", "age*work=b", "age*work=c")
    assert "gap" in released.privacy_.assumptions[-2]  # among the ignored ones


def test_under_add_remove_the_count_is_released_and_never_read():
    released = dplr.release_moments(table(), bounds=BOUNDS, eps=1e6, neighbouring="add_remove", delta=0.0)
    assert released.n_rows is None
    assert released.count == pytest.approx(500, abs=0.01)
    assert not any("500" in fact for fact in released.privacy_.assumptions)


def test_a_statement_names_the_law_the_columns_and_the_proof():
    statement = dplr.release_moments(table(), bounds=BOUNDS, eps=1.0, delta=1e-6).privacy_
    assert statement.mechanism == "moments"
    assert statement.source == "dplr moments.md, theorem 2"
    assert {block.law for block in statement.released.values()} == {"discrete Gaussian"}
    assert "the number of records = 500" in statement.assumptions
    assert any("age in [18, 99]" in fact for fact in statement.assumptions)


def test_where_a_delta_was_asked_for_the_smaller_noise_is_taken():
    """With two numbers pure noise is about half as large; with eight Gaussian noise is."""
    X = np.random.default_rng(0).random((500, 8))
    for count, delta in ((2, 0.0), (8, 1e-6)):
        options = {"bounds": dplr.Bounds([(0, 1)] * count), "eps": 1.0, "delta": 1e-6}
        taken, kept = (dplr.release_moments(X[:, :count], **options, noise=noise) for noise in ("smaller", "gaussian"))
        assert (taken.privacy_.delta, kept.privacy_.delta) == (delta, 1e-6)
        assert ("pure noise, at the same eps smaller" in taken.privacy_.calibration) is (delta == 0)
        assert taken.noise_sd["off_diagonal"] <= kept.noise_sd["off_diagonal"]
    with pytest.raises(ValueError, match="`noise` must be one of"):
        dplr.release_moments(X, **options, noise="small")


def test_a_release_and_its_models_survive_pickling():
    released = dplr.release_moments(table(), bounds=BOUNDS, eps=1.0)
    again = pickle.loads(pickle.dumps(released))
    assert np.array_equal(again.matrix, released.matrix)
    assert again.parties == released.parties
    model = released.regress("wage", ["age"])
    assert pickle.loads(pickle.dumps(model)).conf_int() == model.conf_int()
