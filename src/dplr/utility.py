"""What privacy costs a logistic regression: the lemmas and theorems of CM08 as computable statements.

Two questions, each both ways. On the training data: how much larger is the regularised mean loss

    J(w) = (1/n) sum_i log(1 + exp(-y_i x_i.w)) + (l2 / 2) ||w||^2,    ||x_i|| <= R,

than its minimum (Lemmas 3 and 4; `excess_risk`, `sample_size`)? On new data: how much larger is the expected loss than
that of a reference w0 (Theorems 4 and 5; `expected_excess_risk`, `expected_sample_size`)? All under `replace_one`, for
the minimiser in exact arithmetic, with pure eps; an intercept counts as a column and R as hypot(radius, constant).

`statement="cm08"` computes what is printed, `"corrected"` what we prove:

Lemma 5. The norm of the noise is its scale times a Gamma(d, 1) variable, of which d log(d / failure) is an upper
    quantile by the union bound. Corrected: the quantile itself.
Lemma 3 (output perturbation). J(w) - min J <= (smoothness of J) ||w - w*||^2 / 2, the distance being the noise, of
    scale 2 R / (n l2 eps). The printed smoothness is 1 + l2. Corrected: R^2 / 4 + l2, as p (1 - p) <= 1/4.
Lemma 4 (objective perturbation). w minimises J + b.w / n, so the gradient of J at w is -b / n, and strong convexity
    gives J(w) - min J <= ||b||^2 / (2 n^2 l2), with ||b|| of scale 2 R / eps'. Printed: 4 times this.
Theorems 4 (objective) and 5 (output). Printed with an unspecified constant factor. Corrected: with
    l2 = target / ||w0||^2, half of target is the ridge's share (l2 ||w0||^2 / 2), a quarter is twice the lemma's excess
    and a quarter 16 R^2 (32 + log(1 / failure)) / (l2 n), the price of seeing a sample only, by Theorem 1 of
    Sridharan, Shalev-Shwartz and Srebro 2008. That theorem's constants are quoted, not re-derived here.

Objective perturbation is private with noise of eps' = eps where n l2 >= 2 R^2 / eps, which CM08 does not ask for. The
corrected statements do: where it fails, give `excess_risk` the eps' of the noise that is used.

Privacy
-------
Everything here is a function of public facts and may be looked at before any data is.
"""

from __future__ import annotations

import math
from typing import Any

from scipy import optimize, special

from dplr._validation import check_choice, check_count, check_eps, check_positive, real_number, sentence

MECHANISMS = ("output", "objective")
STATEMENTS = ("corrected", "cm08")
_ROUNDING = 1e-14  # relative, of the few operations of a formula: a bound that is met exactly counts as met
_SMOOTHNESS = 0.25  # of the logistic loss in the margin
# Sridharan, Shalev-Shwartz and Srebro 2008, Theorem 1 at a = 1: F(w) - min F <= 2 (F_n(w) - min F_n)
# + 16 R^2 (32 + log(1 / failure)) / (l2 n), for a loss of Lipschitz constant 1.
_SAMPLE_FACTOR, _SAMPLE_OFFSET = 16.0, 32.0


