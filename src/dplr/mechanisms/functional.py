"""The functional mechanism (Zhang et al. 2012): noise on the coefficients of the polynomial objective, once.

Proofs and constants: functional.md.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr import calibration, sensitivity
from dplr._validation import check_choice, real_number, sentence
from dplr.bounds import Geometry
from dplr.noise import Source
from dplr.privacy import Neighbouring, PrivacyStatement, Pure, Release
from dplr.problem import Plan, Problem
from dplr.queries import Moments
from dplr.result import Fit
from dplr.rows import Rows
from dplr.solvers import solve_quadratic

_CALIBRATIONS = ("tight", "paper")
_LARGEST_OPTION = 1e6
_WEIGHTS = tuple(2.0 ** (step / 4) for step in range(-24, 25))  # candidates for the weight of the quadratic block


@dataclass(frozen=True, slots=True)
class FunctionalMechanism:
    """Release the first and second moments with noise, then minimise the noisy quadratic.

    Parameters
    ----------
    calibration : `"tight"` for the sensitivity of rows in the unit ball or in the cube of the declared bounds;
        `"paper"` for the constants printed in FM12, several times larger, for reproduction. Both are private.
    ridge_deviations : with ``l2="auto"``, the ridge is this many standard deviations of the noise (FM12 section 6.1).
    floor_deviations : eigenvalues of the regularised matrix at or below this many standard deviations are trimmed.
    coef_norm : public guess of ||coef|| in the scaled problem; sets the weight between the two blocks.

    Raises
    ------
    ValueError
        An option is outside its range.

    Privacy
    -------
    Releases the noisy moments (`released_`); the model is post-processing of them. Pure eps-DP, in integer arithmetic.
    See functional.md, theorem 1.

    Examples
    --------
    >>> import dplr
    >>> spec = dplr.FunctionalMechanism(calibration="paper")
    >>> dplr.plan(n_rows=1000, n_features=2, eps=0.8, mechanism=spec).statement.calibration
    'paper: FM12 section 5.2, d^2/4 + 3d with d counting the intercept'
    """

    calibration: str = "tight"
    ridge_deviations: float = 4.0
    floor_deviations: float = 4.0
    coef_norm: float = 2.0

    def __post_init__(self) -> None:
        """Check the options."""
        check_choice("calibration", self.calibration, _CALIBRATIONS)
        for name in ("ridge_deviations", "floor_deviations", "coef_norm"):
            value = real_number(name, getattr(self, name))
            if not 0 <= value <= _LARGEST_OPTION:
                raise ValueError(sentence(name, f"must be between 0 and {_LARGEST_OPTION:g}", value))

    def plan(self, problem: Problem, eps: float, delta: float) -> Plan:
        """Fix the released blocks, the noise and the statement from public facts."""
        if delta > 0:
            raise ValueError(sentence("delta", 'must be 0 with mechanism="fm"', delta, "The release is pure eps-DP."))
        if problem.l2 is not None and problem.n_rows is None:
            remedy = "Declare n_rows=, a public reference, or leave l2='auto'."
            raise ValueError(sentence("l2", "needs a public number of rows", problem.l2, remedy))
        weight, joint, named = self._sensitivity(problem)
        cells = blocks(problem.geometry, problem.neighbouring)
        sizes = tuple(len(rows) for rows, _ in cells.values())
        weights = (1.0, weight)
        released = {}
        if math.isinf(eps):
            exact = math.ldexp(1.0, Moments.exponent)
            for name, size in zip(cells, sizes, strict=True):
                released[name] = Release((size,), joint, "none", 0.0, exact)
        else:
            charged, noises = calibration.discrete_laplace(joint, eps, weights, sizes)
            for name, size, noise, share in zip(cells, sizes, noises, weights, strict=True):
                released[name] = Release((size,), charged, "discrete Laplace", noise.scale, noise.grid, share)
        statement = PrivacyStatement(
            mechanism="fm",
            eps=eps,
            delta=0.0,
            guarantee=Pure(eps),
            neighbouring=problem.neighbouring,
            released=released,
            calibration=named,
            assumptions=problem.assumptions,
            arithmetic="integer",
            reproducible=False,
            source="Zhang et al. 2012, Theorem 1; dplr functional.md, theorem 1",
        )
        return Plan(problem, statement)

    def run(self, rows: Rows, plan: Plan, source: Source) -> Fit:
        """Sum exactly, floor to the release grid, add integer noise, solve."""
        geometry = plan.problem.geometry
        total = rows.total(Moments(geometry.d, geometry.intercept > 0))
        released = {}
        for name, cells in blocks(geometry, plan.problem.neighbouring).items():
            block = plan.statement.released[name]
            exponent = math.frexp(block.grid)[1] - 1
            value = total.integers(exponent, cells)
            if block.scale:
                value = value + source.laplace(round(block.scale / block.grid), len(value)).astype(object)
            released[name] = np.ldexp(value.astype(np.float64), exponent)
        return Fit(self._solve(plan, released), plan.statement, released)

    def _sensitivity(self, problem: Problem) -> tuple[float, float, str]:
        """Weight of the quadratic block, joint sensitivity of (linear, weight * quadratic), and its name."""
        geometry = problem.geometry
        if self.calibration == "paper":
            # FM12 releases alpha = -linear * S_xy and M = quadratic * S_xx with one scale; ours are S_xy and S_xx.
            logistic = problem.loss.classification
            coordinates = geometry.d + (geometry.intercept > 0)
            printed = sensitivity.paper_replace_one(coordinates, logistic=logistic)
            formula = "section 5.2, d^2/4 + 3d" if logistic else "section 4.2, 2(1 + 2d + d^2)"
            linear, quadratic = (0.5, 0.125) if logistic else (2.0, 1.0)
            return quadratic / linear, printed / linear, f"paper: FM12 {formula} with d counting the intercept"
        weight, joint = _best_weight(geometry, problem.neighbouring, self.coef_norm)
        return weight, joint, f"tight: L1 sensitivity {joint:.6g} of (linear, {weight:.4g} quadratic), {geometry}"

    def _solve(self, plan: Plan, released: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Minimise the noisy quadratic; post-processing."""
        problem = plan.problem
        geometry, loss = problem.geometry, problem.loss
        q = geometry.d + (geometry.intercept > 0)
        cells = blocks(geometry, problem.neighbouring)
        moments = np.zeros((q + 1, q + 1))
        for name, (rows, columns) in cells.items():
            moments[rows, columns] = released[name]
        if geometry.intercept and problem.neighbouring is Neighbouring.REPLACE_ONE:
            assert problem.n_rows is not None
            moments[q - 1, q - 1] = problem.n_rows * geometry.intercept**2
        matrix = np.triu(moments[:q, :q]) + np.triu(moments[:q, :q], 1).T
        deviation = math.sqrt(2) * plan.statement.released["quadratic"].scale
        ridge = self.ridge_deviations * deviation
        if problem.l2 is not None:
            assert problem.n_rows is not None
            ridge = problem.l2 * problem.n_rows / loss.curvature
        vector = moments[:q, q] * (loss.slope / loss.curvature)
        return solve_quadratic(matrix, vector, ridge, self.floor_deviations * deviation)


