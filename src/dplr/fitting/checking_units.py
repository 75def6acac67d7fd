"""What `dplr.check` finds of ids and weights: counts alone, never an id."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from dplr._warnings import DataWarning
from dplr.fitting.given import Given
from dplr.rows import RowWeights, as_target, look_alikes, row_weights


class UnitFindings(NamedTuple):
    """What ids and weights are, what a fit would refuse of them, and what looks wrong: a sentence each; and how many
    units there are.
    """

    seen: list[str]
    refused: list[str]
    doubts: list[str]
    units: int


def unit_findings(given: Given, n: int) -> UnitFindings:
    """Ids and weights, each judged apart from the other."""
    found = UnitFindings([], [], [], n)
    if given.ids is not None and (counted := _counted(found, n, given, ids=True)) is not None:
        assert counted.persons is not None
        rows = np.bincount(counted.persons)
        found.seen.append(
            f"{counted.units} persons, with {np.median(rows):g} rows at the median and {rows.max()} at most"
        )
        _add_look_alikes(found, given.ids)
        found = found._replace(units=counted.units)
    if given.weights is not None and _counted(found, n, given, ids=False) is not None:
        mean, cap = float(as_target(given.weights).as_float().mean()), given.unit.weight_max or 0.0
        found.seen.append(f"weights of {mean:g} in the mean, {mean / cap:.0%} of the cap {cap:g}")
    return found


def _counted(found: UnitFindings, n: int, given: Given, *, ids: bool) -> RowWeights | None:
    """The weights of rows by ids, or by weights; what a fit would refuse, and tell the data holder, is noted."""
    with warnings.catch_warnings(record=True, action="always", category=DataWarning) as told:
        try:
            if ids:
                return row_weights(n, given.ids, given.unit.rows_per_person, None, None, None, strict=False)
            return row_weights(n, None, 1, given.weights, given.unit.weight_max, None, strict=False)
        except (ValueError, TypeError) as error:
            found.refused.append(str(error))
            return None
        finally:
            found.doubts.extend(str(each.message).partition(" (For the data holder")[0] for each in told)


def _add_look_alikes(found: UnitFindings, ids: Any) -> None:
    alike = look_alikes(ids)
    if alike["any"]:
        kinds = " or ".join(kind for kind, count in alike.items() if count and kind != "any") or "how they are written"
        said = f"{alike['any']} ids differ from another one in nothing but {kinds}, and count as other persons"
        found.doubts.append(f"person: {said}. Is one person spelt in two ways?")
