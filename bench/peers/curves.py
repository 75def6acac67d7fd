"""Curves, lines and DP-EBM on the tables of the frontier: official test splits, declared bounds (an hour).

    DPLR_DATA=<folder> python -m bench.peers.curves ours [TABLE ...]
    DPLR_DATA=<folder> python -m bench.peers.curves ebm PYTHON [TABLE ...]
    python -m bench.peers.curves page

Writes docs/papers/frontier/curves.csv: error of labels, R2 of numbers; mean, standard error and fits of each cell.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd

import dplr
from bench.data.tables import Table, table_of
from bench.papers.frontier.methods import TABLES
from dplr.bounds.columns import Levels

OUT = pathlib.Path("docs/papers/frontier/curves.csv")
LEVELS, DELTAS = (0.1, 0.5, 1.0, 3.0, 10.0), (0.0, 1e-6)
FITS, FITS_OF_MANY_ROWS, MANY = 20, 10, 100_000
METHODS = {"line": None, "curves": 8, "curves, auto": "auto"}
CELL = ["table", "model", "method", "delta", "eps"]


def ours(*names: str) -> pd.DataFrame:
    """Scores of dplr with all defaults, with lines and with curves."""
    lines = []
    for name in names or TABLES:
        table = table_of(name, os.environ["DPLR_DATA"])
        fits = FITS if len(table.X) < MANY else FITS_OF_MANY_ROWS
        for method, curves in METHODS.items():
            for delta in DELTAS:
                for eps in LEVELS:
                    values = scores(table, curves, eps, delta, fits)
                    cell = dict(zip(CELL, (name, table.model, method, delta, eps), strict=True))
                    lines += [cell | {"value": value} for value in values]
        print(name, flush=True)
    return summary(pd.DataFrame(lines))


def scores(table: Table, curves: int | str | None, eps: float, delta: float, fits: int) -> np.ndarray:
    """Errors of labels, R2 of numbers."""
    every = dplr.fit_many(
        table.X, table.y, model=table.model, eps=[eps], delta=delta, repeats=fits, bounds=table.bounds, curves=curves
    )
    values = np.array([est.score(table.held_X, table.held_y) for est in every])
    return values if table.model == "linear" else 1 - values


def ebm(python: str, *names: str) -> pd.DataFrame:
    """Scores of DP-EBM, with its defaults and with the best of its settings in hindsight."""
    worker = pathlib.Path(__file__).with_name("ebm_worker.py")
    models, lines = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name in names or TABLES:
            table = table_of(name, os.environ["DPLR_DATA"])
            models[name] = table.model
            write(table, pathlib.Path(folder))
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        with subprocess.Popen([python, worker, folder], stdout=subprocess.PIPE, text=True, env=environment) as process:
            for text in process.stdout:
                line = json.loads(text)
                print(*line.values(), flush=True)
                lines.append(line | {"model": models[line["table"]], "delta": 1e-6, "value": line["score"]})
    values = pd.DataFrame(lines)
    default = values[values["setting"] == values["setting"].iloc[0]].assign(method="DP-EBM, default")
    means = values.groupby(["table", "model", "eps", "setting"], sort=False)["value"].mean().reset_index()
    means["better"] = means["value"].where(means["model"] == "linear", -means["value"])
    best = means.loc[means.groupby(["table", "eps"], sort=False)["better"].idxmax(), ["table", "eps", "setting"]]
    hindsight = values.merge(best).assign(method="DP-EBM, best of six")
    return summary(pd.concat([default, hindsight]))


def write(table: Table, folder: pathlib.Path) -> None:
    """The table as DP-EBM reads it: transformed numbers with their bounds, levels as text."""
    layout = table.bounds.for_columns(list(table.bounds.names) if table.bounds.names else None, np.shape(table.X)[1])
    known: dict[str, object] = {}
    for part, X, y in (("train", table.X, table.y), ("test", table.held_X, table.held_y)):
        frame = pd.DataFrame({})
        for place, (name, column) in enumerate(zip(layout.features, layout.columns, strict=True)):
            values = X[name] if layout.named else pd.Series(np.asarray(X)[:, place])
            if isinstance(column, Levels):
                frame[name], known[name] = values.astype(str).to_numpy(), [str(level) for level in column.levels]
                known[name] = {"levels": known[name]}
            else:
                low, high = column.range
                frame[name] = np.clip(column.transformed(values.to_numpy(float)), low, high)
                known[name] = [low, high]
        frame["target"] = np.asarray(y, float)
        frame.to_parquet(folder / f"{table.name} {part}.parquet")
    target = table.bounds.target_pair() if table.model == "linear" else None
    (folder / f"{table.name}.json").write_text(json.dumps({"model": table.model, "columns": known, "target": target}))


def summary(values: pd.DataFrame) -> pd.DataFrame:
    """Mean, standard error and number of fits of each cell."""
    groups = values.groupby(CELL, sort=False)["value"]
    return groups.agg(mean="mean", standard_error=lambda v: v.std(ddof=1) / len(v) ** 0.5, fits="count").reset_index()


def page() -> str:
    """The tables of docs/trust/accuracy.md: every cell, and those in which DP-EBM is ahead of curves."""
    cells = pd.read_csv(OUT).set_index(CELL)["mean"]
    head = "| " + " | ".join(["table", "", *(f"eps {eps:g}" for eps in LEVELS)]) + " |"
    lines, lost = [head, "|---" * (2 + len(LEVELS)) + "|"], []
    shown = [(method, delta) for delta in DELTAS for method in ("line", "curves, auto")]
    shown += [("DP-EBM, default", 1e-6), ("DP-EBM, best of six", 1e-6)]
    for name in TABLES:
        model = next(cell[1] for cell in cells.index if cell[0] == name)
        for method, delta in shown:
            values = [cells[name, model, method, delta, eps] for eps in LEVELS]
            named = f"{method}, delta = {delta:g}" if "EBM" not in method else method
            lines.append(f"| {name} | {named} | " + " | ".join(f"{value:.4f}" for value in values) + " |")
        for eps in LEVELS:
            ours, theirs = (cells[name, model, method, 1e-6, eps] for method in ("curves, auto", "DP-EBM, best of six"))
            if (theirs > ours) == (model == "linear"):
                lost.append(f"| {name} | {eps:g} | {ours:.4f} | {theirs:.4f} |")
    lost = ["| table | eps | curves, auto | DP-EBM, best of six |", "|---|---|---|---|", *lost]
    return "\n".join([*lines, "", *lost])


def main(which: str, *rest: str) -> None:
    warnings.simplefilter("ignore")
    if which == "page":
        print(page())
        return
    lines = ours(*rest) if which == "ours" else ebm(*rest)
    if OUT.exists():
        old = pd.read_csv(OUT)
        same = old["method"].isin(set(lines["method"])) & old["table"].isin(set(lines["table"]))
        lines = pd.concat([old[~same], lines])
    lines.to_csv(OUT, index=False, float_format="%.5g", lineterminator="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
