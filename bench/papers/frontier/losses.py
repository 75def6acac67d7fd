"""Where dplr loses: every score of the frontier that something else has better than its default."""

from __future__ import annotations

import math

import pandas as pd

from bench.papers.figure import Figure
from bench.papers.frontier.methods import BETTER, DEFAULT, EXACT, METHODS, WORDS
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
    """The same as Markdown: peers first."""
    shown = numbers.assign(quantity=numbers["quantity"].map(WORDS))
    shown = shown.assign(delta=shown["delta"].map("{:g}".format), eps=shown["eps"].map("{:g}".format))
    own = shown["method"].isin(METHODS)
    parts = (("peers", shown[~own]), ("other mechanisms of dplr, and AdaSSP", shown[own]))
    return "\n\n".join(f"{words}:\n\n{markdown(part) if len(part) else 'None.'}" for words, part in parts)


FIGURE = Figure("frontier/losses", "what beats dplr's default, and by how much", derived=derived, table=table)