def blocks(geometry: Geometry, neighbouring: Neighbouring) -> dict[str, tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Cells of the moment matrix that are released: sum y (x, iota), and the triangle of sum (x, iota)(x, iota)'.

    The cell iota^2 * n is public under replace_one and left out.
    """
    q = geometry.d + (geometry.intercept > 0)
    rows, columns = np.triu_indices(q)
    if geometry.intercept and neighbouring is Neighbouring.REPLACE_ONE:
        rows, columns = rows[:-1], columns[:-1]
    return {"linear": (np.arange(q), np.full(q, q)), "quadratic": (rows, columns)}


@functools.lru_cache(maxsize=64)
def _best_weight(geometry: Geometry, neighbouring: Neighbouring, coef_norm: float) -> tuple[float, float]:
    """The weight that minimises the noise of the gradient, and its joint sensitivity.

    At coef the noise of (quadratic block) coef - (linear block) has variance proportional to
    scale^2 + (scale / weight)^2 ||coef||^2 in each coordinate, with scale proportional to the joint sensitivity.
    """
    candidates = [(weight, joint_sensitivity(geometry, neighbouring, weight)) for weight in _WEIGHTS]
    return min(candidates, key=lambda pair: pair[1] ** 2 * (1 + (coef_norm / pair[0]) ** 2))


def joint_sensitivity(geometry: Geometry, neighbouring: Neighbouring, weight: float) -> float:
    """The proved L1 sensitivity of (linear block, weight * quadratic block) over the public geometry."""
    d, iota, c = geometry.d, geometry.intercept, geometry.half_width
    if neighbouring is Neighbouring.ADD_REMOVE:
        if c is None:
            return sensitivity.ball_add_remove(d, geometry.radius, 1.0, weight, iota)
        return sensitivity.box_add_remove(d, c, 1.0, weight, iota)
    if c is None:
        return sensitivity.ball_replace_one(d, geometry.radius, 1.0, weight, iota)
    return sensitivity.box_replace_one(d, c, 1.0, weight, iota)
