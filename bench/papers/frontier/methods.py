"""Test error, AUC and log-loss (R2 for numbers) against eps: every mechanism at its defaults, peers, no privacy.

A figure a data set; official test splits, declared bounds. What peers scored lies in docs/papers/frontier/peers.csv,
which `make papers-peers` writes.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

import dplr
from bench.data.tables import Table, table_of
from bench.papers import drawing
from bench.papers.figure import Cell, Figure, Row, first_repeats
from bench.papers.run import DOCS

# Where tables and pictures stand.
PAGE = "trust/accuracy.md"
LEVELS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
DELTA = 1e-6
# Fits at each eps; more where few rows make them cheap, and their errors differ more.
REPEATS = {"ACS 2k": 20, "heart": 40, "ACS income 2k": 20, "ACS 20k": 20, "ACS income 20k": 20}
FEWEST, QUICK_REPEATS = 10, 1
# The tables and the files that they need.
TABLES = {
    "Adult": "adult.parquet",
    "ACS 2k": "acs2024_fm_370k.parquet",
    "ACS 20k": "acs2024_fm_370k.parquet",
    "ACS 200k": "acs2024_fm_370k.parquet",
    "KDD Cup 99": "kddcup99_70k.parquet",
    "heart": "heart_disease.parquet",
    "ACS income 2k": "acs2024_fm_370k.parquet",
    "ACS income 20k": "acs2024_fm_370k.parquet",
    "ACS income 200k": "acs2024_fm_370k.parquet",
}
DEFAULT, EXACT, USUAL, HINDSIGHT = "dplr", "no privacy", ", usual settings", ", best in hindsight"
PURE, APPROXIMATE = ("fm", "objective", "output"), ("fm", "objective", "output", "ngd")
ADASSP = "adassp"
METHODS = ("objective", "ngd", "fm", "output", ADASSP)
PEERS = {"diffprivlib": ("diffprivlib, default", 1.0), "opacus": ("opacus, tutorial's rate", 0.1)}
# What a larger value of a quantity is: better or worse.
BETTER = {"error": -1, "auc": 1, "log_loss": -1, "r2": 1}
WORDS = {"error": "test error", "auc": "AUC", "log_loss": "log-loss", "r2": "R2 on test rows"}


def scores(est: Any, table: Table) -> dict[str, float]:
    """What a fitted model does on the rows that no fit has."""
    if table.model == "linear":
        return {"r2": float(est.score(table.held_X, table.held_y))}
    chances = est.predict_proba(table.held_X)[:, 1]
    said = (chances > 0.5) != (table.held_y > 0)
    return {
        "error": float(np.mean(said)),
        "auc": float(roc_auc_score(table.held_y, chances)),
        "log_loss": float(log_loss(table.held_y, np.clip(chances, 1e-15, 1 - 1e-15))),
    }


def cells(names: Sequence[str]) -> list[Cell]:
    """A repeat of a method on a table, at all eps; once without privacy."""
    found: list[Cell] = []
    for name in names:
        found.append({"table": name, "method": EXACT, "delta": 0.0, "repeat": 0})
        repeats = range(REPEATS.get(name, FEWEST))
        for delta, methods in ((0.0, PURE), (DELTA, APPROXIMATE)):
            linear = delta and name.startswith("ACS income")
            for method in (*methods, *((ADASSP,) if linear else ())):
                found += [{"table": name, "method": method, "delta": delta, "repeat": k} for k in repeats]
    return found


def measure(cell: Cell, seed: int) -> list[Row]:
    """All scores of one method at all eps; those of the default are the method's that it takes."""
    table = table_of(cell["table"], os.environ["DPLR_DATA"])
    facts = {"model": table.model, "bounds": table.bounds, "rng": seed}
    if cell["method"] == EXACT:
        exact = "none" if table.model == "logistic" else "fm"  # the moments without noise: least squares
        est = dplr.fit(table.X, table.y, eps=math.inf, mechanism=exact, **facts)
        return _rows(scores(est, table), math.inf)
    spec: Any = cell["method"]
    if spec == ADASSP:
        spec = dplr.FunctionalMechanism(unbounded="adassp", noise="gaussian")
    fits = dplr.fit_many(table.X, table.y, eps=LEVELS, delta=cell["delta"], mechanism=spec, **facts)
    rows: list[Row] = []
    for eps, est in zip(LEVELS, fits, strict=True):
        found = _rows(scores(est, table), eps)
        rows += found
        if cell["method"] == taken(cell["table"], eps, cell["delta"]):
            rows += [dict(row) | {"by": DEFAULT} for row in found]
    return rows


