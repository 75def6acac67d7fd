"""Two-sided geometric noise for a table of counts, and what is chosen from public facts. Nothing here sees data.

Proofs: histogram.md.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from fractions import Fraction

from dplr.privacy.calibration import RATE_UNITS

_DIGITS = 60
_MARGIN = decimal.Decimal(10) ** -50  # above all roundings of 60 digits
MOST_CELLS = 2**26  # expected to pass: a few gigabytes
MOST_THETA = 2**15  # a^theta has 32 bits for each: a tenth of a second, and twice as much takes three times as long
MOST_WALK = 2**18  # cells that are passed over for one number, about sensitivity / eps: some 6 microseconds


@dataclass(frozen=True, slots=True)
class TwoSided:
    """Integer noise with P[x] proportional to a^|x|, a = 1 - stop / 2^32 exactly: discrete Laplace.

    Attributes
    ----------
    stop : units of 2^-32, in 1..2^32; 2^32 for no noise.
    """

    stop: int

    @property
    def ratio(self) -> Fraction:
        """The number a."""
        return 1 - Fraction(self.stop, RATE_UNITS)

    @property
    def scale(self) -> float:
        """Scale of the discrete Laplace law, -1 / log a; 0 for no noise."""
        return 0.0 if self.stop == RATE_UNITS else -1 / math.log1p(-self.stop / RATE_UNITS)

    def passing(self, theta: int) -> tuple[int, int]:
        """Numerator and denominator of P[x >= theta] = a^theta / (1 + a), theta >= 1 (lemma 2)."""
        goes = RATE_UNITS - self.stop
        return goes**theta * RATE_UNITS, RATE_UNITS**theta * (RATE_UNITS + goes)

    def expected(self, theta: int, cells: int) -> float:
        """How many of that many empty cells pass on average, as a float; inf where it does not fit."""
        if self.stop == RATE_UNITS:
            return 0.0
        a = 1 - self.stop / RATE_UNITS
        log = math.log(cells) + theta * math.log1p(-self.stop / RATE_UNITS) - math.log1p(a)
        return math.exp(log) if log < 700 else math.inf


def two_sided(eps: float, sensitivity: int) -> TwoSided:
    """The least noise of the kind that is eps-DP for counts of this L1 sensitivity: a >= exp(-eps / sensitivity).

    The units of 1 - a are rounded down, from 60 decimal digits less a margin, so a is rounded up (theorem 1). The
    smallest eps that is taken anywhere, 1e-9, has 2 units; the margin keeps the largest one below 2^32.
    """
    if math.isinf(eps):
        return TwoSided(RATE_UNITS)
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        share = decimal.Decimal(eps) / sensitivity
        stop = int((1 - (-share).exp() - _MARGIN) * RATE_UNITS)
    return TwoSided(stop)


def bins_per_column(n_rows: int, columns: int) -> int:
    """ceil(1 / h), h = (sqrt(log n) / n)^(2 / (2 + D)) for D columns, the target's among them (Lei 2011)."""
    n = max(n_rows, 2)
    return math.ceil(math.pow(n / math.sqrt(math.log(n)), 2 / (2 + columns)))


def usual_threshold(law: TwoSided, cells: int, n_rows: int) -> int:
    """The least theta >= 1 at which at most n/10 empty cells pass on average, were all cells empty."""
    if law.stop == RATE_UNITS:
        return 1
    a = 1 - law.stop / RATE_UNITS
    excess = math.log(cells) - math.log(n_rows / 10) - math.log1p(a)
    return max(1, math.ceil(excess / -math.log1p(-law.stop / RATE_UNITS)))
