"""The regularised objective that output and objective perturbation minimise: its public constants, and its minimiser.

Sum form: F(w) = sum l_i(w) + Lam ||w - w0||^2 / 2 + b.w over rows (x, iota) of norm at most R~.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import check_positive, sentence
from dplr.mechanisms.descriptions import OBJECTIVE
from dplr.noise import LARGEST_SCALE, Ints
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import Loss, model_of, models_with
from dplr.problem.plan import Plan, Settings
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.losses import LossGradient
from dplr.solvers.certificate import Objective, curvature_bound, least_tolerance, pass_limit

Vector = NDArray[np.float64]
# The tolerance as a share of one record's largest gradient: what it adds to a sensitivity is at most twice that share.
TOLERANCE = 2.0**-13
# The noise that pays for the tolerance adds at most this squared of the excess loss that the linear term adds.
_NOISE_SHARE = 2.0**-5
# Lattice units in the tolerance of one coordinate: rounding adds at most this share to what the noise pays for.
_LATTICE = 64.0
_ROUNDING_SHARE = 1 + 2.0**-5
_MANTISSA = 53  # of float64: whole units of the linear term's lattice, up to its planned length, are exact
# More than the rounding of the few operations that make a scale: scales are never below the exact ones.
ROUNDED_UP = 1 + 2.0**-40
# The delta of objective perturbation's tolerance, 2^-64: see objective.md, section 5.
MISSED = OBJECTIVE.least_delta
# Under add_remove the number of rows is private; the tolerance must be reached for every number up to this many times
# the declared reference, and more rows are refused.
MOST_ROWS = 16
_SMALLEST_RIDGE = 1e-6
# Beyond these no theorem says that the solver ends, or that its certificate holds (`_core/loss.md`, theorems 2 and 3).
_MOST_STEEP, _MOST_CERTIFIED = 2.0**50, 2**35
# Beyond these float64 has no digits left for the gradient, or for its certificate.
_LARGEST_RIDGE = 1e15
_LARGEST_START = 1e9
# Limits of a guess of the coefficients' norm: beyond them a ridge could overflow or underflow.
_GUESSES = 2.0**-100, 2.0**100
# Limits of a cut. Within them the solver reached its tolerance in experiments; from 1e20 on it did not.
_LEAST_CUT, _LARGEST_CUT = 2.0**-10, 2.0**10
# The released numbers lie on a grid of this share of the noise.
_GRID_BITS = 20
_FINEST_GRID = -900  # as a power of two: any number over a finer one might overflow


@dataclass(frozen=True, slots=True)
class Minimisation(Settings):
    """Settings.

    Attributes
    ----------
    ridge : Lam, for the weighted problem.
    tolerance : tau; the returned coefficients lie within tau / Lam of the minimum.
    passes : how many passes over the rows are surely enough; proved in `_core/loss.md`.
    unit : spacing of the lattice of the linear term; 0 where there is none.
    lattice : spacing of the lattice to which the minimiser is rounded; 0 where it is not.
    offset : bound of the L1 norm, in units of this lattice, by which the rounded point may miss that of the minimum.
    noise_units : scale, in units of this lattice, of the discrete Laplace noise that pays for the tolerance and for all
        rounding; 0 where the sensitivity pays.
    weights : (q,) what columns are multiplied by, and coefficients divided by, before they are minimised over: a ridge
        Lam / weights^2 of the coefficients themselves. Empty for 1 each.
    """

    ridge: float
    tolerance: float
    passes: int
    unit: float = 0.0
    lattice: float = 0.0
    offset: int = 0
    noise_units: int = 0
    weights: tuple[float, ...] = ()

    @property
    def tolerance_noise(self) -> float:
        return self.noise_units * self.lattice

    @property
    def ridges(self) -> tuple[float, ...]:
        """The smallest and the largest ridge of a coefficient; one number where they are the same."""
        ridges = {self.ridge / weight**2 for weight in self.weights or (1.0,)}
        return (min(ridges), max(ridges)) if len(ridges) > 1 else (self.ridge,)

    @property
    def line(self) -> tuple[str, str]:
        certified = f"certified within {self.tolerance / self.ridge:.3g} of the minimum"
        ridge = " to ".join(f"{value:.6g}" for value in self.ridges)
        return "minimisation", f"ridge {ridge} on the sum objective, {certified}"


def _covered(loss: Loss) -> bool:
    return math.isfinite(loss.lipschitz)


def check(problem: Problem, mechanism: str) -> int:
    """The public number of units; raises ValueError for what no theorem here covers."""
    loss, l2, n_rows, start = problem.loss, problem.l2, problem.n_rows, math.hypot(*(problem.w0 or ()))
    if not _covered(loss):
        rule = f'must be {models_with(_covered)} with mechanism="{mechanism}"'
        remedy = 'Use mechanism="objective" with its own calibration, or "fm".'
        raise ValueError(sentence("model", rule, model_of(loss), remedy))
    if n_rows is None:
        raise no_reference(mechanism)
    if l2 is not None and l2 * n_rows < _SMALLEST_RIDGE:
        rule = f'must be at least {_SMALLEST_RIDGE:g} / n_rows with mechanism="{mechanism}"'
        remedy = "Without a ridge one record may move the minimiser any distance. Use l2='auto'."
        raise ValueError(sentence("l2", rule, l2, remedy))
    if l2 is not None and l2 * n_rows > _LARGEST_RIDGE:
        rule = f'must be at most {_LARGEST_RIDGE:g} / n_rows with mechanism="{mechanism}"'
        raise ValueError(sentence("l2", rule, l2, "A smaller one already ends at the public coefficients."))
    if start > _LARGEST_START:
        rule = f"must have a norm of at most {_LARGEST_START:g} in the scaled problem"
        raise ValueError(sentence("public", rule, start))
    return n_rows


def check_guess(coef_norm: float) -> float:
    value, (least, largest) = check_positive("coef_norm", coef_norm), _GUESSES
    if not least <= value <= largest:
        raise ValueError(sentence("coef_norm", f"must be between {least:.3g} and {largest:.3g}", coef_norm))
    return value


def check_cut(cut: float) -> float:
    value = check_positive("cut", cut)
    if not _LEAST_CUT <= value <= _LARGEST_CUT:
        rule = f"must be between {_LEAST_CUT:g} and {_LARGEST_CUT:g}"
        raise ValueError(sentence("cut", rule, cut, "Targets lie in [-1, 1]: a larger one cuts nothing."))
    return value


def instead(original: Loss, surrogate: Loss) -> str:
    """A clause of the statement about a surrogate loss; empty where the original loss is minimised."""
    if surrogate == original:
        return ""
    return f"; minimises the {surrogate.label} loss instead of the {original.label} one"


def no_reference(mechanism: str) -> ValueError:
    rule = f'is required with mechanism="{mechanism}" under add_remove'
    return ValueError(sentence("n_rows", rule, None, "Declare a public reference: the ridge is l2 * n_rows."))


def minimisation(problem: Problem, ridge: float, linear_norm: float, share: float = TOLERANCE) -> Minimisation:
    """The tolerance that the solver can certify whatever the rows are; `linear_norm` bounds ||b||.

    It is the given share of a record's largest gradient, or more where rounding needs more: of sums in pairs of float64
    numbers, and for a share of 0 of plain sums, which are quicker.
    """
    assert problem.n_rows is not None
    loss, norm, times = problem.loss, problem.geometry.row_norm, 1
    if problem.neighbouring is Neighbouring.ADD_REMOVE:
        times = MOST_ROWS
    rows, start = problem.n_rows * times, math.hypot(*(problem.w0 or ()))
    if share > 0:  # refuse what theorems 2 and 3 of `_core/loss.md` say nothing of: a release rests on them
        steepness = curvature_bound(loss, rows, norm, ridge) / ridge
        if steepness > _MOST_STEEP:
            rule = f"must be at least {ridge * steepness / _MOST_STEEP / problem.n_rows:.3g} for {rows} rows: no proof "
            raise ValueError(sentence("l2", f"{rule}covers the solver below it", problem.l2, "Give a larger l2."))
        if rows > _MOST_CERTIFIED:
            rule = f"must be at most {_MOST_CERTIFIED // times}: no proof covers sums of more rows"
            raise ValueError(sentence("n_rows", rule, problem.n_rows, 'Use mechanism="fm".'))
    least = least_tolerance(loss, rows, problem.geometry.d, norm, ridge, start, linear_norm, fine=share > 0)
    tolerance = max(share * loss.lipschitz * norm, least)
    return Minimisation(ridge, tolerance, pass_limit(loss, rows, norm, ridge, tolerance, linear_norm, start))


def paying(solved: Minimisation, size: int, longest: float, eps: float, share: float) -> Minimisation:
    """The settings with the lattices, and the noise that pays for tolerance and rounding with this share of eps.

    Source: objective.md, theorem 4. `longest` bounds the norm of the linear term.
    """
    unit = math.ldexp(1.0, math.frexp(longest)[1] - _MANTISSA)
    moved = (solved.tolerance + math.sqrt(size) * unit / 2) / solved.ridge * ROUNDED_UP
    lattice = math.ldexp(1.0, math.frexp(moved / (_LATTICE * math.sqrt(size)))[1] - 1)
    while (offset := _offset(size, moved, lattice)) * 2 >= LARGEST_SCALE * share * eps and lattice <= moved:
        lattice *= 2  # for eps near 1e-9
    numerator, denominator = (share * eps).as_integer_ratio()
    noise = -(-2 * offset * denominator // numerator)
    if noise > LARGEST_SCALE:
        least = eps * noise / LARGEST_SCALE
        raise ValueError(sentence("eps", f"must be at least {least:.3g} for {size} coefficients", eps))
    return replace(solved, unit=unit, lattice=lattice, offset=offset, noise_units=noise)


def _offset(size: int, moved: float, lattice: float) -> int:
    """The bound T of the L1 norm between two rounded points at that distance, in whole units."""
    return math.ceil(math.sqrt(size) * moved * ROUNDED_UP / lattice) + size


def noisy(point: Vector, lattice: float, noise: Ints) -> Vector:
    """The point rounded to the lattice, plus whole units of noise: exact, then the nearest numbers. Wipes the noise."""
    units = np.array([int(number) for number in np.rint(point / lattice).tolist()], dtype=object)
    noisy_units = units + noise
    noise.fill(0)
    return np.array([float(number) for number in noisy_units]) * lattice


def share_beside_noise(problem: Problem, ridge: float, deviation: float, eps: float) -> float:
    """The share at which the noise that pays for the tolerance, with this eps, is lost beside the linear term's.

    `deviation` is the mean of those of the linear term's coordinates, in sum form. In the quadratic model at the
    minimum the added excess loss is at most 2^-10 of the linear term's own, whatever the rows are (objective.md,
    lemma 8).
    """
    assert problem.n_rows is not None
    loss, norm, size = problem.loss, problem.geometry.row_norm, problem.geometry.n_coefs
    curvature = ridge + problem.n_rows * loss.smoothness * norm**2 / size
    # Laplace noise of scale 2 T / eps, T = sqrt(size) tolerance / ridge and a little more for rounding.
    tolerance = _NOISE_SHARE * eps * deviation / (_ROUNDING_SHARE * math.sqrt(8 * size)) * (ridge / curvature)
    return min(TOLERANCE, tolerance / (loss.lipschitz * norm))


def check_rows(rows: Rows, problem: Problem) -> None:
    """Refuse faulty rows, and more rows than the tolerance was planned for, before any noise is drawn."""
    if not rows.sound:  # the sums of ranges have met all rows already
        rows.total(LossGradient(problem.loss, problem.geometry.d, problem.geometry.intercept > 0), start_of(problem))
    check_count(rows, problem)


def check_count(rows: Rows, problem: Problem) -> None:
    """Refuse more units than the tolerance was planned for; the sum of the weights is at most their number."""
    assert problem.n_rows is not None
    if problem.neighbouring is Neighbouring.ADD_REMOVE and rows.units > MOST_ROWS * problem.n_rows:
        counted = "rows" if problem.unit.person is None else "persons"
        rule = f"must be at least a {MOST_ROWS}th of the number of {counted}"
        raise ValueError(sentence("n_rows", rule, problem.n_rows, "Declare a larger public reference."))


def minimise(rows: Rows, plan: Plan, linear: Vector | None = None) -> Vector:
    """Coefficients of the weighted problem, certified to lie within tolerance / ridge of its minimum."""
    solved: Minimisation = plan.settings
    coef, _ = rows.weighted(solved.weights).minimise(_objective(plan, linear), solved.tolerance, solved.passes)
    return coef


def minimise_many(rows: Rows, plans: Sequence[Plan], linear: Sequence[Vector]) -> Sequence[Vector]:
    """One certified minimum of the weighted problem for each plan and linear term; those of one tolerance together."""
    if len(plans) == 1:
        return [minimise(rows, plans[0], linear[0])]
    objectives = [_objective(plan, term) for plan, term in zip(plans, linear, strict=True)]
    kinds = [(plan.settings.tolerance, plan.settings.weights) for plan in plans]
    coefs = np.empty((len(plans), len(linear[0])))
    for tolerance, weights in set(kinds):
        members = [k for k, kind in enumerate(kinds) if kind == (tolerance, weights)]
        passes, these = max(plans[k].settings.passes for k in members), [objectives[k] for k in members]
        coefs[members], _ = rows.weighted(weights).minimise_many(these, tolerance, passes)
    return list(coefs)


def _objective(plan: Plan, linear: Vector | None) -> Objective:
    solved: Minimisation = plan.settings
    # The start in the coordinates of the weighted problem.
    start = start_of(plan.problem) / np.asarray(solved.weights or 1.0)
    return Objective(plan.problem.loss, solved.ridge, start, np.zeros_like(start) if linear is None else linear)


def start_of(problem: Problem) -> Vector:
    return np.zeros(problem.geometry.n_coefs) if problem.w0 is None else np.array(problem.w0)


def release_grid(scale: float) -> float:
    """Spacing of the released numbers: a public power of two far below the noise; 0 for no rounding."""
    return math.ldexp(1.0, max(math.frexp(scale)[1] - 1 - _GRID_BITS, _FINEST_GRID)) if scale else 0.0


def to_grid(coef: Vector, grid: float) -> Vector:
    """The nearest multiples of the grid, so that no low-order bit of the sum is released.

    Zero is +0.0: the sign would tell from which side it was rounded.
    """
    return np.asarray(np.rint(coef / grid) * grid + 0.0) if grid else coef


def assumptions(problem: Problem) -> tuple[str, ...]:
    if problem.neighbouring is Neighbouring.REPLACE_ONE:
        return problem.assumptions
    return (
        *problem.assumptions,
        f"there are at most {MOST_ROWS} times n_rows {problem.unit.one}s; more are refused",
    )
