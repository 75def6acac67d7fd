"""Bounds learned from private rows: what is released, what is refused before anything is spent, and who pays."""

import copy
import pickle
import re
import tomllib
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import dplr
from declared_units import declared
from dplr.rows.streams import LocalParts
from streamed_rows import MemoryPart

pytestmark = pytest.mark.filterwarnings("ignore:rng is set", "ignore:.*For the data holder")

N = 20_000
RNG = np.random.default_rng(5)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 91, N),
        "born": pd.to_datetime("1990-01-01") + pd.to_timedelta(RNG.integers(0, 3650, N), "D"),
        "stay": pd.to_timedelta(RNG.exponential(5, N), "D"),
        "race": RNG.choice(["white", "black", "other"], N, p=[0.7, 0.2, 0.1]),
        "smokes": RNG.random(N) < 0.3,
        "income": RNG.lognormal(10, 1, N),
    }
)
SMALL = PEOPLE[["age", "income"]]


def learned(X=SMALL, **options):
    seed = {} if "ledger" in options else {"rng": 0}  # a ledger takes no release that can be repeated
    return dplr.learn_bounds(X, **declared({"eps": 1.0} | seed | options))


def by_name(found):
    return {column.name: column for column in found.columns}


# ---- what is released ----


def test_every_kind_of_column_is_learned():
    found = by_name(learned(PEOPLE, eps=2.0, delta=1e-7))
    kinds = ["integer", "date", "duration", "levels", "flag", "number"]
    assert [column.kind for column in found.values()] == kinds
    assert 10 <= found["age"].lower <= 25
    assert 85 <= found["age"].upper <= 110
    assert pd.Timestamp("1988-01-01") <= pd.Timestamp(0) + pd.to_timedelta(found["born"].lower, "D")
    assert pd.Timestamp(0) + pd.to_timedelta(found["born"].upper, "D") <= pd.Timestamp("2002-12-31")
    assert (found["stay"].lower, 10 < found["stay"].upper < 60) == (0, True)
    assert found["race"].levels == ("black", "other", "white")
    assert found["race"].shares["black"] == pytest.approx(0.2, abs=0.02)
    assert (found["smokes"].lower, found["smokes"].upper, found["smokes"].outside) == (0, 1, None)
    for name in ("age", "income", "stay", "born"):
        column = found[name]
        values = PEOPLE[name]
        if name in ("born", "stay"):
            values = (values - (pd.Timestamp(0) if name == "born" else pd.Timedelta(0))) / pd.Timedelta(1, "D")
        beyond = ((values < column.lower) | (values > column.upper)).mean()
        assert beyond == pytest.approx(column.outside, abs=6 * column.outside_noise + 0.002)
        assert beyond < 0.04


@pytest.mark.parametrize("outside", [0.001, 0.05])
def test_few_records_lie_beyond_each_bound(outside):
    shares = []
    for seed in range(8):
        column = by_name(learned(outside=outside, rng=seed))["income"]
        shares.append((PEOPLE.income > column.upper).mean())
    assert max(shares) <= outside + 0.01


def test_no_printed_share_is_below_0():
    column = dplr.results.LearnedColumn("age", "number", 18.0, 99.0, outside=-0.018, outside_noise=0.01)
    assert str(column) == "age: 18 to 99 (0.0 % of the records outside, +- 1.0 % by noise)"


def test_shares_outside_are_told_apart_from_one_record():
    assert len({learned(PEOPLE[["age"]], rng=seed).columns[0].outside for seed in range(10)}) == 10


SILENT = {
    "zeros": (np.zeros(N), "one number near 0"),
    "narrow": (RNG.uniform(1000, 1005, N), "lie within 2 %"),
    "infinite": (np.full(N, np.inf), "one number near 1.12"),
    "two far apart": (np.where(np.arange(N) % 2, 1e12, -1e12) * RNG.uniform(0.5, 2, N), ""),
}


@pytest.mark.parametrize("name", SILENT)
def test_a_column_of_which_nothing_can_be_said_says_so(name):
    values, reason = SILENT[name]
    column = learned(pd.DataFrame({"x": values})).columns[0]
    if not reason:
        assert not column.reason
        assert column.lower < -1e11 < 1e11 < column.upper
        return
    assert reason in column.reason
    assert (column.lower, column.upper, column.declaration) == (None, None, {})
    assert "cannot say" in str(column)
    with pytest.raises(ValueError, match="must have bounds of one feature at least"):
        _ = learned(pd.DataFrame({"x": values})).bounds


