"""One table of all data sets: dplr's default, the best of its mechanisms, peers, and no privacy."""

from __future__ import annotations

import pandas as pd

from bench.papers.figure import Figure
from bench.papers.frontier.methods import BETTER, DEFAULT, EXACT, METHODS, PAGE, WORDS, named
from bench.papers.pages import markdown
from bench.papers.run import DOCS

LEVELS = (0.1, 1.0, 5.0)
PARTS = ("adult", "acs_2k", "acs_20k", "acs_200k", "kdd", "heart", "income")


def everything() -> pd.DataFrame:
    """The numbers of all data sets."""
    return pd.concat([named(pd.read_csv(DOCS / f"frontier/{part}.csv")) for part in PARTS], ignore_index=True)


def best(part: pd.DataFrame, quantity: str) -> pd.Series | None:
    """The line with the best mean."""
    return part.loc[(part["mean"] * BETTER[quantity]).idxmax()] if len(part) else None


def derived() -> pd.DataFrame:
    """A line for each data set, delta and eps; what is scored is the error, or R2."""
    numbers = everything()
    lines = []
    for (table, delta, eps), part in numbers[numbers["eps"].isin(LEVELS)].groupby(
        ["table", "delta", "eps"], sort=False
    ):
        quantity = part["quantity"].iloc[0]
        part = part[part["quantity"] == quantity].set_index("method", drop=False)
        exact = numbers[(numbers["table"] == table) & (numbers["method"] == EXACT) & (numbers["quantity"] == quantity)]
        own = best(part[part["method"].isin(METHODS)], quantity)
        line = {"table": table, "score": WORDS[quantity], "delta": delta, "eps": eps, DEFAULT: part["mean"][DEFAULT]}
        line |= {"best of its mechanisms": own["mean"], "which": own["method"]}
        peers = part[~part["method"].isin((*METHODS, DEFAULT))]
        hindsight = peers["method"].str.contains("hindsight")
        for words, chosen in (("peer, usual settings", ~hindsight), ("peer, best in hindsight", hindsight)):
            found = best(peers[chosen], quantity)
            line[words] = None if found is None else found["mean"]
        lines.append(line | {EXACT: exact["mean"].iloc[0]})
    return pd.DataFrame(lines)


def table(numbers: pd.DataFrame) -> str:
    """dplr, the peer as it is used and the peer in hindsight, a row for each data set and delta."""
    shown = [DEFAULT, "peer, usual settings", "peer, best in hindsight"]
    scores = numbers[shown].map(lambda value: "none" if value != value else f"{value:.4f}").agg(" / ".join, axis=1)
    lines = numbers.assign(scores=scores, delta=numbers["delta"].map("{:g}".format))
    rows = []
    for (name, delta), part in lines.groupby(["table", "delta"], sort=False):
        levels = {f"eps {eps:g}": each for eps, each in zip(part["eps"], part["scores"], strict=True)}
        rows.append({"table": name, "delta": delta} | levels | {EXACT: part[EXACT].iloc[0]})
    return markdown(pd.DataFrame(rows))


FIGURE = Figure(
    "frontier/summary", "dplr's default, its best mechanism, peers, no privacy", derived=derived, table=table, page=PAGE
)
