"""What a release promises and what it holds, as frozen values."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from types import MappingProxyType
from typing import Any

from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, Pure
from dplr.privacy.unit import ROW, Unit


@dataclass(frozen=True, slots=True)
class Release:
    """One block of released numbers.

    Attributes
    ----------
    shape : shape of the block.
    sensitivity : joint sensitivity of the whole release, in the units of the weighted release (see `weight`); of the
        gradient where the noise is in the objective, and in its gauge N where the law is.
    law : law of the noise, `"discrete Laplace"`, `"discrete Gaussian"`, `"norm-Gamma"` (density proportional to
        exp(-||z|| / scale)), `"gauge"` (to exp(-N(z) / scale), N the gauge of the body that holds all rows),
        `"Gaussian"` or `"none"`; with `" in the objective"` where the noise is a linear term of the objective and not
        added to the numbers.
    scale : scale (Laplace, norm-Gamma, gauge) or standard deviation (Gaussian) of the noise on this block: the
        sensitivity over ``weight * eps`` (of one run, where noise is drawn anew) or ``weight * mu``, rounded up to the
        grid.
    grid : the block is released as integer multiples of this power of two.
    weight : factor of this block inside the norm in which the joint sensitivity is measured.
    units : what the integer sampler is given: the scale, or the variance, in grid units.
    spread : root mean square of the standard deviations of the noise's numbers, for gauge noise; 0 for other laws.
    """

    shape: tuple[int, ...]
    sensitivity: float
    law: str
    scale: float
    grid: float
    weight: float = 1.0
    units: int = 0
    spread: float = 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation of one number of the noise; root mean square where they differ.

        Noise `" in the objective"` is in the gradient: its effect on a coefficient depends on the data.
        """
        if self.spread:
            return self.spread
        if self.law.startswith("norm-Gamma"):
            return self.scale * math.sqrt(math.prod(self.shape) + 1)
        return self.scale * math.sqrt(2) if self.law == "discrete Laplace" else self.scale

    @property
    def noise_words(self) -> str:
        """Its deviation and the sensitivity that it covers, as a plan and a report say them."""
        unit = " in the gauge" if self.law.startswith("gauge") else ""
        return f"standard deviation {self.deviation:.6g}, for a sensitivity of {self.sensitivity:.6g}{unit}"


# How a calibration ends that names another loss than the model's own.
BIASED = "biased by it"


@functools.cache
def _version() -> str:
    return metadata.version("dplr")


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """Everything that is needed to check the guarantee of one release.

    Attributes
    ----------
    mechanism : shorthand of the mechanism.
    eps, delta : the privacy loss asked for, or the larger one that the mechanism has.
    guarantee : the promise as a value, for example ``Pure(0.8)``.
    neighbouring : the relation the promise is about.
    released : block name -> `Release`.
    calibration : which theorem gave the noise scale.
    assumptions : every fact that was taken as public.
    arithmetic : `"integer"` when the guarantee holds for the computed numbers, not only over the reals.
    reproducible : True when the noise came from a seed; then there is no privacy against anyone who knows the seed.
    source : theorem and proof.
    unit : whom the guarantee protects, one row or one person with all their rows, and how much rows count.
    version : version of dplr.

    Examples
    --------
    >>> import dplr
    >>> plan = dplr.plan(n_rows=1000, n_features=2, eps=0.8, mechanism="fm")
    >>> plan.statement.guarantee
    Pure(eps=0.8)
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
    unit: Unit = ROW
    version: str = field(default_factory=_version)

    def __post_init__(self) -> None:
        """Freeze the mapping: a statement's meaning is never edited."""
        object.__setattr__(self, "released", MappingProxyType(dict(self.released)))

    def __hash__(self) -> int:
        """Hash the values; the mapping itself has no hash."""
        return hash(
            (
                *(self.mechanism, self.eps, self.delta, self.guarantee, self.unit),
                *(tuple(self.released.items()), self.assumptions),
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
        """Joint sensitivity, where all blocks share one value."""
        return self._common("sensitivity")

    @property
    def noise_scale(self) -> float:
        """Scale of the noise, where all blocks share one value."""
        return self._common("scale")

    def _guarantee_sentence(self) -> str:
        if self.delta and not isinstance(self.guarantee, Approx):
            return f"(eps, delta)-differential privacy, eps = {self.eps:g}, delta = {self.delta:g}; {self.guarantee}"
        return str(self.guarantee)

    @property
    def biased(self) -> bool:
        """Whether another loss than the model's own was minimised: coefficients of logistic ones are no log odds."""
        return BIASED in self.calibration

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """What the statement says, as pairs of a label and a text."""
        lines = [
            ("guarantee", self._guarantee_sentence()),
            ("neighbouring", f"{self.neighbouring}: {self.unit.relation(self.neighbouring)}"),
        ]
        lines += [("unit", rule) for rule in self.unit.rules]
        for name, block in self.released.items():
            count = math.prod(block.shape)
            word = "standard deviation" if "Gaussian" in block.law else "scale"
            noise = f"{block.law}, {word} {block.scale:.6g}" if block.scale else "no noise"
            grid = f", on a grid of {block.grid:.3g}" if block.grid else ""
            lines.append(("released", f"{name}: {count} numbers, {noise}{grid}"))
        lines += [("calibration", self.calibration), ("arithmetic", self.arithmetic), ("source", self.source)]
        if self.reproducible:
            lines.append(("WARNING", "the noise came from a seed: no privacy against anyone who can guess it"))
        return (*lines, *(("assumed", assumption) for assumption in self.assumptions))

    def __str__(self) -> str:
        """Return the statement as readable lines."""
        head = f"Privacy statement ({self.mechanism}, dplr {self.version})"
        return "\n".join([head, *(_line(name, text) for name, text in self.lines)])


def _line(name: str, text: str) -> str:
    """A labelled line, wrapped under itself."""
    return textwrap.fill(text, width=110, initial_indent=f"  {name:14}", subsequent_indent=" " * 16)