@functools.cache
def taken(name: str, eps: float, delta: float) -> str:
    """The mechanism that the default takes."""
    table = table_of(name, os.environ["DPLR_DATA"])
    facts = {"model": table.model, "bounds": table.bounds, "eps": eps, "delta": delta}
    return str(dplr.plan(n_rows=len(table.y), **facts).statement.mechanism)


def _rows(found: dict[str, float], eps: float) -> list[Row]:
    return [{"eps": eps, "by": "", "quantity": name, "value": value} for name, value in found.items()]


def named(numbers: pd.DataFrame) -> pd.DataFrame:
    """The numbers of dplr with one column `method`, and those of its peers on the same tables beside them."""
    ours = numbers.assign(method=numbers["method"].where(numbers["by"].isna(), DEFAULT)).drop(columns="by")
    theirs = peers()
    theirs = theirs[theirs["table"].isin(set(ours["table"]))]
    return pd.concat([ours, theirs], ignore_index=True) if len(theirs) else ours


def peers() -> pd.DataFrame:
    """What peers scored, at their usual setting and at the best one for each table, eps and quantity in hindsight."""
    path = DOCS / "frontier/peers.csv"
    if not path.exists():
        return pd.DataFrame(columns=["table", "method", "delta", "eps", "quantity", "mean", "deviation", "repeats"])
    lines = pd.read_csv(path)
    parts = []
    for peer, (name, setting) in PEERS.items():
        part = lines[lines["peer"] == peer]
        if part.empty:
            continue
        settings = part.groupby("table")["setting"].transform("nunique")
        parts.append(part[(part["setting"] == setting) | (settings == 1)].assign(method=name))
        part = part[settings > 1]
        signed = part["mean"] * part["quantity"].map(BETTER)
        best = signed.groupby([part["table"], part["eps"], part["quantity"]]).idxmax()
        parts.append(part.loc[best].assign(method=f"{peer}{HINDSIGHT}"))
    return pd.concat(parts).drop(columns=["peer", "setting"])


def order() -> tuple[str, ...]:
    """All methods, in the order of their colours."""
    return (
        *METHODS,
        "diffprivlib, default",
        "diffprivlib" + HINDSIGHT,
        "opacus, tutorial's rate",
        "opacus" + HINDSIGHT,
    )


def draw(numbers: pd.DataFrame) -> Any:
    """A row for each quantity or table, a column for each delta."""
    numbers = named(numbers)
    panels = [(name, quantity) for name in numbers["table"].unique() for quantity in _quantities(numbers, name)]
    picture, axes = drawing.panels(2 * len(panels))
    for position, (name, quantity) in enumerate(panels):
        part = numbers[(numbers["table"] == name) & (numbers["quantity"] == quantity)]
        exact = float(part.loc[part["method"] == EXACT, "mean"].iloc[0])
        for ax, delta in zip(axes[2 * position : 2 * position + 2], (0.0, DELTA), strict=True):
            shown = part[(part["delta"] == delta) & (part["method"] != EXACT) & (part["method"] != DEFAULT)]
            drawing.curves(ax, shown, "eps", "method", order())
            ax.axhline(exact, color="#7f7f7f", linestyle="--", linewidth=1, label=EXACT)
            ax.set(xscale="log", xlabel="eps", ylabel=WORDS[quantity], title=f"{name}, delta = {delta:g}")
            ax.set_ylim(*_limits(shown["mean"], exact, quantity))
    return drawing.finish(picture, axes)


def _quantities(numbers: pd.DataFrame, name: str) -> list[str]:
    return list(numbers.loc[numbers["table"] == name, "quantity"].unique())


def _limits(values: pd.Series, exact: float, quantity: str) -> tuple[float, float]:
    """The part of the axis that can be told apart: what is far worse than guessing is outside."""
    if quantity == "r2":
        return -0.25, exact + 0.03
    lower, upper = {"error": (exact, 0.55), "auc": (0.4, exact), "log_loss": (exact, 1.5)}[quantity]
    pad = 0.03 * (upper - lower)
    reach = float(values.max()) if quantity != "auc" else upper
    return lower - pad, min(upper, reach) + pad


def figure(name: str, *tables: str) -> Figure:
    """The figure of some tables."""
    return Figure(
        name=f"frontier/{name}",
        title=f"scores against eps: {', '.join(tables)}",
        cells=lambda: cells(tables),
        measure=measure,
        draw=draw,
        page=PAGE,
        quick=first_repeats(QUICK_REPEATS),
        needs=tuple(sorted({TABLES[table] for table in tables})),
    )
