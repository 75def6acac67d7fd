"""Checks of what a fit promises: a delta that is too large is refused, and of an eps that says little users are warned."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dplr._kit.validation import check_flag, sentence
from dplr._kit.warnings import PrivacyWarning, warn
from dplr.fitting.planning import PublicFacts
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.unit import ROW, Unit

# Above it a guarantee says little, and the user is told; and where e^eps is no float64.
_LITTLE, _OVERFLOW = 10.0, 700.0
_LARGE_DELTA = 1e-3  # of tables whose number of records is private


def check_promise(levels: Sequence[float], facts: PublicFacts, large_delta: bool, strict: bool = False) -> None:
    """Check what a fit promises: see `check_loss`. A strict ledger counts no persons."""
    counted = not strict or facts.unit.person is None
    check_loss(levels, facts.delta, facts.neighbouring, facts.n_rows, large_delta, facts.unit, counted)


def check_loss(
    levels: Sequence[float],
    delta: float,
    neighbouring: str,
    n_rows: int | None,
    large_delta: bool,
    unit: Unit = ROW,
    counted: bool = True,
) -> None:
    """Refuse a large delta, with which whole records could be published, unless it is allowed; warn of a large eps.

    Where the number of units is private, or was not counted, what was declared must not make a delta look small.
    """
    public = neighbouring == Neighbouring.REPLACE_ONE and counted
    limit = min(1.0 if n_rows is None else 1 / n_rows, 1.0 if public else _LARGE_DELTA)
    if not check_flag("large_delta", large_delta) and delta >= limit:
        rule = f"must be below 1/n = {limit:.3g}" if n_rows and limit == 1 / n_rows else f"must be below {limit:g}"
        harm = f"At this delta a {unit.one} could be published whole."
        remedy = f"{harm} Give a far smaller one, or say large_delta=True too."
        raise ValueError(sentence("delta", rule, delta, remedy))
    largest = max((eps for eps in levels if not math.isinf(eps)), default=0.0)
    if largest > _LITTLE:
        factor = f"{math.exp(largest):.1e}" if largest < _OVERFLOW else f"e^{largest:g}"
        text = f"eps = {largest:g} promises little: one {unit.one} may make what is released {factor} times as likely"
        warn(f"{text}. 0.1 to 1 is usual.", PrivacyWarning)
