"""Newton's method on sums that somebody else computes, to a certified gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._core import CalledSums, minimise
from dplr.solvers.certificate import NotCertified, Objective, rounding_line

# Fewer rows than this, or than this many a coefficient, and Newton on all rows is quicker than a sample of them.
_SAMPLED_ROWS = 5000
_SAMPLED_ROWS_A_COEFFICIENT = 100
_SAMPLE_ROWS = 2048
# A Hessian costs little more than a gradient where there are few coefficients: the sample may be larger there.
_FEW_COEFFICIENTS = 16


def sample_step(n: int, q: int) -> int:
    """Newton begins on every `sample_step`-th row; 1 for no sample."""
    small = n < max(_SAMPLED_ROWS, _SAMPLED_ROWS_A_COEFFICIENT * q)
    return 1 if small else min(16 if q <= _FEW_COEFFICIENTS else 32, n // max(_SAMPLE_ROWS, 20 * q))


def newton(
    total: Callable[[NDArray[np.float64], bool, int], Any],
    rows: int,
    objective: Objective,
    n: int,
    d: int,
    radius: float,
    tau: float,
    cap: int,
) -> tuple[NDArray[np.float64], float]:
    """Minimise an objective to a certified gradient norm.

    Parameters
    ----------
    total : total(coef, with_hessian, step), the `RealTotal` over every step-th row.
    rows : number of rows.
    objective : in sum form.
    n, d, radius : the largest sum of the rows' weights, features, and the bound on a row's norm, the intercept's
        constant included.
    tau : the norm of the gradient, computed and rounding error together, ends at most there, or where float64 can say
        no more.
    cap : no step begins after this many passes over all rows; one step takes 60 at most.

    Returns
    -------
    coef : (q,)
    bound : certified bound on the gradient's norm; above tau where rounding may be an eighth of the gradient. Depends
        on the data: never release it.

    Raises
    ------
    NotCertified
        The cap was not enough.
    """
    q = len(objective.center)
    step = sample_step(rows, q)

    def sums(step: int) -> CalledSums:
        def call(coef: NDArray[np.float64], with_hessian: bool) -> tuple[Any, Any]:
            value = total(coef, with_hessian, step)
            return value.gradient, value.upper

        return CalledSums((rows + step - 1) // step, q, call)

    return certified(sums(1), sums(step) if step > 1 else None, objective, n, d, radius, tau, cap)


def certified(
    sums: Any, sample: Any, objective: Objective, n: int, d: int, radius: float, tau: float, cap: int
) -> tuple[NDArray[np.float64], float]:
    """Run the compiled loop on two sources of sums; see `newton`."""
    rounding = rounding_line(objective, n, d, radius)
    coef, bound = minimise(sums, sample, objective.ridge, objective.center, objective.linear, tau, *rounding, cap)
    if coef is None:
        raise NotCertified
    return coef, bound
