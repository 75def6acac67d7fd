import numpy as np
from numpy.typing import NDArray

from dplr._core._clip_grid import GridRows
from dplr._core._knots import Knots

_Vector = NDArray[np.float64]
_Limbs = NDArray[np.int64]

CLIPPED: tuple[str, ...]

class ClippedRows(GridRows):
    def add(
        self,
        kernel: str | Knots,
        width: float,
        coef: _Vector,
        clip: float,
        per_unit: float,
        start: int,
        end: int,
        index: NDArray[np.int64] | None,
        hi: _Limbs,
        lo: _Limbs,
    ) -> None: ...
    def add_many(
        self,
        kernel: str | Knots,
        width: float,
        coefs: _Vector,
        clips: _Vector,
        per_units: _Vector,
        start: int,
        end: int,
        index: NDArray[np.int64] | None,
        hi: _Limbs,
        lo: _Limbs,
    ) -> None: ...
    def add_with_residuals(
        self,
        kernel: str | Knots,
        width: float,
        coef: _Vector,
        clip: float,
        per_unit: float,
        start: int,
        end: int,
        hi: _Limbs,
        lo: _Limbs,
        residuals: NDArray[np.int64],
    ) -> None: ...
    def add_squares(
        self, residuals: _Limbs, bits: int, directions: _Limbs, start: int, end: int, hi: _Limbs, lo: _Limbs
    ) -> None: ...
    def add_to_persons(self, factors: _Limbs, persons: _Limbs, start: int, end: int, sums: _Limbs) -> None: ...
    def add_column_moments(self, start: int, end: int, hi: _Limbs, lo: _Limbs) -> None: ...
