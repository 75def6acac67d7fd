"""CM08's Lemmas 3, 4 and 5: what the noise costs on the training data."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from scipy import special

from dplr._kit.validation import check_choice, check_count, check_eps, check_positive, real_number, sentence

MECHANISMS = ("output", "objective")
"""The mechanisms that the lemmas and theorems are about: what `mechanism` may be."""
STATEMENTS = ("corrected", "cm08")
"""The kinds of bounds: those that we prove, or those printed in CM08."""
ROUNDING = 1e-14  # relative, of the few operations of a formula: a bound that is met exactly counts as met
_SMOOTHNESS = 0.25  # of the logistic loss in the margin


P = ParamSpec("P")
R = TypeVar("R")


def in_floats(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse facts whose powers leave float64, and name them."""

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (ArithmeticError, ValueError) as error:
            if str(error).startswith("`"):
                raise
            given = dict(inspect.signature(function).bind(*args, **kwargs).arguments)
            names = ", ".join(f"`{name}`" for name, value in given.items() if not isinstance(value, str))
            raise ValueError(f"{names} must be such that float64 holds their powers; got {given}.") from None

    return checked


@in_floats
def noise_norm_quantile(d: int, failure: float, *, statement: str = "corrected") -> float:
    """Bound of the norm of noise of scale 1 in d dimensions, exceeded with probability at most `failure`.

    Parameters
    ----------
    d : int
        Dimensions, with the intercept.
    failure : float
        Probability in (0, 1).
    statement : {"corrected", "cm08"}, default="corrected"
        `"corrected"`: the quantile of Gamma(d, 1); `"cm08"`: d log(d / failure).

    Returns
    -------
    float
        The bound, in units of the scale.

    Raises
    ------
    ValueError, TypeError
        A parameter is outside its range.

    Privacy
    -------
    Reads public facts alone.

    See Also
    --------
    dplr.utility.excess_risk : What such noise costs.

    References
    ----------
    Chaudhuri and Monteleoni 2008 (CM08), Lemma 5.

    Examples
    --------
    >>> from dplr.utility import noise_norm_quantile
    >>> for d, failure in ((10, 0.05), (50, 0.01)):
    ...     found = [noise_norm_quantile(d, failure, statement=kind) for kind in ("corrected", "cm08")]
    ...     print([round(bound, 1) for bound in found])
    [15.7, 53.0]
    [67.9, 425.9]
    """
    check_choice("statement", statement, STATEMENTS)
    d, failure = check_count("d", d), check_failure(failure)
    return d * math.log(d / failure) if statement == "cm08" else float(special.gammainccinv(d, failure))


@in_floats
def excess_risk(
    n_rows: float,
    *,
    d: int,
    l2: float,
    eps: float,
    mechanism: str = "objective",
    failure: float = 0.05,
    radius: float = 1.0,
    noise_eps: float | None = None,
    statement: str = "corrected",
) -> float:
    """Bound of J(w) - min J on the training data, for a private w.

    Parameters
    ----------
    n_rows : float
        Number of records (or any positive number, between two counts).
    d : int
        Number of coefficients, with the intercept.
    l2 : float
        Ridge of the mean objective, above 0.
    eps : float
        Pure privacy loss, above 0.
    mechanism : {"objective", "output"}, default="objective"
        `"objective"` (CM08, Algorithm 2) or `"output"` (Algorithm 1).
    failure : float, default=0.05
        Probability over the noise that the bound does not hold, in (0, 1).
    radius : float, default=1.0
        Radius R of the rows; CM08 has 1.
    noise_eps : float or None, default=None
        The eps' <= eps that objective perturbation draws its noise with; None for eps itself.
    statement : {"corrected", "cm08"}, default="corrected"
        What we prove, or what is printed; see the module.

    Returns
    -------
    float
        The bound, in units of the mean loss.

    Raises
    ------
    ValueError, TypeError
        A parameter is outside its range; objective perturbation without `noise_eps` where n_rows * l2 < 2 R^2 / eps.

    Privacy
    -------
    Reads public facts alone.

    See Also
    --------
    dplr.utility.sample_size : The inverse.
    dplr.utility.expected_excess_risk : On new data.

    References
    ----------
    Chaudhuri and Monteleoni 2008 (CM08), Lemmas 3 and 4.

    Examples
    --------
    >>> from dplr.utility import excess_risk
    >>> facts = {"d": 10, "l2": 0.01, "eps": 0.1}
    >>> for mechanism in ("objective", "output"):
    ...     facts["mechanism"] = mechanism
    ...     found = [excess_risk(10_000, statement=kind, **facts) for kind in ("corrected", "cm08")]
    ...     print(mechanism, [f"{bound:.3g}" for bound in found])
    objective ['0.0493', '2.25']
    output ['1.28', '56.7']
    """
    n_rows = check_positive("n_rows", n_rows)
    least, coefficient = coefficient_of(d, l2, eps, mechanism, failure, radius, noise_eps, statement)
    if n_rows < least * (1 - ROUNDING):
        remedy = "Use more ridge, or give the eps' of the noise as `noise_eps`."
        raise ValueError(sentence("n_rows", f"must be at least 2 R^2 / (l2 eps) = {least:g}", n_rows, remedy))
    return coefficient / n_rows**2


