"""Random Fourier features: rows of norm 1 whose inner products approach a kernel. Public facts only. Proof: fourier.md.

Every bit of a row's features is a function of that row and of public facts. So sums are taken column by column, where a
matrix product may round by the number of rows, and sines one at a time, where a vector of them may be rounded together.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import cosdg, ndtri, sindg

from dplr._kit.validation import check_choice, check_count, check_positive
from dplr.bounds.columns import Matrix, require, short
from dplr.bounds.declared import MAX_FEATURES, Bounds
from dplr.bounds.layout import Layout
from dplr.bounds.scaling import layout_prep
from dplr.problem.geometry import GRID

MOST_PAIRS = MAX_FEATURES // 2
SEEDS = 2**63  # that many
_ENTRIES = 2**15  # of one block of phases: it stays in the cache
# Computed rows lie inside the sphere by more than all rounding together, so none is projected (fourier.md, lemma 2).
_INSIDE = 1 - 2.0**-40


def _cauchy(uniform: Matrix) -> Matrix:
    return np.tan(np.pi * (uniform - 0.5))


# Kernel -> the formula, and its frequencies from uniform numbers: the inverse of the spectral distribution.
KERNELS: dict[str, tuple[str, Callable[[Matrix], Matrix]]] = {
    "gaussian": ("exp(-||x - x'||^2 / (2 bandwidth^2))", ndtri),
    "laplacian": ("exp(-||x - x'||_1 / bandwidth)", _cauchy),
}


@dataclass(frozen=True)
class FourierMap:
    """Public facts of random Fourier features, and the way of a row to them.

    Attributes
    ----------
    n_components : pairs of a cosine and a sine.
    kernel, bandwidth, seed : public, and chosen without the private rows.
    bounds : that encode and scale a row before; None for rows of numbers as they stand.
    names : of the columns of such rows; None where they have none.
    width : columns that are projected.
    """

    n_components: int
    kernel: str
    bandwidth: float
    seed: int
    bounds: Bounds | None
    width: int
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_parameters(self.n_components, self.kernel, self.bandwidth, self.seed)
        require(1 <= self.width <= MAX_FEATURES, "X", f"must have 1 to {MAX_FEATURES} columns", self.width)

    def _drawn(self) -> NDArray[np.float32]:
        """(pairs, width) frequencies at bandwidth 1; the first pairs are the same for every number of them.

        From the bits of a generator that NumPy keeps the same, and rounded to single precision: another version of a
        library moves the last bit of a double, and hardly ever one that is kept.
        """
        bits = np.random.Philox(key=self.seed).random_raw(self.n_components * self.width)
        uniform = ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52  # exact, and neither 0 nor 1
        _, inverse = KERNELS[self.kernel]
        return inverse(uniform).astype(np.float32).reshape(self.n_components, self.width)

    @property
    def digest(self) -> str:
        """SHA-256 of the drawn frequencies: what a seed stands for."""
        return hashlib.sha256(self._drawn().astype("<f4").tobytes()).hexdigest()

    @property
    def facts(self) -> list[str]:
        """The map in the sentences of a statement."""
        formula, _ = KERNELS[self.kernel]
        scaled = "as declared and scaled" if self.bounds is not None else "as they stand"
        sentences = [
            f"rows of X are {self.n_components} pairs of random Fourier features, of norm 1, of {self.width} columns "
            f"{scaled}: {self.kernel} kernel {formula}, bandwidth = {short(self.bandwidth)}, seed = {self.seed}"
        ]
        if self.bounds is None:
            return [*sentences, "no bounds were declared: whatever scaled the rows before is public"]
        return sentences + self.bounds.layout.facts()

    def features(self, rows: Matrix) -> Matrix:
        """(n, 2 * n_components) features of rows (n, width): all cosines, then all sines."""
        frequencies = self._drawn().T.astype(np.float64)
        frequencies /= 2 * math.pi * self.bandwidth
        pairs = self.n_components
        out = np.empty((len(rows), 2 * pairs))
        step = max(1, _ENTRIES // pairs)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            degrees = _phases(rows[part], frequencies) * 360.0
            out[part, :pairs], out[part, pairs:] = cosdg(degrees), sindg(degrees)
        out *= _INSIDE / math.sqrt(pairs)
        return out


def scaled(matrix: Matrix, layout: Layout) -> Matrix:
    """Encoded rows (n, width) of declared columns in the unit ball, numbers centred, as a fit with an intercept."""
    prep, d = layout_prep(layout, True, (0.0, 1.0)), layout.width
    units = (matrix - prep.shift[:d]) * prep.scale[:d]
    return np.asarray(np.clip(units, prep.low[:d], prep.high[:d]) / GRID)


def check_parameters(n_components: Any, kernel: Any, bandwidth: Any, seed: Any) -> None:
    """Whether they keep the rules, without a look at any row."""
    pairs = check_count("n_components", n_components)
    require(pairs <= MOST_PAIRS, "n_components", f"must be at most {MOST_PAIRS}", pairs, "Each is two columns.")
    check_choice("kernel", kernel, list(KERNELS))
    remedy = "A rule such as the median of distances reads the private rows."
    require(not isinstance(bandwidth, str), "bandwidth", "must be a public number", bandwidth, remedy, TypeError)
    check_positive("bandwidth", bandwidth)
    require(check_count("seed", seed, 0) < SEEDS, "seed", "must be below 2^63", seed)


def _phases(rows: Matrix, frequencies: Matrix) -> Matrix:
    """Inner products (n, pairs) in turns, less whole ones: in [-1/2, 1/2]; NaN for a whole row where one overflows.

    No value is refused here, before a ledger was asked: a fit refuses such rows after it.
    """
    turns = np.zeros((len(rows), frequencies.shape[1]))
    term = np.empty_like(turns)
    with np.errstate(over="ignore", invalid="ignore"):
        for j, of_column in enumerate(frequencies):
            np.multiply(rows[:, j, None], of_column, out=term)
            turns += term
        turns -= np.rint(turns)
    turns[~np.isfinite(turns).all(axis=1)] = np.nan
    return turns
