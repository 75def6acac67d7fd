"""Where dplr loses: every score of the frontier that something else has better than its default."""

from __future__ import annotations

import math

import pandas as pd

from bench.papers.figure import Figure
from bench.papers.frontier.methods import BETTER, DEFAULT, EXACT, WORDS
from bench.papers.frontier.summary import everything
from bench.papers.pages import markdown

# Standard errors of a difference that are taken for chance.
WIDTH = 3.0


def derived() -> pd.DataFrame:
    """Everything that beats the default by more than three standard errors of the difference."""
    numbers = everything()
    numbers["error"] = numbers["deviation"] / numbers["repeats"] ** 0.5
    keys = ["table", "delta", "eps", "quantity"]
    ours = numbers[numbers["method"] == DEFAULT][[*keys, "mean", "error"]]
    others = numbers[~numbers["method"].isin((DEFAULT, EXACT))]
    both = others.merge(ours, on=keys, suffixes=("", "_ours"))
    both["ahead"] = (both["mean"] - both["mean_ours"]) * both["quantity"].map(BETTER)
    spread = (both["error"] ** 2 + both["error_ours"] ** 2).map(math.sqrt)
    found = both[both["ahead"] > WIDTH * spread]
    words = {"mean_ours": DEFAULT, "mean": "the other"}
    return found[["table", "quantity", "delta", "eps", "mean_ours", "method", "mean", "ahead"]].rename(columns=words)


def table(numbers: pd.DataFrame) -> str:
    """The same as Markdown."""
    if numbers.empty:
        return "None."
    shown = numbers.assign(quantity=numbers["quantity"].map(WORDS))
    return markdown(shown.assign(delta=shown["delta"].map("{:g}".format), eps=shown["eps"].map("{:g}".format)))


FIGURE = Figure("frontier/losses", "what beats dplr's default, and by how much", derived=derived, table=table)