def test_a_constant_has_bounds_around_it_or_none():
    for seed in range(10):
        column = learned(pd.DataFrame({"x": np.full(N, 5.5)}), rng=seed).columns[0]
        assert column.reason or column.lower <= 5.5 <= column.upper


def test_numbers_that_are_mostly_zero_have_bounds_of_the_others():
    values = np.where(RNG.random(N) < 0.9, 0.0, RNG.lognormal(3, 1, N))
    column = learned(pd.DataFrame({"x": values})).columns[0]
    assert column.lower == 0
    assert 20 < column.upper < 1000


@pytest.mark.parametrize("value", [1_000_100, 2**53 + 1, 2**63 - 1])
def test_whole_numbers_in_one_cell_are_never_said_to_lie_inside_bounds_that_they_are_beyond(value):
    """A cell is wider than one, so what may lie beyond an end counts as beyond it."""
    for seed in range(10):
        column = learned(pd.DataFrame({"x": np.full(N, value)}), rng=seed).columns[0]
        assert column.reason or column.lower <= value <= column.upper


def test_a_column_that_most_records_do_not_fit_says_so():
    columns = [learned(PEOPLE[["income"]], eps=0.021, outside=1e-4, rng=seed).columns[0] for seed in range(20)]
    for column in columns:
        beyond = ((PEOPLE.income < (column.lower or 0)) | (PEOPLE.income > (column.upper or 0))).mean()
        assert column.reason or beyond < 4e-4 + 6 * column.outside_noise


def test_what_was_paid_for_is_used_where_one_column_says_nothing():
    people = PEOPLE[["age", "race", "income"]].assign(zeros=0.0)
    found = learned(people, delta=1e-7, target="income")
    with pytest.warns(dplr.UtilityWarning, match=r"zeros: cannot say.*public knowledge, or fit without them") as said:
        bounds = found.bounds
    assert len(said) == 1
    assert bounds.names == ("age", "race")
    people = people[:2000]
    est = dplr.fit(people.drop(columns="income"), people.income, model="linear", bounds=bounds, eps=1.0)
    assert [*est.named_coef_] == ["age", "race=black", "race=other", "race=white"]
    silent = learned(people.assign(income=0.0), delta=1e-7, target="income")
    with pytest.warns(dplr.UtilityWarning, match=r"income: cannot say"):
        assert silent.bounds.to_dict().get("target") is None


