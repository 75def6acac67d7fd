"""`aim="coefficients"`: the mechanism and the options whose coefficients have a table, from public facts alone.

Measured: docs/develop/defaults.md.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any, NoReturn

from dplr._kit.validation import capital, sentence
from dplr.bounds.columns import Bins, Levels
from dplr.bounds.layout import Layout
from dplr.fitting.one_vs_rest import plan_models
from dplr.inference.search import SURE
from dplr.mechanisms import as_mechanism
from dplr.mechanisms.protocol import AIMS, Mechanism, Tabled
from dplr.problem.losses import LOGISTIC, SQUARED, Loss, has_score, model_of, models_with
from dplr.problem.outlook import CURVED, table_noise
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem

COEFFICIENTS = AIMS[1]
_USUAL_DELTA = 1e-6


def choose_table(problem: Problem, classes: Sequence[Any], eps: float, delta: float) -> tuple[Mechanism, str]:
    """Take the mechanism whose intervals are expected to be the narrowest, and say why.

    target                                    takes
    a number                                  fm
    a count, or a robust location             score (delta > 0)
    labels                                    score (delta > 0) or objective with its Hessian: the smaller `expected`
    labels of rows that count differently,    fm: slopes of a linear probability
    or where neither has a plan

    Raises ValueError for models without tables, and for an eps or delta that is out of range.
    """
    if problem.loss == SQUARED:
        return as_mechanism("fm").aimed(problem, ()), "moments have intervals"
    if problem.loss != LOGISTIC:
        _check_loss(problem.loss, delta)
    candidates, faults = [], []
    for name in ("score", "objective") if delta > 0 else ("objective",):
        mechanism = as_mechanism(name).aimed(problem, classes)
        try:
            plan = plan_models(mechanism, problem, eps, delta, classes).model
        except ValueError as fault:
            with contextlib.suppress(ValueError):  # there is a plan at usual ones: the fault is of eps and delta
                plan_models(mechanism, problem, 1.0, _USUAL_DELTA if delta > 0 else 0.0, classes)
                faults.append(fault)  # and not of weights or a number of rows that is private
            continue
        if isinstance(mechanism, Tabled) and not mechanism.lacks_intervals(plan):
            candidates.append((expected(mechanism, plan), mechanism))
    if not candidates and faults:
        raise faults[-1]
    if not candidates:
        return as_mechanism("fm").aimed(problem, classes), "no mechanism has intervals of log odds here"
    if len(candidates) == 1:
        return candidates[0][1], "log odds have intervals" if problem.loss == LOGISTIC else "its scores have intervals"
    return min(candidates, key=lambda pair: pair[0])[1], "its intervals of log odds are expected to be narrower"


def _check_loss(loss: Loss, delta: float) -> None:
    """Refuse a loss without tables, and one that has them with a delta alone."""
    if not has_score(loss):
        with_tables = models_with(lambda other: other == SQUARED or has_score(other))
        _refuse(f'model="{model_of(loss)}"', f"Tables of coefficients need {with_tables}.")
    if delta == 0:
        remedy = 'Give delta, such as 1e-6: only mechanism="score" has a table of this model, and its noise needs one.'
        _refuse(f'model="{model_of(loss)}" and delta=0', remedy)


def _refuse(what: str, remedy: str) -> NoReturn:
    raise ValueError(sentence("aim", f'must be "{AIMS[0]}" with {what}', COEFFICIENTS, remedy))


def expected(mechanism: Tabled, plan: Plan) -> tuple[float, float]:
    """The expected noise of a table, in parts of what drowns it (0 below 1), and a scaled coefficient's deviation.

    Along a direction with information h the deviation w of a coefficient has w^2 h^2 = h + s^2 + q t^2 (z w)^2, with s
    and t the deviations of the noise on the score and on a cell of the Hessian, and z the quantile of the interval.
    """
    geometry, total, noise = plan.problem.geometry, plan.problem.reference_total, mechanism.equation_noise(plan)
    assert noise is not None
    score, cell = noise
    half = geometry.half_width or geometry.radius / math.sqrt(geometry.d)
    information = CURVED * (total or 1.0) * half**2
    drowned = table_noise(plan.problem, cell, SURE)
    if drowned >= 1:
        return drowned, math.inf
    return 0.0, math.sqrt((information + score**2) / (1 - drowned)) / information


def full_factors(layout: Layout | None) -> tuple[str, ...]:
    """Columns of the table with a column for each level, of which there are products.

    In every row their products with another column add up to it: no data tell such coefficients apart.
    """
    if layout is None:
        return ()
    places = sorted({place for product in layout.products for place in product.places})
    columns = [(layout.features[place], layout.columns[place]) for place in places]
    return tuple(
        str(name)
        for name, column in columns
        if isinstance(column, (Bins, Levels)) and column.number is None and column.reference is None
    )


def check_table(mechanism: Mechanism, plan: Plan, layout: Layout | None = None) -> None:
    """Raise ValueError where a release of this plan has no table of coefficients."""
    if full := full_factors(layout):
        remedy = "Their coefficients cannot be told apart, however many rows there are: declare reference= for them."
        _refuse(f"products of {', '.join(full)} without a reference level", remedy)
    if lacking := mechanism.lacks_intervals(plan):
        _refuse(f'mechanism="{mechanism.about.name}"', f"{capital(lacking)}.")
