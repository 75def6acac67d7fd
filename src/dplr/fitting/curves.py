"""Which numbers of a fit become curves: a function of public facts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dplr._kit.validation import sentence
from dplr.bounds.curves import FEWEST_KNOTS, MOST_KNOTS
from dplr.bounds.declared import MAX_FEATURES, Bounds

if TYPE_CHECKING:
    from dplr.fitting.planning import PublicFacts

AUTO = "auto"
KNOTS = 8  # of a curve that "auto" takes
# "auto" takes curves from this n eps on, without a delta and with one (decision record 54).
_LEAST_PURE, _LEAST_GAUSSIAN = 10_000.0, 1_000.0


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
        return bounds.with_curves(curves), ""
    if curves is None:
        return bounds, ""
    reason = _against(facts, eps)
    if reason:
        return bounds, f'curves = "{AUTO}": none, as {reason}'
    assert bounds is not None
    assert facts.n_rows is not None
    least = _least(facts)
    return bounds.with_curves(KNOTS), (
        f'curves = "{AUTO}": {KNOTS} knots beside each number that measures something, as n eps = '
        f"{facts.n_rows * eps:,.0f} is at least {least:,.0f}"
    )


def _least(facts: PublicFacts) -> float:
    return _LEAST_GAUSSIAN if facts.delta > 0 else _LEAST_PURE


def _against(facts: PublicFacts, eps: float) -> str:
    """The public fact for which "auto" takes no curves; empty where it takes them."""
    bounds = facts.bounds
    if bounds is None or facts.features is not None:
        return "no columns are declared"
    curved = bounds.with_curves(KNOTS)
    if curved is bounds:
        return "no declared number measures something"
    if curved.layout.width > MAX_FEATURES:
        return f"there would be more than {MAX_FEATURES} columns"
    if facts.n_rows is None:
        return "the number of rows is private"
    least = _least(facts)
    if not math.isinf(eps) and facts.n_rows * eps < least:
        return f"n eps = {facts.n_rows * eps:,.0f} is below {least:,.0f}"
    return ""
