"""When releases fit into one budget: basic, zCDP, GDP and loss distributions. Proofs in composition.md, section 3."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Protocol

from dplr._kit.validation import SMALLEST_EPS, sentence
from dplr.privacy import accounting
from dplr.privacy.calibration import MOST_GAUSSIAN_NUMBERS, continuous_target
from dplr.privacy.composition import (
    eps_of_rho,
    exact,
    float_down,
    float_up,
    largest_rho,
    pure_eps_of_rho,
    pure_eps_of_square,
    rho_of,
    square_of,
)
from dplr.privacy.gaussian import gaussian_eps, gaussian_mu
from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, Pure
from dplr.privacy.statement import PrivacyStatement

Guarantee = Pure | Gaussian | Poisson | Approx
_LARGEST_PLD_EPS = 100.0  # the time that a loss distribution takes grows with it; beyond 700 it overflows
# Of a Gaussian ledger: the share of delta for lost releases, and the numbers with Gaussian noise in all its entries.
_LOST = Fraction(1, 2**10)
_MOST_DRAWS = 10**7
_LARGEST_GAUSSIAN_EPS = 1e6
# Of the search for what remains under loss distributions: their own grid is a 10^-4 part of the ledger's eps.
_CLOSE = 1e-7
# Numbers of one Gaussian release that remains under loss distributions: none has more, and each costs 5e-12 of eps.
_NUMBERS = MOST_GAUSSIAN_NUMBERS


@dataclass(frozen=True, slots=True)
class Cost:
    """The facts of a statement for composition; `draws` counts the numbers that got Gaussian noise."""

    eps: float
    delta: float
    guarantee: Guarantee
    draws: int

    @classmethod
    def of(cls, statement: PrivacyStatement) -> Cost:
        noisy = [release for release in statement.released.values() if release.law.gaussian]
        draws = sum(math.prod(release.shape) for release in noisy)
        promised = statement.guarantee
        if isinstance(promised, Pure | Approx):
            return cls(max(statement.eps, promised.eps), statement.delta, promised, draws)
        return cls(statement.eps, statement.delta, promised, draws)


Costs = Mapping[Cost, int]


def added(costs: Costs, addition: Costs) -> dict[Cost, int]:
    """Both together."""
    return dict(Counter(costs) + Counter(addition))


def probe(kind: str, eps: float, delta: float) -> Cost:
    """The largest cost of a release of that kind: see `Rule.remaining`."""
    if kind == "gaussian":
        return Cost(eps, delta, Gaussian(gaussian_mu(eps, delta)), 1)
    return Cost(eps, delta, Approx(eps, delta) if delta else Pure(eps), 0)


@dataclass(frozen=True, slots=True)
class Shortage:
    """One sum of a budget that has too little room: its name, how much is needed and left, and if it is of delta."""

    name: str
    needed: float
    left: float
    of_delta: bool = False


class Rule(Protocol):
    """Decides what fits into one budget (eps, delta)."""

    def fits(self, costs: Costs) -> bool:
        """Whether all of these stay inside the budget."""

    def spent(self, costs: Costs) -> tuple[float, float]:
        """(eps, delta) of all of these, rounded up."""

    def remaining(self, costs: Costs, kind: str = "approx", delta: float | None = None) -> tuple[float, float]:
        """The (eps, delta) that one more release of a kind could have, rounded down.

        The kinds are those of `equal_shares`: `"approx"` states (eps, delta) and nothing simpler, with a delta of 0
        pure; a Gaussian one has at most the mu that its (eps, delta) allow. Without a delta: as much as is left of it.
        """

    def short_of(self, costs: Costs, addition: Costs) -> list[Shortage]:
        """The sums with too little room for `addition`; empty where `fits` takes both together."""


def _sums(costs: Costs) -> tuple[Fraction, Fraction]:
    eps = sum((count * exact(cost.eps) for cost, count in costs.items()), Fraction(0))
    return eps, sum((count * exact(cost.delta) for cost, count in costs.items()), Fraction(0))


def _remainder(total: float, spent: Fraction) -> float:
    return max(float_down(exact(total) - spent), 0.0)


def _draws(costs: Costs) -> int:
    return sum(cost.draws * count for cost, count in costs.items())


def _with_delta(eps: float, remainder: float, kind: str, delta: float | None) -> tuple[float, float]:
    """The eps, if that delta is left; a pure release has none, and without one it is what is left."""
    delta = (0.0 if kind == "pure" else remainder) if delta is None else delta
    return (eps if delta <= remainder else 0.0), delta


def _most_eps(fits: Callable[[float], bool], high: float, close: float = 0.0) -> float:
    """The largest eps below `high` that fits, by bisection to a relative `close`, or to the last float."""
    low = 0.0
    while high > SMALLEST_EPS / 2:
        middle = (low + high) / 2
        if middle in (low, high) or high - low <= close * low:
            break
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class Basic:
    """eps and delta add (theorem 3)."""

    eps: float
    delta: float

    def fits(self, costs: Costs) -> bool:
        eps, delta = _sums(costs)
        return eps <= exact(self.eps) and delta <= exact(self.delta)

    def spent(self, costs: Costs) -> tuple[float, float]:
        eps, delta = _sums(costs)
        return float_up(eps), float_up(delta)

    def remaining(self, costs: Costs, kind: str = "approx", delta: float | None = None) -> tuple[float, float]:
        spent, lost = _sums(costs)
        return _with_delta(_remainder(self.eps, spent), _remainder(self.delta, lost), kind, delta)

    def short_of(self, costs: Costs, addition: Costs) -> list[Shortage]:
        pairs = zip(("eps", "delta"), (self.eps, self.delta), _sums(costs), _sums(addition), strict=True)
        return [
            Shortage(name, float(needed), _remainder(budget, spent), name == "delta")
            for name, budget, spent, needed in pairs
            if spent + needed > exact(budget)
        ]


@dataclass(frozen=True, slots=True)
class Zcdp:
    """rho adds; half of delta for lost releases, half for the way back from zCDP (theorem 4).

    Where no release is Gaussian, sums of eps may stay inside instead.
    """

    eps: float
    delta: float
    unit: ClassVar[str] = "rho"

    @property
    def for_lost(self) -> float:
        """The delta for releases with a delta of their own."""
        return self.delta / 2

    @property
    def most(self) -> Fraction:
        """The limit of the sum of the costs of all releases."""
        return exact(largest_rho(self.eps, self.delta / 2))

    def one(self, cost: Cost) -> tuple[float, float]:
        """The cost of a release, and the delta that it may lose."""
        return rho_of(cost)

    def way_back(self, total: float) -> tuple[float, float]:
        """(eps, delta) of costs that add up to `total`."""
        return eps_of_rho(total, self.delta / 2), self.delta / 2

    def pure(self, remainder: Fraction) -> float:
        """The eps of a pure release that adds no more than what is left."""
        return pure_eps_of_rho(remainder)

    def _spent(self, costs: Costs) -> tuple[Fraction, Fraction, Fraction | None]:
        """Sums of costs, of lost delta, and of eps; None where a Gaussian release has no eps of its own."""
        total = lost = Fraction(0)
        for cost, count in costs.items():
            one, gone = self.one(cost)
            if math.isinf(one):
                return self.most + 1, Fraction(1), None
            total, lost = total + count * exact(one), lost + count * exact(gone)
        gaussian = any(isinstance(cost.guarantee, Gaussian) for cost in costs)
        return total, lost, None if gaussian else _sums(costs)[0]

    def fits(self, costs: Costs) -> bool:
        total, lost, eps = self._spent(costs)
        added = eps is not None and eps <= exact(self.eps)
        return lost <= exact(self.for_lost) and (added or total <= self.most)

    def spent(self, costs: Costs) -> tuple[float, float]:
        total, lost, eps = self._spent(costs)
        through, needed = self.way_back(float_up(total)) if total else (0.0, 0.0)
        if eps is not None and float_up(eps) <= through:
            return float_up(eps), float_up(lost)
        return through, float_up(lost + exact(needed))

    def remaining(self, costs: Costs, kind: str = "approx", delta: float | None = None) -> tuple[float, float]:
        """The larger eps of both ways, and what is left of delta for lost releases; Gaussian ones have one way."""
        total, lost, eps = self._spent(costs)
        remainder = max(self.most - total, Fraction(0))
        if kind == "gaussian" and delta is not None:
            return self._gaussian(remainder, delta), delta
        through = self.pure(remainder) if remainder else 0.0
        largest = max(through, 0.0 if eps is None else _remainder(self.eps, eps))
        return _with_delta(largest, _remainder(self.for_lost, lost), kind, delta)

    def _gaussian(self, remainder: Fraction, delta: float) -> float:
        def fits(eps: float) -> bool:
            return exact(self.one(probe("gaussian", eps, delta))[0]) <= remainder

        high = SMALLEST_EPS
        while high < _LARGEST_GAUSSIAN_EPS and fits(high):
            high *= 2
        return _most_eps(fits, high)

    def short_of(self, costs: Costs, addition: Costs) -> list[Shortage]:
        """Delta for lost releases; or the sum of costs, and of eps where both ways were open."""
        (total, lost, eps), (needed, loses, added_eps) = self._spent(costs), self._spent(addition)
        short = []
        if lost + loses > exact(self.for_lost):
            remainder = _remainder(self.for_lost, lost)
            short.append(Shortage("delta for releases that state one", float(loses), remainder, of_delta=True))
        both = None if eps is None or added_eps is None else (eps, added_eps)
        if total + needed > self.most and (both is None or sum(both) > exact(self.eps)):
            infinite = any(math.isinf(self.one(cost)[0]) for cost in addition)
            remainder = max(float_down(self.most - total), 0.0)
            short.append(Shortage(self.unit, math.inf if infinite else float(needed), remainder))
            if both is not None:
                short.append(Shortage("eps to be added instead", float(both[1]), _remainder(self.eps, both[0])))
        return short


@dataclass(frozen=True, slots=True)
class Gdp(Zcdp):
    """mu^2 adds; a 1024th of delta for lost releases, all of the rest for the way back (theorem 6).

    Where no release is Gaussian, sums of eps may stay inside instead.
    """

    unit: ClassVar[str] = "mu^2"

    @property
    def for_lost(self) -> float:
        return float_down(exact(self.delta) * _LOST)

    @property
    def most(self) -> Fraction:
        return exact(gaussian_mu(*self.target) ** 2 * (1 - 2.0**-46))

    @property
    def target(self) -> tuple[float, float]:
        """The target of continuous noise, with which as many discrete numbers as a ledger takes meet the budget."""
        rest = float_down(exact(self.delta) * (1 - _LOST))
        return continuous_target(self.eps, rest, _MOST_DRAWS, "Use composition='zcdp'.")

    def __post_init__(self) -> None:
        continuous_target(self.eps, self.delta / 2, _MOST_DRAWS, "Use composition='zcdp'.")

    def one(self, cost: Cost) -> tuple[float, float]:
        return square_of(cost)

    def way_back(self, total: float) -> tuple[float, float]:
        eps, delta = self.target
        return gaussian_eps(math.sqrt(total) * (1 + 2.0**-50), delta) + (self.eps - eps), self.delta - self.for_lost

    def pure(self, remainder: Fraction) -> float:
        return pure_eps_of_square(remainder)

    def fits(self, costs: Costs) -> bool:
        return _draws(costs) <= _MOST_DRAWS and Zcdp.fits(self, costs)

    def remaining(self, costs: Costs, kind: str = "approx", delta: float | None = None) -> tuple[float, float]:
        if kind == "gaussian" and delta is not None and _draws(costs) >= _MOST_DRAWS:
            return 0.0, delta
        return Zcdp.remaining(self, costs, kind, delta)

    def short_of(self, costs: Costs, addition: Costs) -> list[Shortage]:
        remainder, needed = _MOST_DRAWS - _draws(costs), _draws(addition)
        numbers = [Shortage("numbers with Gaussian noise", needed, remainder)] if needed > remainder else []
        return numbers + Zcdp.short_of(self, costs, addition)


@dataclass(frozen=True, slots=True)
class Pld:
    """Loss distributions are convolved, for releases whose guarantees were fixed in advance (theorem 5)."""

    eps: float
    delta: float
    neighbouring: Neighbouring

    def _eps(self, costs: Costs) -> float:
        """eps at the budget's delta, discreteness of the noise charged; inf where there is too much of anything."""
        if any(_alone(cost, self.delta) > self.eps for cost in costs):  # its loss distribution may fill the memory
            return math.inf
        draws = _draws(costs)
        eps, delta = self.eps, self.delta
        if draws:
            try:
                eps, delta = continuous_target(self.eps, self.delta, draws)
            except ValueError:
                return math.inf
        parts = tuple((cost.guarantee, count) for cost, count in costs.items())
        return accounting.composed_eps(parts, delta, self.neighbouring, self.eps) + (self.eps - eps)

    def fits(self, costs: Costs) -> bool:
        return self._eps(costs) <= self.eps

    def spent(self, costs: Costs) -> tuple[float, float]:
        return (math.nextafter(self._eps(costs), math.inf), self.delta) if costs else (0.0, 0.0)

    def remaining(self, costs: Costs, kind: str = "approx", delta: float | None = None) -> tuple[float, float]:
        delta = delta or 0.0

        def fits(eps: float) -> bool:
            one = probe(kind, eps, delta)
            return self.fits(added(costs, {replace(one, draws=_NUMBERS) if one.draws else one: 1}))

        high = self.eps
        if kind != "gaussian" and fits(high):
            return high, delta
        while fits(high):  # Gaussian noise has a smaller eps at the ledger's delta than at a smaller one
            high *= 2
        return _most_eps(fits, high, _CLOSE), delta

    def short_of(self, costs: Costs, addition: Costs) -> list[Shortage]:
        before, after = self._eps(costs), self._eps(added(costs, addition))
        if after <= self.eps:
            return []
        return [Shortage("eps by loss distributions", after - before, max(self.eps - before, 0.0))]


