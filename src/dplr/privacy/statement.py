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
from dplr.privacy.words import alarms, brief


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
    dplr.PrivacyStatement : Holds one of these for each block.
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
        """Refuse what is no law: a ledger charges the numbers by it."""
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
    >>> isinstance(statement, dplr.PrivacyStatement)
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
        """Freeze the mapping: a statement's meaning is never edited."""
        object.__setattr__(self, "released", MappingProxyType(dict(self.released)))

    def __hash__(self) -> int:
        """Hash the values; the mapping itself has no hash."""
        return hash(
            (
                *(self.mechanism, self.eps, self.delta, self.guarantee, self.unit),
                *(tuple(self.released.items()), self.assumptions, self.solution, self.uncovered),
            )
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through a plain dict: a read-only mapping cannot be pickled."""
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
        """Return the statement as readable lines."""
        return "\n".join([self.title, *(_line(name, text) for name, text in self.lines)])

    def _repr_html_(self) -> str:
        """Return the statement for notebooks, what voids it first."""
        return markup.piece(self.title, markup.alarms(alarms(self)), markup.facts(self.lines))


def _line(name: str, text: str) -> str:
    """A labelled line, wrapped under itself."""
    return textwrap.fill(text, width=110, initial_indent=f"  {name:14}", subsequent_indent=" " * 16)
