"""The findings of `dplr.check` on ids and weights: counts alone, never an id."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from dplr._kit.warnings import DataWarning
from dplr.fitting.intake import RawRows
from dplr.rows import RowWeights, as_target, look_alikes, row_weights


class UnitFindings(NamedTuple):
    """Sentences about ids and weights: facts, what a fit would refuse, and doubts; and the number of units."""

    facts: list[str]
    refused: list[str]
    doubts: list[str]
    units: int


def unit_findings(data: RawRows, n: int) -> UnitFindings:
    """The findings on ids and on weights, which do not depend on each other."""
    findings = UnitFindings([], [], [], n)
    if data.ids is not None and (counted := _counted(findings, n, data, ids=True)) is not None:
        assert counted.persons is not None
        rows = np.bincount(counted.persons)
        findings.facts.append(
            f"{counted.units} persons, with {np.median(rows):g} rows at the median and {rows.max()} at most"
        )
        _add_look_alikes(findings, data.ids)
        findings = findings._replace(units=counted.units)
    if data.weights is not None and _counted(findings, n, data, ids=False) is not None:
        mean, cap = float(as_target(data.weights).as_float().mean()), data.unit.weight_max or 0.0
        findings.facts.append(f"weights of {mean:g} in the mean, {mean / cap:.0%} of the cap {cap:g}")
    return findings


def _counted(findings: UnitFindings, n: int, data: RawRows, *, ids: bool) -> RowWeights | None:
    """The weights of rows by ids, or by weights; adds errors and warnings of a fit to the findings."""
    with warnings.catch_warnings(record=True, action="always", category=DataWarning) as records:
        try:
            if ids:
                return row_weights(n, data.unit, data.ids)
            return row_weights(n, data.unit, sample_weight=data.weights)
        except (ValueError, TypeError) as error:
            findings.refused.append(str(error))
            return None
        finally:
            findings.doubts.extend(record.message.fact for record in records if isinstance(record.message, DataWarning))


def _add_look_alikes(findings: UnitFindings, ids: Any) -> None:
    alike = look_alikes(ids)
    if alike["any"]:
        kinds = " or ".join(kind for kind, count in alike.items() if count and kind != "any") or "how they are written"
        likeness = f"{alike['any']} ids differ from another one in nothing but {kinds}, and count as other persons"
        findings.doubts.append(f"person: {likeness}. Is one person spelt in two ways?")