def noise_norm_quantile(d: int, failure: float, *, statement: str = "corrected") -> float:
    """Bound of the norm of noise of scale 1 in d dimensions, exceeded with probability at most `failure` (Lemma 5).

    Parameters
    ----------
    d : dimensions, with the intercept.
    failure : probability in (0, 1).
    statement : `"corrected"`: the quantile of Gamma(d, 1); `"cm08"`: d log(d / failure).

    Returns
    -------
    The bound.

    Raises
    ------
    ValueError, TypeError
        A parameter is outside its range.

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
    d, failure = check_count("d", d), _check_failure(failure)
    return d * math.log(d / failure) if statement == "cm08" else float(special.gammainccinv(d, failure))


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
    """Bound of J(w) - min J on the training data, for a private w (Lemmas 3 and 4).

    Parameters
    ----------
    n_rows : number of records (or any positive number, between two counts).
    d : coefficients, with the intercept.
    l2 : ridge of the mean objective, positive.
    eps : pure privacy loss.
    mechanism : `"objective"` (CM08, Algorithm 2) or `"output"` (Algorithm 1).
    failure : probability over the noise that the bound does not hold.
    radius : R of the rows; CM08 has 1.
    noise_eps : eps' <= eps that objective perturbation draws its noise with; None for eps itself.
    statement : `"corrected"` or `"cm08"`, see the module.

    Returns
    -------
    The bound, in units of the mean loss.

    Raises
    ------
    ValueError, TypeError
        A parameter is outside its range; objective perturbation without `noise_eps` where n_rows * l2 < 2 R^2 / eps.

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
    least, coefficient = _excess(d, l2, eps, mechanism, failure, radius, noise_eps, statement)
    if n_rows < least * (1 - _ROUNDING):
        remedy = "Use more ridge, or give the eps' of the noise as `noise_eps`."
        raise ValueError(sentence("n_rows", f"must be at least 2 R^2 / (l2 eps) = {least:g}", n_rows, remedy))
    return coefficient / n_rows**2


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
    excess : target of J(w) - min J, positive.
    d, l2, eps, mechanism, failure, radius, noise_eps, statement : as in `excess_risk`.

    Returns
    -------
    n_rows

    Raises
    ------
    ValueError, TypeError
        A parameter is outside its range.

    Examples
    --------
    >>> from dplr.utility import sample_size
    >>> sample_size(0.0493, d=10, l2=0.01, eps=0.1), sample_size(0.0493, d=10, l2=0.01, eps=0.1, statement="cm08")
    (10004, 67494)
    """
    excess = check_positive("excess", excess)
    least, coefficient = _excess(d, l2, eps, mechanism, failure, radius, noise_eps, statement)
    return math.ceil(max(least, math.sqrt(coefficient / excess)) * (1 - _ROUNDING))


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
    """Number of records that suffices for an expected loss of at most that of w0 plus `target` (Theorems 4 and 5).

    The rows are drawn independently from one distribution, w0 is any fixed vector, and the fit uses
    l2 = target / ||w0||^2.

    Parameters
    ----------
    target : excess of the expected loss, positive (the loss at w = 0 is log 2).
    d : coefficients, with the intercept.
    norm : ||w0||, positive.
    eps : pure privacy loss.
    mechanism : `"objective"` (Theorem 4) or `"output"` (Theorem 5).
    failure : probability over rows and noise that the statement does not hold; each gets half of it.
    radius : R of the rows; CM08 has 1.
    statement : `"corrected"` or `"cm08"`, see the module.
    constant : the factor C that CM08 leaves open; required by `"cm08"`, whose figure means nothing without it.

    Returns
    -------
    n_rows

    Raises
    ------
    ValueError, TypeError
        A parameter is outside its range.

    Examples
    --------
    >>> from dplr.utility import expected_sample_size
    >>> [expected_sample_size(0.1, d=10, norm=3.0, eps=0.1, mechanism=kind) for kind in ("objective", "output")]
    [2055680, 2055680]
    """
    target = check_positive("target", target)
    needed = _expected(target, d, norm, eps, mechanism, failure, radius, statement, constant)
    return math.ceil(needed * (1 - _ROUNDING))


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
    n_rows : number of records (or any positive number).
    d, norm, eps, mechanism, failure, radius, statement, constant : as in `expected_sample_size`.

    Returns
    -------
    Excess of the expected loss over that of w0. The fit uses l2 = this / ||w0||^2.

    Raises
    ------
    ValueError, TypeError
        A parameter is outside its range.

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


def _excess(
    d: int, l2: float, eps: float, mechanism: str, failure: float, radius: float, noise_eps: Any, statement: str
) -> tuple[float, float]:
    """The least n and the factor A of excess <= A / n^2."""
    l2, eps, radius = check_positive("l2", l2), check_eps(eps), _check_radius(radius, statement)
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
    norm, eps, radius = check_positive("norm", norm), check_eps(eps), _check_radius(radius, statement)
    check_choice("mechanism", mechanism, MECHANISMS)
    failure = _check_failure(failure)
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
    least, coefficient = _excess(d, l2, eps, mechanism, failure / 2, radius, None, statement)
    return max(sampling, math.sqrt(8 * coefficient / target), least)


def _check_failure(failure: Any) -> float:
    """A probability in (0, 1)."""
    value = real_number("failure", failure)
    if not 0 < value < 1:
        raise ValueError(sentence("failure", "must be between 0 and 1", value))
    return value


def _check_radius(radius: Any, statement: str) -> float:
    """A positive radius, 1 where CM08 has none."""
    check_choice("statement", statement, STATEMENTS)
    value = check_positive("radius", radius)
    if statement == "cm08" and value != 1:
        raise ValueError(sentence("radius", "must be 1 with statement='cm08'", value, "Scale the rows."))
    return value
