"""Every mechanism at every eps, delta and number of rows: what is proved, and what a simulation says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dplr._kit.progress import Track, silent
from dplr._kit.validation import check_count, check_delta, check_eps, sentence
from dplr.fitting.planning import PublicFacts, check_promise
from dplr.mechanisms import SHORTHANDS
from dplr.mechanisms.automatic import AUTO
from dplr.planner.assumptions import Assumptions
from dplr.planner.curve import ROOT_SQUARES, WRONG, Curve
from dplr.planner.points import Point
from dplr.planner.simulation import Reference, Simulator, TableResult, simulator
from dplr.planner.widths import Measure
from dplr.problem.losses import LOSSES, Loss
from dplr.problem.plan import Plan
from dplr.utility._planned import excess_risk_of

LEVELS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_LEAST_ROWS, _STEP = 50, 4  # numbers of rows beside the one that is asked for
_LARGEST_DELTA = 1e-6
_MOST_POINTS = 400  # of eps, delta and rows: a page with more of them is hard to read, and slow to make

ReleasePlan = tuple[float, Plan, bool]


def levels_of(eps: Any, intervals: bool = False) -> list[float]:
    """The losses of a curve: those of a list, or usual ones and the one that is asked for; of intervals it alone."""
    if eps is None:
        if intervals:
            raise ValueError(sentence("eps", "is required with intervals", None))
        return list(LEVELS)
    beside = () if intervals else LEVELS
    levels = sorted({check_eps(level) for level in (eps if _several(eps) else (*beside, eps))})
    if levels and math.isinf(levels[-1]):
        raise ValueError(sentence("eps", "must be finite for a curve", eps, "It has the error without privacy anyway."))
    return levels


def counts_of(n_rows: Any, intervals: bool = False) -> list[int]:
    """Numbers of rows: those of a list, or the one that is asked for; without intervals a quarter and four times it."""
    if n_rows is None:
        raise ValueError(
            sentence("n_rows", "is required for a curve", None, "Give a public number, or a list of them.")
        )
    if _several(n_rows):
        return sorted({check_count("n_rows", count) for count in n_rows})
    count = check_count("n_rows", n_rows)
    if intervals:
        return [count]
    return sorted({max(count // _STEP, min(count, _LEAST_ROWS)), count, count * _STEP})


def deltas_of(delta: Any, largest: int, intervals: bool = False) -> list[float]:
    """The deltas of a list, or 0 and the one that is asked for, or far below 1 / (number of rows)."""
    if _several(delta) or intervals:
        return sorted({check_delta(value) for value in (delta if _several(delta) else [delta])})
    default = min(_LARGEST_DELTA, 10.0 ** -(math.ceil(math.log10(largest)) + 1))
    return sorted({0.0, check_delta(delta) or default})


def curve_of(
    facts: PublicFacts,
    levels: Sequence[float],
    deltas: Sequence[float],
    counts: Sequence[int],
    assume: Assumptions,
    track: Track = silent,
    intervals: bool = False,
) -> Curve:
    """Plan and simulate all of it; with `intervals` too, of the mechanism that a fit would take."""
    for name, values in (("eps", levels), ("delta", deltas), ("n_rows", counts)):
        if not values:
            raise ValueError(sentence(name, "must hold at least one value", list(values)))
    if len(levels) * len(deltas) * len(counts) > _MOST_POINTS:
        got = f"{len(levels)} x {len(deltas)} x {len(counts)}"
        raise ValueError(sentence("eps", f"must make at most {_MOST_POINTS} points with delta and n_rows", got))
    for delta in deltas:  # refused, or warned of, before anything is simulated
        check_promise(levels, replace(facts, delta=delta, n_rows=max(counts)))
    if facts.curves is not None:  # all points have the columns of the smallest of them
        smallest = replace(facts, delta=min(deltas), n_rows=min(counts)).at(min(levels))
        facts = replace(smallest, delta=facts.delta, n_rows=facts.n_rows)
    points: list[Point] = []
    simulated = simulator(facts, assume)
    measure = Measure.of(simulated) if intervals else None
    cells = [(count, delta) for count in counts for delta in deltas]
    for count, delta in track(cells, "simulated settings"):
        points += _points(simulated, levels, delta, count, measure)
    assumptions = simulated.assumed
    if measure is not None:
        assumptions = (*measure.simulated.assumed, *_otherwise(measure))
        assumptions += tuple(
            f"tables of {simulated.rows_for(count):,} rows stand for {count:,}, so the intervals will be narrower"
            for count in counts
            if simulated.rows_for(count) < count
        )
        if len(points) == 1:
            (point,) = points
            one = replace(measure, facts=replace(facts, delta=point.delta))
            points = [replace(point, merged=one.merged(point.eps, point.n_rows, point.intervals))]
    classification = facts.loss.classification
    return Curve(
        points=tuple(points),
        columns=simulated.names,
        reach=tuple(simulated.reach.tolist()),
        quantity=WRONG if classification else ROOT_SQUARES,
        model=_kind(facts.loss),
        neighbouring=str(facts.neighbouring),
        assumptions=assumptions,
        declared=tuple(facts.layout.facts(facts.columns) if facts.layout is not None else ()),
        fits=assume.tables * assume.fits,
    )


def _otherwise(measure: Measure) -> list[str]:
    """What the best case assumes of columns, where it is another one."""
    best, worst = measure.filling.assumed, measure.simulated.assumed
    return [f"where columns fill their bounds, {fact}" for fact in best if fact not in worst]


def _kind(loss: Loss) -> str:
    """The public model with this loss; of a user's own, what it is about."""
    return next(
        (name for name, public_loss in LOSSES.items() if public_loss == loss),
        "margin" if loss.classification else "residual",
    )


