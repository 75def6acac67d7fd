"""What does encoding a table by its bounds cost, against pandas.get_dummies of the same columns, and in a whole fit?"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dplr
from dplr.rows import Encoder, as_table

N = 50_000
LEVELS = {name: [f"{name} {k}" for k in range(size)] for name, size in {"a": 8, "b": 16, "c": 14, "d": 41}.items()}
NUMBERS = ("age", "hours", "gain")
BOUNDS = dplr.Bounds(dict.fromkeys(NUMBERS, (0, 100)) | {name: {"levels": known} for name, known in LEVELS.items()})


@pytest.mark.benchmark(group="encoding against pandas.get_dummies")
@pytest.mark.parametrize(("library", "limit"), [("pandas", 1.2), ("polars", 1.0), ("arrow", 1.0)])
def test_encoding_a_table(slower_than, library, limit):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(0, 100, N) for name in NUMBERS})
    frame = frame.assign(**{name: rng.choice(known, N) for name, known in LEVELS.items()})
    table = {"pandas": lambda t: t, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}[library](frame)
    slower_than(
        lambda: Encoder(as_table(table), BOUNDS.layout).block(),
        lambda: pd.get_dummies(frame, columns=list(LEVELS), dtype=float).to_numpy(),
        limit,
    )


@pytest.mark.benchmark(group="a fit to a frame of numbers against the same fit to its array, conversion included")
@pytest.mark.parametrize("n", [17_500, 370_000])
def test_a_frame_of_numbers_costs_little_more_than_its_array(slower_than, quick, n):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(0, 1, (n, 10)), columns=[f"c{j}" for j in range(10)])
    y = rng.integers(0, 2, n)
    named, placed = dplr.Bounds(dict.fromkeys(frame, (0, 1))), dplr.Bounds([(0, 1)] * 10)
    slower_than(
        lambda: dplr.fit(frame, y, mechanism="fm", eps=1.0, bounds=named),
        lambda: dplr.fit(np.ascontiguousarray(frame.to_numpy()), y, mechanism="fm", eps=1.0, bounds=placed),
        2.0 if n > 100_000 else 4.0,  # of few rows the calls into the frame's library are most of it
    )


# The census file of the examples: its columns, their types and their codes.
CENSUS = {
    "Age": (18, 99), "Education": (1, 24), "WorkHours": (0, 99), "FamilySize": (1, 20), "NumChildren": (0, 19),
    "NumBedrooms": (0, 10), "YearsResiding": (0, 40),
} | {name: {"levels": [0, 1], "binary": True} for name in (
    "Male", "IsSingle", "IsMarried", "Disability", "Native", "OwnsDwelling",
)}  # fmt: skip
FITS = {"fm": "fm", "objective": "objective", "output": "output", "ngd": dplr.NoisyGradientDescent(steps=10)}


@pytest.mark.benchmark(group="a fit to a table with levels against the same fit to an array of its encoded columns")
@pytest.mark.parametrize("mechanism", FITS)
@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_fit_to_a_table_costs_little_more_than_to_its_encoded_columns(slower_than, quick, library, mechanism):
    n = 100_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    ends = {name: column if isinstance(column, tuple) else (0, 1) for name, column in CENSUS.items()}
    frame = pd.DataFrame({name: rng.integers(low, high + 1, n).astype(np.int8) for name, (low, high) in ends.items()})
    frame["YearsResiding"] = frame["YearsResiding"].astype(np.float32)
    table = {"pandas": lambda t: t, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}[library](frame)
    y = rng.integers(0, 2, n) == 1
    named, placed = dplr.Bounds(CENSUS), dplr.Bounds(list(ends.values()))
    options = {"mechanism": FITS[mechanism], "eps": 1.0, "delta": 1e-9 if mechanism == "ngd" else 0.0}
    array = Encoder(as_table(table), named.layout).block()[0]
    slower_than(
        lambda: dplr.fit(table, y, bounds=named, **options), lambda: dplr.fit(array, y, bounds=placed, **options), 2.5
    )
