"""The Hessian at the released minimum of a logistic loss: with it, log odds have intervals for delta = 0.

Proofs and constants: objective.md, section 8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dplr._validation import sentence
from dplr.inference.expansion import Expansion
from dplr.inference.reading import Reading
from dplr.inference.sampling import positive_part
from dplr.noise import Source
from dplr.privacy import calibration, sensitivity
from dplr.privacy.estimand import Estimand
from dplr.privacy.guarantees import Approx, Neighbouring
from dplr.privacy.law import Law
from dplr.privacy.statement import Release
from dplr.problem.cells import hot_columns, moments_sensitivity, second_moments
from dplr.problem.geometry import Geometry
from dplr.problem.losses import model_of
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.queries.clipped import on_coef_grid
from dplr.rows.queries.moments import Moments
from dplr.rows.queries.score import ScoreMoments

Vector = NDArray[np.float64]
# The share of eps that the Hessian gets.
SHARE = 0.4
# Coefficients are sought within this many times the root of their number around the released ones.
_REACH = 4.0


def model_share(eps: float) -> float:
    """The share of eps for the coefficients."""
    return eps * (1 - SHARE)


def check(problem: Problem) -> None:
    """Refuse what has no reading: other losses."""
    if problem.loss.name != "logistic":
        remedy = 'Linear models have intervals by mechanism="fm".'
        rule = "must be the logistic one with intervals='on'"
        raise ValueError(sentence("model", rule, model_of(problem.loss), remedy))


def blocks(geometry: Geometry) -> dict[str, tuple[int]]:
    """Names and sizes of the released cells."""
    return {name: (len(rows),) for name, (rows, _) in _cells(geometry).items()}


def with_hessian(plan: Plan, eps: float) -> Plan:
    """The plan of the coefficients with `model_share` of eps, and the Hessian with the rest."""
    problem, statement = plan.problem, plan.statement
    sizes = {name: size for name, (size,) in blocks(problem.geometry).items()}
    if math.isinf(eps):
        exact = math.ldexp(1.0, Moments.exponent)
        hessian = {name: Release((size,), 0.0, Law.NONE, 0.0, exact) for name, size in sizes.items()}
        return replace(plan, statement=replace(statement, released={**statement.released, **hessian}))
    moved = moved_by_records(problem.geometry, problem.neighbouring)
    rest = calibration.rest_of(eps, model_share(eps))
    charged, noises = calibration.discrete_laplace(moved, rest, (1.0,) * len(sizes), tuple(sizes.values()))
    hessian = {
        name: Release((size,), charged, Law.DISCRETE_LAPLACE, noise.scale, noise.grid, 1.0, noise.units)
        for (name, size), noise in zip(sizes.items(), noises, strict=True)
    }
    words = f"{statement.calibration}; {100 * SHARE:g} % of eps for the Hessian there, L1 sensitivity {moved:.6g}"
    stated = replace(
        statement,
        eps=eps,
        guarantee=Approx(eps, statement.delta),
        released={**statement.released, **hessian},
        calibration=words,
    )
    return replace(plan, statement=stated)


def moved_by_records(geometry: Geometry, neighbouring: Neighbouring) -> float:
    """L1 sensitivity of the released cells of the computed Hessian, truncated rows included (lemma 9)."""
    added = moments_sensitivity(geometry, Neighbouring.ADD_REMOVE, 0.0, 1.0)
    replaced = moments_sensitivity(geometry, Neighbouring.REPLACE_ONE, 0.0, 1.0)
    longest = moments_sensitivity(geometry, Neighbouring.ADD_REMOVE, 1.0, 0.0)
    return sensitivity.hessian_change(added, replaced, longest, geometry.n_coefs, neighbouring.records_changed)


def released_hessian(rows: Rows, coef: Vector, plan: Plan, source: Source) -> dict[str, Vector]:
    """The exact Hessian at released coefficients, floored to its grid, with integer noise."""
    geometry = plan.problem.geometry
    query = ScoreMoments(plan.problem.loss, geometry.d, geometry.intercept > 0, geometry.row_norm)
    total, released = rows.total(query, on_coef_grid(coef)), {}
    for name, cells in _cells(geometry).items():
        block = plan.statement.released[name]
        exponent = math.frexp(block.grid)[1] - 1
        value = total.integers(exponent, cells)
        if block.units:
            value = value + source.laplace(block.units, len(value))
        released[name] = np.ldexp(value.astype(np.float64), exponent)
    return released


def reading(plan: Plan, released: Mapping[str, Vector], coef: Vector, deviations: Vector) -> Reading:
    """The stationarity of the objective as an equation: ridge (coef - start) reads the score at the coefficients.

    `deviations` are those of the linear term in the weighted problem (objective.md, section 8).
    """
    problem, solved = plan.problem, plan.minimisation
    assert solved is not None
    geometry = problem.geometry
    size = geometry.n_coefs
    hessian, cells, tied = np.zeros((size, size)), np.zeros((size, size)), np.zeros(size)
    for name, (rows, columns) in _cells(geometry).items():
        hessian[rows, columns] = hessian[columns, rows] = released[name]
        cells[rows, columns] = cells[columns, rows] = plan.statement.released[name].deviation ** 2
    hot = hot_columns(geometry) if geometry.intercept else []
    tied[hot] = (geometry.half_width or 0.0) / (geometry.intercept or 1.0)
    hessian[hot, hot] = hessian[hot, size - 1] * tied[hot]
    weights = np.asarray(solved.weights or (1.0,) * size)
    ridges = solved.ridge / weights**2
    start = np.zeros(size) if problem.w0 is None else np.array(problem.w0)
    tolerance = (size + 1) * solved.tolerance_noise**2 * weights**2
    pulled = hessian + np.diag(ridges)
    widths = None if geometry.half_width is None else np.array(geometry.half_widths)
    return Reading(
        matrix=hessian,
        vector=ridges * (coef - start),
        cells=cells,
        tied=tied,
        vector_noise=np.diag((deviations / weights) ** 2) + (pulled * tolerance) @ pulled,
        sampling=positive_part(hessian),
        laplace=bool(cells.any()),
        center=coef,
        reach=_REACH * math.sqrt(size) + float(np.linalg.norm(coef)),
        estimand=Estimand.LOG_ODDS,
        n_rows=problem.n_rows,
        expansion=Expansion(geometry.row_norm, widths),
    )


def _cells(geometry: Geometry) -> dict[str, tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The cells of the Hessian that say something of their own; the constant's is private under both relations."""
    return {f"hessian_{kind}": where for kind, where in second_moments(geometry, counted=True).items()}
