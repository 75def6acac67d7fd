"""Intervals of ratios of noisy sums: Fieller's, with the variance of sampling and the known law of the noise."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr._kit import markup

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measure:
    """A number read from a release, with an interval that counts sampling and noise.

    Attributes
    ----------
    name : str
        Name of the number, such as `"accuracy"`.
    estimate : float
        The estimate, within the valid range; NaN where the noise drowns it.
    lower, upper : float
        Ends of the interval. Both ends of the valid range where the release cannot say.
    level : float
        Level of the interval.
    noise_sd : float
        Standard error that the noise alone causes, by linearisation; NaN where the noise drowns the number.

    Privacy
    -------
    Computed from released numbers and public facts: costs nothing.

    See Also
    --------
    dplr.evaluate : Makes a release that has many of them.

    Examples
    --------
    >>> from dplr.evaluation import Measure
    >>> str(Measure("accuracy", 0.81, 0.79, 0.83, 0.95, 0.004))
    'accuracy 0.81 [0.79, 0.83]'
    """

    name: str
    estimate: float
    lower: float
    upper: float
    level: float
    noise_sd: float

    @property
    def says(self) -> bool:
        """Whether the release says anything about the number."""
        return not math.isnan(self.estimate)

    def __str__(self) -> str:
        if not self.says:
            return f"{self.name}: the release cannot say"
        return f"{self.name} {self.estimate:.4g} [{self.lower:.4g}, {self.upper:.4g}]"

    def _repr_html_(self) -> str:
        """Return the number with its interval for notebooks."""
        return markup.piece("", markup.paragraph(str(self)))


@dataclass(frozen=True, eq=False)
class Sums:
    """Released sums: noisy counts of cells first, then other sums of the same rows.

    Attributes
    ----------
    values : (m,) noisy sums.
    variances : (m,) variances of the noise.
    cells : how many of them are counts of disjoint cells.
    total : the public sum of all counts; None where it is not public. Counts are moved to it.
    laplace : whether the noise is Laplace noise, whose tails are longer than a normal law's.
    """

    values: Vector
    variances: Vector
    cells: int
    total: float | None
    laplace: bool = True

    def __post_init__(self) -> None:
        # Move the counts to their public sum, which lowers the noise of all.
        if self.total is not None:
            values, share = self.values.copy(), self.variances[: self.cells]
            excess = self.total - values[: self.cells].sum()
            values[: self.cells] += excess * (share / share.sum() if share.any() else 1 / self.cells)
            object.__setattr__(self, "values", values)

    @property
    def counts(self) -> Vector:
        """The noisy counts, which may be below 0."""
        return self.values[: self.cells]

    @property
    def positive(self) -> Vector:
        """The nearest counts of at least 0 with the same sum: what variances of sampling are estimated from."""
        counts = self.counts
        total = max(float(counts.sum()), 1.0)
        ordered = np.sort(counts)[::-1]
        excess = (np.cumsum(ordered) - total) / np.arange(1, len(counts) + 1)
        last = int(np.flatnonzero(ordered > excess)[-1])
        return np.asarray(np.maximum(counts - excess[last], 0.0))

    def noise(self, first: Vector, second: Vector) -> float:
        """Covariance of the noise of two linear forms in the values."""
        covariance = float(first @ (self.variances * second))
        if self.total is not None and (spread := float(self.variances[: self.cells].sum())):
            of_cells = self.variances[: self.cells]
            covariance -= float(first[: self.cells] @ of_cells) * float(second[: self.cells] @ of_cells) / spread
        return covariance

    def quantile(self, level: float, form: Vector, variance: float) -> float:
        """Quantile of a linear form that sampling and noise move, with the fourth cumulant of the noise."""
        z = -float(special.ndtri((1 - level) / 2))  # by the tail: (1 + level) / 2 may round to 1
        if not self.laplace or not variance:
            return z
        if self.total is not None and (spread := float(self.variances[: self.cells].sum())):
            form = form.copy()
            form[: self.cells] -= float(form[: self.cells] @ self.variances[: self.cells]) / spread
        kurtosis = 3 * float((form**4) @ (self.variances**2)) / variance**2
        return z + max(z**3 - 3 * z, 0.0) * kurtosis / 24


@dataclass(frozen=True, eq=False)
class Ratio:
    """A number theta = E[numerator] / E[denominator], where both are functions of the sums.

    Attributes
    ----------
    name : of the number.
    numerator, denominator : their values.
    first, second : (m,) their derivatives by the sums.
    sampling : variances of numerator, of both, and of denominator that sampling causes: those of numerator - theta
        denominator is at most that of this quadratic form (evaluation.md, lemma 3).
    low, high : the valid range.
    slack : by how much the interval is widened at either end.
    """

    name: str
    numerator: float
    denominator: float
    first: Vector
    second: Vector
    sampling: tuple[float, float, float]
    low: float = 0.0
    high: float = 1.0
    slack: float = 0.0

    def read(self, sums: Sums, level: float) -> Measure:
        """The number with its interval."""
        forms = ((self.first, self.first), (self.first, self.second), (self.second, self.second))
        vaa, vab, vbb = (of + sums.noise(*pair) for of, pair in zip(self.sampling, forms, strict=True))
        drowned = Measure(self.name, math.nan, self.low, self.high, level, math.nan)
        if not self.denominator > 0:
            return drowned
        theta = min(max(self.numerator / self.denominator, self.low), self.high)
        form = self.first - theta * self.second
        z = sums.quantile(level, form, max(vaa - 2 * theta * vab + theta**2 * vbb, 0.0))
        ends = _fieller(self.numerator, self.denominator, (vaa, vab, vbb), z, (self.low, self.high))
        if ends is None:
            return drowned
        lower, upper = min(ends[0] - self.slack, theta), max(ends[1] + self.slack, theta)
        noise = math.sqrt(max(sums.noise(form, form), 0.0)) / self.denominator
        return Measure(self.name, theta, max(lower, self.low), min(upper, self.high), level, noise)


def _fieller(
    numerator: float, denominator: float, variances: tuple[float, float, float], z: float, valid: tuple[float, float]
) -> tuple[float, float] | None:
    """The smallest interval in the valid range that holds all theta with |N - theta D| <= z sd; None for all of it."""
    vaa, vab, vbb = variances
    low, high = valid

    def excess(theta: float) -> float:
        return (numerator - theta * denominator) ** 2 - z * z * (vaa - 2 * theta * vab + theta * theta * vbb)

    a, b = denominator**2 - z * z * vbb, numerator * denominator - z * z * vab
    c = numerator**2 - z * z * vaa
    inside = b * b - a * c
    roots = [] if a == 0 or inside < 0 else sorted(((b - math.sqrt(inside)) / a, (b + math.sqrt(inside)) / a))
    marks = [low, *(root for root in roots if low < root < high), high]
    if not math.isfinite(low) or not math.isfinite(high):  # an unbounded range
        if a <= 0 or not roots:
            return None
        return max(roots[0], low), min(roots[1], high)
    allowed = [pair for pair in itertools.pairwise(marks) if excess((pair[0] + pair[1]) / 2) <= 0]
    if not allowed:  # the whole set lies outside the range: its nearest end
        theta = min(max(numerator / denominator, low), high)
        return theta, theta
    lower, upper = allowed[0][0], allowed[-1][1]
    return None if lower <= low and upper >= high else (lower, upper)


def mean(
    name: str,
    sums: Sums,
    first: Vector,
    second: Vector,
    high: float = 1.0,
    within: Vector | float = 0.0,
    low: float = 0.0,
) -> Ratio:
    """The ratio of two linear forms in counts.

    A record in cell j moves them by first[j] and second[j], and its square by `within` more, from its place in the
    cell. The sum of squares over records bounds the variance for persons and weights too (evaluation.md, lemma 3). Of
    a share, where a record counts 0 or 1 among those that count 1, its mean is theta (1 - theta) second: no row of a
    kind in a few does not mean that there is none.
    """
    counts, one, two = sums.positive, first[: sums.cells], second[: sums.cells]
    sampling = (float((one * one + within) @ counts), float((one * two) @ counts), float((two * two) @ counts))
    if _is_share(first, second, sums.cells):
        sampling = (0.0, -sampling[2] / 2, -sampling[2])
    numerator, denominator = float(first @ sums.values), float(second @ sums.values)
    return Ratio(name, numerator, denominator, first, second, sampling, low, high)


def _is_share(first: Vector, second: Vector, cells: int) -> bool:
    """Whether both forms count rows, the first some of those of the second."""
    is_count = np.isin(first[:cells], (0, 1)) & np.isin(second[:cells], (0, 1)) & (first[:cells] <= second[:cells])
    return bool(is_count.all() and not first[cells:].any() and not second[cells:].any())
