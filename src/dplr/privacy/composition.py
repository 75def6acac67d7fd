"""Joint cost of several releases, in closed form. Pure functions of statements; proofs in composition.md."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Protocol

from dplr._kit.validation import check_choice, check_count, check_delta, check_eps, check_list, sentence
from dplr.privacy.gaussian import gaussian_eps, gaussian_mu, pure_eps, pure_mu
from dplr.privacy.guarantees import Approx, Gaussian, Poisson, Pure


class Priced(Protocol):
    """The facts of a statement that composition reads."""

    @property
    def eps(self) -> float: ...

    @property
    def delta(self) -> float: ...

    @property
    def guarantee(self) -> Pure | Gaussian | Poisson | Approx: ...


def _priced(statements: Iterable[Priced]) -> list[Priced]:
    listed = check_list("statements", statements)
    if not all(hasattr(each, "guarantee") for each in listed):
        raise TypeError(sentence("statements", "must hold privacy statements alone", listed))
    return listed


KINDS = ("pure", "gaussian", "approx")
# Covers the rounding of a formula of a few dozen float operations.
_MARGIN = 2.0**-46


def exact(value: float) -> Fraction:
    """The decimal number that Python prints for a float: 0.2 is a fifth here, so five of them are one.

    It differs from the float by at most a 2^-53 part.
    """
    return Fraction(repr(float(value)))


def float_up(value: Fraction) -> float:
    """Smallest float whose printed decimal is at least `value`."""
    number = float(value)
    return number if exact(number) >= value else math.nextafter(number, math.inf)


def float_down(value: Fraction) -> float:
    """Largest float whose printed decimal is at most `value`."""
    number = float(value)
    return number if exact(number) <= value else math.nextafter(number, -math.inf)


def pure_rho(eps: float) -> float:
    """rho such that eps-DP implies rho-zCDP, eps tanh(eps/2), rounded up (composition.md, lemma 1)."""
    return eps * math.tanh(eps / 2) * (1 + _MARGIN)


def _cost(statement: Priced, of_mu: Callable[[float], float], of_eps: Callable[[float], float]) -> tuple[float, float]:
    guarantee = statement.guarantee
    if isinstance(guarantee, Gaussian):
        return of_mu(guarantee.mu) * (1 + _MARGIN), 0.0
    if math.isinf(statement.eps):
        raise ValueError(sentence("eps", "must be finite to be composed", statement.eps))
    if isinstance(guarantee, Pure):
        return of_eps(guarantee.eps), 0.0
    return of_eps(statement.eps), statement.delta


def rho_of(statement: Priced) -> tuple[float, float]:
    """The statement as delta_lost-approximate rho-zCDP: (rho, delta_lost), rounded up (composition.md, section 1).

    Raises ValueError for eps = inf.
    """
    return _cost(statement, lambda mu: mu**2 / 2, pure_rho)


def square_of(statement: Priced) -> tuple[float, float]:
    """The statement as a release that is lost with probability delta_lost, else mu-GDP: (mu^2, delta_lost), rounded up.

    Pure and approximate ones by composition.md, lemmas 2 and 4. Raises ValueError for eps = inf.
    """
    return _cost(statement, lambda mu: mu**2, pure_square)


def pure_square(eps: float) -> float:
    """The mu^2 that eps-DP implies, rounded up."""
    return pure_mu(eps) ** 2 * (1 + _MARGIN)


def eps_of_rho(rho: float, delta: float) -> float:
    """Smallest eps >= 0 such that rho-zCDP is shown to imply (eps, delta)-DP, rounded up (composition.md, lemma 3)."""
    if rho == 0:
        return 0.0
    return max(_least(lambda log_excess: _eps_at(rho, delta, log_excess)), 0.0)


@functools.lru_cache(maxsize=256)
def largest_rho(eps: float, delta: float) -> float:
    """Largest rho such that rho-zCDP is shown to imply (eps, delta)-DP, rounded down; 0 where delta is 0."""
    if delta == 0:
        return 0.0
    return max(-_least(lambda log_excess: -_rho_at(eps, delta, log_excess)) * (1 - 2**-30), 0.0)


def _eps_at(rho: float, delta: float, log_excess: float) -> float:
    """CKS 2020, Proposition 12, at alpha = 1 + e^log_excess, rounded up."""
    alpha, way_back, error = _way_back(delta, log_excess)
    return alpha * rho - way_back + _MARGIN * (alpha * rho + error)


def _rho_at(eps: float, delta: float, log_excess: float) -> float:
    """CKS 2020, Proposition 12, at alpha = 1 + e^log_excess, solved for rho and rounded down."""
    alpha, way_back, error = _way_back(delta, log_excess)
    return (eps + way_back - _MARGIN * (eps + error)) / alpha


def _way_back(delta: float, log_excess: float) -> tuple[float, float, float]:
    """alpha, (log delta + log alpha)/(alpha - 1) - log(1 - 1/alpha), and the size of what was added for it.

    Where eps is tiny the parts nearly cancel, so rounding is charged by their size and not by that of the sum.
    """
    excess = math.exp(log_excess)
    log_alpha, last = math.log1p(excess), math.log1p(1 / excess)
    return 1 + excess, (math.log(delta) + log_alpha) / excess + last, (log_alpha - math.log(delta)) / excess + last


def _least(curve: Callable[[float], float]) -> float:
    """Minimum over log(alpha - 1): the curves fall and then rise, and each of their values is a valid bound."""
    low, high = -30.0, 60.0
    for _ in range(140):  # the bracket shrinks to two thirds each time, in the end to 1e-22
        lower, upper = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, upper) if curve(lower) <= curve(upper) else (lower, high)
    return curve((low + high) / 2)


def basic(statements: Iterable[Priced]) -> tuple[float, float]:
    """Add the eps and the delta of several releases up, exactly in decimals and then rounded up.

    Parameters
    ----------
    statements : iterable of dplr.privacy.PrivacyStatement
        Statements of the releases, or anything with `eps`, `delta` and `guarantee`.

    Returns
    -------
    tuple of (float, float)
        The pair (eps, delta) of all together.

    Privacy
    -------
    Reads public facts alone. The promise holds for releases that are chosen one after the other.

    See Also
    --------
    dplr.privacy.zcdp : Less for many releases.
    dplr.Ledger : Keeps account in a file.

    References
    ----------
    Dwork et al. 2006; proof: composition.md, theorem 1.

    Examples
    --------
    >>> import dplr
    >>> from dplr.privacy import basic
    >>> statement = dplr.plan(n_rows=1000, n_features=2, eps=0.2, mechanism="fm").statement
    >>> basic([statement] * 5)
    (1.0, 0.0)
    """
    eps = delta = Fraction(0)
    for statement in _priced(statements):
        if math.isinf(statement.eps):
            return math.inf, 0.0
        eps, delta = eps + exact(statement.eps), delta + exact(statement.delta)
    return float_up(eps), float_up(delta)


def zcdp(statements: Iterable[Priced], delta: float) -> tuple[float, float]:
    """Compose several releases through zero-concentrated differential privacy (zCDP).

    Parameters
    ----------
    statements : iterable of dplr.privacy.PrivacyStatement
        Statements of the releases, or anything with `eps`, `delta` and `guarantee`.
    delta : float
        What is added to what the factor exp(eps) of all together allows, in (0, 1).

    Returns
    -------
    tuple of (float, float)
        The pair (eps, delta) of all together; eps = inf where delta is not enough.

    Raises
    ------
    ValueError, TypeError
        `delta` is outside its range.

    Privacy
    -------
    Reads public facts alone. The promise holds for releases that are chosen one after the other.

    See Also
    --------
    dplr.privacy.basic : Without a delta.
    dplr.Ledger : Keeps account in a file.

    References
    ----------
    Bun and Steinke 2016; proof: composition.md, theorem 2.

    Examples
    --------
    >>> import dplr
    >>> from dplr.privacy import basic, zcdp
    >>> statement = dplr.plan(n_rows=1000, n_features=2, eps=0.01, mechanism="fm").statement
    >>> zcdp([statement] * 1000, delta=1e-6)[0] < basic([statement] * 1000)[0]
    True
    """
    costs = [rho_of(statement) for statement in _priced(statements)]
    rho = float_up(sum((exact(cost) for cost, _ in costs), Fraction(0)))
    remainder = float_down(exact(check_delta(delta)) - sum((exact(lost) for _, lost in costs), Fraction(0)))
    if remainder < 0 or (remainder == 0 and rho > 0):
        return math.inf, delta
    return (eps_of_rho(rho, remainder) if rho else 0.0), delta


def equal_shares(k: int, eps: float, delta: float, kind: str = "pure") -> tuple[float, float]:
    """Share a budget among equal releases: the largest (eps_i, delta_i) of each, by basic composition or zCDP.

    Parameters
    ----------
    k : int
        Number of releases, fixed in advance.
    eps, delta : float
        What they may cost together: eps > 0, delta in [0, 1).
    kind : {"pure", "gaussian", "approx"}, default="pure"
        Guarantee of each release: `"pure"`; `"gaussian"`, calibrated so that it is (eps_i, delta_i)-DP; or `"approx"`,
        anything that is (eps_i, delta_i)-DP. Objective perturbation is `"approx"`, also without a delta.

    Returns
    -------
    tuple of (float, float)
        The pair (eps_i, delta_i), rounded down; delta_i is 0 for pure releases.

    Raises
    ------
    ValueError, TypeError
        A parameter is out of its range; k Gaussian or approximate releases with delta = 0.

    Privacy
    -------
    Reads public facts alone.

    See Also
    --------
    dplr.fit_many : Many fits of the same rows.
    dplr.privacy.zcdp : What given releases cost.

    References
    ----------
    Proofs: composition.md, theorems 1 and 2.

    Examples
    --------
    >>> from dplr.privacy import equal_shares
    >>> equal_shares(4, 1.0, 0.0)
    (0.25, 0.0)
    >>> equal_shares(1000, 1.0, 1e-6)[0] > 1 / 1000
    True
    """
    k, eps, delta = check_count("k", k), check_eps(eps), check_delta(delta)
    check_choice("kind", kind, KINDS)
    if kind != "pure" and delta == 0:
        raise ValueError(sentence("delta", "must be positive unless each release is pure", delta))
    share_delta = float_down(exact(delta) / k) if kind != "pure" else 0.0
    plain = (eps if math.isinf(eps) else float_down(exact(eps) / k), share_delta)
    if delta == 0 or k == 1 or math.isinf(eps):
        return plain
    if kind == "gaussian":
        return max(plain, (_gaussian_share(k, eps, delta, share_delta), share_delta))
    if kind == "pure":
        return max(plain, (pure_eps_of_rho(exact(largest_rho(eps, delta)) / k), 0.0))
    # The releases may lose half of delta; the other half pays for the way back from zCDP.
    half = float_down(exact(delta) / (2 * k))
    return max(plain, (pure_eps_of_rho(exact(largest_rho(eps, delta / 2)) / k), half))


def pure_eps_of_rho(rho: Fraction) -> float:
    """Largest eps with pure_rho(eps) <= rho, rounded down."""
    return _largest(pure_rho, rho, max(4.0, 2 * float(rho)))


def pure_eps_of_square(square: Fraction) -> float:
    """Largest eps whose pure_mu(eps)^2 is at most `square`, rounded down."""
    return _largest(pure_square, square, 2 * pure_eps(math.sqrt(square)))


def _largest(cost: Callable[[float], float], budget: Fraction, high: float) -> float:
    """Largest float below `high` that costs at most the budget; costs rise."""
    low = 0.0
    for _ in range(1100):  # to the last float, however small
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if exact(cost(middle)) <= budget else (low, middle)
    return low


def _gaussian_share(k: int, eps: float, delta: float, share_delta: float) -> float:
    """eps_i at delta_i = share_delta of mu-GDP with k mu^2 / 2 = rho, such that no calibration to it exceeds mu."""
    mu = math.sqrt(2 * largest_rho(eps, delta) / k) * (1 - 2 * _MARGIN)
    share = gaussian_eps(mu, share_delta)
    shrink = _MARGIN
    while share > 0 and gaussian_mu(share, share_delta) > mu:
        share, shrink = share * (1 - shrink), 2 * shrink
    return share
