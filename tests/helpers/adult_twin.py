"""Files that look like Adult's: its columns, levels and numbers of rows, with made-up people in them."""

import csv
import tomllib

import numpy as np

HEADER = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race",
    "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income_gt_50k",
)  # fmt: skip
ROWS = {"adult-train.csv": 32_561, "adult-test.csv": 16_281}


def write_twin(folder, bounds_path):
    """Both halves of the twin."""
    features = tomllib.loads(bounds_path.read_text(encoding="utf-8"))["features"]
    for seed, (name, n) in enumerate(ROWS.items()):
        columns = _people(features, n, np.random.default_rng(seed))
        write_csv(folder / name, HEADER, zip(*(columns[each] for each in HEADER), strict=True))


def write_real(folder, data_folder):
    """Both halves of Adult itself, missing values as empty fields."""
    from pyarrow import parquet

    rows = parquet.read_table(data_folder / "adult.parquet").to_pylist()
    for name, half in zip(ROWS, ("train", "test"), strict=True):
        write_csv(folder / name, HEADER, ([row[each] for each in HEADER] for row in rows if row["split"] == half))


def write_csv(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _people(features, n, rng):
    columns = {"fnlwgt": rng.integers(12_285, 1_490_401, n)}
    for name, known in features.items():
        if "levels" in known:
            values = rng.choice(known["levels"], n)
            columns[name] = np.where(rng.random(n) < 0.05, "", values) if "missing" in known else values
        elif "transform" in known:
            columns[name] = np.where(rng.random(n) < 0.9, 0, rng.integers(0, known["upper"] + 1, n))
        else:
            columns[name] = rng.integers(known["lower"], known["upper"] + 1, n)
    married = columns["marital_status"] == "Married-civ-spouse"
    score = 0.5 * columns["education_num"] + 2 * married - 7 + rng.logistic(0, 1, n)
    # As on Adult itself, so that a table has the same order.
    score += 0.04 * (columns["age"] - 53) + (columns["sex"] == "Male") - 0.5 + 0.012 * (columns["hours_per_week"] - 50)
    columns["income_gt_50k"] = (score > 0).astype(int)
    return columns