def _points(
    simulated: Simulator, levels: Sequence[float], delta: float, count: int, measure: Measure | None
) -> Iterable[Point]:
    """One delta and one number of rows: each mechanism at every eps at which it has a plan."""
    facts = replace(simulated.facts, delta=delta, n_rows=count)
    if measure is None:
        plans = list(_plans(facts, levels))
    else:
        measure = replace(measure, facts=facts)
        plans = _plans_of_intervals(measure, levels, count)
    references = simulated.references(count)
    classes = 0 if facts.classes is None else len(facts.classes)
    for mechanism, planned in plans:
        results = simulated.fits(mechanism, [eps for eps, *_ in planned], delta, count)
        for (eps, plan, auto), tables in zip(planned, results, strict=True):
            yield Point(
                mechanism=plan.statement.mechanism,
                eps=eps,
                delta=delta,
                n_rows=count,
                auto=auto,
                noise={block: release.deviation for block, release in plan.released.items()},
                excess_risk=excess_risk_of(plan) if classes in (0, 2) and facts.loss.classification else None,
                simulated_rows=simulated.rows_for(count),
                intervals=() if measure is None else measure.at(eps, count),
                **summary(tables, references),
            )


def _plans_of_intervals(measure: Measure, levels: Sequence[float], count: int) -> list[tuple[Any, list[ReleasePlan]]]:
    """The mechanism of each eps with its plan; refused where it has no intervals."""
    plans, auto = [measure.planned(eps, count) for eps in levels], measure.facts.mechanism == AUTO
    return [(plan.mechanism, [(eps, plan, auto)]) for eps, plan in zip(levels, plans, strict=True)]


def _plans(facts: PublicFacts, levels: Sequence[float]) -> Iterable[tuple[Any, list[ReleasePlan]]]:
    """Each mechanism with its plans, and whether `"auto"` takes it; what has no plan is left out."""
    if facts.mechanism != AUTO:
        yield facts.mechanism, [(eps, facts.planned(eps), False) for eps in levels]
        return
    defaults = {eps: facts.planned(eps).statement.mechanism for eps in levels}
    for name, about in SHORTHANDS.items():
        if not about.private:
            continue
        variant, planned = replace(facts, mechanism=name), []
        for eps in levels:
            try:
                planned.append((eps, variant.planned(eps), defaults[eps] == name))
            except ValueError:  # what it cannot promise, or a loss that it does not have
                continue
        if planned:
            yield name, planned


def summary(tables: Sequence[TableResult], references: Sequence[Reference]) -> dict[str, Any]:
    """The figures of a point, as means over tables."""
    errors = np.array([table.error for table in tables])
    non_private = float(np.mean([reference.error for reference in references]))
    baseline = float(np.mean([reference.baseline for reference in references]))
    gain = baseline - non_private
    return {
        "error": float(errors.mean()),
        "standard_error": float(errors.std(ddof=1) / math.sqrt(len(errors))),
        "non_private": non_private,
        "baseline": baseline,
        "kept": (baseline - float(errors.mean())) / gain if gain > 0 else math.nan,
        "coef_noise": tuple(np.sqrt(np.mean([table.noise for table in tables], axis=0)).tolist()),
        "coef_distance": tuple(np.sqrt(np.mean([table.distance for table in tables], axis=0)).tolist()),
    }


def _several(value: Any) -> bool:
    return isinstance(value, list | tuple | range) or getattr(value, "ndim", 0) > 0
