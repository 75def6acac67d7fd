"""Where dplr loses: every score of the frontier that something else has better than its default."""

from __future__ import annotations

import math

import pandas as pd

from bench.papers.figure import Figure
from bench.papers.frontier.methods import BETTER, DEFAULT, EXACT, METHODS, PAGE
from bench.papers.frontier.summary import everything
from bench.papers.pages import markdown

# Standard errors of a difference between two of dplr's own mechanisms that are taken for chance.
WIDTH = 3.0


def derived() -> pd.DataFrame:
    """All scores in which a peer's mean is ahead at all, and those in which another mechanism is clearly ahead.

    Peers have few fits, whose errors are hardly known: whatever is ahead is listed, beside the standard error.
    """
    numbers = everything()
    numbers["error"] = numbers["deviation"] / numbers["repeats"] ** 0.5
    keys = ["table", "delta", "eps", "quantity"]
    ours = numbers[numbers["method"] == DEFAULT][[*keys, "mean", "error"]]
    others = numbers[~numbers["method"].isin((DEFAULT, EXACT))]
    both = others.merge(ours, on=keys, suffixes=("", "_ours"))
    both["ahead"] = (both["mean"] - both["mean_ours"]) * both["quantity"].map(BETTER)
    both["standard error"] = (both["error"] ** 2 + both["error_ours"] ** 2).map(math.sqrt)
    own = both["method"].isin(METHODS)
    found = both[(both["ahead"] > 0) & (~own | (both["ahead"] > WIDTH * both["standard error"]))]
    words = {"mean_ours": DEFAULT, "mean": "the other"}
    columns = ["table", "quantity", "delta", "eps", "mean_ours", "method", "mean", "ahead", "standard error"]
    return found[columns].rename(columns=words)


def table(numbers: pd.DataFrame) -> str:
    """The eps of every such score, and its largest lead, a row for each data set, delta and method: peers first."""
    first = "test error or R2"
    kinds = {"error": first, "r2": first, "auc": "AUC", "log_loss": "log-loss"}
    keys = numbers["method"].isin(METHODS), numbers["table"], numbers["delta"].map("{:g}".format), numbers["method"]
    rows = []
    for (_own, name, delta, method), part in numbers.groupby(list(keys), sort=False):
        row = {"table": name, "delta": delta, "ahead": method} | dict.fromkeys(kinds.values(), "")
        for quantity, each in part.groupby("quantity", sort=False):
            levels = ", ".join(map("{:g}".format, sorted(each["eps"])))
            row[kinds[str(quantity)]] = f"{levels}: {each['ahead'].max():.4f}"
        rows.append(row)
    return markdown(pd.DataFrame(sorted(rows, key=lambda row: row["ahead"] in METHODS)))


FIGURE = Figure(
    "frontier/losses", "what beats dplr's default, and by how much", derived=derived, table=table, page=PAGE
)
