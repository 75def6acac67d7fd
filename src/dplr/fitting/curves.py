"""Which numbers of a fit become curves: a function of public facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dplr._kit.validation import sentence
from dplr.bounds.columns import FEWEST_KNOTS, MOST_KNOTS
from dplr.bounds.declared import MAX_FEATURES, Bounds

if TYPE_CHECKING:
    from dplr.fitting.planning import PublicFacts

AUTO = "auto"
# "auto" takes curves from this n eps on, without a delta and with one, and from this many times g k^2, g the declared
# columns and products and k those of them that would bend.
_LEAST_PURE, _LEAST_GAUSSIAN, _PER_COLUMNS = 5_000.0, 3_000.0, 7.0
# How many knots they have, from that many times the least n eps on.
_KNOTS = ((30.0, 24), (3.0, 12), (1.0, 8))


def check_curves(value: Any) -> int | str | None:
    """None, "auto", or a number of knots."""
    if value is None or (isinstance(value, str) and value == AUTO):
        return value
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not FEWEST_KNOTS <= value <= MOST_KNOTS:
        rule = f'must be None, "{AUTO}", or a number of knots from {FEWEST_KNOTS} to {MOST_KNOTS}'
        raise ValueError(sentence("curves", rule, value, "Such as 8; None fits a line."))
    return value


def curved_bounds(facts: PublicFacts, eps: float) -> tuple[Bounds | None, str]:
    """Bounds with the curves that these facts ask for at this eps, and the statement's sentence on the choice."""
    bounds, curves = facts.bounds, check_curves(facts.curves)
    if isinstance(curves, str):
        knots, why = _auto(facts, eps)
        return (bounds if bounds is None or not knots else bounds.with_curves(knots)), f'curves = "{AUTO}": {why}'
    if curves is None:
        return bounds, ""
    if bounds is None or facts.features is not None:
        remedy = "Declare `bounds`: knots lie evenly between them."
        raise ValueError(sentence("curves", "must be None without bounds of columns", curves, remedy))
    bent = bounds.with_curves(curves)
    if not bent.layout.hats:
        rule = "must be None where no declared number measures something"
        remedy = "Flags, levels and squared numbers do not bend; a rate is declared as (0.0, 1.0)."
        raise ValueError(sentence("curves", rule, curves, remedy))
    return bent, ""


def _auto(facts: PublicFacts, eps: float) -> tuple[int, str]:
    """How many knots "auto" takes, 0 for no curves, and the public fact for which it does."""
    bounds, most = facts.bounds, _KNOTS[0][1]
    if bounds is None or facts.features is not None:
        return 0, "none, as no columns are declared"
    if bounds.layout.width + most * len(bounds.columns) > MAX_FEATURES:
        return 0, f"none, as there might be more than {MAX_FEATURES} columns"
    try:
        bent, *_ = [bounds.with_curves(knots) for knots in (FEWEST_KNOTS, *(knots for _, knots in _KNOTS))]
    except ValueError:  # products with more columns, names that are taken, or knots that are too close
        return 0, f"none, as the declared columns cannot have up to {most} knots"
    if bent is bounds:
        return 0, "none, as no declared number measures something"
    if facts.n_rows is None:
        return 0, "none, as the number of rows is private"
    curves, columns = sum(column.kind == "curve" for column in bent.columns), len(bounds.columns) + len(bounds.products)
    least = max(_LEAST_GAUSSIAN if facts.delta > 0 else _LEAST_PURE, _PER_COLUMNS * columns * curves**2)
    size = facts.n_rows * eps
    for times, knots in _KNOTS:
        if size >= times * least:
            beside = f"{knots} knots beside each number that measures something"
            return knots, f"{beside}, as n eps = {size:,.0f} is at least {times * least:,.0f}"
    return 0, f"none, as n eps = {size:,.0f} is below {least:,.0f}"
