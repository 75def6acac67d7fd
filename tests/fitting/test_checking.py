"""`dplr.check` finds what a fit would refuse, and what looks wrong, and spends nothing."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dplr
import every_column

RNG = np.random.default_rng(0)
N = 500
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N).astype(float),
        "work": RNG.choice(["Private", "Gov"], N),
        "gain": RNG.uniform(10.0, 90.0, N),
    }
)
Y = RNG.choice(["no", "yes"], N)
KNOWN = {"age": (17, 95), "work": {"levels": ["Private", "Gov"]}, "gain": (0, 100)}


def bounds(target=("no", "yes"), **changes):
    return dplr.Bounds({**KNOWN, **changes}, target=target)


def changed(name, values, rows=10):
    """The frame with other values in the first rows of a column."""
    frame = FRAME.copy()
    frame[name] = frame[name].astype(object)
    frame.loc[: rows - 1, name] = values
    return frame if name == "work" else frame.astype({name: float})


def alike(level, other):
    """A table with another spelling of a level in ten rows, and its bounds."""
    work = FRAME["work"].replace("Gov", level).where(FRAME.index >= 10, other)
    return {"X": FRAME.assign(work=work), "bounds": bounds(work={"levels": ["Private", level]})}


@pytest.mark.parametrize("table", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_good_data_pass_without_a_word(table):
    found = dplr.check(table(FRAME), Y, bounds=bounds())
    assert (found.passed, found.refused, found.doubts, found.rows) == (True, (), (), N)
    assert "A fit would take these data.\nNothing looks wrong." in str(found)
    assert set(found.columns) == {"age", "work", "gain"}


REFUSED = {
    "missing column": ({"X": FRAME.drop(columns="gain")}, r"missing: \['gain'\]"),
    "missing values": ({"X": changed("age", np.nan)}, r"^age: 10 of 500 values \(2.00%\) are missing"),
    "missing text": ({"X": changed("work", None)}, r"^work: 10 of 500 values \(2.00%\) are missing"),
    "infinite": ({"X": changed("gain", np.inf)}, r"^gain: 10 of 500 values .* are infinite"),
    "text for a number": ({"bounds": bounds(work=(0, 1))}, "^work: it cannot be read as declared"),
    "labels": (
        {"y": np.where(Y == "yes", "Yes", Y)},
        r"^y: \d+ of 500 .* not declared: 'Yes' .*; 'Yes' looks like 'yes'",
    ),
    "numbers as labels": ({"y": RNG.normal(size=N), "bounds": bounds(None)}, 'y: 500 of 500.*use model="linear"'),
    "text as target": ({"model": "linear", "bounds": bounds(None)}, "^y: the bounds do not declare its range"),
    "classes": ({"model": "linear"}, "^`bounds of the target` must be a real number"),
    "length": ({"y": Y[1:]}, "^y has 499 values, and X 500 rows"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_fit_refuses_is_found_and_nothing_else(case):
    change, said = REFUSED[case]
    given = {"X": FRAME, "y": Y, "bounds": bounds()} | change
    found = dplr.check(given.pop("X"), given.pop("y"), **given)
    assert not found.passed
    assert len(found.refused) == 1
    assert re.search(said, found.refused[0]), found.refused
    given = {"X": FRAME, "y": Y, "bounds": bounds(), "mechanism": "fm"} | change
    with pytest.raises((ValueError, TypeError)):
        dplr.fit(given.pop("X"), given.pop("y"), eps=1.0, **given)


DOUBTS = {
    "units": (
        {"X": FRAME.assign(age=FRAME["age"] / 100)},
        r"^age: 500 of 500 .* outside \[17, 95\].*Are the units right",
    ),
    "a few outside": (
        {"X": changed("age", 99.0, 2)},
        r"^age: 2 of 500 values \(0.40%\) lie outside \[17, 95\], from \d+ to 99\.$",
    ),
    "wide": ({"bounds": bounds(gain=(0, 10**6))}, "^gain: 99% of the values lie within 0.0%"),
    "extremes": (
        {"bounds": bounds(gain=(FRAME["gain"].min(), FRAME["gain"].max()))},
        "^gain: the bounds are the extremes of the data",
    ),
    "levels": (
        {"X": changed("work", "private ")},
        r"^work: 10 of 500 .* 'private ' \(10\); 'private ' looks like 'Private'",
    ),
    "another space": (
        alike("State gov", "State\u00a0gov"),
        r"; 'State\\xa0gov' looks like 'State gov' \(with other characters: 'State\\xa0gov' and 'State gov'\)",
    ),
    "another form of Unicode": (
        alike("d\u00e9j\u00e0", "de\u0301ja\u0300"),
        r"looks like 'd\u00e9j\u00e0' \(with other characters: 'de\\u0301ja\\u0300' and 'd\\xe9j\\xe0'\)",
    ),
    "constant": ({"X": FRAME.assign(gain=50.0)}, "^gain: every value is 50"),
    "rare": ({"y": np.full(N, "no")}, r"^y: 0 of 500 values \(0.00%\) are 'yes': noise"),
}


@pytest.mark.parametrize("case", DOUBTS)
def test_what_looks_wrong_is_found_and_a_fit_takes_it(case):

    change, said = DOUBTS[case]
    given = {"X": FRAME, "y": Y, "bounds": bounds()} | change
    found = dplr.check(given.pop("X"), given.pop("y"), **given)
    assert found.passed
    assert [bool(re.search(said, each)) for each in found.doubts] == [True], found.doubts


def test_levels_that_nobody_has_are_named_where_others_are_spelt_otherwise():
    found = dplr.check(FRAME.assign(work=FRAME["work"].replace("Gov", "Govt")), Y, bounds=bounds())
    assert found.columns["work"].unused == ("Gov",)
    assert found.doubts[1] == "work: no value is 'Gov'"
    assert dplr.check(FRAME, Y, bounds=bounds()).columns["work"].unused == ()


def test_bounds_that_whole_numbers_reach_are_not_doubted():
    scale = pd.DataFrame({"answer": RNG.integers(1, 6, N), "age": RNG.integers(18, 91, N)})
    found = dplr.check(scale, bounds={"answer": (1, 5), "age": (18, 90)})
    assert found.doubts == ()


def test_declared_missing_values_are_counted_and_pass():
    found = dplr.check(changed("age", np.nan), Y, bounds=bounds(age={"lower": 17, "upper": 95, "missing": 40}))
    assert found.passed
    assert found.columns["age"].missing == 10


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_kind_of_column_is_checked_as_a_fit_reads_it():
    X = every_column.table(500)
    known = dplr.Bounds(every_column.COLUMNS, products=every_column.PRODUCTS)
    found = dplr.check(X, every_column.target(X) > 100, bounds=known)
    assert found.passed
    assert list(found.columns) == list(every_column.COLUMNS)
    for name, column in every_column.COLUMNS.items():
        if not isinstance(column, dict) or "levels" not in column:
            low, high = column if isinstance(column, tuple) else (column["lower"], column["upper"])
            assert found.columns[name].below == (X[name] < low).sum() > 0
            assert found.columns[name].above == (X[name] > high).sum() > 0
        assert found.columns[name].missing == X[name].isna().sum()
        assert any(each.startswith(f"{name}: ") for each in found.doubts)
    (bed,) = (each for each in found.doubts if each.startswith("bed: "))
    assert bed.endswith("they count as the reference, 's'")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", every_column.REFUSING)
def test_a_missing_value_is_found_where_the_fit_refuses_it_and_not_once_more_in_products(name):
    X = every_column.table(50).astype({name: object})
    X.loc[3, name] = None
    if name not in ("plain", "sex"):
        X = X.astype({name: float})
    known = dplr.Bounds(every_column.COLUMNS, products=every_column.PRODUCTS)
    found = dplr.check(X, bounds=known)
    policy = "and the bounds do not say what a missing value counts as"
    assert found.refused == (f"{name}: 1 of 50 values (2.00%) are missing, {policy}",)
    with pytest.raises(ValueError, match=f"'{name}'|\\b{name}\\b"):
        dplr.fit(X, np.arange(50) > 20, eps=1.0, bounds=known, mechanism="fm")


def test_a_numeric_target_is_compared_with_its_range():
    known = bounds(target={"lower": 0, "upper": 50})
    found = dplr.check(FRAME, RNG.uniform(0, 100, N), bounds=known, model="linear")
    assert found.passed
    assert found.columns["y"].above > 200
    assert [each.startswith("y: ") for each in found.doubts] == [True]
    found = dplr.check(FRAME, np.where(np.arange(N) < 3, np.nan, 1.0 + np.arange(N) / N), bounds=known, model="linear")
    assert found.refused == (
        "y: 3 of 500 values (0.60%) are missing, and the bounds do not say what a missing value counts as",
    )


def test_without_bounds_the_unit_ball_is_looked_at():
    found = dplr.check(np.array([[0.6, 0.9], [0.1, 0.2]]), [0, 1])
    assert found.passed
    (doubt,) = found.doubts
    assert doubt.startswith("X: 1 of 2 rows (50.00%) lie outside the unit ball. Declare bounds from public knowledge")


def test_nothing_is_drawn_and_the_text_says_for_whom_it_is(entropy):
    text = str(dplr.check(FRAME, Y, bounds=bounds()))
    assert entropy.bytes == 0
    assert text.startswith("Check of 500 records. For the data holder only: it is not private")


def test_a_parameter_that_is_wrong_is_raised():
    with pytest.raises(ValueError, match="`model` must be one of"):
        dplr.check(FRAME, Y, model="probit")
    with pytest.raises(TypeError, match="`bounds` must be None"):
        dplr.check(FRAME, Y, bounds=[(0, 1)])
    with pytest.raises(ValueError, match="`X` must be two-dimensional"):
        dplr.check(np.zeros(3), Y)
