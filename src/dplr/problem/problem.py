"""The public side of a fit: Problem before, Plan after the mechanism looked at it. Frozen values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.unit import ROW, Unit
from dplr.problem.geometry import Geometry
from dplr.problem.losses import Loss


@dataclass(frozen=True, slots=True)
class Problem:
    """Public facts of a fit.

    Attributes
    ----------
    loss, geometry, neighbouring : what is minimised, where rows lie, what privacy is about.
    n_rows : public number of units, or a declared reference under add_remove; None when neither is known.
    l2 : factor of ||w||^2 / 2 in the mean objective of the scaled problem; None for the mechanism's own choice.
    w0 : public coefficients of the scaled problem towards which the ridge pulls; None for zero.
    unit : whom the guarantee protects, and how much rows count.
    clippable : columns of numbers that a mechanism may clip to ranges which it can tell from what it releases anyway.
    assumptions : sentences, one for each fact taken as public.
    solution : sentences on how coefficients follow from what is released.
    """

    loss: Loss
    geometry: Geometry
    neighbouring: Neighbouring
    n_rows: int | None
    l2: float | None
    assumptions: tuple[str, ...]
    w0: tuple[float, ...] | None = None
    clippable: tuple[int, ...] = ()
    unit: Unit = ROW
    solution: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # A relation given as a string would pass for neither.
        object.__setattr__(self, "neighbouring", Neighbouring(self.neighbouring))

    @property
    def counts_units(self) -> bool:
        """Whether the sum of all weights is private, and released where a mechanism needs it."""
        return self.neighbouring is Neighbouring.ADD_REMOVE or not self.unit.total_is_public

    @property
    def reference_total(self) -> float | None:
        """A public guess of the sum of all weights, for defaults; None where no number of units is known.

        A cap of weights is best about twice their mean. No guarantee depends on it.
        """
        if self.n_rows is None:
            return None
        return self.n_rows / 2 if self.unit.weight_max is not None else float(self.n_rows)

    def weighted(self, weights: Sequence[float]) -> Problem:
        """The problem for coefficients divided by these weights, and columns multiplied by them; () for itself."""
        if not weights:
            return self
        start = None if self.w0 is None else tuple(w / a for w, a in zip(self.w0, weights, strict=True))
        return replace(self, geometry=self.geometry.weighted(weights), w0=start)