@in_floats
def sample_size(
    excess: float,
    *,
    d: int,
    l2: float,
    eps: float,
    mechanism: str = "objective",
    failure: float = 0.05,
    radius: float = 1.0,
    noise_eps: float | None = None,
    statement: str = "corrected",
) -> int:
    """Smallest number of records for which `excess_risk` is at most `excess`: that function's inverse.

    Parameters
    ----------
    excess : float
        Target of J(w) - min J, above 0.
    d : int
        Number of coefficients, with the intercept.
    l2 : float
        Ridge of the mean objective, above 0.
    eps : float
        Pure privacy loss, above 0.
    mechanism : {"objective", "output"}, default="objective"
        As in `excess_risk`.
    failure : float, default=0.05
        Probability over the noise that the bound does not hold, in (0, 1).
    radius : float, default=1.0
        Radius R of the rows; CM08 has 1.
    noise_eps : float or None, default=None
        As in `excess_risk`.
    statement : {"corrected", "cm08"}, default="corrected"
        What we prove, or what is printed; see the module.

    Returns
    -------
    int
        The number of records.

    Raises
    ------
    ValueError, TypeError
        A parameter is outside its range.

    Privacy
    -------
    Reads public facts alone.

    See Also
    --------
    dplr.utility.excess_risk : The inverse.
    dplr.plan : The same by simulation, for every mechanism.

    References
    ----------
    Chaudhuri and Monteleoni 2008 (CM08), Lemmas 3 and 4.

    Examples
    --------
    >>> from dplr.utility import sample_size
    >>> sample_size(0.0493, d=10, l2=0.01, eps=0.1), sample_size(0.0493, d=10, l2=0.01, eps=0.1, statement="cm08")
    (10004, 67494)
    """
    excess = check_positive("excess", excess)
    least, coefficient = coefficient_of(d, l2, eps, mechanism, failure, radius, noise_eps, statement)
    return math.ceil(max(least, math.sqrt(coefficient / excess)) * (1 - ROUNDING))


def coefficient_of(
    d: int, l2: float, eps: float, mechanism: str, failure: float, radius: float, noise_eps: Any, statement: str
) -> tuple[float, float]:
    """The least n and the factor A of excess <= A / n^2."""
    l2, eps, radius = check_positive("l2", l2), check_eps(eps), check_radius(radius, statement)
    check_choice("mechanism", mechanism, MECHANISMS)
    quantile = noise_norm_quantile(d, failure, statement=statement)
    if noise_eps is not None:
        if mechanism == "output" or statement == "cm08":
            raise ValueError(sentence("noise_eps", "is of the corrected objective perturbation only", noise_eps))
        if not 0 < real_number("noise_eps", noise_eps) <= eps:
            raise ValueError(sentence("noise_eps", f"must be positive and at most eps = {eps:g}", noise_eps))
    if mechanism == "output":
        smoothness = (radius**2 * _SMOOTHNESS if statement == "corrected" else 1.0) + l2
        return 0.0, smoothness / 2 * (2 * radius * quantile / (l2 * eps)) ** 2
    if statement == "cm08":
        return 0.0, 8 * quantile**2 / (l2 * eps**2)
    least = 2 * radius**2 / (l2 * eps) if noise_eps is None else 0.0
    return least, (2 * radius * quantile / (noise_eps or eps)) ** 2 / (2 * l2)


def check_failure(failure: Any) -> float:
    """A probability in (0, 1)."""
    value = real_number("failure", failure)
    if not 0 < value < 1:
        raise ValueError(sentence("failure", "must be between 0 and 1", value))
    return value


def check_radius(radius: Any, statement: str) -> float:
    """A positive radius, 1 where CM08 has none."""
    check_choice("statement", statement, STATEMENTS)
    value = check_positive("radius", radius)
    if statement == "cm08" and value != 1:
        raise ValueError(sentence("radius", "must be 1 with statement='cm08'", value, "Scale the rows."))
    return value
