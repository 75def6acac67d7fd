"""The public side of a fit: Problem before, Plan after the mechanism looked at it. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from dplr.bounds import Geometry
from dplr.losses import Loss
from dplr.privacy import Neighbouring, PrivacyStatement, Release


@dataclass(frozen=True, slots=True)
class Problem:
    """Public facts of a fit.

    Attributes
    ----------
    loss, geometry, neighbouring : what is minimised, where rows lie, what privacy is about.
    n_rows : public number of rows, or a declared reference under add_remove; None when neither is known.
    l2 : factor of ||w||^2 / 2 in the mean objective of the scaled problem; None for the mechanism's own choice.
    w0 : public coefficients of the scaled problem towards which the ridge pulls; None for zero.
    assumptions : sentences, one for each fact taken as public.
    """

    loss: Loss
    geometry: Geometry
    neighbouring: Neighbouring
    n_rows: int | None
    l2: float | None
    assumptions: tuple[str, ...]
    w0: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """A relation given as a string would pass for neither."""
        object.__setattr__(self, "neighbouring", Neighbouring(self.neighbouring))


@dataclass(frozen=True, slots=True)
class Minimisation:
    """How the regularised sum objective will be minimised.

    Attributes
    ----------
    ridge : Lam in sum l_i(w) + Lam ||w - w0||^2 / 2.
    tolerance : tau; the gradient of the sum objective at the returned coefficients has norm at most this.
    passes : how many passes over the rows are surely enough; proved in `_core/loss.md`.
    tolerance_noise : norm-Gamma scale of the noise that pays for the tolerance; 0 where the sensitivity pays.
    """

    ridge: float
    tolerance: float
    passes: int
    tolerance_noise: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a mechanism will do, fixed before any row is read.

    Attributes
    ----------
    problem : the public facts.
    statement : the privacy statement of the release to come.
    minimisation : ridge and tolerance, for mechanisms that minimise the regularised objective itself.
    """

    problem: Problem
    statement: PrivacyStatement
    minimisation: Minimisation | None = None

    @property
    def released(self) -> dict[str, Release]:
        """The blocks that will be released."""
        return dict(self.statement.released)

    def __str__(self) -> str:
        """Return the plan as readable lines."""
        l2 = "chosen by the mechanism from public facts" if self.problem.l2 is None else f"{self.problem.l2:g}"
        lines = [
            f"Plan: {self.problem.loss.label} loss, {self.problem.geometry.d} features",
            f"  scaled rows   {self.problem.geometry}",
            f"  l2            {l2}",
        ]
        if self.minimisation is not None:
            solved = self.minimisation
            certified = f"gradient norm <= {solved.tolerance:.3g}"
            lines.append(f"  minimisation  ridge {solved.ridge:.6g} on the sum objective, {certified}")
        return "\n".join([*lines, str(self.statement)])
