"""Adult (1994 CPS): the two files of the UCI repository, as one table."""

import zipfile

import pandas as pd

COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship",
    "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
]  # fmt: skip
WIDER = {"fnlwgt": "int32", "capital_gain": "int32", "capital_loss": "int16"}


def read(folder):
    """Parsing alone: "?" is missing, and the labels of the test file lose their full stop."""
    with zipfile.ZipFile(folder / "adult.zip") as archive:
        parts = [_part(archive, f"adult.{ending}", split) for ending, split in (("data", "train"), ("test", "test"))]
    return {"adult.parquet": pd.concat(parts, ignore_index=True)}


def _part(archive, name, split):
    with archive.open(name) as file:
        frame = pd.read_csv(file, header=None, names=COLUMNS, comment="|", skipinitialspace=True, na_values=["?"])
    numbers = frame.select_dtypes("number").columns
    frame = frame.astype({name: WIDER.get(name, "int8") for name in numbers})
    income = frame.pop("income").str.rstrip(".")
    return frame.assign(split=split, income_gt_50k=(income == ">50K").astype("int8"))
