"""CM08's Theorems 4 and 5: how many records a target on new data needs."""

from __future__ import annotations

import math

from scipy import optimize

from dplr._kit.validation import check_choice, check_eps, check_positive, sentence
from dplr.utility._lemmas import (
    MECHANISMS,
    ROUNDING,
    check_failure,
    check_radius,
    coefficient_of,
    in_floats,
    noise_norm_quantile,
)

# Sridharan, Shalev-Shwartz and Srebro 2008, Theorem 1 at a = 1: F(w) - min F <= 2 (F_n(w) - min F_n)
# + 16 R^2 (32 + log(1 / failure)) / (l2 n), for a loss of Lipschitz constant 1.
_SAMPLE_FACTOR, _SAMPLE_OFFSET = 16.0, 32.0


@in_floats
def expected_sample_size(
    target: float,
    *,
    d: int,
    norm: float,
    eps: float,
    mechanism: str = "objective",
    failure: float = 0.05,
    radius: float = 1.0,
    statement: str = "corrected",
    constant: float | None = None,
) -> int:
    """Number of records that suffices for an expected loss of at most that of w0 plus `target`.

    Parameters
    ----------
    target : float
        Excess of the expected loss, above 0 (the loss at w = 0 is log 2).
    d : int
        Number of coefficients, with the intercept.
    norm : float
        ||w0||, above 0.
    eps : float
        Pure privacy loss, above 0.
    mechanism : {"objective", "output"}, default="objective"
        `"objective"` (Theorem 4) or `"output"` (Theorem 5).
    failure : float, default=0.05
        Probability over rows and noise that the statement does not hold, in (0, 1); each gets half of it.
    radius : float, default=1.0
        Radius R of the rows; CM08 has 1.
    statement : {"corrected", "cm08"}, default="corrected"
        What we prove, or what is printed; see the module.
    constant : float or None, default=None
        The factor C that CM08 leaves open; required by `"cm08"`, whose figure means nothing without it.

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
    dplr.utility.expected_excess_risk : The inverse.

    References
    ----------
    Chaudhuri and Monteleoni 2008 (CM08), Theorems 4 and 5; Sridharan, Shalev-Shwartz and Srebro 2008, Theorem 1.

    Examples
    --------
    >>> from dplr.utility import expected_sample_size
    >>> [expected_sample_size(0.1, d=10, norm=3.0, eps=0.1, mechanism=kind) for kind in ("objective", "output")]
    [2055680, 2055680]
    """
    target = check_positive("target", target)
    needed = _expected(target, d, norm, eps, mechanism, failure, radius, statement, constant)
    return math.ceil(needed * (1 - ROUNDING))


@in_floats
def expected_excess_risk(
    n_rows: float,
    *,
    d: int,
    norm: float,
    eps: float,
    mechanism: str = "objective",
    failure: float = 0.05,
    radius: float = 1.0,
    statement: str = "corrected",
    constant: float | None = None,
) -> float:
    """Smallest target for which `n_rows` records suffice: the inverse of `expected_sample_size`.

    Parameters
    ----------
    n_rows : float
        Number of records (or any positive number).
    d : int
        Number of coefficients, with the intercept.
    norm : float
        ||w0||, above 0.
    eps : float
        Pure privacy loss, above 0.
    mechanism : {"objective", "output"}, default="objective"
        `"objective"` (Theorem 4) or `"output"` (Theorem 5).
    failure : float, default=0.05
        Probability over rows and noise that the statement does not hold, in (0, 1).
    radius : float, default=1.0
        Radius R of the rows; CM08 has 1.
    statement : {"corrected", "cm08"}, default="corrected"
        What we prove, or what is printed; see the module.
    constant : float or None, default=None
        The factor C that CM08 leaves open, as in `expected_sample_size`.

    Returns
    -------
    float
        Excess of the expected loss over that of w0. The fit uses l2 = this / ||w0||^2.

    Raises
    ------
    ValueError, TypeError
        A parameter is outside its range.

    Privacy
    -------
    Reads public facts alone.

    See Also
    --------
    dplr.utility.expected_sample_size : The inverse.
    dplr.utility.excess_risk : On the training data.

    References
    ----------
    Chaudhuri and Monteleoni 2008 (CM08), Theorems 4 and 5; Sridharan, Shalev-Shwartz and Srebro 2008, Theorem 1.

    Examples
    --------
    >>> from dplr.utility import expected_excess_risk
    >>> print(f"{expected_excess_risk(2_055_680, d=10, norm=3.0, eps=0.1):.4f}")
    0.1000
    """
    n_rows = check_positive("n_rows", n_rows)

    def surplus(log_target: float) -> float:
        needed = _expected(math.exp(log_target), d, norm, eps, mechanism, failure, radius, statement, constant)
        return math.log(needed) - math.log(n_rows)

    return math.exp(optimize.brentq(surplus, -200.0, 200.0, xtol=1e-13))


def _expected(
    target: float,
    d: int,
    norm: float,
    eps: float,
    mechanism: str,
    failure: float,
    radius: float,
    statement: str,
    constant: float | None,
) -> float:
    """Records that suffice, as a real number; it falls as `target` grows."""
    norm, eps, radius = check_positive("norm", norm), check_eps(eps), check_radius(radius, statement)
    check_choice("mechanism", mechanism, MECHANISMS)
    failure = check_failure(failure)
    if statement == "cm08":
        if constant is None:
            raise ValueError(sentence("constant", "is required by statement='cm08', which leaves it open", None))
        noise = noise_norm_quantile(d, failure, statement=statement) * norm / (target * eps)
        terms = [norm**2 * math.log(1 / failure) / target**2, noise]
        if mechanism == "output":
            terms.append(noise * norm / math.sqrt(target))
        return check_positive("constant", constant) * max(terms)
    if constant is not None:
        raise ValueError(sentence("constant", "is of statement='cm08' only", constant))
    l2 = target / norm**2
    sampling = 4 * _SAMPLE_FACTOR * radius**2 * (_SAMPLE_OFFSET + math.log(2 / failure)) / (l2 * target)
    least, coefficient = coefficient_of(d, l2, eps, mechanism, failure / 2, radius, None, statement)
    return max(sampling, math.sqrt(8 * coefficient / target), least)
