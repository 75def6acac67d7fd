"""Newton's method on sums that somebody else computes, to a certified gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._core import minimise
from dplr.solvers.certificate import NotCertified, Objective, rounding_line

# Fewer rows than this, or than this many a coefficient, and Newton on all rows is quicker than a sample of them.
_SAMPLED_ROWS = 5000
_SAMPLED_ROWS_A_COEFFICIENT = 100
_SAMPLE_ROWS = 2048
# A Hessian costs little more than a gradient where there are few coefficients: the sample may be larger there.
_FEW_COEFFICIENTS = 16
# A sample is kept in memory, wherever all rows lie, and is read on one thread.
_MOST_SAMPLE_ROWS = 10**6
_MOST_SAMPLE_BYTES = 2**28


@dataclass(frozen=True, eq=False, slots=True)
class Minimum:
    """Where a minimisation ended. All of it depends on the data: never release it.

    Attributes
    ----------
    coef : (q,)
    bound : certified bound on the gradient's norm; above tau where rounding may be an eighth of the gradient.
    upper : (q, q) Hessian of the summed losses about there, measured or modelled: its upper triangle; None where it is
        not known.
    """

    coef: NDArray[np.float64]
    bound: float
    upper: NDArray[np.float64] | None = None

    @property
    def hessian(self) -> NDArray[np.float64] | None:
        """The whole Hessian, or None."""
        return None if self.upper is None else np.triu(self.upper) + np.triu(self.upper, 1).T


def sample_step(n: int, q: int) -> int:
    """Newton begins on every `sample_step`-th of n rows; 1 for no sample.

    A larger sample is a better model of all rows, of which fewer reads are left; but it is read ten times itself, so a
    16th or a 32nd costs less than one read of all. From some 10^5 rows a coefficient on, more of them gain less than a
    read: at most 10^6 are taken, and at most 2^28 bytes of float64, which fit beside any table and on one thread.
    """
    if n < max(_SAMPLED_ROWS, _SAMPLED_ROWS_A_COEFFICIENT * q):
        return 1
    most = min(_MOST_SAMPLE_ROWS, _MOST_SAMPLE_BYTES // (8 * q))
    step = min(16 if q <= _FEW_COEFFICIENTS else 32, n // max(_SAMPLE_ROWS, 20 * q))
    return max(step, -(-n // most))


def certified(
    sums: Any,
    sample: Any,
    objective: Objective,
    n: int,
    d: int,
    radius: float,
    tau: float,
    cap: int,
    price: float = math.inf,
) -> Minimum:
    """Minimise an objective to a certified gradient norm.

    Parameters
    ----------
    sums : `NativeSums` or `CalledSums` of all rows.
    sample : the same of every `sample_step`-th row, or None.
    objective : in sum form.
    n, d, radius : the largest sum of the rows' weights, features, and the bound on a row's norm, the intercept's
        constant included.
    tau : the norm of the gradient, computed and rounding error together, ends at most there, or where float64 can say
        no more.
    cap : no step begins after this many passes over all rows; one step takes 60 at most.
    price : how many gradients a Hessian costs beside its own; infinite for none where gradients will do.

    Raises
    ------
    NotCertified
        The cap was not enough.
    """
    rounding = rounding_line(objective, n, d, radius)
    coef, bound, upper = minimise(
        sums, sample, objective.ridge, objective.center, objective.linear, tau, *rounding, cap, price
    )
    if coef is None:
        raise NotCertified
    return Minimum(coef, bound, upper)
