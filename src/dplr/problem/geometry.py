"""Where the scaled rows lie: all that a mechanism may know of the columns."""

from __future__ import annotations

import math
from dataclasses import dataclass

GRID = 2.0**20  # rows are snapped to multiples of 2^-20 (decision record 1)
INTERCEPT = 0.5  # the constant appended for the intercept; chosen by measurement (decision record 4)
# Scaled rows are rounded to float64: their norm may exceed the radius by (d + 3) 2^-53 < 2^-40 of it.
_ROUNDED_ROW = 1 + 2.0**-40


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where the scaled rows lie: all that a mechanism may know of the columns.

    Attributes
    ----------
    d : number of features, without the intercept.
    radius : every row has norm at most this.
    half_width : every |x_j| is at most this; None where only the ball is known.
    intercept : the constant appended to every row, 0 for none.
    blocks : (first column, number of columns) of each one-hot block: of these columns at most one is not zero in any
        row, and that one is `half_width`. Needs a half-width.
    """

    d: int
    radius: float = 1.0
    half_width: float | None = None
    intercept: float = 0.0
    blocks: tuple[tuple[int, int], ...] = ()

    @property
    def row_norm(self) -> float:
        """R~: largest norm of a scaled row with its intercept constant."""
        return math.hypot(self.radius, self.intercept) * _ROUNDED_ROW

    @property
    def n_coefs(self) -> int:
        """Number of coefficients, the intercept's included."""
        return self.d + (self.intercept > 0)

    def __str__(self) -> str:
        """Return the geometry in words."""
        if self.half_width is None:
            domain = f"rows in the ball of radius {self.radius:g}"
        elif self.blocks:
            hot = sum(size for _, size in self.blocks)
            groups = self.d - hot + len(self.blocks)
            domain = f"rows in {groups} groups of size {self.half_width:.6g}: {self.d - hot} numeric columns and "
            domain += f"{len(self.blocks)} one-hot blocks ({hot} columns)"
        else:
            domain = f"rows in [-{self.half_width:.6g}, {self.half_width:.6g}]^{self.d}"
        return domain + (f", intercept constant {self.intercept:g}" if self.intercept else ", no intercept")
