"""Adult as rows of the unit ball, from public knowledge alone: bounds and levels as the UCI documentation has them."""

import pathlib

import numpy as np
import pandas as pd

# Lower and upper bound; capital gain and loss on the scale of log1p.
NUMBERS = {
    "age": (17, 90),
    "education_num": (1, 16),
    "hours_per_week": (1, 99),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 5_000),
}
LOGARITHMIC = ("capital_gain", "capital_loss")
LEVELS = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters "
    "1st-4th 10th Doctorate 5th-6th Preschool",
    "marital_status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native_country": "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) "
    "India Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal "
    "Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland "
    "Thailand Yugoslavia "
    "El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
}


def encode(frame):
    """(n, 104): numbers in [-1, 1], one column a level, all divided by sqrt(13): norm at most 1."""
    columns = []
    for name, (low, high) in NUMBERS.items():
        value = frame[name].to_numpy(float)
        if name in LOGARITHMIC:
            value, high = np.log1p(value), np.log1p(high)
        columns.append(2 * (np.clip(value, low, high) - low) / (high - low) - 1)
    for name, levels in LEVELS.items():
        columns += [(frame[name] == level).to_numpy(float) for level in levels.split()]
    return np.column_stack(columns) / np.sqrt(len(NUMBERS) + len(LEVELS))


def load(folder):
    """The official split, rows without missing values: train and test X and y."""
    frame = pd.read_parquet(pathlib.Path(folder) / "adult.parquet").dropna()
    train, test = (frame[frame["split"] == part] for part in ("train", "test"))
    return tuple(part for rows in (train, test) for part in (encode(rows), rows["income_gt_50k"].to_numpy(int)))
