"""KDD Cup 1999: a sample of the 10 per cent file of the UCI repository."""

import zipfile

import numpy as np
import pandas as pd

from bench.data.connections import DENIAL, NUMBERS

ROWS, SEED = 70_000, 1999
COLUMNS = ["duration", "protocol_type", "service", "flag", *(name for name in NUMBERS if name != "duration"), "label"]


def read(folder):
    """The first rows of an order that NumPy's generator draws; labels lose their full stop."""
    with zipfile.ZipFile(folder / "kddcup99.zip") as archive, archive.open("kddcup.data_10_percent.gz") as packed:
        frame = pd.read_csv(packed, compression="gzip", header=None, names=COLUMNS)
    frame = frame.iloc[np.random.default_rng(SEED).permutation(len(frame))[:ROWS]].reset_index(drop=True)
    label = frame["label"].str.rstrip(".")
    types = {name: _type(name, high) for name, (_, high) in NUMBERS.items()}
    attack, denial = (label != "normal").astype("int8"), label.isin(DENIAL).astype("int8")
    return {"kddcup99_70k.parquet": frame.astype(types).assign(label=label, is_attack=attack, is_dos=denial)}


def _type(name, high):
    """The narrowest type that holds the bounds; rates have single precision."""
    return "float32" if name.endswith("rate") else np.min_scalar_type(-int(high) - 1).name
