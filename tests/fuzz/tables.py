"""Tables of pandas, polars and Arrow, whatever type their columns have: refused, or equal to a plain table."""

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from tests.fuzz.laws import REFUSED, attempt, nothing_drawn_when_refused, require

import dplr

BOUNDS = {
    "age": {"lower": 0, "upper": 99, "missing": 20},
    "work": {"levels": ["none", "some", "full"], "missing": "none"},
    "school": {"levels": [0, 1, 2], "ordinal": True, "missing": 1},
}
STRANGE = [
    None,
    float("nan"),
    "",
    "a",
    "1",
    b"1",
    True,
    10**30,
    -1,
    1e308,
    float("inf"),
    decimal.Decimal(1),
    1j,
    [1],
    {},
    datetime.date(2020, 1, 1),
    pd.NA,
    pd.NaT,
    np.int8(1),
]
NUMBER_TYPES = [
    "float64",
    "float32",
    "Float64",
    "int64",
    "Int8",
    "uint8",
    "UInt16",
    "object",
    "string",
    "category",
    "double[pyarrow]",
    "int32[pyarrow]",
    "bool",
    "boolean",
    "complex128",
    "datetime64[ns]",
]
TEXT_TYPES = ["object", "string", "category", "string[pyarrow]", "large_string[pyarrow]"]


class Door:
    KNOWN = ()

    def __init__(self, folder):
        self.bounds = dplr.Bounds(BOUNDS, target=("no", "yes"))

    def attack(self, rng):
        n = rng.choice([0, 1, 2, 3, 7])
        frame, y = table(n, rng)
        X = changed(in_library(frame, rng), rng)
        with warnings.catch_warnings(action="ignore"), nothing_drawn_when_refused() as draws:
            seed = rng.randrange(2**31)
            options = {"eps": 1.0, "mechanism": "fm", "bounds": self.bounds, "rng": seed}
            outcome, est = attempt(lambda: dplr.fit(X, y, **options))
            if outcome == REFUSED:
                require(not draws, "noise was drawn, and then the table was refused")
                return outcome
            twin = plain(X)
            if twin is not None:
                other = attempt(lambda: dplr.fit(twin, y, **options))[1]
                require(other is not None, "accepted a table whose plain copy is refused")
                require(
                    est.coef_.tobytes() == other.coef_.tobytes(), "a fit has other bits than that of the plain copy"
                )
                first, second = attempt(lambda: est.predict(X)), attempt(lambda: est.predict(twin))
                require(first[0] == second[0] and np.array_equal(first[1], second[1]), "predictions differ")
        return outcome


def table(n, rng):
    columns = {
        "age": [rng.choice([None, rng.uniform(-5, 120), rng.randrange(100)]) for _ in range(n)],
        "work": [rng.choice(["none", "some", "full", "other", None]) for _ in range(n)],
        "school": [rng.choice([0, 1, 2, 3, None]) for _ in range(n)],
    }
    if rng.random() < 0.2 and n:
        columns[rng.choice(list(columns))][rng.randrange(n)] = rng.choice(STRANGE)
    return columns, np.array([rng.choice(["no", "yes"]) for _ in range(n)], dtype=object)


def in_library(columns, rng):
    """A table of one of the libraries, its columns of a type drawn at random; object columns where that fails."""
    kind = rng.choice(["pandas", "pandas", "polars", "arrow"])
    try:
        if kind == "polars":
            frame = pl.DataFrame(columns, strict=False)
            to = rng.choice([pl.Float32, pl.Int8, pl.UInt64, pl.String, pl.Categorical, pl.Decimal, pl.Date, pl.Int128])
            return (
                frame
                if rng.random() < 0.5
                else frame.with_columns(pl.col(rng.choice(frame.columns)).cast(to, strict=False))
            )
        if kind == "arrow":
            arrow = pa.table(columns)
            place = rng.randrange(3)
            to = rng.choice(
                [
                    pa.float32(),
                    pa.int8(),
                    pa.large_string(),
                    pa.dictionary(pa.int8(), pa.string()),
                    pa.float16(),
                    pa.decimal128(10, 2),
                    pa.bool_(),
                    pa.string_view(),
                    pa.null(),
                ]
            )
            return (
                arrow
                if rng.random() < 0.5
                else arrow.set_column(place, arrow.column_names[place], arrow.column(place).cast(to, safe=False))
            )
        frame = pd.DataFrame(columns)
        name = rng.choice(list(columns))
        return frame.astype({name: rng.choice(TEXT_TYPES if name == "work" else NUMBER_TYPES)})
    except Exception:  # the library refuses its own conversion
        return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def changed(X, rng):
    """Now and then columns are missing, doubled, renamed or in another order, and rows have another index."""
    how = rng.choice(["no"] * 6 + ["order", "drop", "double", "rename", "index", "more"])
    if not isinstance(X, pd.DataFrame) or how == "no":
        return X
    if how == "order":
        return X[["school", "age", "work"]]
    if how == "drop":
        return X.drop(columns=rng.choice(list(X.columns)))
    if how == "double":
        return pd.concat([X, X[["age"]]], axis=1)
    if how == "rename":
        return X.rename(columns={"age": rng.choice(["AGE", 0, None, ("a", "b")])})
    if how == "index":
        return X.set_index(pd.Index([1] * len(X)))
    return X.assign(more=object())


def plain(X):
    """A pandas table of float64 and of text as Python objects; None where values are neither."""
    try:
        frame = X if isinstance(X, pd.DataFrame) else X.to_pandas()
        made = {}
        for name in BOUNDS:
            column = frame[name].tolist()
            gone = [value is None or value is pd.NA or value != value for value in column]
            if name == "work":
                if any(not isinstance(v, str) for v, g in zip(column, gone, strict=True) if not g):
                    return None
                made[name] = pd.Series([None if g else str(v) for v, g in zip(column, gone, strict=True)], dtype=object)
            else:
                if any(isinstance(v, (str, bytes, bool, np.bool_)) for v in column):
                    return None
                made[name] = pd.Series(
                    [np.nan if g else float(v) for v, g in zip(column, gone, strict=True)], dtype=float
                )
        return pd.DataFrame(made)
    except (TypeError, ValueError, OverflowError, KeyError):  # not even pandas has them
        return None
