"""Coefficients as people are shown them: contrasts to reference levels, each with how far off it may be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.plots._view import Model, printable
from dplr.privacy.estimand import Estimand
from dplr.privacy.statement import MOVED
from dplr.summary.columns import INTERCEPT, compared_with
from dplr.summary.contrasts import Contrasts, contrasts, deviations
from dplr.summary.subject import curves_note
from dplr.summary.table import Line, Summary

LARGEST_TABLE = 50  # columns of a model whose intervals are computed for a picture: seconds

Values = NDArray[np.float64]
_SIDES = np.array([-1.0, 1.0])


@dataclass(frozen=True, eq=False, slots=True)
class Effects:
    """A change by one unit of each column, the others unchanged; of a level, instead of its reference.

    Attributes
    ----------
    names : (m,) of the columns, without the intercept.
    places : (m,) of these columns among those of the model.
    values : (models, m); nan where the released numbers cannot say.
    against : (m,) the reference level that a level is compared with; empty for other columns.
    intercept : (models,), at the reference levels.
    reach : (models, m, 2) ends of the bars; infinite where the released numbers cannot say. None for no bars.
    intercept_reach : (models, 2) those of the intercept; None for no bars.
    estimand : what the values are a change of; None where nobody says.
    table : the regression table that values and ends are from; None where they are the model's own.
    lacking : why there is no such table; empty where there is one.
    curves : what the coefficients of curves say; empty where there are none, or a table that says it.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    against: tuple[str, ...]
    values: Values
    intercept: Values
    reach: Values | None
    intercept_reach: Values | None
    estimand: Estimand | None
    table: Summary | None
    lacking: str
    curves: str = ""

    @property
    def kind(self) -> str:
        """Of the bars: `"intervals"`, of the table; `"noise"`, two deviations to either side; empty for none."""
        if self.table is not None:
            return "intervals"
        return "" if self.reach is None else "noise"

    def order(self, widths: Values) -> list[int]:
        """Positions of the columns, the middle of the bar that is largest over half of it first, the unknown ones last.

        Without bars, and without noise, the largest effect of steps of these widths.
        """
        keys = [np.abs(self.values * widths[list(self.places)])]
        if self.reach is not None:
            low, high = np.where(np.isfinite(self.reach), self.reach, math.nan).transpose(2, 0, 1)
            width = np.where(high == low, math.nan, high - low)
            keys.append(np.where(high == low, math.inf, np.abs(low + high) / width))
        return [int(place) for place in np.lexsort([-np.where(np.isnan(key), -1.0, key).max(axis=0) for key in keys])]


def read_effects(est: Any, model: Model) -> Effects:
    """The estimates of the regression table, where the release allows one that says anything, or else `coef_`."""
    table, lacking = _table(est, model)
    if table is not None:
        return _of_table(table, model)
    model_contrasts = contrasts(model.names, model.coef, model.intercept, model.prep)
    reach = intercept_reach = None
    if model.deviation is not None and model.prep is not None:
        noise, intercept_noise = deviations(model.names, model.deviation, model.prep)
        reach = model_contrasts.coef[:, :, None] + 2 * noise[:, None] * _SIDES
        if model.statement is None or MOVED not in model.statement.solution:
            intercept_reach = model_contrasts.intercept[:, None] + 2 * intercept_noise * _SIDES
    return Effects(
        names=model_contrasts.names,
        places=model_contrasts.positions,
        against=_against(model, model_contrasts),
        values=model_contrasts.coef,
        intercept=model_contrasts.intercept,
        reach=reach,
        intercept_reach=intercept_reach,
        estimand=model.estimand,
        table=None,
        lacking=lacking,
        curves=_curves(model, model_contrasts),
    )


def _curves(model: Model, model_contrasts: Contrasts) -> str:
    """The meaning of coefficients of curves in words; empty where there are none."""
    layout = None if model.prep is None else model.prep.layout
    return "" if layout is None else curves_note(layout, model_contrasts.names, model_contrasts.references)


def _against(model: Model, model_contrasts: Contrasts) -> tuple[str, ...]:
    """The reference level that each level is compared with; empty for other columns."""
    layout = None if model.prep is None else model.prep.layout
    if layout is None or not model_contrasts.references:
        return ("",) * len(model_contrasts.names)
    return tuple(compared_with(layout, model_contrasts.references, model_contrasts.positions))


def _table(est: Any, model: Model) -> tuple[Summary | None, str]:
    """The regression table of a model, and else why there is none."""
    if not hasattr(est, "summary"):
        return None, "This model has no confidence intervals."
    record = getattr(est, "_record", None)
    lacking = "" if record is None else record.mechanism.lacks_intervals(record.plan)
    if len(model.names) > LARGEST_TABLE and not lacking:
        return None, f"Confidence intervals of more than {LARGEST_TABLE} columns are in the regression table alone."
    table = est.summary()
    if table.obstacle:
        return None, printable(f"There are no confidence intervals: {table.obstacle}.")
    if not any(line.bounded for line in table.lines):
        return None, "The released numbers bound none of the coefficients, so there are no confidence intervals."
    return table, ""


def _of_table(table: Summary, model: Model) -> Effects:
    labels = list(dict.fromkeys(line.label for line in table.lines))
    groups = [[line for line in table.lines if line.label == label and line.name != INTERCEPT] for label in labels]
    intercepts = [line for line in table.lines if line.name == INTERCEPT]
    names = tuple(line.name for line in groups[0])
    positions = {name: position for position, name in enumerate(model.names)}
    places = tuple(positions[name] for name in names)
    return Effects(
        names=names,
        places=places,
        against=tuple(line.reference for line in groups[0]),
        values=np.array([[_estimate(line) for line in group] for group in groups]),
        intercept=np.array([_estimate(line) for line in intercepts]) if intercepts else np.full(len(labels), math.nan),
        reach=np.array([[(line.low, line.high) for line in group] for group in groups]),
        intercept_reach=np.array([(line.low, line.high) for line in intercepts]) if intercepts else None,
        estimand=table.estimand,
        table=table,
        lacking="",
    )


def _estimate(line: Line) -> float:
    return line.estimate if line.bounded else math.nan