def _alone(cost: Cost, delta: float) -> float:
    """A lower bound on the eps that one release needs at `delta`."""
    promised = cost.guarantee
    if isinstance(promised, Gaussian):
        return gaussian_eps(promised.mu, delta) * (1 - 2**-30) - 2**-46  # it is rounded up, by less
    if isinstance(promised, Poisson):
        return 0.0
    # Randomised response: delta = (e^promised - e^eps)/(1 + e^promised), so e^eps >= (1 - 2 delta) e^promised.
    return promised.eps + math.log1p(-2 * delta) if delta < 0.5 else 0.0


RULES = ("basic", "zcdp", "gdp", "pld")


def rule_for(composition: str, eps: float, delta: float, neighbouring: Neighbouring) -> Rule:
    """The rule by its name; raises ValueError for a budget that it cannot keep."""
    if composition not in RULES:
        remedy = "Another version of dplr made this ledger."
        raise ValueError(sentence("composition", f"must be one of {', '.join(RULES)}", composition, remedy))
    if composition == "basic":
        return Basic(eps, delta)
    if delta == 0:
        remedy = "Use composition='basic' for pure eps differential privacy."
        raise ValueError(sentence("delta", f"must be positive with composition={composition!r}", delta, remedy))
    if composition == "zcdp":
        return Zcdp(eps, delta)
    if composition == "gdp":
        return Gdp(eps, delta)
    accounting.check_installed()
    if delta < accounting.SMALLEST_DELTA:
        rule = f"must be at least {accounting.SMALLEST_DELTA:.2g} with composition='pld'"
        raise ValueError(sentence("delta", rule, delta))
    if eps > _LARGEST_PLD_EPS:
        rule = f"must be at most {_LARGEST_PLD_EPS:g} with composition='pld'"
        raise ValueError(sentence("eps", rule, eps, "Use composition='zcdp'."))
    return Pld(eps, delta, neighbouring)
