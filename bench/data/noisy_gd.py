"""Data sets of studies/noisy_gd.py: name -> rows (with the appended 0.5) and targets, for training and for testing."""

import itertools
import math
import os
import pathlib
import zlib

import numpy as np
import pandas as pd

from bench.data.adult import load
from bench.studies.ridge import FEATURES, acs_one_hot, cube

FOLDER = os.environ.get("DPLR_DATA", ".")
IOTA = 0.5
TEST_ROWS = 10_000


def split(X, y, n):
    A = np.column_stack([X, np.full(len(X), IOTA)])
    return A[:n], y[:n], A[n : n + TEST_ROWS], y[n : n + TEST_ROWS]


def frame(name):
    return pd.read_parquet(pathlib.Path(FOLDER) / name)


def targets(rows, loss):
    if loss == "squared":
        return np.clip(rows["AnnualIncome"].to_numpy(float), 0, 200_000) / 100_000 - 1
    return np.where(rows["AnnualIncome"] > 50_000, 1.0, -1.0)


def acs_rows(rows):
    return cube(rows[list(FEATURES)].to_numpy(float), list(FEATURES.values())) / math.sqrt(len(FEATURES))


def acs(loss):
    rows = frame("acs2024_fm_370k.parquet")
    for start, n in ((0, 1000), (20_000, 10_000), (200_000, 50_000)):
        part = rows.iloc[start : start + n + TEST_ROWS]
        yield f"acs {n}", split(acs_rows(part), targets(part, loss), n)
    income = targets(rows.iloc[100_000:200_000], loss)
    for _, X, _, n in acs_one_hot(rows):
        if n in (3000, 30_000):
            yield f"acs one-hot {n}", split(X, income[-len(X) :], n)


def synthetic(loss):
    for d, n, design in ((12, 300, "box"), (5, 1000, "box"), (20, 5000, "box"), (100, 30_000, "factors"),
                         (20, 20_000, "sphere")):  # fmt: skip
        rng = np.random.default_rng(zlib.crc32(f"{d} {n}".encode()))
        X = rng.normal(size=(n + TEST_ROWS, d))
        if design == "box":
            X = np.where(np.arange(d) < d // 2, np.sign(X), np.tanh(X + rng.normal(size=d) / 2)) / math.sqrt(d)
        elif design == "factors":
            common = rng.normal(size=(len(X), d // 4)) @ rng.normal(size=(d // 4, d)) / math.sqrt(d // 4)
            X = np.tanh(common + X / 2) / math.sqrt(d)
        else:
            X /= np.linalg.norm(X, axis=1)[:, None]
        margin = X @ rng.normal(size=d)
        margin = (margin - margin.mean()) / margin.std() + rng.normal() / 2
        y = np.clip(0.4 * margin + rng.normal(0, 0.2, len(X)), -1, 1)
        if loss != "squared":
            y = np.where(3 * margin + rng.logistic(size=len(X)) > 0, 1.0, -1.0)
        yield f"synthetic d={d} n={n}", split(X, y, n)


def adult_train(_):
    X, y = load(FOLDER)[:2]
    order = np.random.default_rng(0).permutation(len(X))
    yield "adult train 3000", split(X[order[17_000:]], 2.0 * y[order[17_000:]] - 1, 3000)
    yield "adult train 20000", split(X[order], 2.0 * y[order] - 1, 20_000)


def kdd(_):
    rows = frame("kddcup99_70k.parquet")
    tops = {"duration": 86_400, "src_bytes": 2**31, "dst_bytes": 2**31}
    columns = [2 * np.log1p(rows[name].to_numpy(float)) / math.log1p(top) - 1 for name, top in tops.items()]
    tops = {"count": 511, "srv_count": 511, "dst_host_count": 255, "dst_host_srv_count": 255, "logged_in": 1}
    tops.update({name: 1 for name in rows if name.endswith("_rate")})
    columns += [2 * rows[name].to_numpy(float) / top - 1 for name, top in tops.items()]
    levels = {"protocol_type": "icmp tcp udp", "flag": "OTH REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH"}
    size = len(columns) + len(levels)
    columns += [(rows[name] == level).to_numpy(float) for name, all_ in levels.items() for level in all_.split()]
    X, y = np.clip(np.column_stack(columns), -1, 1) / math.sqrt(size), 2.0 * rows["is_dos"].to_numpy(float) - 1
    yield "kdd 3000", split(X, y, 3000)
    yield "kdd 30000", split(X[10_000:], y[10_000:], 30_000)


def hospitals(names):
    rows = frame("heart_disease.parquet")
    rows = rows[rows["hospital"].isin(names)].sample(frac=1, random_state=1)
    facts = {"age": (20, 100, 55), "sex": (0, 1, 1), "trestbps": (60, 250, 130), "fbs": (0, 1, 0),
             "thalach": (40, 220, 140), "exang": (0, 1, 0), "oldpeak": (-5, 10, 0)}  # fmt: skip
    filled = np.column_stack([rows[name].astype(float).fillna(fact[2]) for name, fact in facts.items()])
    levels = [(rows[name].astype(float).fillna(0) == k) for name, k in (("cp", 1), ("cp", 2), ("cp", 3),
              ("restecg", 1), ("restecg", 2))]  # fmt: skip
    X = np.column_stack([cube(filled, [fact[:2] for fact in facts.values()]), *levels]) / 3
    return X, 2.0 * rows["disease"].to_numpy(float) - 1


def heart(_):
    yield "heart 300", split(*hospitals(["cleveland", "hungarian", "switzerland", "va"]), 300)


def all_sets(loss):
    every = {"logistic": (acs, synthetic, adult_train, kdd, heart), "squared": (acs, synthetic), "svm": (acs, heart)}
    return itertools.chain.from_iterable(source(loss) for source in every[loss])
