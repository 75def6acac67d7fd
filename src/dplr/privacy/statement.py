"""Promises and blocks of a release, as frozen values."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from types import MappingProxyType
from typing import Any

from dplr._kit import markup
from dplr.privacy.estimand import Estimand
from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, Pure
from dplr.privacy.law import Law
from dplr.privacy.unit import ROW, Unit


@dataclass(frozen=True, slots=True)
class Release:
    """One block of released numbers: its shape and its noise.

    Attributes
    ----------
    shape : tuple of int
        Shape of the block.
    sensitivity : float
        Joint sensitivity of the whole release, not of this block alone: all blocks together, each times its `weight`,
        move by at most this much between neighbours. So blocks of one release have the same number. Of the gradient
        where the noise is in the objective, and in its gauge N where the law is.
    law : Law
        Law of the noise, or its name.
    scale : float
        Scale (Laplace, norm-Gamma, gauge) or standard deviation (Gaussian) of the noise on this block: the sensitivity
        over ``weight * eps`` (of one run, where noise is drawn anew) or ``weight * mu``, rounded up to the grid.
    grid : float
        The block is released as integer multiples of this power of two; 0 for no grid.
    weight : float, default=1.0
        Factor of this block inside the norm in which the joint sensitivity is measured.
    units : int, default=0
        What the integer sampler is given: the scale, or the variance, in grid units.
    spread : float, default=0.0
        Root mean square of the standard deviations of the noise's numbers, for gauge noise; 0 for other laws.

    Raises
    ------
    ValueError
        There is no law of this name.

    Privacy
    -------
    The shape and the law of the noise are public; the block's numbers are in `released_` of a fit.

    See Also
    --------
    dplr.privacy.PrivacyStatement : Holds one of these for each block.
    dplr.privacy.Law : Lists the laws.

    Examples
    --------
    >>> import dplr
    >>> block = dplr.plan(n_rows=1000, n_features=2, eps=0.8, mechanism="fm").released["linear"]
    >>> block.shape, str(block.law)
    ((3,), 'discrete Laplace')
    """

    shape: tuple[int, ...]
    sensitivity: float
    law: Law
    scale: float
    grid: float
    weight: float = 1.0
    units: int = 0
    spread: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "law", Law(self.law))

    @property
    def deviation(self) -> float:
        """Standard deviation of one number of the noise; root mean square where they differ.

        Noise `" in the objective"` is in the gradient: its effect on a coefficient depends on the data.
        """
        if self.spread:
            return self.spread
        if self.law.family is Law.NORM_GAMMA:
            return self.scale * math.sqrt(math.prod(self.shape) + 1)
        return self.scale * math.sqrt(2) if self.law is Law.DISCRETE_LAPLACE else self.scale

    @property
    def noise_words(self) -> str:
        """The deviation of the noise and the sensitivity that it covers, in words, as a plan and a report say them."""
        unit = " in the gauge" if self.law.family is Law.GAUGE else ""
        return f"standard deviation {self.deviation:.6g}, for a sensitivity of {self.sensitivity:.6g}{unit}"


# How a statement says that the intercept of counts is another than the released one.
MOVED = "the intercept is moved by what the ridge adds to the sum of fitted counts"
_TINY = 1e-15  # a delta that is smaller is room for rounding, and not one that anybody chose
_LARGEST_EXPONENT = 700.0
_CERTAIN = 99.95  # percent
_LARGEST_FACTOR_EPS = 10.0  # a factor of 22,027; from here on its digits say nothing to anybody
# The label of a fact that voids a guarantee, wherever statements are shown.
NOT_COVERED = "NOT COVERED"
# The blocks of an evaluation begin so in the statement of a fit that held rows out for it.
EVALUATION = "evaluation "


@functools.cache
def _version() -> str:
    return metadata.version("dplr")


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """Everything that is needed to check the guarantee of one release.

    Attributes
    ----------
    mechanism : str
        Shorthand of the mechanism.
    eps, delta : float
        The privacy loss asked for, or the larger one that the mechanism has.
    guarantee : Pure, Gaussian, Poisson or Approx
        The promise as a value of `dplr.privacy`, for example ``Pure(0.8)``.
    neighbouring : dplr.privacy.Neighbouring
        The relation the promise is about.
    released : mapping of str to dplr.privacy.Release
        Name of each released block, and its shape and noise. It cannot be changed.
    calibration : str
        Which theorem gave the noise scale.
    assumptions : tuple of str
        Every fact that was taken as public.
    arithmetic : {"integer", "real-arithmetic"}
        `"integer"` where the guarantee holds for the computed numbers, not only over the reals.
    reproducible : bool
        True where the noise came from a seed; then there is no privacy against anyone who knows the seed.
    source : str
        Theorem and proof.
    solution : tuple of str
        How the coefficients follow from what is released, as far as options decide it: ridge, shrinkage, quadratic.
    unused_delta : float
        The delta that was asked for, where pure noise was taken, which has no use for it; else 0.
    unit : dplr.privacy.Unit
        Whom the guarantee protects, one row or one person with all their rows, and how much rows count.
    estimand : {"mean", "probability", "log-odds", "log-rate", "location", "margin"} or None
        What the coefficients come to with many rows, noise and ridge aside. `"margin"` has signs and an order, and no
        size that means anything beyond predictions. None where the release has no coefficients.
    uncovered : tuple of str
        Facts that the guarantee does not cover, such as a step before the fit that learned from the private rows. Empty
        where nothing is known to be uncovered.
    version : str
        Version of dplr.

    Privacy
    -------
    A statement is made of public facts alone: publish it with the release. It is about `released` and whatever is
    computed from it, under the relation `neighbouring`, and holds only if all of `assumptions` were public. It does not
    hold for `uncovered`.

    See Also
    --------
    dplr.plan : The statement of a fit before it is made.
    dplr.Ledger : Adds the costs of many releases up.

    Examples
    --------
    >>> import dplr
    >>> statement = dplr.plan(n_rows=1000, n_features=2, eps=0.8, mechanism="fm").statement
    >>> isinstance(statement, dplr.privacy.PrivacyStatement)
    True
    >>> statement.guarantee
    Pure(eps=0.8)
    >>> sorted(statement.released)
    ['diagonal', 'linear', 'off_diagonal']
    """

    mechanism: str
    eps: float
    delta: float
    guarantee: Pure | Gaussian | Poisson | Approx
    neighbouring: Neighbouring
    released: Mapping[str, Release]
    calibration: str
    assumptions: tuple[str, ...]
    arithmetic: str
    reproducible: bool
    source: str
    solution: tuple[str, ...] = ()
    unused_delta: float = 0.0
    unit: Unit = ROW
    estimand: Estimand | None = None
    uncovered: tuple[str, ...] = ()
    version: str = field(default_factory=_version)

    def __post_init__(self) -> None:
        object.__setattr__(self, "released", MappingProxyType(dict(self.released)))

    def __hash__(self) -> int:
        return hash(
            (
                *(self.mechanism, self.eps, self.delta, self.guarantee, self.unit),
                *(tuple(self.released.items()), self.assumptions, self.solution, self.uncovered),
            )
        )

    def __reduce__(self) -> tuple[Any, ...]:
        names = list(self.__slots__)
        values = [dict(self.released) if name == "released" else getattr(self, name) for name in names]
        return (PrivacyStatement, tuple(values))

    def _common(self, name: str) -> float:
        values = {getattr(release, name) for release in self.released.values()}
        if len(values) != 1:
            raise AttributeError(
                f"the released blocks have different values of `{name}`; read `statement.released[block].{name}` for a "
                f"block of {', '.join(self.released)}"
            )
        return float(values.pop())

    @property
    def sensitivity(self) -> float:
        """Joint sensitivity as a float, where all blocks share one value.

        Raises
        ------
        AttributeError
            The blocks have different values.
        """
        return self._common("sensitivity")

    @property
    def noise_scale(self) -> float:
        """Scale of the noise as a float, where all blocks share one value.

        Raises
        ------
        AttributeError
            The blocks have different values.
        """
        return self._common("scale")

    def _guarantee_sentence(self) -> str:
        if self.delta and not isinstance(self.guarantee, Approx):
            return f"(eps, delta)-differential privacy, eps = {self.eps:g}, delta = {self.delta:g}; {self.guarantee}"
        return str(self.guarantee)

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """The statement as a tuple of pairs of a label and a text."""
        lines = [
            ("guarantee", self._guarantee_sentence()),
            *((NOT_COVERED, fact) for fact in self.uncovered),
            ("neighbouring", f"{self.neighbouring}: {self.unit.relation(self.neighbouring)}"),
        ]
        lines += [*(("unit", rule) for rule in self.unit.rules), ("table", self.unit.of_table)]
        for name, block in self.released.items():
            count = math.prod(block.shape)
            word = "standard deviation" if block.law.gaussian else "scale"
            noise = f"{block.law}, {word} {block.scale:.6g}" if block.scale else "no noise"
            grid = f", on a grid of {block.grid:.3g}" if block.grid else ""
            lines.append(("released", f"{name}: {count} numbers, {noise}{grid}"))
        lines += [("calibration", self.calibration), ("arithmetic", self.arithmetic), ("source", self.source)]
        lines += [("solution", words) for words in self.solution]
        if self.estimand is not None:
            lines.append(("coefficients", self.estimand.words))
        if self.reproducible:
            lines.append(("WARNING", "the noise came from a seed: no privacy against anyone who can guess it"))
        return (*lines, *(("assumed", assumption) for assumption in self.assumptions))

    @property
    def brief(self) -> tuple[str, ...]:
        """The statement in plain words: sentences for whoever reads the release, without its constants.

        What voids the promise comes first. The full statement, `lines`, has all that is needed to check it.
        """
        return brief(self)

    @property
    def title(self) -> str:
        """Mechanism and version, as a heading."""
        return f"Privacy statement ({self.mechanism}, dplr {self.version})"

    def __str__(self) -> str:
        return "\n".join([self.title, *(_line(name, text) for name, text in self.lines)])

    def _repr_html_(self) -> str:
        """Return the statement for notebooks, what voids it first."""
        return markup.piece(self.title, markup.alarms(alarms(self)), markup.facts(self.lines))


def _line(name: str, text: str) -> str:
    """A labelled line, wrapped under itself."""
    return textwrap.fill(text, width=110, initial_indent=f"  {name:14}", subsequent_indent=" " * 16)


def delta_number(delta: float) -> str:
    """The value of delta: a number or, for one too small to tell from others, the power of ten just above it."""
    if 0 < delta < _TINY:
        return f"below 10^{math.floor(math.log10(delta)) + 1}"
    return f"{delta:g}"


def delta_words(delta: float) -> str:
    """The value of delta after its name: `= 1e-06`, or `below 10^-19`."""
    number = delta_number(delta)
    return number if number.startswith("below") else f"= {number}"


def best_guess(eps: float, delta: float) -> float:
    """Highest probability of guessing which of two neighbouring data sets was used, if both were equally likely before.

    An (eps, delta) guarantee bounds both error rates by 1 - delta <= a + exp(eps) b and the same with a and b
    exchanged, so (a + b) / 2 >= (1 - delta) / (1 + exp(eps)).
    """
    return 1 - (1 - delta) / (1 + math.exp(eps)) if eps < _LARGEST_EXPONENT else 1.0


def brief(statement: PrivacyStatement) -> tuple[str, ...]:
    """Whom a statement protects and how well, what was released, and what the publisher answers for."""
    if math.isinf(statement.eps):
        return ("No privacy: nothing was added to hide anybody (eps = inf). Treat the numbers like the data.",)
    numbers = sum(math.prod(block.shape) for block in statement.released.values())
    exact = statement.neighbouring is Neighbouring.REPLACE_ONE
    public = f"bounds, options and the number of {statement.unit.many}" if exact else "bounds and options"
    void = alarms(statement)
    covered = "" if void else " Whatever is computed from them, the model too, is covered."
    promise = (bound(statement), guess(statement))
    sentences = [
        *(void or promise),
        *([f"But for that, this would hold: {' '.join(promise)}"] if void else ()),
        f"Released: {numbers:,} noisy numbers.{covered} The losses of all releases from these data add up.",
        f"The publisher answers for all that was taken as public, such as {public}. The full statement lists all "
        f"{len(statement.assumptions)} facts.",
    ]
    if statement.arithmetic != "integer":
        sentences.append("Proved for real numbers; computed in floating point, and rounded to a public grid.")
    return tuple(sentences)


def alarms(statement: PrivacyStatement) -> tuple[str, ...]:
    """A sentence for each fact that voids the promise; none where nothing does."""
    sentences = [f"NOT COVERED: {fact}." for fact in statement.uncovered]
    if statement.reproducible:
        sentences.append("Not private: the noise came from a seed, and whoever knows the seed can take it away.")
    return tuple(sentences)


def bound(statement: PrivacyStatement) -> str:
    """The guarantee as a factor."""
    person = statement.unit.person
    whom = "One record" if person is None else f"One person with all their rows (column {person})"
    if statement.neighbouring is Neighbouring.REPLACE_ONE:
        change = f"had {'any one record' if person is None else 'the rows of any one person'} said anything else"
    else:
        whom += f", and whether {'it is' if person is None else 'they are'} there,"
        change = f"had any one {statement.unit.one} been missing, or one more been there"
    delta_clause = f", plus delta {delta_words(statement.delta)}" if statement.delta else ""
    empty = ": so large a factor protects nobody" if statement.eps >= _LARGEST_FACTOR_EPS else ""
    return (
        f"{whom} is protected: {change}, no outcome would be more than {_factor(statement.eps)} times as likely "
        f"(eps = {statement.eps:g}){delta_clause}{empty}."
    )


def _factor(eps: float) -> str:
    """The number e^eps with three digits or all of its whole ones, rounded up; in words where it means nothing."""
    if eps >= _LARGEST_FACTOR_EPS:
        return "e^eps"
    factor = math.exp(eps) * (1 + 1e-12)  # at least as large as the real number, in spite of rounding
    places = max(0, 2 - math.floor(math.log10(factor)))
    return f"{math.ceil(factor * 10**places) / 10**places:.7g}"


def guess(statement: PrivacyStatement) -> str:
    """The guarantee as the success rate of the best attack, rounded up."""
    chance = math.ceil(1000 * best_guess(statement.eps, statement.delta)) / 10
    several = statement.unit.person is not None
    if statement.neighbouring is Neighbouring.REPLACE_ONE:
        question = f"which of two possible {'sets of rows of one person' if several else 'records'} was used"
    else:
        question = f"whether one {statement.unit.one} was used"
    if chance >= _CERTAIN:
        return f"Whoever must guess {question} may be right nearly always: a bound this loose promises little."
    return f"Whoever must guess {question}, at even odds, is right at most {chance:g} % of the time."
