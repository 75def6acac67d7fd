"""Heart disease: the processed files of four hospitals in the UCI repository, as one table."""

import zipfile

import pandas as pd

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
COLUMNS = [
    "age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak", "slope", "ca", "thal",
    "num",
]  # fmt: skip


def read(folder):
    """Parsing alone; "?" and -9 are missing, and so is a cholesterol or a blood pressure of 0."""
    with zipfile.ZipFile(folder / "heart.zip") as archive:
        frame = pd.concat([_hospital(archive, name) for name in HOSPITALS], ignore_index=True)
    # Only these two: a depression of the ST segment may be negative.
    frame = frame.assign(**{name: frame[name].mask(frame[name] == 0) for name in ("chol", "trestbps")})
    whole = {name: "Int16" for name in COLUMNS if name != "oldpeak"}
    frame = frame.astype(whole | {"oldpeak": "float32"})
    return {"heart_disease.parquet": frame.assign(disease=(frame["num"] > 0).astype("int8"))}


def _hospital(archive, name):
    with archive.open(f"processed.{name}.data") as file:
        return pd.read_csv(file, header=None, names=COLUMNS, na_values=["?", "-9", "-9.0"]).assign(hospital=name)
