"""Bytes of CSV and Parquet files: refused in a sentence, or fitted, to the same bits whoever reads them again."""

import pathlib
import warnings

import pandas as pd
from tests.fuzz.laws import REFUSED, attempt, nothing_drawn_when_refused, require

import dplr
from dplr.cli._rows import read_rows
from dplr.rows.files.kinds import NUMBER, Format, Kind
from dplr.rows.streams.source import Stream, file_parts
from mutations import of_bytes

BOUNDS = {"age": (0, 99), "work": {"levels": ["none", "some", "full"], "missing": "none"}}
CSV = b'id,age,work,sick\n1,20,none,no\n2,"35.5",some,yes\n3,1e1,"full",no\n4,77,,yes\n5,-3,"a ""b"", c",no\n'


KINDS = {"age": NUMBER, "work": Kind(text=True, replaced=True), "sick": Kind(text=True)}


def named(path):
    return path, "sick"


def as_table(path):
    """X and y, as the command line reads small files."""
    return read_rows([str(path)], KINDS, "sick", Format(), None)


def as_stream(path):
    """X and y, as it reads large ones."""
    return Stream(file_parts([str(path)], list(KINDS), KINDS, Format())), "sick"


class Door:
    KNOWN = ()

    def __init__(self, folder):
        self.folder, self.bounds = pathlib.Path(folder), dplr.Bounds(BOUNDS, target=("no", "yes"))
        frame = pd.DataFrame(
            {"age": [20.0, 35.5, 10.0, 77.0], "work": ["none", "some", "full", None], "sick": ["no", "yes"] * 2}
        )
        frame.to_parquet(self.folder / "whole.parquet", row_group_size=2)
        self.parquet = (self.folder / "whole.parquet").read_bytes()

    def attack(self, rng):
        csv = rng.random() < 0.6
        data = CSV if csv else self.parquet
        for _ in range(rng.choice([0, 1, 1, 1, 2, 5])):
            data = of_bytes(data, rng)[1] or b"x"
        path = self.folder / ("rows.csv" if csv else "rows.parquet")
        path.write_bytes(data)
        seed = rng.randrange(2**31)
        options = {"eps": 1.0, "mechanism": "fm", "bounds": self.bounds, "rng": seed}
        with warnings.catch_warnings(action="ignore"), nothing_drawn_when_refused() as draws:
            first, second = (as_table, as_stream) if csv else (named, named)
            outcome, est = attempt(lambda: dplr.fit(*first(path), **options))
            if outcome == REFUSED:
                require(not draws, "noise was drawn, and then the file was refused")
            else:
                again, other = attempt(lambda: dplr.fit(*second(path), **options))
                require(again != REFUSED, "a file that was read as a table is refused as a stream")
                require(est.coef_.tobytes() == other.coef_.tobytes(), "the same file gave another fit")
        return outcome