MONTHS = pd.DataFrame({"month": [f"{k % 5 + 1}" if k % 10 else f"{k % 7 + 6}" for k in range(N)]})
MONTHS = MONTHS.assign(id=np.arange(N) // 2, w=1.0)


@pytest.mark.parametrize("options", [{}, {"neighbouring": "add_remove", "n_rows": N}, {"person": "id"}], ids=str)
def test_levels_say_how_many_records_have_none_of_them(options):
    months = MONTHS[["month", "id"]] if "person" in options else MONTHS[["month"]]
    eps = 0.05 if "person" in options else 0.02
    found = [learned(months, eps=eps, delta=1e-7, rng=seed, **options).columns[0] for seed in range(60)]
    errors = []
    for column in found:
        assert column.outside == 1 - sum(column.shares.values())  # of released numbers alone
        errors.append(column.outside - (~MONTHS.month.isin(column.levels)).mean())
    noise = np.mean([column.outside_noise for column in found])
    assert min(len(column.levels) for column in found) < 12
    assert 0.7 * noise < np.std(errors) < 1.4 * noise
    assert abs(np.mean(errors)) < 5 * noise / np.sqrt(60)


def test_the_line_of_levels_says_it_and_nothing_where_no_total_is_public():
    month = MONTHS[["month"]]
    line = str(learned(month, eps=0.02, delta=1e-7).columns[0])
    assert re.search(
        r"levels [\d, ]+ \(\d+\.\d % of the records with another level or none, \+- \d\.\d % by noise\)", line
    )
    assert "0.0 % of the records with another" in str(learned(PEOPLE[["race"]], eps=5.0, delta=1e-7).columns[0])
    for options in ({"sample_weight": "w", "weight_max": 2.0}, {"person": "id", "rows_per_person": 2}):
        used = [name for name in ("id", "w") if name in options.values()]
        column = learned(MONTHS[["month", *used]], eps=0.5, delta=1e-7, **options).columns[0]
        assert (column.outside, "another level" in str(column)) == (None, False)


def test_texts_that_few_records_have_are_not_released():
    rare = PEOPLE[["race"]].assign(race=lambda X: X.race.where(X.index > 20, "rare"))
    assert learned(rare, delta=1e-7).columns[0].levels == ("black", "other", "white")
    alone = learned(pd.DataFrame({"t": [str(k) for k in range(2_000)]}), delta=1e-7).columns[0]
    assert alone.levels == ()
    assert "fewer than two levels" in alone.reason


def test_an_unused_category_is_never_a_level():
    X = pd.DataFrame({"t": pd.Categorical(PEOPLE.race, categories=["white", "never", "black", "other"])})
    assert learned(X, delta=1e-7).columns[0].levels == ("black", "other", "white")


# ---- bounds for fits ----


def test_bounds_make_a_fit_whose_statement_names_what_was_learned_and_a_ledger_pays_for_both(tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=2.0, delta=1e-6)
    found = dplr.learn_bounds(PEOPLE[["age", "race", "income"]], target="income", eps=0.75, delta=1e-7, ledger=ledger)
    assert found.bounds.to_dict()["target"] == by_name(found)["income"].declaration
    est = dplr.fit(PEOPLE, "income", bounds=found.bounds, model="linear", eps=1.0, ledger=ledger)
    entries = ledger.entries()
    assert [(entry.state, entry.eps) for entry in entries] == [("committed", 0.75), ("committed", 1.0)]
    assert entries[0].delta == 1e-7
    (fact,) = [fact for fact in est.privacy_.assumptions if "learned from private records" in fact]
    assert "bounds of age, race, income" in fact
    assert "eps = 0.75, delta = 1e-07, replace_one" in fact
    with pytest.raises(dplr.BudgetExceeded):
        learned(ledger=ledger)
    assert len(ledger.entries()) == 2


def test_a_target_of_text_has_classes_and_one_of_numbers_a_range():
    assert learned(PEOPLE[["age", "race"]], delta=1e-7, target="race").bounds.to_dict()["target"] == {
        "classes": ["black", "other", "white"]
    }
    target = learned(target="income").bounds.to_dict()["target"]
    assert set(target) == {"lower", "upper"}
    assert "income" not in learned(target="income").bounds.names


def test_declared_bounds_stay_as_they_are_and_cost_nothing():
    found = learned(bounds={"age": (18, 99)})
    assert [column.name for column in found.columns] == ["income"]
    values = found.bounds.to_dict()
    assert values["features"]["age"] == {"lower": 18.0, "upper": 99.0}
    assert values["learned"]["columns"] == ["income"]


def test_files_read_back_as_the_bounds_whatever_names_and_levels_are(tmp_path):
    levels = np.array(['a\n[features.x]\nlower = 0\nupper = 1\n"', "b\x07\x7f", "\u2028 c # d", "\U0001f600"])
    X = pd.DataFrame({"t\n[learned]": RNG.choice(levels, N), 'x"\\': PEOPLE.age, "flat\ny = 1": np.zeros(N)})
    found = learned(X, delta=1e-7)
    text = found.to_toml(tmp_path / "bounds.toml")
    with pytest.warns(dplr.UtilityWarning, match="leave out what noise says nothing about"):
        assert dplr.Bounds.from_toml(tmp_path / "bounds.toml") == found.bounds
    assert set(tomllib.loads(text)) == {"features", "learned"}
    assert set(tomllib.loads(text)["features"]) == {"t\n[learned]", 'x"\\'}
    with pytest.raises(FileExistsError):
        found.to_toml(tmp_path / "bounds.toml")


def test_printed_lines_say_the_cost():
    text = str(learned())
    assert "eps = 1, delta = 0; 1 % of the records may lie beyond each bound" in text
    assert len(text.splitlines()) == 3


def test_it_is_a_value_that_can_be_copied_and_sent():
    found = learned(PEOPLE[["age", "race"]], delta=1e-7)
    for again in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert again == found
        assert again.bounds == found.bounds


# ---- the statement ----


def test_statements_say_what_is_promised():
    pure = learned(PEOPLE[["age"]]).privacy_
    assert (pure.eps, pure.delta, str(pure.neighbouring), pure.reproducible) == (1.0, 0.0, "replace_one", True)
    assert type(pure.guarantee).__name__ == "Pure"
    assert f"the number of records = {N}" in pure.assumptions
    texts = learned(PEOPLE[["age", "race"]], delta=1e-7).privacy_
    assert (type(texts.guarantee).__name__, texts.guarantee.delta) == ("Approx", 1e-7)
    assert set(texts.released) == {"outside", "levels"}
    unused = learned(PEOPLE[["age"]], delta=1e-7).privacy_
    assert (unused.delta, unused.unused_delta) == (0.0, 1e-7)
    assert not dplr.learn_bounds(PEOPLE[["age"]], eps=1.0).privacy_.reproducible


def test_many_columns_are_composed_by_zcdp_and_the_noise_is_smaller():
    X = pd.DataFrame({f"x{k}": PEOPLE.income for k in range(60)})
    plain, close = learned(X, eps=2.0), learned(X, eps=2.0, delta=1e-6)
    assert "added up by zCDP" in close.privacy_.calibration
    assert (close.privacy_.guarantee.eps, close.privacy_.guarantee.delta) == (2.0, 1e-6)
    assert close.columns[0].outside_noise < 0.7 * plain.columns[0].outside_noise


# ---- persons, weights, streams ----

VISITS = pa.table(
    {
        "id": RNG.integers(0, 4_000, 12_000),
        "w": RNG.uniform(0, 3, 12_000),
        "x": pa.array(RNG.normal(50, 10, 12_000), mask=RNG.random(12_000) < 0.05),
        "t": RNG.choice(["a", "b", "c"], 12_000),
    }
)
UNITS = {
    "rows": {},
    "weights": {"sample_weight": "w", "weight_max": 2},
    "persons": {"person": "id"},
    "persons, two rows": {"person": "id", "rows_per_person": 2},
    "persons, weights": {"person": "id", "sample_weight": "w", "weight_max": 2},
    "add_remove": {"person": "id", "neighbouring": "add_remove", "n_rows": 5_000},
}


@pytest.mark.parametrize("name", UNITS)
def test_rows_in_memory_and_streamed_rows_give_one_release(name, tmp_path):
    columns = {"x": "number", "t": "levels"}
    options = {"columns": columns, "delta": 1e-6, **UNITS[name]}
    for k in range(3):
        parquet.write_table(VISITS[4_000 * k : 4_000 * (k + 1)], tmp_path / f"{k}.parquet", row_group_size=900)
    parts = dplr.Stream(str(tmp_path / "*.parquet"), threads=3)
    found = [learned(X, **options) for X in (VISITS, VISITS.to_pandas(), pl.from_arrow(VISITS), parts)]
    assert all(str(each) == str(found[0]) for each in found)
    assert all(each.privacy_ == found[0].privacy_ for each in found)
    assert all(each.bounds == found[0].bounds for each in found)
    bounds = found[0].bounds
    assert bounds.person == UNITS[name].get("person")
    assert bounds.weight == UNITS[name].get("sample_weight")
    if "person" in UNITS[name]:
        assert found[0].privacy_.unit.person == "id"
    if name == "persons":
        assert f"the number of persons = {len(set(VISITS['id'].to_pylist()))}" in found[0].privacy_.assumptions


def test_one_person_with_most_rows_moves_no_bound():
    """A tenth of all rows lie far out, and they are one person's."""
    X = pd.DataFrame({"id": [*range(N), *[N] * 5_000], "x": [*PEOPLE.age, *[1e9] * 5_000]})
    assert learned(X, person="id").columns[0].upper < 120
    assert learned(X[["x"]]).columns[0].upper > 1e8 or learned(X[["x"]]).columns[0].reason


class Moving(MemoryPart):
    """Rows of a query, which are all of one person when they are read for the second time."""

    lasts = False
    reads = 0

    def batches(self):
        Moving.reads += 1
        table = self.table
        if Moving.reads == 2:
            table = table.set_column(table.column_names.index("id"), "id", pa.array(np.full(len(table), 7)))
        return iter(table.to_batches())


def test_a_query_that_gives_a_person_more_rows_than_were_counted_is_refused_before_noise_is_drawn(tmp_path):
    rows = VISITS.select(["id", "x"])
    ledger = dplr.Ledger(tmp_path / "b.db", eps=5.0, unit="id")
    with pytest.raises(RuntimeError, match="rows of X changed while they were read"):
        learned(dplr.Stream(LocalParts([Moving(rows)], rows[:0])), person="id", ledger=ledger)
    assert Moving.reads == 2
    assert [entry.state for entry in ledger.entries()] == ["refunded"]


def test_an_array_has_numbered_columns():
    found = learned(SMALL.to_numpy())
    assert [column.name for column in found.columns] == ["column 0", "column 1"]
    assert found.bounds.names is None
    assert dplr.fit(SMALL.to_numpy(), np.arange(len(SMALL)) % 2, bounds=found.bounds, eps=1.0).n_features_in_ == 2
    constant = np.column_stack([SMALL.to_numpy(), np.zeros(len(SMALL))])
    with pytest.warns(dplr.UtilityWarning, match="column 2: cannot say"):
        bounds = learned(constant).bounds
    y = np.arange(len(SMALL)) % 2
    assert dplr.fit(constant[:, :2], y, bounds=bounds, eps=1.0).n_features_in_ == 2
    with pytest.raises(ValueError, match="`bounds` must"):  # of another number of columns
        dplr.fit(constant, y, bounds=bounds, eps=1.0)


# ---- refusals, before anything is spent ----

TEXT = PEOPLE[["race"]]
REFUSED = [
    (SMALL, {"eps": 0}, ValueError, "`eps` must"),
    (SMALL, {"eps": float("inf")}, ValueError, "`eps` must be finite"),
    (SMALL, {"delta": 1}, ValueError, "`delta` must"),
    (SMALL, {"delta": 0.1}, ValueError, "`delta` must be below 1/n"),
    (SMALL, {"outside": 0.3}, ValueError, "`outside` must be a share from 0.0001 to 0.25; got 0.3"),
    (SMALL, {"outside": True}, ValueError, "`outside` must be a share"),
    (SMALL, {"columns": []}, ValueError, "must have at least one column to learn"),
    (SMALL, {"columns": "age"}, TypeError, "must be a list of names"),
    (SMALL, {"columns": ["agee"]}, ValueError, "must name columns of X"),
    (SMALL, {"columns": [["age"]]}, TypeError, "must be the name of a column"),
    (SMALL, {"columns": {"age": "float"}}, ValueError, "must be one of 'number'"),
    (SMALL, {"columns": {"age": "levels"}}, ValueError, "must be 'integer' for 'age', by its type"),
    (SMALL, {"columns": {"age": "date"}}, ValueError, "must be 'integer' for 'age', by its type"),
    (SMALL, {"target": "job"}, ValueError, "`target` must be one of the columns"),
    (SMALL, {"bounds": {"age": (0, 1)}, "columns": ["age"]}, ValueError, "must not be in the bounds too"),
    (SMALL, {"bounds": [(0, 1)]}, TypeError, "`bounds`"),
    (SMALL, {"bounds": dplr.Bounds([(0, 1)])}, ValueError, "`bounds` must name its columns"),
    (SMALL, {"person": "id"}, ValueError, "must have the column 'id'"),
    (SMALL, {"sample_weight": "age"}, ValueError, "`weight_max` is required"),
    (SMALL, {"neighbouring": "add_remove"}, ValueError, "`n_rows` is required here"),
    (SMALL, {"neighbouring": "both"}, ValueError, "`neighbouring` must be one of"),
    (SMALL, {"n_rows": 5}, ValueError, "`n_rows` must be"),
    (SMALL, {"neighbouring": "add_remove", "n_rows": 2**40}, ValueError, "`n_rows` must be at most"),
    (SMALL, {"eps": 0.001}, ValueError, "is too small to learn the bounds of 2 columns from 20000 records"),
    (SMALL, {"rng": -1}, ValueError, "`rng`"),
    (SMALL[:0], {}, ValueError, "`X` must have at least one row"),
    (SMALL.to_numpy().tolist(), {}, TypeError, "must be a data frame, or a two-dimensional array"),
    (SMALL.to_numpy()[0], {}, ValueError, "must be a data frame, or a two-dimensional array"),
    (np.ma.masked_array(np.ones((99, 1)), True), {}, TypeError, "got 'MaskedArray'"),
    (np.array([["a"]] * 99), {}, ValueError, "must be a data frame, or a two-dimensional array"),
    (SMALL.rename(columns={"age": ""}), {}, ValueError, "`columns` must not be empty"),
    (PEOPLE[["smokes"]], {}, ValueError, "must have numbers or text to learn"),
    (PEOPLE[["age"]].astype(object), {}, ValueError, "must say what 'age' holds, whose type does not"),
    (TEXT, {}, ValueError, "`delta` must be positive to learn the levels of race"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refusals_leave_the_ledger_as_it_was(case, tmp_path):
    X, options, error, message = REFUSED[case]
    ledger = dplr.Ledger(tmp_path / "b.db", eps=1e9, delta=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(error, match=message):
            learned(X, ledger=ledger, **options)
    assert ledger.entries() == []


def test_a_value_that_cannot_be_read_costs_nothing(tmp_path):
    ledger = dplr.Ledger(tmp_path / "b.db", eps=5.0)
    X = pd.DataFrame({"x": pd.Series([*PEOPLE.age.tolist(), "nine"], dtype=object)})
    with pytest.raises(TypeError, match="it holds a str, which is not a number"):
        learned(X, columns={"x": "number"}, ledger=ledger)
    assert [entry.state for entry in ledger.entries()] == ["refunded"]
