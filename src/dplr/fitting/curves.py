"""Which numbers of a fit become curves: a function of public facts."""

from __future__ import annotations

import math
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
    if isinstance(curves, int):
        if bounds is None or facts.features is not None:
            remedy = "Declare `bounds`: knots lie evenly between them."
            raise ValueError(sentence("curves", "must be None without bounds of columns", curves, remedy))
        bent = bounds.with_curves(curves)
        if not bent.layout.hats:
            rule = "must be None where no declared number measures something"
            remedy = "Flags, levels and squared numbers do not bend; a rate is declared as (0.0, 1.0)."
            raise ValueError(sentence("curves", rule, curves, remedy))
        return bent, ""
    if curves is None:
        return bounds, ""
    reason = _against(facts, eps)
    if reason:
        return bounds, f'curves = "{AUTO}": none, as {reason}'
    assert bounds is not None
    assert facts.n_rows is not None
    size, least = facts.n_rows * eps, _least(facts, bounds)
    start, knots = next((times * least, knots) for times, knots in _KNOTS if size >= times * least)
    return bounds.with_curves(knots), (
        f'curves = "{AUTO}": {knots} knots beside each number that measures something, as n eps = {size:,.0f} is at '
        f"least {start:,.0f}"
    )


def _least(facts: PublicFacts, bounds: Bounds) -> float:
    """The least n eps at which curves pay."""
    bent = sum(column.kind == "curve" for column in bounds.with_curves(FEWEST_KNOTS).columns)
    columns = len(bounds.columns) + len(bounds.products)
    return max(_LEAST_GAUSSIAN if facts.delta > 0 else _LEAST_PURE, _PER_COLUMNS * columns * bent**2)


def _against(facts: PublicFacts, eps: float) -> str:
    """The public fact for which "auto" takes no curves; empty where it takes them."""
    bounds = facts.bounds
    if bounds is None or facts.features is not None:
        return "no columns are declared"
    most = _KNOTS[0][1]
    if bounds.layout.width + most * len(bounds.columns) > MAX_FEATURES:
        return f"there might be more than {MAX_FEATURES} columns"
    try:
        every = [bounds.with_curves(knots) for knots in (FEWEST_KNOTS, *(knots for _, knots in _KNOTS))]
        if every[0] is bounds:
            return "no declared number measures something"
    except ValueError:  # products with more columns, names that are taken, or knots that are too close
        return f"the declared columns cannot have up to {most} knots"
    if facts.n_rows is None:
        return "the number of rows is private"
    least = _least(facts, bounds)
    if not math.isinf(eps) and facts.n_rows * eps < least:
        return f"n eps = {facts.n_rows * eps:,.0f} is below {least:,.0f}"
    return ""
